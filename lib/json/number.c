/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: integers and doubles from the text of a JSON number.
 *
 * Whole numbers never pass through a double: the digits are read as they are, and the exponent
 * moves the point. So 9007199254740993 keeps its value, and 1e3 is 1000.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/reader.h"
#include "lib/json/scan.h"

/* A text that fits into memory and has a larger exponent is zero or out of range in any case. */
#define EXPONENT_MAX ((int64_t)1 << 62)

/* digits × 10^scale; a point between the digits is ignored. */
struct decimal {
	bool negative;
	struct str digits;
	int64_t scale;
};

static bool is_number(struct str text)
{
	struct json__scan scan = { 0 };
	const char *wrong;

	return json__scan_number(text, &scan, &wrong) == 0 && json__number_complete(&scan, &wrong);
}

/* Further digits are ignored once the value is large enough, so it cannot overflow. */
static int64_t exponent_of(struct str text)
{
	bool negative = text.n && *text.p == '-';
	int64_t v = 0;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] >= '0' && text.p[i] <= '9' && v < EXPONENT_MAX / 10)
			v = v * 10 + (text.p[i] - '0');
	return negative ? -v : v;
}

/* text must be a valid JSON number. */
static struct decimal split(struct str text)
{
	struct decimal d = { .negative = *text.p == '-' };
	size_t end = 0;
	const char *point;

	text.p += d.negative;
	text.n -= d.negative;
	while (end < text.n && text.p[end] != 'e' && text.p[end] != 'E')
		end++;
	if (end < text.n)
		d.scale = exponent_of((struct str){ text.p + end + 1, text.n - end - 1 });
	d.digits = (struct str){ text.p, end };
	point = memchr(text.p, '.', end);
	if (point)
		d.scale -= (int64_t)(text.p + end - point - 1);
	return d;
}

/*
 * Removes zeros at both ends; those at the end go into the scale. A scale below 0 then means a
 * fraction.
 */
static void normalise(struct decimal *d)
{
	while (d->digits.n && (d->digits.p[0] == '0' || d->digits.p[0] == '.')) {
		d->digits.p++;
		d->digits.n--;
	}
	while (d->digits.n) {
		char last = d->digits.p[d->digits.n - 1];

		if (last != '0' && last != '.')
			break;
		d->scale += last == '0';
		d->digits.n--;
	}
}

/* The digits are not all zero, so even a huge scale overflows after 20 steps. */
static int magnitude_of(const struct decimal *d, uint64_t *ret)
{
	bool fits = true;
	uint64_t v = 0;

	for (size_t i = 0; fits && i < d->digits.n; i++)
		if (d->digits.p[i] != '.')
			fits = !__builtin_mul_overflow(v, 10, &v) &&
			       !__builtin_add_overflow(v, (uint64_t)(d->digits.p[i] - '0'), &v);
	for (int64_t i = 0; fits && i < d->scale; i++)
		fits = !__builtin_mul_overflow(v, 10, &v);
	if (fits)
		*ret = v;
	return fits ? 0 : -ERANGE;
}

static int whole_of(struct str number, bool *ret_negative, uint64_t *ret)
{
	struct decimal d;

	if (!is_number(number))
		return -EINVAL;
	d = split(number);
	normalise(&d);
	*ret_negative = d.negative && d.digits.n;
	if (!d.digits.n) {
		*ret = 0;
		return 0;
	}
	return d.scale < 0 ? -EINVAL : magnitude_of(&d, ret);
}

int json_to_i64(struct str number, int64_t *ret)
{
	bool negative;
	uint64_t v;
	int r = whole_of(number, &negative, &v);

	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = (int64_t)(negative ? -v : v);
	return 0;
}

int json_to_u64(struct str number, uint64_t *ret)
{
	bool negative;
	uint64_t v;
	int r = whole_of(number, &negative, &v);

	if (r < 0)
		return r;
	if (negative)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* strtod() needs a terminating NUL, which a slice does not have. */
int json_to_double(struct str number, double *ret)
{
	_cleanup_(cleanup_free) char *text = NULL;
	double v;

	if (!is_number(number))
		return -EINVAL;
	text = mem_alloc(number.n + 1);
	memcpy(text, number.p, number.n);
	text[number.n] = '\0';
	v = strtod(text, NULL);
	if (isinf(v))
		return -ERANGE;
	*ret = v;
	return 0;
}
