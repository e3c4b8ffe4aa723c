/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml: builds a tree from libyaml's events.
 *
 * A struct builder lives for one yaml_parse(). It keeps a stack of the open collections, each
 * with the children read so far. At its end a collection is sealed into the arena and becomes a
 * child of the one below it. An alias adds its anchor's node as a child.
 *
 * Bounds, against input that is small on disk and large in memory: each node knows how many nodes
 * it stands for when all aliases below it are followed, and its height. An alias is charged that
 * whole number, so a "billion laughs" document ends at YAML_MAX_NODES before anything is copied.
 * An alias inside its own anchor would be a cycle and is refused.
 *
 * The first syntax error ends the parse. Duplicate keys do not, so that all of them are reported.
 */
#include "lib/yaml/yaml.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "lib/yaml/yaml_build.h"

/* A node and what the bounds need to know about it. */
struct built {
	struct yaml_node node;
	size_t nodes;	 /* with aliases followed; 0 while the collection is open */
	unsigned height; /* levels of collections; 0 for a scalar */
};

/* One open collection. */
struct frame {
	struct built *collection;
	struct yaml_path path; /* of the child that is being read */
	VEC(const struct yaml_node *) children;
	size_t nodes;	 /* sum over the children */
	unsigned height; /* maximum over the children */
};

struct builder {
	yaml_parser_t parser;
	struct str input; /* without byte order mark; for places of reader errors */
	struct arena *arena;
	struct errs *errors;
	struct map anchors; /* name -> struct built */
	struct frame frames[YAML_MAX_DEPTH];
	size_t depth; /* frames in use */
	size_t nodes; /* charged so far, against YAML_MAX_NODES */
	const struct yaml_node *root;
};

/* libyaml counts lines and columns from 0, messages from 1. */
static struct place place_of(yaml_mark_t mark)
{
	return (struct place){ .line = (unsigned)mark.line + 1,
			       .column = (unsigned)mark.column + 1 };
}

/* For invalid UTF-8 libyaml reports only a byte offset. Columns count characters, as marks do. */
static struct place place_of_offset(struct str input, size_t offset)
{
	struct place at = { .line = 1, .column = 1 };

	for (size_t i = 0; i < offset && i < input.n; i++) {
		bool pair = input.p[i] == '\r' && i + 1 < input.n && input.p[i + 1] == '\n';

		if (input.p[i] == '\n' || (input.p[i] == '\r' && !pair))
			at = (struct place){ .line = at.line + 1, .column = 1 };
		else
			at.column += ((unsigned char)input.p[i] & 0xc0) != 0x80;
	}
	return at;
}

/* libyaml's own words: the problem, and where it has one, the construct that it was in. */
static int complain_syntax(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;

	if (p->error == YAML_MEMORY_ERROR)
		abort();
	if (p->error == YAML_READER_ERROR)
		errs_add(b->errors, place_of_offset(b->input, p->problem_offset), "",
			 "not readable as text: %s", p->problem);
	else if (p->context)
		errs_add(b->errors, place_of(p->problem_mark), "", "%s %s that began at line %u",
			 p->problem, p->context, place_of(p->context_mark).line);
	else
		errs_add(b->errors, place_of(p->problem_mark), "", "%s", p->problem);
	return -EINVAL;
}

/*
 * libyaml compares each %TAG directive with all previous ones before it returns an event, which
 * is quadratic. So they are counted here first. The word is counted anywhere in the text, also
 * where it is no directive; real configurations do not contain it.
 */
static int check_directives(struct builder *b)
{
	static const char word[] = "%TAG";
	const char *p = b->input.p, *end = p + b->input.n;

	for (int n = 0; (p = memmem(p, (size_t)(end - p), word, sizeof(word) - 1)); p++)
		if (++n > YAML_MAX_TAG_DIRECTIVES) {
			errs_add(b->errors, place_of_offset(b->input, (size_t)(p - b->input.p)), "",
				 "more than %d %%TAG directives", YAML_MAX_TAG_DIRECTIVES);
			return -EINVAL;
		}
	return 0;
}

static bool key_is_next(const struct frame *f)
{
	return f->collection->node.kind == YAML_MAPPING && f->children.n % 2 == 0;
}

/* The path of the next value; a complaint about a key carries the path of its mapping. */
static const struct yaml_path *path_here(const struct builder *b)
{
	const struct frame *f = b->depth ? &b->frames[b->depth - 1] : NULL;

	if (!f)
		return NULL;
	return key_is_next(f) ? f->path.up : &f->path;
}

/* Returns -EINVAL, which ends the parse. */
__attribute__((format(printf, 3, 4))) static int complain(struct builder *b, struct place at,
							  const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(b->arena, fmt, ap);
	va_end(ap);
	errs_add(b->errors, at, yaml_path_format(path_here(b), b->arena), "%s", text);
	return -EINVAL;
}

/* The subtraction cannot wrap: b->nodes never exceeds YAML_MAX_NODES. */
static int charge(struct builder *b, size_t nodes, struct place at)
{
	if (nodes > YAML_MAX_NODES - b->nodes)
		return complain(b, at, "too large: more than %zu values once aliases are followed",
				YAML_MAX_NODES);
	b->nodes += nodes;
	return 0;
}

