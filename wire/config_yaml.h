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
#include "lib/config/document.h"

/*
 * Fills *ret, which lives in arena. -EINVAL and *ret untouched when anything was added to errors,
 * which come sorted by place, each with the dotted path of its key. A lenient reader is strict
 * about what addresses a frontend (address, protocol, port); lib/config/document.h says the rest.
 */
int config_yaml_parse(const char *bytes, size_t n, enum config_mode mode, struct arena *arena,
		      struct l4_doc *ret, struct errs *errors);
