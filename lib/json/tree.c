/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: builds nodes from the reader's tokens.
 *
 * All values whose container is still open are on one stack, outermost first; `levels` has the
 * index of each open container in it. The children of a container are the values above it; at its
 * end they are copied into the arena as one array and removed from the stack. An object is then
 * checked for duplicate keys: a small one by comparing all pairs, a larger one by sorting, so
 * that the time is bounded for any keys.
 *
 * Texts are packed into chunks of the arena without alignment, because most are shorter than the
 * 16 bytes that an allocation of their own would take.
 */
#include "lib/json/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/json/json.h"
#include "lib/json/path.h"
#include "lib/json/scan.h"

#define FEW 12 /* up to so many members all pairs are compared */
#define FIRST_CHUNK 128
#define MOST_CHUNK 8192

struct json_builder {
	struct json_reader *reader;
	struct errs *errors;
	struct arena *arena;	      /* of the current tree; NULL between two trees */
	VEC(struct json_member) open; /* the stack; elements of arrays have no key */
	VEC(size_t) levels;	      /* indexes of the open containers in it */
	bool keyed;		      /* the top of the stack has a key and no value yet */
	bool duplicates;	      /* a key occurred twice in this tree */
	bool built;  /* the value is complete; the end of its document may not be read yet */
	char *chunk; /* where the next text goes */
	size_t chunk_left, chunk_size;
};

/* ---- texts ---- */

/*
 * Allocates n bytes for a text. Chunks grow from a small one, so that a tree of three words does
 * not hold kilobytes; a long text gets its own memory and leaves the chunk to short ones.
 */
static char *text_room(struct json_builder *b, size_t n)
{
	char *room;

	if (n > b->chunk_left && n > MOST_CHUNK / 4)
		return arena_alloc(b->arena, n);
	if (n > b->chunk_left) {
		b->chunk_size = b->chunk_size < MOST_CHUNK ? b->chunk_size * 2 : MOST_CHUNK;
		b->chunk_left = n > b->chunk_size ? n : b->chunk_size;
		b->chunk = arena_alloc(b->arena, b->chunk_left);
	}
	room = b->chunk;
	b->chunk += n;
	b->chunk_left -= n;
	return room;
}

/* The copy is NUL-terminated, so that it can be used as a C string. */
static const char *keep_text(struct json_builder *b, struct str text)
{
	char *copy = text_room(b, text.n + 1);

	if (text.n)
		memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	return copy;
}

/* ---- duplicate keys ---- */

/* The path from the root to the innermost open container and to key in it. */
static const char *path_of_key(const struct json_builder *b, const char *key)
{
	_cleanup_(buf_free) struct buf path = { 0 };
	struct arena *arena = b->errors->arena;

	for (size_t i = 1; i < b->levels.n; i++) {
		size_t up = b->levels.items[i - 1], here = b->levels.items[i];

		json__add_step(&path, b->open.items[here].key, here - up - 1, arena);
	}
	json__add_step(&path, key, 0, arena);
	return arena_strdup(arena, buf_cstr(&path));
}

/* The complaint is about the later of the two; the order in memory is the order in the text. */
static void complain_duplicate(struct json_builder *b, const struct json_member *one,
			       const struct json_member *other)
{
	const struct json_member *first = one < other ? one : other;
	const struct json_member *again = one < other ? other : one;

	b->duplicates = true;
	/* complaints past ERRS_MAX are only counted, so their path is not formatted */
	errs_add(b->errors, again->at, b->errors->n == ERRS_MAX ? "" : path_of_key(b, again->key),
		 "duplicate key, first at line %u, column %u", first->at.line, first->at.column);
}

/* Compares each key with those before it, until one is equal. */
static void check_few(struct json_builder *b, const struct json_member *members, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (*members[i].key == *members[j].key &&
			    strcmp(members[i].key, members[j].key) == 0) {
				complain_duplicate(b, &members[j], &members[i]);
				break;
			}
}

/* By key, then in the order of the text, which is the order in memory. */
static int member_cmp(const void *a, const void *b)
{
	const struct json_member *x = *(const struct json_member *const *)a;
	const struct json_member *y = *(const struct json_member *const *)b;
	int r = strcmp(x->key, y->key);

	return r ? r : x < y ? -1 : x > y;
}

/* After sorting, equal keys are adjacent, the first one of the text first. */
static void check_many(struct json_builder *b, const struct json_member *members, size_t n)
{
	const struct json_member **sorted = mem_resize(NULL, n, sizeof(struct json_member *));
	size_t first = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &members[i];
	qsort(sorted, n, sizeof(struct json_member *), member_cmp);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(sorted[first]->key, sorted[i]->key) == 0)
			complain_duplicate(b, sorted[first], sorted[i]);
		else
			first = i;
	}
	free(sorted);
}

