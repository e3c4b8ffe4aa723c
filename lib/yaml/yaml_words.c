/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for messages. What a document says may be repeated in a complaint, but a complaint is one
 * readable line: long texts are cut, and control characters are shown as '?', as is what an escaped
 * tag holds that is no UTF-8.
 */
#include "lib/yaml/yaml.h"

#include <assert.h>

#include "base/str.h"

#define SHOWN_MAX 64 /* bytes of a text in a message */

/* C0, DEL, and C1 (which UTF-8 writes in two bytes). */
static bool is_control(const char *p)
{
	unsigned char c = (unsigned char)p[0];

	return c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)p[1] < 0xa0);
}

bool yaml_printable(const char *text)
{
	for (; *text; text++)
		if (is_control(text))
			return false;
	return true;
}

const char *yaml_shown(const char *text, struct arena *arena)
{
	size_t n = strlen(text), used = 0, step;
	char *shown = arena_alloc(arena, SHOWN_MAX + sizeof("..."));

	for (; n; text += step, n -= step) {
		bool plain = utf8_char(text, n) && !is_control(text);

		step = utf8_char(text, n) ?: 1;
		if (used + step > SHOWN_MAX) {
			memcpy(shown + used, "...", sizeof("..."));
			break;
		}
		memcpy(shown + used, plain ? text : "?", plain ? step : 1);
		used += plain ? step : 1;
	}
	return shown;
}

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
