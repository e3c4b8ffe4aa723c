/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/values.h"

#include <assert.h>
#include <string.h>

/*
 * The index of text, or where it would be inserted. Comparing only the bytes that are kept makes
 * a long text find its cut copy again.
 */
static size_t place_of(const struct values *v, const char *text)
{
	size_t i = 0;

	while (i < v->n && strncmp(v->items[i].text, text, VALUE_SIZE - 1) < 0)
		i++;
	return i;
}

static void insert(struct values *v, size_t at, const char *text)
{
	size_t n = strnlen(text, VALUE_SIZE - 1);

	memmove(&v->items[at + 1], &v->items[at], (v->n - at) * sizeof(v->items[0]));
	v->items[at] = (struct value){ 0 };
	memcpy(v->items[at].text, text, n);
	v->n++;
}

static void clear_slice(struct values *v, size_t slice)
{
	for (size_t i = 0; i < v->n; i++)
		v->items[i].slices[slice] = 0;
	v->others.slices[slice] = 0;
}

/* As of window.c: clears the slices that were skipped, each at most once. */
static void advance(struct values *v, int64_t now)
{
	int64_t number = now / v->slice;
	int64_t gone = number - v->current;

	assert(v->slice > 0);
	for (int64_t i = 1; i <= gone && i <= WINDOW_SLICES; i++)
		clear_slice(v, (size_t)((v->current + i) % WINDOW_SLICES));
	if (gone > 0)
		v->current = number;
}

static void count(const struct values *v, struct value *one, int64_t now)
{
	one->n++;
	one->slices[v->current % WINDOW_SLICES]++;
	one->last = now;
}

void values_add(struct values *v, const char *text, int64_t now)
{
	size_t at = place_of(v, text);
	int known = at < v->n && strncmp(v->items[at].text, text, VALUE_SIZE - 1) == 0;

	advance(v, now);
	if (!known && v->n == VALUES_MAX) {
		count(v, &v->others, now);
		return;
	}
	if (!known)
		insert(v, at, text);
	count(v, &v->items[at], now);
}

uint64_t values_recent(struct values *v, const struct value *one, int64_t now)
{
	uint64_t sum = 0;

	advance(v, now);
	for (size_t i = 0; i < WINDOW_SLICES; i++)
		sum += one->slices[i];
	return sum;
}
