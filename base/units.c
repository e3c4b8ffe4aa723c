/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>
#include <string.h>

/*
 * The magnitude of INT64_MIN, which a negative duration may reach; a positive one stops one
 * below.
 */
#define LIMIT ((uint64_t)1 << 63)

static const struct unit {
	const char *name;
	int64_t ns;
} units[] = {
	/* the first match wins: "ms" stands before "m" */
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

/* Parses digits into *ret; returns their number, or -ERANGE. */
static int cut_digits(const char **p, uint64_t *ret)
{
	int digits = 0;

	for (*ret = 0; **p >= '0' && **p <= '9'; (*p)++, digits++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(**p - '0'), ret) || *ret > LIMIT)
			return -ERANGE;
	return digits;
}

/*
 * Parses the digits of a fraction as *ret over *ret_scale. Digits that no longer fit are skipped:
 * they are far below a nanosecond. Go does the same, down to the rounding.
 */
static int cut_fraction(const char **p, uint64_t *ret, double *ret_scale)
{
	bool full = false;
	int digits = 0;

	*ret = 0;
	*ret_scale = 1;
	for (; **p >= '0' && **p <= '9'; (*p)++, digits++) {
		full = full || *ret > (LIMIT - 9) / 10;
		if (full)
			continue;
		*ret = *ret * 10 + (uint64_t)(**p - '0');
		*ret_scale *= 10;
	}
	return digits;
}

/* Parses one group of number and unit, in nanoseconds. "1.s" and ".5s" are valid, ".s" is not. */
static int cut_group(const char **p, uint64_t *ret)
{
	uint64_t whole, part = 0;
	double scale = 1;
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
	if (__builtin_mul_overflow(whole, (uint64_t)unit->ns, &whole) || whole > LIMIT)
		return -ERANGE;
	*ret = whole + (uint64_t)((double)part * ((double)unit->ns / scale));
	return 0;
}

/* The sum of all groups. Comparing each sum with LIMIT keeps the additions from wrapping around. */
static int sum_groups(const char *text, uint64_t *ret)
{
	uint64_t sum = 0, group;

	if (!*text)
		return -EINVAL;
	while (*text) {
		int r = cut_group(&text, &group);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, group, &sum) || sum > LIMIT)
			return -ERANGE;
	}
	*ret = sum;
	return 0;
}

/*
 * The sum is unsigned, so that -2562047h47m16.854775808s (INT64_MIN) can be parsed; its negation
 * is computed modulo 2^64.
 */
int duration_parse(const char *text, int64_t *ret)
{
	bool negative = *text == '-';
	uint64_t sum = 0;
	int r = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (strcmp(text, "0") != 0)
		r = sum_groups(text, &sum);
	if (r < 0)
		return r;
	if (sum == LIMIT && !negative)
		return -ERANGE;
	*ret = (int64_t)(negative ? -sum : sum);
	return 0;
}

/* Writes the last `width` digits of v, with zeros in front; returns the byte after them. */
static char *put_digits(char *at, int64_t v, int width)
{
	for (int i = width; i-- > 0; v /= 10)
		at[i] = (char)('0' + v % 10);
	return at + width;
}

/* The same without zeros in front. */
static char *put_number(char *at, uint64_t v)
{
	int width = 1;

	for (uint64_t rest = v / 10; rest; rest /= 10)
		width++;
	return put_digits(at, (int64_t)v, width);
}

/*
 * Writes ns in units of `unit` ns, with as many decimals as it needs ("1.5ms"). unit is 1 or a
 * power of 1000, with `width` zeros.
 */
static void put_decimal(char *at, uint64_t ns, int64_t unit, int width, const char *name)
{
	int64_t rest = (int64_t)(ns % (uint64_t)unit);

	at = put_number(at, ns / (uint64_t)unit);
	if (rest) {
		*at++ = '.';
		at = put_digits(at, rest, width);
		while (at[-1] == '0')
			at--;
	}
	memcpy(at, name, strlen(name) + 1);
}

/*
 * The unit is the largest one that leaves a digit before the point; from one minute on the seconds
 * follow "1h2m" or "2m". Without snprintf(), because an access log has a duration in each line.
 */
const char *duration_format(int64_t ns, char buf[static DURATION_STRLEN])
{
	uint64_t abs = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint64_t minutes = abs / (60 * NSEC_PER_SEC);
	char *at = buf;

	if (ns < 0)
		*at++ = '-';
	if (minutes >= 60) {
		at = put_number(at, minutes / 60);
		*at++ = 'h';
	}
	if (minutes) {
		at = put_number(at, minutes % 60);
		*at++ = 'm';
	}
	if (abs == 0 || abs >= NSEC_PER_SEC)
		put_decimal(at, abs % (60 * NSEC_PER_SEC), NSEC_PER_SEC, 9, "s");
	else if (abs >= NSEC_PER_MSEC)
		put_decimal(at, abs, NSEC_PER_MSEC, 6, "ms");
	else if (abs >= NSEC_PER_USEC)
		put_decimal(at, abs, NSEC_PER_USEC, 3, "µs");
	else
		put_decimal(at, abs, 1, 0, "ns");
	return buf;
}

/*
 * The date of a day, counted from 1970-01-01, in the Gregorian calendar. Years begin in March here,
 * so that the leap day is the last one; then the months have a repeating pattern of lengths:
 * 153 days for each five. 719468 days lie between 0000-03-01 and 1970-01-01; each era of 400 years
 * has 146097.
 */
static char *put_date(char *at, int64_t day)
{
	int64_t since = day + 719468; /* never negative: an int64_t of ns begins in 1677 */
	int64_t era = since / 146097, of_era = since % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* 0: March */
	int64_t of_month = of_year - (153 * month + 2) / 5;
	bool next_year = month >= 10;

	at = put_digits(at, era * 400 + year + next_year, 4);
	*at++ = '-';
	at = put_digits(at, next_year ? month - 9 : month + 3, 2);
	*at++ = '-';
	return put_digits(at, of_month + 1, 2);
}

static char *put_clock(char *at, int64_t second)
{
	at = put_digits(at, second / 3600, 2);
	*at++ = ':';
	at = put_digits(at, second / 60 % 60, 2);
	*at++ = ':';
	return put_digits(at, second % 60, 2);
}

/*
 * Not with gmtime_r(), which takes a lock that all threads share: every log line has a time. The
 * divisions round toward zero, so times before 1970 need the remainder moved to 0 or above.
 */
const char *time_format(int64_t unix_ns, char buf[static TIME_STRLEN])
{
	const int64_t day_ns = 24 * 3600 * NSEC_PER_SEC;
	int64_t day = unix_ns / day_ns, rest = unix_ns % day_ns;
	char *at;

	if (rest < 0) {
		rest += day_ns;
		day--;
	}
	at = put_date(buf, day);
	*at++ = 'T';
	at = put_clock(at, rest / NSEC_PER_SEC);
	*at++ = '.';
	at = put_digits(at, rest % NSEC_PER_SEC, 9);
	*at++ = 'Z';
	*at = '\0';
	return buf;
}
