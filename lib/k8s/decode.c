/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode: tokens of one object into a scratch struct.
 *
 * A stack of levels runs beside the nesting of the JSON, but only as deep as the tables go: a key
 * that no table names is skipped by the reader as a whole. A level knows the struct that its values
 * go to; an object within an object has the same struct, an element of a list has its own.
 *
 * Nothing here recurses, and nothing but the arena is allocated.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/json/json.h"
#include "lib/k8s/feed.h"
#include "lib/k8s/feed_private.h"

static const char initial_end_key[] = "k8s.io/initial-events-end";

/* ---- levels ---- */

static struct k8s__level *top(struct k8s__decoder *d)
{
	return &d->levels[d->depth - 1];
}

static void push(struct k8s__decoder *d, enum k8s__level_kind kind, const struct k8s__node *node,
		 char *base)
{
	assert(d->depth < K8S__DEPTH_MAX);
	d->levels[d->depth++] = (struct k8s__level){ .kind = kind, .node = node, .base = base };
}

static void preset(char *base, const struct k8s_layout *l)
{
	for (size_t i = 0; i < l->n_fields; i++)
		if (l->fields[i].type == K8S_INT)
			*(int64_t *)(void *)(base + l->fields[i].offset) = l->fields[i].absent;
}

static char *member(struct k8s__decoder *d, const struct k8s__level *l, const struct k8s__node *n)
{
	return (n->aside ? (char *)&d->aside : l->base) + n->field->offset;
}

/* A value that the table does not expect. What it begins is skipped. */
static void odd(struct k8s__decoder *d, struct json_reader *r)
{
	d->object->odd = true;
	json_skip(r);
}

/* ---- lists ---- */

static size_t item_size(const struct k8s__level *l)
{
	return l->kind == K8S__LIST  ? l->node->field->of->size
	       : l->kind == K8S__MAP ? sizeof(struct k8s_pair)
				     : sizeof(char *);
}

/* A zeroed item at the end of the list of this level. */
static char *append(struct k8s__decoder *d, struct k8s__level *l)
{
	size_t size = item_size(l);

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 4;
		char *items = arena_array(d->arena, cap, size);

		if (l->n)
			memcpy(items, l->items, l->n * size);
		l->items = items;
		l->cap = cap;
	}
	return l->items + size * l->n++;
}

