/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for messages. An escaped tag may hold bytes that are not UTF-8; err_shown() escapes them.
 */
#include "lib/yaml/yaml.h"

#include <assert.h>

#include "base/str.h"

bool yaml_printable(const char *text)
{
	size_t n = strlen(text);

	return utf8_printable_run(text, n) == n;
}

const char *yaml_shown(const char *text, struct arena *arena)
{
	return err_shown(text, arena);
}

/* The chain starts at the value, the text starts at the root: so the steps are collected first. */
const char *yaml_path_format(const struct yaml_path *path, struct arena *arena)
{
	const struct yaml_path *chain[YAML_MAX_DEPTH + 1];
	struct buf text = { 0 };
	const char *copy;
	size_t n = 0;

	for (; path; path = path->up) {
		assert(n < YAML_MAX_DEPTH + 1);
		chain[n++] = path;
	}
	while (n--) {
		if (!chain[n]->key)
			buf_printf(&text, "[%zu]", chain[n]->index);
		else
			buf_printf(&text, "%s%s", text.n ? "." : "",
				   yaml_shown(chain[n]->key, arena));
	}
	copy = arena_strdup(arena, buf_cstr(&text));
	buf_free(&text);
	return copy;
}

const char *yaml_describe(const struct yaml_node *node)
{
	static const char *const kinds[] = {
		[YAML_SEQUENCE] = "a list",
		[YAML_MAPPING] = "a mapping",
	};
	static const char *const types[] = {
		[YAML_NULL] = "nothing", [YAML_BOOL] = "true or false",
		[YAML_INT] = "a number", [YAML_FLOAT] = "a number with a fraction",
		[YAML_TEXT] = "text",
	};

	if (node->kind != YAML_SCALAR)
		return kinds[node->kind];
	if (node->type == YAML_TEXT && !node->plain)
		return "quoted text";
	return types[node->type];
}
