/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_yaml: the bytes of a configuration file into the values that were written there.
 *
 * The parse phase only: each value has the type its key wants, and its place. What the values mean
 * is core/l4/validate.h's.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/l4/doc.h"

enum config_mode {
	CONFIG_STRICT,	/* every key is known and every value of its type */
	CONFIG_LENIENT, /* enough to know the frontends: the rest is taken if it can be read */
};

/*
 * Fills *ret, which lives in arena. -EINVAL and *ret untouched when anything was added to errors,
 * which come sorted by place, each with the dotted path of its key.
 *
 * A section without a value is an empty one. A scalar without a value is an error, since it would
 * look like a setting and be none. Lenient: unknown keys are not errors, nor are values of the
 * wrong type, but for what addresses a frontend (address, protocol, port).
 */
int config_yaml_parse(const char *bytes, size_t n, enum config_mode mode, struct arena *arena,
		      struct l4_doc *ret, struct errs *errors);
