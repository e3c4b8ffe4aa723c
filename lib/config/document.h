/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: the bytes of a YAML file into a program's document, along its schema.
 *
 * The parse phase only: each value has the type that its key wants, and its place. What the values
 * mean is decided by the program's own rules (base/rule.h). Pure: bytes in, struct out; of all of
 * lib/config only this may be included by wire.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/schema.h"

enum config_mode {
	CONFIG_STRICT,	/* every key is known and every value of its type */
	CONFIG_LENIENT, /* enough to know what is vital: the rest is taken if it can be read */
};

/*
 * Fills *ret, the struct that root describes (all zero before), which lives in arena. -EINVAL when
 * anything was added to errors; *ret then holds what could be read. The errors come sorted by
 * place, each with the dotted path of its key.
 *
 * A section without a value is an empty one. A scalar without a value is an error, since it would
 * look like a setting and be none. Lenient: unknown keys are not errors, nor are values of the
 * wrong type, except those of vital fields in vital sections.
 */
int config_document_parse(struct str bytes, enum config_mode mode,
			  const struct schema_section *root, struct arena *arena, void *ret,
			  struct errs *errors);
