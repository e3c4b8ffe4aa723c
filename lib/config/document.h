/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: parses the bytes of a YAML or JSON file into a struct that a schema describes.
 *
 * This is the parse phase only: it checks that each value has the type of its key, and records its
 * place in the file. The meaning of the values is checked by the program's rules (base/rule.h).
 * Pure: bytes in, struct out. It is the only part of lib/config that wire may include.
 */
#pragma once

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
