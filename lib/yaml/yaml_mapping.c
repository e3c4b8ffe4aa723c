/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a mapping: merge keys are applied and duplicates are found.
 *
 * Candidates are kept in the order of precedence: first the mapping's own pairs, then the merged
 * ones in the order of its "<<". After sorting by key, the first candidate of each run wins; a
 * second one from the mapping itself is a duplicate. Sorting instead of hashing bounds the time
 * for any choice of keys.
 */
#include "lib/yaml/yaml_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct candidate {
	struct yaml_pair pair;
	bool merged;  /* from "<<"; an own pair replaces it without a complaint */
	bool dropped; /* another candidate of the same key wins */
};

/* The work on one mapping, for the duration of one call. */
struct sealing {
	const struct yaml_path *path;
	struct arena *arena;
	struct errs *errors;
	VEC(struct candidate) candidates;
};

/* A quoted "<<" or one with a tag is an ordinary key. */
static bool is_merge_key(const struct yaml_node *key)
{
	return key->plain && !key->tag && strcmp(key->text, "<<") == 0;
}

static const char *path_of_key(const struct sealing *s, const struct yaml_node *key)
{
	struct yaml_path path = { .up = s->path, .key = key->text };

	/* Complaints past ERRS_MAX are only counted; their path would only fill the arena. */
	return s->errors->n == ERRS_MAX ? "" : yaml_path_format(&path, s->arena);
}

/* Adds the pairs of one merged mapping. It is sealed already: children end before their parent. */
static void merge_mapping(struct sealing *s, const struct yaml_node *key,
			  const struct yaml_node *from)
{
	if (from->kind != YAML_MAPPING) {
		errs_add(s->errors, from->at, path_of_key(s, key),
			 "'<<' takes a mapping or a list of mappings, not %s", yaml_describe(from));
		return;
	}
	for (size_t i = 0; i < from->n; i++)
		vec_push(&s->candidates,
			 (struct candidate){ .pair = from->pairs[i], .merged = true });
}

static void merge_value(struct sealing *s, const struct yaml_node *key,
			const struct yaml_node *value)
{
	if (value->kind != YAML_SEQUENCE) {
		merge_mapping(s, key, value);
		return;
	}
	for (size_t i = 0; i < value->n; i++)
		merge_mapping(s, key, value->items[i]);
}

/* Own pairs are collected first and merged ones last, whatever the position of "<<". */
static void collect(struct sealing *s, const struct yaml_node *const *children, size_t n)
{
	const struct yaml_node *merge_key = NULL, *merge = NULL;

	for (size_t i = 0; i < n; i += 2) {
		const struct yaml_node *key = children[i], *value = children[i + 1];

		if (!is_merge_key(key)) {
			vec_push(&s->candidates, (struct candidate){ .pair = { key, value } });
		} else if (!merge_key) {
			merge_key = key;
			merge = value;
		} else {
			errs_add(s->errors, key->at, path_of_key(s, key),
				 "is here twice, first at line %u, column %u; "
				 "merge several with a list: << : [*a, *b]",
				 merge_key->at.line, merge_key->at.column);
		}
	}
	if (merge_key)
		merge_value(s, merge_key, merge);
}

/* By key, then by precedence, which is the order in memory; so qsort() gives one result only. */
static int candidate_cmp(const void *a, const void *b)
{
	const struct candidate *x = *(struct candidate *const *)a;
	const struct candidate *y = *(struct candidate *const *)b;
	int r = strcmp(x->pair.key->text, y->pair.key->text);

	return r ? r : x < y ? -1 : x > y;
}

/* A run is all candidates of one key; run[0] wins. */
static void drop_run(struct sealing *s, struct candidate *const *run, size_t n)
{
	const struct yaml_node *first = run[0]->pair.key;

	for (size_t i = 1; i < n; i++) {
		const struct yaml_node *key = run[i]->pair.key;

		run[i]->dropped = true;
		if (!run[i]->merged)
			errs_add(s->errors, key->at, path_of_key(s, key),
				 "duplicate key, first at line %u, column %u", first->at.line,
				 first->at.column);
	}
}

/* Pointers are sorted, not candidates: the mapping keeps the order of the document. */
static void drop_duplicates(struct sealing *s)
{
	size_t n = s->candidates.n, end;
	struct candidate **sorted = mem_resize(NULL, n, sizeof(struct candidate *));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &s->candidates.items[i];
	qsort(sorted, n, sizeof(struct candidate *), candidate_cmp);
	for (size_t i = 0; i < n; i = end) {
		const char *key = sorted[i]->pair.key->text;

		for (end = i + 1; end < n && strcmp(sorted[end]->pair.key->text, key) == 0;)
			end++;
		drop_run(s, &sorted[i], end - i);
	}
	free(sorted);
}

void yaml__seal_mapping(struct yaml_node *node, const struct yaml_node *const *children, size_t n,
			const struct yaml_path *path, struct arena *arena, struct errs *errors)
{
	struct sealing s = { .path = path, .arena = arena, .errors = errors };
	struct yaml_pair *pairs;

	assert(node->kind == YAML_MAPPING && n % 2 == 0);

	collect(&s, children, n);
	if (s.candidates.n > 1)
		drop_duplicates(&s);
	pairs = arena_array_of(arena, s.candidates.n, struct yaml_pair);
	node->n = 0;
	for (size_t i = 0; i < s.candidates.n; i++)
		if (!s.candidates.items[i].dropped)
			pairs[node->n++] = s.candidates.items[i].pair;
	node->pairs = pairs;
	vec_free(&s.candidates);
}
