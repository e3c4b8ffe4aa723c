/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: complaints about input, each with its place.
 *
 * A document may consist of several files (lib/config/files.h). A place then has the number of its
 * file, and the list of complaints has their names.
 *
 * Functions report failure by a negative errno. What is wrong with a document, and where, is
 * added to a list like this one, so that the user sees all mistakes at once. The list is bounded:
 * after ERRS_MAX entries, further ones are only counted.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/* The position of a value in the file that was read. */
struct place {
	unsigned line, column; /* from 1; 0 = not known */
	unsigned file;	       /* 0: the one that was named; others are included by it */
};

struct err {
	struct place at;
	const char *key;  /* dotted path of the value, "" when there is none */
	const char *text; /* one sentence, no full stop, no newline */
	const char *code; /* a name for programs, "InvalidHost"; static; NULL: none */
};

#define ERRS_MAX 100

struct errs {
	struct arena *arena; /* owns the texts; set by the caller */
	struct err *items;
	size_t n;
	size_t dropped; /* complaints after the first ERRS_MAX */
	/* the names of files by their number, borrowed; those that are not here have none */
	const char *const *files;
	size_t n_files;
};

/* Adds a complaint. key and the formatted text are copied into the arena of the list. */
void errs_add(struct errs *e, struct place at, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for a finished text and with a code, which may be NULL and is not copied. */
void errs_add_coded(struct errs *e, const char *code, struct place at, const char *key,
		    const char *text);
/* The name of the file of a place; `file` is that of the first one. */
const char *errs_file(const struct errs *e, struct place at, const char *file);
/*
 * Sorts by file, line, then column; complaints about one place keep the order in which they were
 * added.
 */
void errs_sort(struct errs *e);
/*
 * Appends "file:line:column: key: text", one line each, and a last line that counts the dropped
 * ones. Parts of the place or the key that are not known are left out. file is the name of the
 * first file.
 */
void errs_print(const struct errs *e, const char *file, struct buf *out);
/*
 * A copy of text from outside that is fit for a complaint, which is one readable line: a long
 * text is cut, and what is not printable is escaped (buf_add_shown()).
 */
const char *err_shown(const char *text, struct arena *arena);
