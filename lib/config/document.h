/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: parses the bytes of a YAML or JSON file into a struct that a schema describes.
 *
 * This is the parse phase only: it checks that each value has the type of its key, and records its
 * place in the file. The meaning of the values is checked by the program's rules (base/rule.h).
 * Pure: bytes in, struct out. It is the only part of lib/config that wire may include.
 *
 * A document may consist of several files: the key `include` at its top names others, which have
 * the same keys. Sections are joined; lists and mappings of names get the entries of all files, in
 * the order of the files; a value or a name that two files give is an error with both places. How
 * the files are found and read is up to the caller (struct config_sources).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/schema.h"

enum config_mode {
	CONFIG_STRICT,	/* unknown keys and values of the wrong type are errors */
	CONFIG_LENIENT, /* only errors in vital fields count; the rest is read if possible */
};

/* The codes of the complaints (struct err). What is not YAML or not JSON at all has none. */
#define CONFIG_CODE_KEY "UnknownKey"
#define CONFIG_CODE_VALUE "InvalidValue"

#define CONFIG_INCLUDE "include" /* the key: a word or a list of words */

/* The files of a document, by number. The document of a single text has none. */
struct config_sources {
	bool json; /* else YAML */
	/* The bytes of a file, which stay valid while the document is read. */
	struct str (*bytes)(void *user, unsigned file);
	/*
	 * Finds and reads the files that a word of `include` names, with numbers from *ret_first
	 * on, and returns how many they are. Complaints about them are added by the callee.
	 */
	unsigned (*include)(void *user, const char *word, struct place at, unsigned *ret_first);
	void *user;
};

/*
 * Reads YAML. Fills *ret, the struct that root describes, which the caller has zeroed. All memory
 * that it points to is in arena. Returns -EINVAL if anything was added to errors; *ret then holds
 * what could be read. The errors are sorted by place; each has the dotted path of its key.
 *
 * A section without a value is an empty section. A scalar without a value is an error, because it
 * looks like a setting but has no effect. In lenient mode unknown keys are not errors, and values
 * of the wrong type are errors only in vital fields of vital sections.
 */
int config_document_parse(struct str bytes, enum config_mode mode,
			  const struct schema_section *root, struct arena *arena, void *ret,
			  struct errs *errors);
/*
 * The same for JSON, with the limits of lib/json/reader.h. A key whose value is null counts as not
 * written. Whole numbers are written without fraction and exponent.
 */
int config_document_parse_json(struct str bytes, enum config_mode mode,
			       const struct schema_section *root, struct arena *arena, void *ret,
			       struct errs *errors);
/*
 * The same for a document that begins with file 0 of sources. The names of the files are those of
 * errors (struct errs).
 */
int config_document_load(const struct config_sources *sources, enum config_mode mode,
			 const struct schema_section *root, struct arena *arena, void *ret,
			 struct errs *errors);
