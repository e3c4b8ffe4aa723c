/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stats/values.h"

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

void values_add(struct values *v, const char *text, int64_t now)
{
	size_t at = place_of(v, text);
	int known = at < v->n && strncmp(v->items[at].text, text, VALUE_SIZE - 1) == 0;

	if (!known && v->n == VALUES_MAX) {
		v->others++;
		v->others_last = now;
		return;
	}
	if (!known)
		insert(v, at, text);
	v->items[at].n++;
	v->items[at].last = now;
}
