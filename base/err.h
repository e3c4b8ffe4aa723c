/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: complaints about somebody's input, each with its place.
 *
 * Functions report failure by a negative errno; what is wrong with a document, and where, goes into
 * a list like this, so that all mistakes are told at once. The list is bounded: what comes after
 * ERRS_MAX is only counted.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct place {
	unsigned line, column; /* from 1; 0 = not known */
};

struct err {
	struct place at;
	const char *key;  /* dotted path of the value, "" when there is none */
	const char *text; /* one sentence, no full stop, no newline */
};

#define ERRS_MAX 100

struct errs {
	struct arena *arena; /* owns the texts; set by the caller */
	struct err *items;
	size_t n;
	size_t dropped;
};

void errs_add(struct errs *e, struct place at, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* By line, then column; those of one place stay in the order they were found. */
void errs_sort(struct errs *e);
/*
 * "file:line:column: key: text", one line each, and a last one for what was dropped. What is not
 * known of the place or the key is left out.
 */
void errs_print(const struct errs *e, const char *file, struct buf *out);
/*
 * A copy of somebody's text that is fit for a complaint, which is one readable line: a long text is
 * cut, and control characters and bytes that are not UTF-8 are shown as '?'.
 */
const char *err_shown(const char *text, struct arena *arena);
