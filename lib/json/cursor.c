/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: nodes have no pointer to their parent, which keeps them small. A cursor is made on the
 * way down and knows the way back. The path is formatted only for a complaint.
 */
#include "lib/json/cursor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "lib/json/path.h"

struct json_cursor json_cursor_of(const struct json_node *root, struct errs *errors)
{
	return (struct json_cursor){ .node = root, .errors = errors };
}

struct json_cursor json_member(const struct json_cursor *of, const char *key)
{
	return (struct json_cursor){
		.node = json_find(of->node, key), .up = of, .key = key, .errors = of->errors
	};
}

struct json_cursor json_item(const struct json_cursor *of, size_t index)
{
	const struct json_node *n = of->node;
	bool there = n && n->kind == JSON_KIND_ARRAY && index < n->n;

	return (struct json_cursor){ .node = there ? &n->items[index] : NULL,
				     .up = of,
				     .index = index,
				     .errors = of->errors };
}

struct json_cursor json_member_at(const struct json_cursor *of, size_t index)
{
	const struct json_member *m;

	assert(of->node && of->node->kind == JSON_KIND_OBJECT && index < of->node->n);
	m = &of->node->members[index];
	return (struct json_cursor){
		.node = &m->value, .up = of, .key = m->key, .errors = of->errors
	};
}

/* ---- complaints ---- */

void json__add_step(struct buf *path, const char *key, size_t index, struct arena *arena)
{
	if (key)
		buf_printf(path, "%s%s", path->n ? "." : "", err_shown(key, arena));
	else
		buf_printf(path, "[%zu]", index);
}

/* The chain of cursors leads up and the text leads down, so the steps are collected first. */
const char *json_path(const struct json_cursor *c, struct arena *arena)
{
	const struct json_cursor *chain[JSON_DEPTH_MAX + 1];
	_cleanup_(buf_free) struct buf path = { 0 };
	size_t n = 0;

	for (; c->up; c = c->up) {
		assert(n < ARRAY_SIZE(chain));
		chain[n++] = c;
	}
	while (n--)
		json__add_step(&path, chain[n]->key, chain[n]->index, arena);
	return arena_strdup(arena, buf_cstr(&path));
}

/* The place of the value, or of the nearest enclosing value that exists. */
static struct place place_of(const struct json_cursor *c)
{
	while (c && !c->node)
		c = c->up;
	return c ? c->node->at : (struct place){ 0 };
}

int json_complain(const struct json_cursor *c, const char *fmt, ...)
{
	struct arena *arena = c->errors->arena;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(arena, fmt, ap);
	va_end(ap);
	errs_add(c->errors, place_of(c), json_path(c, arena), "%s", text);
	return -EINVAL;
}

int json_require(const struct json_cursor *c)
{
	return c->node && c->node->kind != JSON_KIND_NULL ? 0 : json_complain(c, "is missing");
}

/* ---- values ---- */

/* All getters use this: absent and null give 0, another kind gives a complaint. */
int json_get_kind(const struct json_cursor *c, enum json_kind kind)
{
	if (!c->node || c->node->kind == JSON_KIND_NULL)
		return 0;
	if (c->node->kind == kind)
		return 1;
	return json_complain(c, "%s is wanted, not %s", json_describe(kind),
			     json_describe(c->node->kind));
}

int json_get_string(const struct json_cursor *c, const char **ret)
{
	int r = json_get_kind(c, JSON_KIND_STRING);

	if (r > 0)
		*ret = c->node->text;
	return r;
}

int json_get_bool(const struct json_cursor *c, bool *ret)
{
	int r = json_get_kind(c, JSON_KIND_BOOL);

	if (r > 0)
		*ret = c->node->truth;
	return r;
}

/* One complaint covers a fraction, a number out of range, and one too large for the type. */
int json_get_i64(const struct json_cursor *c, int64_t min, int64_t max, int64_t *ret)
{
	int r = json_get_kind(c, JSON_KIND_NUMBER);
	int64_t v;

	if (r <= 0)
		return r;
	if (json_to_i64(json_text(c->node), &v) < 0 || v < min || v > max)
		return json_complain(c,
				     "a whole number from %" PRId64 " to %" PRId64
				     " is wanted, not %s",
				     min, max, err_shown(c->node->text, c->errors->arena));
	*ret = v;
	return 1;
}

int json_get_u64(const struct json_cursor *c, uint64_t min, uint64_t max, uint64_t *ret)
{
	int r = json_get_kind(c, JSON_KIND_NUMBER);
	uint64_t v;

	if (r <= 0)
		return r;
	if (json_to_u64(json_text(c->node), &v) < 0 || v < min || v > max)
		return json_complain(c,
				     "a whole number from %" PRIu64 " to %" PRIu64
				     " is wanted, not %s",
				     min, max, err_shown(c->node->text, c->errors->arena));
	*ret = v;
	return 1;
}

int json_get_double(const struct json_cursor *c, double *ret)
{
	int r = json_get_kind(c, JSON_KIND_NUMBER);

	if (r > 0 && json_to_double(json_text(c->node), ret) < 0)
		return json_complain(c, "the number %s is too large",
				     err_shown(c->node->text, c->errors->arena));
	return r;
}