static int by_key(const void *a, const void *b)
{
	const struct k8s_pair *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* Sorted, each key once. JSON with a key twice is not wrong; one of the values is taken. */
static void settle_map(struct k8s__level *l)
{
	struct k8s_pair *pairs = (void *)l->items;
	size_t n = 0;

	if (l->n == 0)
		return;
	qsort(pairs, l->n, sizeof(*pairs), by_key);
	for (size_t i = 0; i < l->n; i++)
		if (n == 0 || strcmp(pairs[n - 1].key, pairs[i].key) != 0)
			pairs[n++] = pairs[i];
	l->n = n;
}

static void end_list(struct k8s__decoder *d)
{
	struct k8s__level *l = top(d);

	if (l->kind == K8S__MAP)
		settle_map(l);
	if (!l->node->aside) {
		struct k8s_list *list = (void *)(l->base + l->node->field->offset);

		*list = (struct k8s_list){ l->items, (uint32_t)l->n };
	}
	d->depth--;
}

/* ---- JSON as text ---- */

static void add_scalar(struct buf *out, const struct json_token *t)
{
	switch (t->kind) {
	case JSON_TOKEN_STRING:
	case JSON_TOKEN_KEY:
		json_write_string(out, t->text.p, t->text.n);
		break;
	case JSON_TOKEN_NUMBER:
		buf_add(out, t->text.p, t->text.n);
		break;
	case JSON_TOKEN_TRUE:
		buf_adds(out, "true");
		break;
	case JSON_TOKEN_FALSE:
		buf_adds(out, "false");
		break;
	case JSON_TOKEN_NULL:
		buf_adds(out, "null");
		break;
	case JSON_TOKEN_OBJECT:
	case JSON_TOKEN_OBJECT_END:
	case JSON_TOKEN_ARRAY:
	case JSON_TOKEN_ARRAY_END:
	case JSON_TOKEN_DOCUMENT_END:
		break;
	}
}

static bool is_begin(const struct json_token *t)
{
	return t->kind == JSON_TOKEN_OBJECT || t->kind == JSON_TOKEN_ARRAY;
}

static bool is_end(const struct json_token *t)
{
	return t->kind == JSON_TOKEN_OBJECT_END || t->kind == JSON_TOKEN_ARRAY_END;
}

/* Adds a token, with the comma before it. */
static void add_json(struct k8s__decoder *d, const struct json_token *t)
{
	struct buf *out = &d->json;
	char last = out->n ? out->p[out->n - 1] : '[';

	if (!is_end(t) && last != '[' && last != '{' && last != ':')
		buf_addc(out, ',');
	if (is_begin(t)) {
		buf_addc(out, t->kind == JSON_TOKEN_OBJECT ? '{' : '[');
		d->json_depth++;
	} else if (is_end(t)) {
		buf_addc(out, t->kind == JSON_TOKEN_OBJECT_END ? '}' : ']');
		d->json_depth--;
	} else {
		add_scalar(out, t);
		if (t->kind == JSON_TOKEN_KEY)
			buf_addc(out, ':');
	}
}

static void step_json(struct k8s__decoder *d, const struct json_token *t)
{
	struct k8s__level *l = top(d);

	add_json(d, t);
	if (d->json_depth > 0)
		return;
	*(const char **)(void *)member(d, l, l->pending) =
		arena_strndup(d->arena, d->json.p, d->json.n);
	d->json.n = 0;
	l->pending = NULL;
}

/* ---- values ---- */

static const char *copy(struct k8s__decoder *d, struct str text)
{
	return arena_strndup(d->arena, text.p, text.n);
}

static bool is_bool(const struct json_token *t)
{
	return t->kind == JSON_TOKEN_TRUE || t->kind == JSON_TOKEN_FALSE;
}

static bool put_text(struct k8s__decoder *d, enum k8s_type type, const struct json_token *t,
		     const char **to)
{
	bool any = type == K8S_TEXT;

	if (t->kind == JSON_TOKEN_STRING || (any && t->kind == JSON_TOKEN_NUMBER))
		*to = copy(d, t->text);
	else if (any && is_bool(t))
		*to = t->kind == JSON_TOKEN_TRUE ? "true" : "false";
	else
		return false;
	return true;
}

/* False: a value of this type is not one of that field. */
static bool put_scalar(struct k8s__decoder *d, const struct k8s_field *f,
		       const struct json_token *t, char *to)
{
	switch (f->type) {
	case K8S_STRING:
	case K8S_NAME:
	case K8S_TEXT:
		return put_text(d, f->type, t, (const char **)(void *)to);
	case K8S_INT:
		return t->kind == JSON_TOKEN_NUMBER && json_to_i64(t->text, (void *)to) == 0;
	case K8S_BOOL:
		if (is_bool(t))
			*(uint8_t *)to = t->kind == JSON_TOKEN_TRUE ? K8S_YES : K8S_NO;
		return is_bool(t);
	case K8S_PRESENT:
	case K8S_JSON:
	case K8S_STRINGS:
	case K8S_MAP:
	case K8S_LIST:
		break;
	}
	return false;
}

struct opening {
	enum json_token_kind token;
	enum k8s__level_kind level;
};

/* What begins the value of a field that is a list. */
static const struct opening *opening_of(enum k8s_type type)
{
	static const struct opening openings[] = {
		[K8S_STRINGS] = { JSON_TOKEN_ARRAY, K8S__STRINGS },
		[K8S_MAP] = { JSON_TOKEN_OBJECT, K8S__MAP },
		[K8S_LIST] = { JSON_TOKEN_ARRAY, K8S__LIST },
	};

	return type >= K8S_STRINGS ? &openings[type] : NULL;
}

/* The value of a key that a table names; it is not null. */
static void take_value(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t)
{
	struct k8s__level *l = top(d);
	const struct k8s__node *n = l->pending;
	const struct k8s_field *f = n->field;
	const struct opening *opening = f ? opening_of(f->type) : NULL;

	if (f && f->type == K8S_JSON) {
		step_json(d, t);
		return;
	}
	l->pending = NULL;
	if (f && f->type == K8S_PRESENT)
		*(uint8_t *)member(d, l, n) = K8S_YES;
	if (opening && t->kind == opening->token)
		push(d, opening->level, n, l->base);
	else if (n->children && t->kind == JSON_TOKEN_OBJECT)
		push(d, K8S__OBJECT, n, l->base);
	else if (f && put_scalar(d, f, t, member(d, l, n)))
		return;
	else if (n->aside || (f && f->type == K8S_PRESENT && !n->children))
		json_skip(r);
	else
		odd(d, r);
}

static void step_object(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t)
{
	struct k8s__level *l = top(d);

	if (l->pending) {
		if (t->kind == JSON_TOKEN_NULL && d->json_depth == 0)
			l->pending = NULL;
		else
			take_value(d, r, t);
	} else if (t->kind == JSON_TOKEN_KEY) {
		l->pending = k8s__child(l->node, t->text);
		if (!l->pending)
			json_skip(r);
	} else {
		d->depth--; /* the end of the object */
	}
}

static void step_list(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t)
{
	struct k8s__level *l = top(d);
	char *item;

	if (t->kind == JSON_TOKEN_ARRAY_END) {
		end_list(d);
	} else if (t->kind == JSON_TOKEN_OBJECT) {
		item = append(d, l);
		preset(item, l->node->field->of);
		push(d, K8S__OBJECT, l->node->elements, item);
	} else {
		odd(d, r);
	}
}

static void step_strings(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t)
{
	if (t->kind == JSON_TOKEN_ARRAY_END)
		end_list(d);
	else if (t->kind == JSON_TOKEN_STRING)
		*(const char **)(void *)append(d, top(d)) = copy(d, t->text);
	else
		odd(d, r);
}

static bool is_kept(const struct k8s_field *f, struct str key)
{
	const char *const *keep = f->keep;
	struct str pattern;

	for (; keep && *keep; keep++) {
		pattern = str_of(*keep);
		if (pattern.n && pattern.p[pattern.n - 1] == '*') {
			pattern.n--;
			if (str_starts(key, pattern))
				return true;
		} else if (str_eq(key, pattern)) {
			return true;
		}
	}
	return !keep;
}

static void take_map_key(struct k8s__decoder *d, struct json_reader *r, struct str key)
{
	struct k8s__level *l = top(d);

	if (l->node->marks && str_eq(key, str_of(initial_end_key)))
		d->initial_end = true;
	if (is_kept(l->node->field, key))
		l->key = copy(d, key);
	else
		json_skip(r);
}

static void step_map(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t)
{
	struct k8s__level *l = top(d);

	if (!l->key && t->kind == JSON_TOKEN_KEY) {
		take_map_key(d, r, t->text);
	} else if (!l->key) {
		end_list(d);
	} else {
		if (t->kind == JSON_TOKEN_STRING)
			*(struct k8s_pair *)(void *)append(d, l) =
				(struct k8s_pair){ l->key, copy(d, t->text) };
		else
			odd(d, r);
		l->key = NULL;
	}
}

/* ---- one object ---- */

void k8s__decode_begin(struct k8s__decoder *d)
{
	arena_reset(d->arena);
	d->object = arena_alloc(d->arena, d->kind->layout->size);
	d->object->namespace = d->object->name = d->object->uid = "";
	preset((char *)d->object, d->kind->layout);
	d->aside = (struct k8s__aside){ .kind = "", .reason = "", .message = "", .version = "" };
	d->initial_end = false;
	d->depth = 0;
	d->json.n = 0;
	d->json_depth = 0;
	push(d, K8S__OBJECT, d->kind->root, (char *)d->object);
}

int k8s__decode(struct k8s__decoder *d, struct json_reader *r, const struct json_token *t)
{
	static void (*const steps[])(struct k8s__decoder *, struct json_reader *,
				     const struct json_token *) = {
		[K8S__OBJECT] = step_object,
		[K8S__LIST] = step_list,
		[K8S__STRINGS] = step_strings,
		[K8S__MAP] = step_map,
	};

	assert(d->depth > 0);
	steps[top(d)->kind](d, r, t);
	if (arena_used(d->arena) > K8S_OBJECT_MEMORY)
		return -EMSGSIZE;
	return d->depth == 0;
}
