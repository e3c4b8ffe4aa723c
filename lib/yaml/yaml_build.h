/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_build: functions that the files of this room share; private to lib/yaml. */
#pragma once

#include "lib/yaml/yaml.h"

/*
 * The type of a scalar. -ENOENT if the tag is not a scalar tag of the core schema, -EINVAL if the
 * text is not a valid form of its tag's type; *ret is untouched then.
 */
int yaml__scalar_type(const char *text, bool plain, const char *tag, enum yaml_type *ret);

/*
 * Fills in node's pairs from n child nodes, where keys and values alternate: applies merge keys
 * and reports duplicates. Complaints go to errors; path is the place of the mapping itself.
 */
void yaml__seal_mapping(struct yaml_node *node, const struct yaml_node *const *children, size_t n,
			const struct yaml_path *path, struct arena *arena, struct errs *errors);
