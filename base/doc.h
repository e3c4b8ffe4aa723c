/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc: single values of a document as they were written, each with its place.
 *
 * A program's document is a struct of these (core/l4/doc.h). A value that was not written has
 * set == false, so "not given" and "0" differ. All of them begin with the members of struct
 * doc_any. Texts and arrays live in the arena of the document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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

struct doc_words {
	bool set;
	struct place at;
	const struct doc_text *items;
	size_t n;
};
