/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: a double as the shortest decimal that parses to the same double.
 *
 * Whole numbers are written as such. Most others have few decimals: if m is a whole number below
 * 2^53 and 10^k is exact (k <= 22), the division m / 10^k is rounded correctly, exactly as
 * parsing "m e-k" is. So the first k that gives the value back yields the shortest form. The
 * remaining values (17 digits, or far from 1) go through printf with growing precision.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/metrics/metrics.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53: up to here every whole number is a double */
#define DECIMALS_MAX 22		     /* 10^22 is the last power of ten that is */

/* Writes m with its last k digits after the point. */
static void add_fixed(struct buf *out, uint64_t m, unsigned k)
{
	char digits[DECIMALS_MAX + 2];
	char *p = digits + sizeof(digits);

	for (unsigned i = 0; i < k; i++, m /= 10)
		*--p = (char)('0' + m % 10);
	*--p = '.';
	buf_addu(out, m);
	buf_add(out, p, (size_t)(digits + sizeof(digits) - p));
}

/* v > 0. Returns false, with nothing written, if there is no short form. */
static bool add_short(struct buf *out, double v)
{
	double power = 1;

	for (unsigned k = 1; k <= DECIMALS_MAX; k++) {
		double m;

		power *= 10;
		m = floor(v * power + 0.5);
		if (m >= WHOLE_MAX)
			return false;
		if (m / power == v) {
			add_fixed(out, (uint64_t)m, k);
			return true;
		}
	}
	return false;
}

/* v > 0. printf uses the decimal point of the locale, so any other character becomes a point. */
static void add_printed(struct buf *out, double v)
{
	/* in this range add_short() has tried every form of up to 15 digits */
	int precision = v >= 1e-6 && v < 1e15 ? 16 : 1;
	char text[32];
	int n;

	do {
		n = snprintf(text, sizeof(text), "%.*g", precision, v);
	} while (strtod(text, NULL) != v && precision++ < 17);
	for (int i = 0; i < n; i++)
		if (!strchr("0123456789e+-", text[i]))
			text[i] = '.';
	buf_add(out, text, (size_t)n);
}

/* Negative zero is written as 0: the text format has no use for its sign. */
void metrics_add_double(struct buf *out, double value)
{
	double v = fabs(value);

	if (isnan(value)) {
		buf_add_lit(out, "NaN");
		return;
	}
	if (isinf(value)) {
		buf_adds(out, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	if (value < 0)
		buf_addc(out, '-');
	if (v < WHOLE_MAX && v == floor(v))
		buf_addu(out, (uint64_t)v);
	else if (!add_short(out, v))
		add_printed(out, v);
}
