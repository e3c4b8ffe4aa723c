/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct unit {
	const char *name;
	int64_t ns;
} units[] = {
	/* longer names first where one begins with another */
	{ "ns", 1 },
	{ "us", NSEC_PER_USEC },
	{ "µs", NSEC_PER_USEC }, /* U+00B5 */
	{ "μs", NSEC_PER_USEC }, /* U+03BC */
	{ "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
};

static const struct unit *cut_unit(const char **p)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].name);

		if (strncmp(*p, units[i].name, n) == 0) {
			*p += n;
			return &units[i];
		}
	}
	return NULL;
}

/* Digits into *ret; the number of digits, or -ERANGE. */
static int cut_digits(const char **p, int64_t *ret)
{
	int digits = 0;

	for (*ret = 0; **p >= '0' && **p <= '9'; (*p)++, digits++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, **p - '0', ret))
			return -ERANGE;
	return digits;
}

/* The fraction's digits as value over scale; digits beyond 18 cannot matter and are dropped. */
static int cut_fraction(const char **p, int64_t *ret, int64_t *ret_scale)
{
	int digits = 0;

	*ret = 0;
	*ret_scale = 1;
	for (; **p >= '0' && **p <= '9'; (*p)++, digits++) {
		if (digits >= 18)
			continue;
		*ret = *ret * 10 + (**p - '0');
		*ret_scale *= 10;
	}
	return digits;
}

/* One "number unit" group, in nanoseconds. */
static int cut_group(const char **p, int64_t *ret)
{
	int64_t whole, part = 0, scale = 1;
	int before = cut_digits(p, &whole), after = 0;
	const struct unit *unit;

	if (before < 0)
		return before;
	if (**p == '.') {
		(*p)++;
		after = cut_fraction(p, &part, &scale);
	}
	if (!before && !after)
		return -EINVAL;
	unit = cut_unit(p);
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit->ns, &whole) ||
	    __builtin_add_overflow(
		    whole, (int64_t)((double)part * ((double)unit->ns / (double)scale)), &whole))
		return -ERANGE;
	*ret = whole;
	return 0;
}

int duration_parse(const char *text, int64_t *ret)
{
	bool negative = *text == '-';
	int64_t sum = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (strcmp(text, "0") == 0) {
		*ret = 0;
		return 0;
	}
	if (!*text)
		return -EINVAL;
	while (*text) {
		int64_t group;
		int r = cut_group(&text, &group);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, group, &sum))
			return -ERANGE;
	}
	*ret = negative ? -sum : sum;
	return 0;
}

/* "1.5" with a unit: value is a count of unit/1000^k, shown with as many decimals as it needs. */
static void format_decimal(char *buf, int64_t ns, int64_t unit, const char *name)
{
	char digits[24] = "";
	int64_t rest = ns % unit;

	if (rest) {
		int width = unit == NSEC_PER_SEC ? 9 : unit == NSEC_PER_MSEC ? 6 : 3;
		int n = snprintf(digits, sizeof(digits), ".%0*lld", width, (long long)rest);

		while (n > 0 && digits[n - 1] == '0')
			digits[--n] = '\0';
	}
	snprintf(buf, DURATION_STRLEN, "%lld%s%s", (long long)(ns / unit), digits, name);
}

const char *duration_format(int64_t ns, char buf[static DURATION_STRLEN])
{
	int64_t abs = ns < 0 ? -ns : ns;
	int64_t minutes = abs / (60 * NSEC_PER_SEC);
	char tail[DURATION_STRLEN];
	const char *sign = ns < 0 ? "-" : "";

	if (abs == 0)
		snprintf(tail, sizeof(tail), "0s");
	else if (abs < NSEC_PER_USEC)
		format_decimal(tail, abs, 1, "ns");
	else if (abs < NSEC_PER_MSEC)
		format_decimal(tail, abs, NSEC_PER_USEC, "µs");
	else if (abs < NSEC_PER_SEC)
		format_decimal(tail, abs, NSEC_PER_MSEC, "ms");
	else
		format_decimal(tail, abs % (60 * NSEC_PER_SEC), NSEC_PER_SEC, "s");

	if (minutes >= 60)
		snprintf(buf, DURATION_STRLEN, "%s%lldh%lldm%.16s", sign, (long long)(minutes / 60),
			 (long long)(minutes % 60), tail);
	else if (minutes)
		snprintf(buf, DURATION_STRLEN, "%s%lldm%.16s", sign, (long long)minutes, tail);
	else
		snprintf(buf, DURATION_STRLEN, "%s%.24s", sign, tail);
	return buf;
}

const char *time_format(int64_t unix_ns, char buf[static TIME_STRLEN])
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	long rest = (long)(unix_ns % NSEC_PER_SEC);
	struct tm tm;
	size_t n;

	if (rest < 0) {
		rest += NSEC_PER_SEC;
		seconds--;
	}
	gmtime_r(&seconds, &tm);
	n = strftime(buf, TIME_STRLEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, TIME_STRLEN - n, ".%09ldZ", rest);
	return buf;
}
