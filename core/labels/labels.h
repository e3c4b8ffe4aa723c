/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: what objects of Kubernetes are marked with, and selectors that choose objects by them.
 *
 * A selector is a list of requirements, all of which must hold; without any it selects everything.
 * The requirements of matchLabels are those with LABELS_IN and one value. A missing selector (nil
 * in Kubernetes) is not an empty one: what it means is the caller's to know.
 *
 * Pure. All texts are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct label {
	const char *key, *value;
};

/* Sorted by key. */
struct labels {
	const struct label *items;
	size_t n;
};

enum labels_operator {
	LABELS_IN,
	LABELS_NOT_IN, /* also if the key is absent */
	LABELS_EXISTS,
	LABELS_DOES_NOT_EXIST,
	LABELS_UNKNOWN, /* labels_selector_check() refuses it; nothing matches */
};

struct labels_requirement {
	const char *key;
	enum labels_operator op;
	const char *word; /* the operator as written, for LABELS_UNKNOWN */
	const char *const *values;
	size_t n_values;
};

struct labels_selector {
	const struct labels_requirement *items;
	size_t n;
};

/* Alternatives: one of them must match. */
struct labels_selectors {
	const struct labels_selector *items;
	size_t n;
};

/* The value of a key; NULL if there is none. */
const char *labels_get(const struct labels *l, const char *key);
bool labels_match(const struct labels_selector *s, const struct labels *l);
/* Whether any selector of the list matches; false if the list is empty. */
bool labels_match_any(const struct labels_selectors *list, const struct labels *l);

/* "In", "NotIn", "Exists", "DoesNotExist"; LABELS_UNKNOWN for any other word. */
enum labels_operator labels_operator_of(const char *word);

/*
 * NULL if the API server would accept the selector, else what is wrong with it, in the words of
 * Kubernetes. The text is in the arena.
 */
const char *labels_selector_check(const struct labels_selector *s, struct arena *arena);

/*
 * Appends the text that kubectl reads and writes: "a=b,c in (d,e),f,!g". Requirements are sorted by
 * key, values are sorted, so that two selectors with the same text mean the same.
 */
void labels_selector_format(const struct labels_selector *s, struct buf *out);
/* Appends "a=b,c=d". */
void labels_format(const struct labels *l, struct buf *out);
