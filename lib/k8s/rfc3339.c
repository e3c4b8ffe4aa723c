/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/k8s/rfc3339.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

/* A number of exactly n digits at *at, which moves on; -1 if there is none. */
static int digits(struct str text, size_t *at, size_t n)
{
	uint64_t v;

	if (*at + n > text.n || str_to_u64((struct str){ text.p + *at, n }, 9999, &v) < 0)
		return -1;
	*at += n;
	return (int)v;
}

static bool take(struct str text, size_t *at, char c)
{
	if (*at >= text.n || text.p[*at] != c)
		return false;
	(*at)++;
	return true;
}

/* Six numbers with what is between them. */
static bool take_date(struct str text, size_t *at, struct tm *tm)
{
	static const struct {
		size_t n;
		char after;
		int min, max;
	} parts[] = { { 4, '-', 1970, 2262 }, { 2, '-', 1, 12 }, { 2, 'T', 1, 31 },
		      { 2, ':', 0, 23 },      { 2, ':', 0, 59 }, { 2, 0, 0, 60 } };
	int v[6];

	for (size_t i = 0; i < 6; i++) {
		v[i] = digits(text, at, parts[i].n);
		if (v[i] < parts[i].min || v[i] > parts[i].max ||
		    (parts[i].after && !take(text, at, parts[i].after)))
			return false;
	}
	*tm = (struct tm){ .tm_year = v[0] - 1900,
			   .tm_mon = v[1] - 1,
			   .tm_mday = v[2],
			   .tm_hour = v[3],
			   .tm_min = v[4],
			   .tm_sec = v[5] };
	return true;
}

/* ".5": digits after the ninth are dropped. -1 if there are none. */
static int64_t take_fraction(struct str text, size_t *at)
{
	int64_t ns = 0, unit = NSEC_PER_SEC / 10;
	size_t begin;

	if (!take(text, at, '.'))
		return 0;
	for (begin = *at; *at < text.n && text.p[*at] >= '0' && text.p[*at] <= '9'; (*at)++) {
		ns += (text.p[*at] - '0') * unit;
		unit /= 10;
	}
	return *at == begin ? -1 : ns;
}

/* "Z" or "+01:00", in seconds. */
static bool take_offset(struct str text, size_t *at, int64_t *ret)
{
	int sign = 0, hours, minutes;

	if (take(text, at, 'Z')) {
		*ret = 0;
		return true;
	}
	sign = take(text, at, '+') ? 1 : take(text, at, '-') ? -1 : 0;
	hours = digits(text, at, 2);
	if (!sign || hours < 0 || hours > 23 || !take(text, at, ':'))
		return false;
	minutes = digits(text, at, 2);
	*ret = (int64_t)sign * (hours * 3600 + minutes * 60);
	return minutes >= 0 && minutes < 60;
}

int k8s_time_parse(struct str text, int64_t *ret)
{
	struct tm tm;
	size_t at = 0;
	int64_t fraction, offset;
	time_t seconds;

	if (!take_date(text, &at, &tm))
		return -EINVAL;
	fraction = take_fraction(text, &at);
	if (fraction < 0 || !take_offset(text, &at, &offset) || at != text.n)
		return -EINVAL;
	seconds = timegm(&tm);
	if (__builtin_mul_overflow((int64_t)seconds - offset, NSEC_PER_SEC, ret) ||
	    __builtin_add_overflow(*ret, fraction, ret))
		return -EINVAL;
	return 0;
}

const char *k8s_micro_time(int64_t unix_ns, char buf[static K8S_MICRO_TIME])
{
	char full[TIME_STRLEN];

	time_format(unix_ns, full); /* ends with nine digits and Z */
	memcpy(buf, full, K8S_MICRO_TIME - 2);
	memcpy(buf + K8S_MICRO_TIME - 2, "Z", 2);
	return buf;
}
