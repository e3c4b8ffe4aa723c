/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text: the configuration in force as text, YAML or JSON.
 *
 * The text has every default and is read back by config_yaml_parse() and l4_config_build() to an
 * equal configuration: JSON, too, since it is a subset of YAML here. A section of a data plane
 * that is not used is left out.
 *
 * Pure. The text is made in pieces, of which each has at most one named entry (a check, a backend,
 * a frontend), so that a long one can be made a part at a time.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "core/l4/config.h"

enum config_format { CONFIG_FORMAT_YAML, CONFIG_FORMAT_JSON };

/* The number of pieces; at least 2. */
size_t config_text_pieces(const struct l4_config *c);
/* Appends one piece. All of them, in their order, are the document. */
void config_text_add(const struct l4_config *c, enum config_format format, size_t piece,
		     struct buf *out);
