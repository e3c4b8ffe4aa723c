/* SPDX-License-Identifier: Apache-2.0 */
#include "core/labels/labels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorted.h"

static const char *const words[] = {
	[LABELS_IN] = "In",
	[LABELS_NOT_IN] = "NotIn",
	[LABELS_EXISTS] = "Exists",
	[LABELS_DOES_NOT_EXIST] = "DoesNotExist",
};

enum labels_operator labels_operator_of(const char *word)
{
	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], word) == 0)
			return (enum labels_operator)i;
	return LABELS_UNKNOWN;
}

const char *labels_get(const struct labels *l, const char *key)
{
	size_t at = sorted_place(l->n, i, strcmp(l->items[i].key, key) < 0);

	return at < l->n && strcmp(l->items[at].key, key) == 0 ? l->items[at].value : NULL;
}

static bool has_value(const struct labels_requirement *r, const char *value)
{
	for (size_t i = 0; i < r->n_values; i++)
		if (strcmp(r->values[i], value) == 0)
			return true;
	return false;
}

static bool holds(const struct labels_requirement *r, const struct labels *l)
{
	const char *value = labels_get(l, r->key);

	switch (r->op) {
	case LABELS_IN:
		return value && has_value(r, value);
	case LABELS_NOT_IN:
		return !value || !has_value(r, value);
	case LABELS_EXISTS:
		return value;
	case LABELS_DOES_NOT_EXIST:
		return !value;
	case LABELS_UNKNOWN:
		return false;
	}
	return false;
}

bool labels_match(const struct labels_selector *s, const struct labels *l)
{
	for (size_t i = 0; i < s->n; i++)
		if (!holds(&s->items[i], l))
			return false;
	return true;
}

bool labels_match_any(const struct labels_selectors *list, const struct labels *l)
{
	for (size_t i = 0; i < list->n; i++)
		if (labels_match(&list->items[i], l))
			return true;
	return false;
}

const char *labels_selector_check(const struct labels_selector *s, struct arena *arena)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct labels_requirement *r = &s->items[i];
		bool listed = r->op == LABELS_IN || r->op == LABELS_NOT_IN;

		if (r->op == LABELS_UNKNOWN)
			return arena_printf(arena, "\"%s\" is not a valid label selector operator",
					    err_shown(r->word ? r->word : "", arena));
		if (listed && !r->n_values)
			return arena_strdup(
				arena, "for 'in', 'notin' operators, values set can't be empty");
		if (!listed && r->n_values)
			return arena_strdup(
				arena, "values set must be empty for exists and does not exist");
	}
	return NULL;
}

static int compare_requirements(const void *a, const void *b)
{
	const struct labels_requirement *x = a, *y = b;
	int by_key = strcmp(x->key, y->key);

	if (by_key)
		return by_key;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void format_values(const struct labels_requirement *r, struct buf *out)
{
	const char **sorted;

	if (r->op == LABELS_IN && r->n_values == 1) {
		buf_printf(out, "=%s", r->values[0]);
		return;
	}
	sorted = mem_copy(r->values, r->n_values * sizeof(*sorted));
	if (r->n_values)
		qsort(sorted, r->n_values, sizeof(*sorted), compare_texts);
	buf_adds(out, r->op == LABELS_IN ? " in (" : " notin (");
	for (size_t i = 0; i < r->n_values; i++)
		buf_printf(out, "%s%s", i ? "," : "", sorted[i]);
	buf_addc(out, ')');
	free(sorted);
}

static void format_requirement(const struct labels_requirement *r, struct buf *out)
{
	if (r->op == LABELS_DOES_NOT_EXIST)
		buf_addc(out, '!');
	buf_adds(out, r->key);
	if (r->op == LABELS_UNKNOWN)
		buf_printf(out, " %s", r->word ? r->word : "");
	else if (r->op == LABELS_IN || r->op == LABELS_NOT_IN)
		format_values(r, out);
}

void labels_selector_format(const struct labels_selector *s, struct buf *out)
{
	struct labels_requirement *sorted = mem_copy(s->items, s->n * sizeof(*sorted));

	if (s->n)
		qsort(sorted, s->n, sizeof(*sorted), compare_requirements);
	for (size_t i = 0; i < s->n; i++) {
		if (i)
			buf_addc(out, ',');
		format_requirement(&sorted[i], out);
	}
	free(sorted);
}

void labels_format(const struct labels *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++)
		buf_printf(out, "%s%s=%s", i ? "," : "", l->items[i].key, l->items[i].value);
}