/* ---- nodes ---- */

/* The node for the next value: that of the pending key, or a new element. */
static struct json_node *add_node(struct json_builder *b, enum json_kind kind, struct place at)
{
	struct json_node *node;

	if (!b->keyed)
		vec_push(&b->open, (struct json_member){ 0 });
	b->keyed = false;
	node = &b->open.items[b->open.n - 1].value;
	node->kind = kind;
	node->at = at;
	return node;
}

/* The member is pushed before its value is known; add_node() fills the value in. */
static void add_key(struct json_builder *b, const struct json_token *t)
{
	vec_push(&b->open, (struct json_member){ .key = keep_text(b, t->text), .at = t->at });
	b->keyed = true;
}

static void add_text(struct json_builder *b, enum json_kind kind, const struct json_token *t)
{
	struct json_node *node = add_node(b, kind, t->at);

	node->text = keep_text(b, t->text);
	node->n = (uint32_t)t->text.n;
}

/* The container stays on the stack below its children. */
static void open_node(struct json_builder *b, enum json_kind kind, const struct json_token *t)
{
	add_node(b, kind, t->at);
	vec_push(&b->levels, b->open.n - 1);
}

/* Elements have no key, so only their nodes are copied. */
static void seal_array(struct json_builder *b, struct json_node *node,
		       const struct json_member *children)
{
	struct json_node *items = arena_array_of(b->arena, node->n, struct json_node);

	for (size_t i = 0; i < node->n; i++)
		items[i] = children[i].value;
	node->items = items;
}

/* All children are complete: they move from the stack into the container. */
static void close_node(struct json_builder *b)
{
	size_t level = b->levels.items[b->levels.n - 1];
	const struct json_member *children = &b->open.items[level + 1];
	struct json_node *node = &b->open.items[level].value;

	node->n = (uint32_t)(b->open.n - level - 1);
	if (node->kind == JSON_KIND_ARRAY) {
		seal_array(b, node, children);
	} else {
		(node->n <= FEW ? check_few : check_many)(b, children, node->n);
		node->members =
			arena_copy(b->arena, children, node->n * sizeof(struct json_member));
	}
	b->open.n = level + 1;
	b->levels.n--;
}

/* Adds one token of the value, which is complete when no container is open afterwards. */
static void add_token(struct json_builder *b, const struct json_token *t)
{
	switch (t->kind) {
	case JSON_TOKEN_OBJECT:
		open_node(b, JSON_KIND_OBJECT, t);
		break;
	case JSON_TOKEN_ARRAY:
		open_node(b, JSON_KIND_ARRAY, t);
		break;
	case JSON_TOKEN_OBJECT_END:
	case JSON_TOKEN_ARRAY_END:
		assert(b->levels.n);
		close_node(b);
		break;
	case JSON_TOKEN_KEY:
		assert(b->levels.n);
		add_key(b, t);
		break;
	case JSON_TOKEN_STRING:
		add_text(b, JSON_KIND_STRING, t);
		break;
	case JSON_TOKEN_NUMBER:
		add_text(b, JSON_KIND_NUMBER, t);
		break;
	case JSON_TOKEN_TRUE:
	case JSON_TOKEN_FALSE:
		add_node(b, JSON_KIND_BOOL, t->at)->truth = t->kind == JSON_TOKEN_TRUE;
		break;
	case JSON_TOKEN_NULL:
		add_node(b, JSON_KIND_NULL, t->at);
		break;
	case JSON_TOKEN_DOCUMENT_END:
		assert(b->built);
		break;
	}
	b->built = !b->levels.n;
}

/* ---- the door ---- */

struct json_builder *json_builder_new(struct json_reader *r, struct errs *errors)
{
	struct json_builder *b = mem_zalloc(sizeof(*b));

	assert(json__refuses_nul(r) && errors->arena);
	b->reader = r;
	b->errors = errors;
	return b;
}

void json_builder_free(struct json_builder *b)
{
	if (!b)
		return;
	vec_free(&b->open);
	vec_free(&b->levels);
	free(b);
}

void json_builder_freep(struct json_builder **b)
{
	json_builder_free(*b);
}

/*
 * Starts a new value. The chunk of the last tree is not reused, because its arena may be gone;
 * the vectors are, because the builder owns them.
 */
