/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_schema: which keys a configuration has, of which shape, and where each value goes.
 *
 * The grammar is data: one table of fields per mapping. Used by config_yaml.c alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum config_shape {
	CONFIG_TEXT,	 /* struct doc_text */
	CONFIG_WORD,	 /* struct doc_text: a name or free words, which may look like a number */
	CONFIG_INT,	 /* struct doc_int */
	CONFIG_BOOL,	 /* struct doc_bool */
	CONFIG_DURATION, /* struct doc_duration */
	CONFIG_WORDS,	 /* a list of words: an array of struct doc_text */
	CONFIG_SECTION,	 /* a mapping with keys of its own */
	CONFIG_NAMED,	 /* a mapping from names to sections: an array of structs */
	CONFIG_LIST,	 /* a list of sections: an array of structs */
};

struct config_section;

struct config_field {
	const char *key;
	enum config_shape shape;
	size_t offset; /* of the value, or of the pointer to the array, in the section's struct */
	size_t count;  /* of the array's length, likewise */
	const struct config_section *section;
	bool vital; /* a lenient reader needs it, too */
};

struct config_section {
	const struct config_field *fields;
	size_t n_fields;
	size_t size; /* of the struct that it fills */
	size_t at;   /* offset of its struct place, where it has one */
	size_t name; /* CONFIG_NAMED: offset of its name */
	size_t set;  /* offset of its presence bit */
	bool has_set, has_at;
};

/* The mapping that is the whole document; it fills a struct l4_doc. */
extern const struct config_section config_schema_root;