static int add_key(struct builder *b, struct frame *f, const struct yaml_node *key)
{
	if (key->kind != YAML_SCALAR)
		return complain(b, key->at, "a key must be a single word, not %s",
				yaml_describe(key));
	if (key->n > YAML_MAX_KEY)
		return complain(b, key->at, "a key of %zu bytes is too long; at most %d are taken",
				key->n, YAML_MAX_KEY);
	f->path.key = key->text;
	return 0;
}

/* Adds a finished node, new or by alias, to the innermost open collection. */
static int add_child(struct builder *b, const struct built *child)
{
	struct frame *f;

	if (!b->depth) {
		b->root = &child->node;
		return 0;
	}
	f = &b->frames[b->depth - 1];
	if (key_is_next(f) && add_key(b, f, &child->node) < 0)
		return -EINVAL;
	vec_push(&f->children, &child->node);
	if (f->collection->node.kind == YAML_SEQUENCE)
		f->path.index = f->children.n;
	f->nodes += child->nodes;
	if (child->height > f->height)
		f->height = child->height;
	return 0;
}

/* An anchor may be redefined; later aliases then refer to the new node (YAML 1.2, section 7.1). */
static struct built *new_node(struct builder *b, enum yaml_kind kind, const yaml_event_t *event,
			      const yaml_char_t *anchor)
{
	struct built *new = arena_new_of(b->arena, struct built);

	new->node.kind = kind;
	new->node.at = place_of(event->start_mark);
	if (anchor)
		map_put(&b->anchors, arena_strdup(b->arena, (const char *)anchor), new);
	return new;
}

static int set_type(struct builder *b, struct yaml_node *node)
{
	int r = yaml__scalar_type(node->text, node->plain, node->tag, &node->type);

	if (r == -ENOENT)
		return complain(b, node->at, "tag '%s' is not known",
				yaml_shown(node->tag, b->arena));
	if (r < 0)
		return complain(b, node->at, "'%s' does not read as its tag '%s' says",
				yaml_shown(node->text, b->arena), yaml_shown(node->tag, b->arena));
	return 0;
}

/* NUL is refused because the tree holds C strings: the text after it would be lost. */
static int on_scalar(struct builder *b, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;
	size_t n = event->data.scalar.length;
	struct built *new;

	if (charge(b, 1, place_of(event->start_mark)) < 0)
		return -EINVAL;
	if (memchr(text, '\0', n))
		return complain(b, place_of(event->start_mark), "text must not contain NUL");

	new = new_node(b, YAML_SCALAR, event, event->data.scalar.anchor);
	new->nodes = 1;
	new->node.plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	new->node.tag = tag ? arena_strdup(b->arena, tag) : NULL;
	new->node.text = arena_strndup(b->arena, text, n);
	new->node.n = n;
	if (set_type(b, &new->node) < 0)
		return -EINVAL;
	return add_child(b, new);
}

/* An anchor whose node count is 0 is still open, so the alias is below it. */
static int on_alias(struct builder *b, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	const struct built *target = map_get(&b->anchors, name);
	struct place at = place_of(event->start_mark);

	if (!target)
		return complain(b, at, "there is no anchor '%s' before this alias",
				yaml_shown(name, b->arena));
	if (!target->nodes)
		return complain(b, at, "alias '%s' stands inside its own anchor",
				yaml_shown(name, b->arena));
	if (b->depth + target->height > YAML_MAX_DEPTH)
		return complain(b, at, "nested deeper than %d levels", YAML_MAX_DEPTH);
	if (charge(b, target->nodes, at) < 0)
		return -EINVAL;
	return add_child(b, target);
}

/* The frame reuses the vector of an earlier collection at the same depth. */
static int open_collection(struct builder *b, struct built *new)
{
	struct frame *f;

	if (b->depth == YAML_MAX_DEPTH)
		return complain(b, new->node.at, "nested deeper than %d levels", YAML_MAX_DEPTH);
	if (charge(b, 1, new->node.at) < 0)
		return -EINVAL;
	f = &b->frames[b->depth];
	f->collection = new;
	f->path = (struct yaml_path){ .up = path_here(b) };
	f->children.n = 0;
	f->nodes = f->height = 0;
	b->depth++;
	return 0;
}

static int check_tag(struct builder *b, const yaml_char_t *tag, const char *want, struct place at)
{
	const char *text = (const char *)tag;

	if (!text || strcmp(text, "!") == 0 || strcmp(text, want) == 0)
		return 0;
	return complain(b, at, "tag '%s' is not known", yaml_shown(text, b->arena));
}

static int on_sequence_start(struct builder *b, const yaml_event_t *event)
{
	if (check_tag(b, event->data.sequence_start.tag, YAML_SEQ_TAG,
		      place_of(event->start_mark)) < 0)
		return -EINVAL;
	return open_collection(b, new_node(b, YAML_SEQUENCE, event,
					   event->data.sequence_start.anchor));
}