static void start(struct json_builder *b, const struct json_token *first, struct arena *arena)
{
	b->arena = arena;
	b->open.n = b->levels.n = 0;
	b->keyed = b->duplicates = b->built = false;
	b->chunk_left = 0;
	b->chunk_size = FIRST_CHUNK / 2;
	if (first)
		add_token(b, first);
}

/* Passes on the reader's error and gives up the value. */
static int complain(struct json_builder *b)
{
	const struct err *e = json_error(b->reader);

	errs_add(b->errors, e->at, e->key, "%s", e->text);
	b->arena = NULL;
	return -EINVAL;
}

/*
 * b->open is empty before the first token; from then on a repeated call continues the same value.
 */
int json_build(struct json_builder *b, const struct json_token *first, struct arena *arena,
	       const struct json_node **ret)
{
	struct json_token t;
	int r = 1;

	if (!b->arena || !b->open.n)
		start(b, first, arena);
	assert(b->arena == arena);
	while (r > 0 && !b->built) {
		r = json_next(b->reader, &t);
		if (r > 0)
			add_token(b, &t);
	}
	/* the end of a document needs no further bytes */
	if (r > 0 && json_depth(b->reader) == 0)
		r = json_next(b->reader, &t);
	if (r < 0)
		return complain(b);
	if (r == 0)
		return 0;
	b->arena = NULL;
	if (b->duplicates)
		return -EINVAL;
	*ret = arena_copy(arena, &b->open.items[0].value, sizeof(struct json_node));
	return 1;
}

int json_parse(struct str bytes, const struct json_options *options, struct arena *arena,
	       const struct json_node **ret, struct errs *errors)
{
	struct json_options o = options ? *options : (struct json_options){ 0 };
	_cleanup_(json_reader_freep) struct json_reader *r = NULL;
	_cleanup_(json_builder_freep) struct json_builder *b = NULL;
	const struct json_node *root = NULL;
	struct json_token t;

	/*
	 * text after the document is checked even after duplicate keys, so that both are reported
	 */
	o.stream = false;
	o.no_nul = true;
	r = json_reader_new(&o);
	b = json_builder_new(r, errors);
	json_feed(r, bytes.p, bytes.n);
	json_end(r);
	if (json_build(b, NULL, arena, &root) < 0 && json_error(r))
		return -EINVAL;
	if (json_next(r, &t) < 0)
		return complain(b);
	if (!root)
		return -EINVAL;
	*ret = root;
	return 0;
}

const struct json_node *json_find(const struct json_node *node, const char *key)
{
	if (!node || node->kind != JSON_KIND_OBJECT)
		return NULL;
	for (size_t i = 0; i < node->n; i++)
		if (strcmp(node->members[i].key, key) == 0)
			return &node->members[i].value;
	return NULL;
}

struct str json_text(const struct json_node *node)
{
	assert(node->kind == JSON_KIND_STRING || node->kind == JSON_KIND_NUMBER);
	return (struct str){ node->text, node->n };
}

const char *json_describe(enum json_kind kind)
{
	static const char *const words[] = {
		[JSON_KIND_NULL] = "null",	 [JSON_KIND_BOOL] = "true or false",
		[JSON_KIND_NUMBER] = "a number", [JSON_KIND_STRING] = "a string",
		[JSON_KIND_ARRAY] = "an array",	 [JSON_KIND_OBJECT] = "an object",
	};

	return words[kind];
}

static void write_members(struct buf *out, const struct json_node *node)
{
	for (size_t i = 0; i < node->n; i++) {
		if (i)
			buf_addc(out, ',');
		json_write_string(out, node->members[i].key, strlen(node->members[i].key));
		buf_addc(out, ':');
		json_write_tree(out, &node->members[i].value);
	}
}

/* The depth is that of the tree, which the reader has bounded. */
void json_write_tree(struct buf *out, const struct json_node *node)
{
	switch (node->kind) {
	case JSON_KIND_NULL:
		buf_adds(out, "null");
		return;
	case JSON_KIND_BOOL:
		buf_adds(out, node->truth ? "true" : "false");
		return;
	case JSON_KIND_NUMBER:
		buf_add(out, node->text, node->n);
		return;
	case JSON_KIND_STRING:
		json_write_string(out, node->text, node->n);
		return;
	case JSON_KIND_ARRAY:
		buf_addc(out, '[');
		for (size_t i = 0; i < node->n; i++) {
			if (i)
				buf_addc(out, ',');
			json_write_tree(out, &node->items[i]);
		}
		buf_addc(out, ']');
		return;
	case JSON_KIND_OBJECT:
		buf_addc(out, '{');
		write_members(out, node);
		buf_addc(out, '}');
		return;
	}
}
