/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_build: what the parts of the parser share; of no concern outside this room.
 */
#pragma once

#include "lib/yaml/yaml.h"

/*
 * The type of a scalar. -ENOENT when the tag is not one of the core schema's for scalars, -EINVAL
 * when the text does not read as what its tag says.
 */
int yaml__scalar_type(const char *text, bool plain, const char *tag, enum yaml_type *ret);

/*
 * Fills in node's pairs from n nodes, keys and values by turns: applies merge keys and refuses
 * duplicates. Complaints go to errors; path is where the mapping is.
 */
void yaml__seal_mapping(struct yaml_node *node, const struct yaml_node *const *children, size_t n,
			const struct yaml_path *path, struct arena *arena, struct errs *errors);
