/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_yaml: parses the bytes of a configuration file into a document.
 *
 * This is the parse phase only: each value has the type that its key wants, and its place. The
 * rules about values are in core/l4/validate.h.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/l4/doc.h"
#include "lib/config/document.h"

/*
 * Fills *ret, whose contents live in arena. Returns -EINVAL, with *ret untouched, if anything was
 * added to errors. They are sorted by place, each with the dotted path of its key. A lenient
 * reader is strict only about the keys that address a frontend (address, protocol, port); see
 * lib/config/document.h.
 */
int config_yaml_parse(const char *bytes, size_t n, enum config_mode mode, struct arena *arena,
		      struct l4_doc *ret, struct errs *errors);
/* The same for a file and those that it includes. */
int config_yaml_load(const struct config_sources *sources, enum config_mode mode,
		     struct arena *arena, struct l4_doc *ret, struct errs *errors);
