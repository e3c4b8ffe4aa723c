/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: single values of a document as they were written, each with its place.
 *
 * A program's document is a struct of these (core/l4/doc.h). A value that was not written has set
 * == false, so that "not given" and "0" differ. Every struct here begins with the members of
 * struct doc_any, so that schema_written() can look at any of them. Texts and arrays are
 * allocated from the arena of the document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The common beginning: whether the value was written, and where. */
struct doc_any {
	bool set;
	struct place at;
};

struct doc_text {
	bool set;
	struct place at;
	const char *v;
};

struct doc_int {
	bool set;
	struct place at;
	int64_t v;
};

struct doc_bool {
	bool set;
	struct place at;
	bool v;
};

struct doc_duration {
	bool set;
	struct place at;
	int64_t v; /* ns */
};

/* One entry of a mapping whose keys are free. */
struct doc_pair {
	struct doc_text name, value;
};

struct doc_pairs {
	bool set;
	struct place at;
	const struct doc_pair *items;
	size_t n;
};

/* A list of words; each item has its own place for complaints. */
struct doc_words {
	bool set;
	struct place at;
	const struct doc_text *items;
	size_t n;
};
