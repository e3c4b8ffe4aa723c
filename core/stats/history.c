/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: two rings in one array. The place of a point is its number modulo the length of its
 * ring, so nothing is moved; the places that a jump leaves out are overwritten with gaps.
 */
#include "core/stats/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define GAP UINT16_MAX /* as the upper half of a float: not a number */

static uint16_t shorten(float value)
{
	uint32_t bits;

	if (isnan(value))
		return GAP;
	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x8000) >> 16); /* half of the last bit that stays: rounds */
}

static float lengthen(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void history_free(struct history *h)
{
	free(h->values);
	*h = (struct history){ 0 };
}

static uint16_t *hour(const struct history *h, int64_t step)
{
	return &h->values[step % HISTORY_HOUR];
}

static uint16_t *day(const struct history *h, int64_t group)
{
	return &h->values[HISTORY_HOUR + group % HISTORY_DAY];
}

static void end_group(struct history *h, int64_t group, enum history_merge merge)
{
	float value = merge == HISTORY_MEAN ? h->merged / (float)h->n : h->merged;

	*day(h, group) = h->n ? shorten(value) : GAP;
	h->merged = 0;
	h->n = 0;
}

static void forget(struct history *h)
{
	static_assert(GAP == 0xffff, "all bytes of a gap are equal");
	memset(h->values, 0xff, HISTORY_BYTES);
	h->merged = 0;
	h->n = 0;
}

/* All steps before this one become gaps, as far as nothing was put for them. */
static void advance(struct history *h, int64_t step, enum history_merge merge)
{
	if (step - h->newest > (int64_t)HISTORY_DAY * HISTORY_GROUP) {
		forget(h);
		h->newest = step - 1;
	}
	while (h->newest < step) {
		int64_t group = h->newest++ / HISTORY_GROUP;

		*hour(h, h->newest) = GAP;
		if (h->newest / HISTORY_GROUP != group)
			end_group(h, group, merge);
	}
}

static void add(struct history *h, float value, enum history_merge merge)
{
	if (merge == HISTORY_MEAN)
		h->merged += value;
	else if (!h->n || value > h->merged)
		h->merged = value;
	h->n++;
}

void history_put(struct history *h, int64_t step, float value, enum history_merge merge)
{
	assert(step >= 0);
	if (!h->values && isnan(value))
		return;
	if (!h->values) {
		h->values = mem_alloc(HISTORY_BYTES);
		forget(h);
		h->newest = step - 1;
	}
	if (step <= h->newest)
		return;
	advance(h, step, merge);
	if (isnan(value))
		return;
	*hour(h, step) = shorten(value);
	add(h, value, merge);
}

float history_get(const struct history *h, enum history_span span, int64_t number)
{
	int64_t newest;

	if (!h->values)
		return NAN;
	newest = history_newest(span, h->newest);
	if (number < 0 || number > newest || number <= newest - (int64_t)history_points(span))
		return NAN;
	return lengthen(span == HISTORY_SPAN_HOUR ? *hour(h, number) : *day(h, number));
}

/* ---- spans ---- */

static const struct {
	const char *name;
	size_t points;
	int64_t steps; /* of a point */
} spans[HISTORY_SPANS] = {
	[HISTORY_SPAN_HOUR] = { "hour", HISTORY_HOUR, 1 },
	[HISTORY_SPAN_DAY] = { "day", HISTORY_DAY, HISTORY_GROUP },
};

const char *history_span_name(enum history_span span)
{
	return spans[span].name;
}

size_t history_points(enum history_span span)
{
	return spans[span].points;
}

int64_t history_length(enum history_span span)
{
	return spans[span].steps * HISTORY_STEP;
}

int64_t history_newest(enum history_span span, int64_t step)
{
	return span == HISTORY_SPAN_HOUR ? step : step / HISTORY_GROUP - 1;
}

int64_t history_last_step(enum history_span span, int64_t number)
{
	return (number + 1) * spans[span].steps - 1;
}
