/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/when.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

/* Exactly n digits at *p, at most max; moves *p behind them. */
static bool take_digits(const char **p, int n, int max, int *ret)
{
	int v = 0;

	for (int i = 0; i < n; i++) {
		char c = (*p)[i];

		if (c < '0' || c > '9')
			return false;
		v = 10 * v + (c - '0');
	}
	*p += n;
	*ret = v;
	return v <= max;
}

static bool take(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* HH:MM or HH:MM:SS */
static bool take_clock(const char **p, struct tm *t)
{
	if (!take_digits(p, 2, 23, &t->tm_hour) || !take(p, ':') ||
	    !take_digits(p, 2, 59, &t->tm_min))
		return false;
	return !take(p, ':') || take_digits(p, 2, 59, &t->tm_sec);
}

/* YYYY-MM-DD and what separates it from the clock. */
static bool take_day(const char **p, struct tm *t)
{
	int year, month;

	if (!take_digits(p, 4, 9999, &year) || !take(p, '-') || !take_digits(p, 2, 12, &month) ||
	    !take(p, '-') || !take_digits(p, 2, 31, &t->tm_mday))
		return false;
	t->tm_year = year - 1900;
	t->tm_mon = month - 1;
	return year >= 1970 && month && t->tm_mday && (take(p, 'T') || take(p, ' '));
}

/* Z, +HH:MM or -HH:MM; false if neither follows. *ret is in seconds east of Greenwich. */
static bool take_zone(const char **p, long *ret)
{
	int sign = **p == '-' ? -1 : 1, hours, minutes;

	if (take(p, 'Z')) {
		*ret = 0;
		return true;
	}
	if (!take(p, '+') && !take(p, '-'))
		return false;
	if (!take_digits(p, 2, 23, &hours) || !take(p, ':') || !take_digits(p, 2, 59, &minutes))
		return false;
	*ret = sign * (hours * 3600L + minutes * 60L);
	return true;
}

/* mktime() makes another day of a 30th of February, which is refused. */
static bool to_seconds(struct tm *t, const long *zone, time_t *ret)
{
	int day = t->tm_mday;

	t->tm_isdst = -1;
	*ret = zone ? timegm(t) - *zone : mktime(t);
	return t->tm_mday == day;
}

/* The clock of today, or of tomorrow if that has passed. */
static time_t next_clock(const struct tm *clock, time_t after)
{
	struct tm t;
	time_t at;

	localtime_r(&after, &t);
	t.tm_hour = clock->tm_hour;
	t.tm_min = clock->tm_min;
	t.tm_sec = clock->tm_sec;
	t.tm_isdst = -1;
	at = mktime(&t);
	if (at > after)
		return at;
	t.tm_mday++;
	t.tm_hour = clock->tm_hour;
	t.tm_min = clock->tm_min;
	t.tm_sec = clock->tm_sec;
	t.tm_isdst = -1;
	return mktime(&t);
}

int when_parse(const char *text, int64_t after, int64_t *ret)
{
	const char *p = text;
	struct tm t = { 0 };
	long zone = 0;
	bool zoned;
	time_t at;

	assert(text && ret);

	if (strlen(text) < 5 || text[4] != '-') {
		if (!take_clock(&p, &t) || *p)
			return -EINVAL;
		*ret = (int64_t)next_clock(&t, (time_t)(after / NSEC_PER_SEC)) * NSEC_PER_SEC;
		return 0;
	}
	if (!take_day(&p, &t) || !take_clock(&p, &t))
		return -EINVAL;
	zoned = *p && take_zone(&p, &zone);
	if (*p || !to_seconds(&t, zoned ? &zone : NULL, &at))
		return -EINVAL;
	*ret = (int64_t)at * NSEC_PER_SEC;
	return 0;
}