static int on_mapping_start(struct builder *b, const yaml_event_t *event)
{
	if (check_tag(b, event->data.mapping_start.tag, YAML_MAP_TAG, place_of(event->start_mark)) <
	    0)
		return -EINVAL;
	return open_collection(b,
			       new_node(b, YAML_MAPPING, event, event->data.mapping_start.anchor));
}

/* Removes the innermost collection from the stack and adds it to the one below. */
static int close_collection(struct builder *b)
{
	struct frame *f = &b->frames[--b->depth];
	struct built *done = f->collection;

	done->nodes = f->nodes + 1;
	done->height = f->height + 1;
	return add_child(b, done);
}

static int on_sequence_end(struct builder *b, const yaml_event_t *event)
{
	struct frame *f = &b->frames[b->depth - 1];
	struct yaml_node *node = &f->collection->node;

	node->n = f->children.n;
	node->items = arena_copy(b->arena, f->children.items, node->n * sizeof(node->items[0]));
	return close_collection(b);
}

static int on_mapping_end(struct builder *b, const yaml_event_t *event)
{
	struct frame *f = &b->frames[b->depth - 1];

	yaml__seal_mapping(&f->collection->node, f->children.items, f->children.n, f->path.up,
			   b->arena, b->errors);
	return close_collection(b);
}

static int on_document_start(struct builder *b, const yaml_event_t *event)
{
	if (b->root)
		return complain(b, place_of(event->start_mark),
				"a second document begins here; only one is taken");
	return 0;
}

/* Only comments or only "---": libyaml makes an empty plain scalar of the latter. */
static bool is_empty(const struct yaml_node *root)
{
	return !root ||
	       (root->kind == YAML_SCALAR && root->plain && root->type == YAML_NULL && !root->n);
}

static int on_stream_end(struct builder *b, const yaml_event_t *event)
{
	if (is_empty(b->root))
		return complain(b, (struct place){ .line = 1, .column = 1 },
				"the document is empty");
	return 0;
}

/* Events without an entry (start of the stream, end of a document) need no work. */
static int (*const on_event[])(struct builder *b, const yaml_event_t *event) = {
	[YAML_DOCUMENT_START_EVENT] = on_document_start,
	[YAML_SCALAR_EVENT] = on_scalar,
	[YAML_ALIAS_EVENT] = on_alias,
	[YAML_SEQUENCE_START_EVENT] = on_sequence_start,
	[YAML_SEQUENCE_END_EVENT] = on_sequence_end,
	[YAML_MAPPING_START_EVENT] = on_mapping_start,
	[YAML_MAPPING_END_EVENT] = on_mapping_end,
	[YAML_STREAM_END_EVENT] = on_stream_end,
};

/* The first handler that fails ends the loop. */
static int build(struct builder *b)
{
	yaml_event_type_t type;
	int r;

	if (check_directives(b) < 0)
		return -EINVAL;
	do {
		yaml_event_t event;

		if (!yaml_parser_parse(&b->parser, &event))
			return complain_syntax(b);
		type = event.type;
		assert(type < ARRAY_SIZE(on_event));
		r = on_event[type] ? on_event[type](b, &event) : 0;
		yaml_event_delete(&event);
	} while (r == 0 && type != YAML_STREAM_END_EVENT);
	return r;
}

static void builder_free(struct builder *b)
{
	for (size_t i = 0; i < YAML_MAX_DEPTH; i++)
		vec_free(&b->frames[i].children);
	map_free(&b->anchors);
	yaml_parser_delete(&b->parser);
	free(b);
}

static struct builder *builder_new(struct str input, struct arena *arena, struct errs *errors)
{
	struct builder *b = mem_zalloc(sizeof(*b));

	b->input = input;
	b->arena = arena;
	b->errors = errors;
	if (!yaml_parser_initialize(&b->parser))
		abort();
	yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b->parser, (const unsigned char *)input.p, input.n);
	return b;
}

/* The byte order mark that some editors write; libyaml would count it as a column. */
static struct str skip_bom(struct str input)
{
	if (input.n >= 3 && memcmp(input.p, "\xef\xbb\xbf", 3) == 0)
		return (struct str){ input.p + 3, input.n - 3 };
	return input;
}

/* Seals may add complaints without ending the parse, so the number of complaints decides. */
int yaml_parse(const char *bytes, size_t n, struct arena *arena, const struct yaml_node **ret,
	       struct errs *errors)
{
	size_t before = errors->n + errors->dropped;
	struct builder *b;

	assert(bytes || !n);
	assert(arena && ret && errors);

	if (n > YAML_MAX_BYTES) {
		errs_add(errors, (struct place){ 0 }, "",
			 "%zu bytes are too many; the limit is %zu", n, YAML_MAX_BYTES);
		return -EINVAL;
	}
	b = builder_new(skip_bom((struct str){ n ? bytes : "", n }), arena, errors);
	if (build(b) == 0 && errors->n + errors->dropped == before)
		*ret = b->root;
	builder_free(b);
	return errors->n + errors->dropped == before ? 0 : -EINVAL;
}
