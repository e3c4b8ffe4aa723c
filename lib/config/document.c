/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: walks over the YAML tree along the tables of a schema.
 *
 * A key names a field of the table. The field's shape selects the function that reads the value,
 * and its offset says where in the struct of the enclosing section the result is stored. A value
 * that cannot be read adds an error and leaves the field unset, and the walk continues, so that all
 * mistakes in a file are reported at once. In lenient mode only vital fields add errors.
 *
 * The texts of the result are those of the YAML tree; both are in the caller's arena.
 */
#include "lib/config/document.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/near.h"
#include "base/units.h"
#include "lib/yaml/yaml.h"

struct reader {
	enum config_mode mode;
	struct arena *arena;
	struct errs *errors;
};

/* A value and where it is in the document. */
struct value {
	const struct yaml_node *node;
	const struct yaml_path *path; /* NULL for the whole document */
	bool quiet;		      /* lenient mode, not vital: adds no errors */
};

/* Further errors are only counted, so formatting their text would be wasted. */
static bool is_full(const struct reader *r)
{
	return r->errors->n == ERRS_MAX;
}

static const char *shown(const struct reader *r, const struct yaml_node *node)
{
	return is_full(r) ? "" : yaml_shown(node->text, r->arena);
}

__attribute__((format(printf, 3, 4))) static void
complain(const struct reader *r, const struct value *v, const char *fmt, ...)
{
	va_list ap;

	if (v->quiet)
		return;
	if (is_full(r)) {
		r->errors->dropped++;
		return;
	}
	va_start(ap, fmt);
	errs_add(r->errors, v->node->at, yaml_path_format(v->path, r->arena), "%s",
		 arena_vprintf(r->arena, fmt, ap));
	va_end(ap);
}

static bool is_type(const struct yaml_node *node, enum yaml_type type)
{
	return node->kind == YAML_SCALAR && node->type == type;
}

/* A null scalar looks like a setting but has no effect, so it is an error. */
static bool is_missing(const struct reader *r, const struct value *v, const char *example)
{
	if (!is_type(v->node, YAML_NULL))
		return false;
	complain(r, v, "has no value; write %s, or leave the key out", example);
	return true;
}

static void set_text(struct doc_text *out, const struct yaml_node *node)
{
	*out = (struct doc_text){ .set = true, .at = node->at, .v = node->text };
}

static void read_text(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	if (is_missing(r, v, "text"))
		return;
	if (is_type(v->node, YAML_TEXT))
		set_text((struct doc_text *)((char *)base + f->offset), v->node);
	else if (v->node->kind == YAML_SCALAR)
		complain(r, v, "must be text, not %s; if it is meant so, put it in quotes",
			 yaml_describe(v->node));
	else
		complain(r, v, "must be text, not %s", yaml_describe(v->node));
}

static bool is_number(const struct yaml_node *node)
{
	return is_type(node, YAML_INT) || is_type(node, YAML_FLOAT);
}

/* A word may look like a number (a port, a version), which YAML does not type as text. */
static void read_word(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	if (is_number(v->node))
		set_text((struct doc_text *)((char *)base + f->offset), v->node);
	else
		read_text(r, v, f, base);
}

/* Why the digits of a YAML integer are refused, or NULL. 010 is octal in YAML 1.1, not in 1.2. */
static const char *refuse_digits(const char *text)
{
	const char *digits = *text == '-' || *text == '+' ? text + 1 : text;

	if (digits[0] != '0' || !digits[1])
		return NULL;
	if (digits[1] == 'x' || digits[1] == 'o')
		return "must be a decimal number";
	return "must be written without leading zeros, which some would read as octal";
}

static void read_int(const struct reader *r, const struct value *v, const struct schema_field *f,
		     void *base)
{
	struct doc_int *out = (struct doc_int *)((char *)base + f->offset);
	const char *refused;
	long long number;

	if (is_missing(r, v, "a whole number"))
		return;
	if (!is_type(v->node, YAML_INT)) {
		complain(r, v, "must be a whole number, not %s", yaml_describe(v->node));
		return;
	}
	refused = refuse_digits(v->node->text);
	if (refused) {
		complain(r, v, "%s", refused);
		return;
	}
	errno = 0;
	number = strtoll(v->node->text, NULL, 10);
	if (errno)
		complain(r, v, "is too large a number");
	else
		*out = (struct doc_int){ .set = true, .at = v->node->at, .v = number };
}

static void read_bool(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	struct doc_bool *out = (struct doc_bool *)((char *)base + f->offset);

	if (is_missing(r, v, "true or false"))
		return;
	if (is_type(v->node, YAML_BOOL))
		*out = (struct doc_bool){ .set = true,
					  .at = v->node->at,
					  .v = (v->node->text[0] | 0x20) == 't' };
	else if (is_type(v->node, YAML_TEXT) && v->node->plain)
		complain(r, v, "must be true or false, not '%s'", shown(r, v->node));
	else
		complain(r, v, "must be true or false, not %s", yaml_describe(v->node));
}

/* True for a bare number, also in quotes: the error can then say what is missing. */
static bool has_no_unit(const char *text)
{
	size_t n = strspn(text, "+-.0123456789");

	return n && !text[n];
}

static void read_duration(const struct reader *r, const struct value *v,
			  const struct schema_field *f, void *base)
{
	struct doc_duration *out = (struct doc_duration *)((char *)base + f->offset);
	int64_t ns;
	int error;

	if (is_missing(r, v, "a duration such as 2s"))
		return;
	if (!is_type(v->node, YAML_TEXT) && !is_number(v->node)) {
		complain(r, v, "must be a duration such as 2s or 500ms, not %s",
			 yaml_describe(v->node));
		return;
	}
	error = duration_parse(v->node->text, &ns);
	if (error == 0)
		*out = (struct doc_duration){ .set = true, .at = v->node->at, .v = ns };
	else if (has_no_unit(v->node->text))
		complain(r, v, "durations carry a unit: 2s, 500ms");
	else if (error == -ERANGE)
		complain(r, v, "is too long a duration");
	else
		complain(r, v, "'%s' is not a duration; write it as 2s, 500ms or 1m30s",
			 shown(r, v->node));
}

/* The type of the array is not known here, so pointer and length are stored with memcpy(). */
static void store_array(const struct schema_field *f, void *base, const void *items, size_t n)
{
	memcpy((char *)base + f->offset, &items, sizeof(items));
	memcpy((char *)base + f->count, &n, sizeof(n));
}

/* True for a collection, and for null, which stands for an empty one. */
static bool is_collection(const struct reader *r, const struct value *v, enum yaml_kind kind)
{
	if (v->node->kind == kind || is_type(v->node, YAML_NULL))
		return true;
	complain(r, v, "must be %s, not %s", kind == YAML_MAPPING ? "a mapping" : "a list",
		 yaml_describe(v->node));
	return false;
}

static size_t length_of(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR ? 0 : node->n;
}

/* Words that cannot be read are left out, so n may be less than the length of the list. */
static void read_words(const struct reader *r, const struct value *v, const struct schema_field *f,
		       void *base)
{
	static const struct schema_field item = { .shape = SCHEMA_WORD };
	struct doc_words *out = (struct doc_words *)((char *)base + f->offset);
	struct doc_text *words;
	size_t n = 0;

	if (!is_collection(r, v, YAML_SEQUENCE))
		return;
	words = arena_array_of(r->arena, length_of(v->node), struct doc_text);
	for (size_t i = 0; i < length_of(v->node); i++) {
		struct yaml_path path = { .up = v->path, .index = i };
		struct value child = { v->node->items[i], &path, v->quiet };

		read_word(r, &child, &item, &words[n]);
		n += words[n].set;
	}
	*out = (struct doc_words){ .set = true, .at = v->node->at, .items = words, .n = n };
}

/* The known key that is most similar to key, NULL if none is similar enough. */
static const char *nearest_key(const struct schema_section *s, const char *key)
{
	struct near near = { .wanted = str_of(key), .max = 1 };
	size_t limit = strlen(key) / 3 + 1;

	for (size_t i = 0; i < s->n_fields; i++) {
		size_t rest;

		assert(s->fields[i].key);
		rest = strlen(s->fields[i].key) - 1;
		/* at least one letter must remain, or every short key would match */
		near.limit = limit < rest ? limit : rest;
		near_consider(&near, s->fields[i].key);
	}
	return near.n ? near.found[0].name : NULL;
}

static void refuse_key(const struct reader *r, const struct value *v,
		       const struct schema_section *s, const struct yaml_node *key)
{
	struct yaml_path path = { .up = v->path, .key = key->text };
	struct value at_key = { key, &path, v->quiet || r->mode == CONFIG_LENIENT };
	const char *meant = at_key.quiet || is_full(r) ? NULL : nearest_key(s, key->text);

	if (meant)
		complain(r, &at_key, "unknown key; did you mean '%s'?", meant);
	else
		complain(r, &at_key, "unknown key");
}

typedef void (*read_fn)(const struct reader *r, const struct value *v, const struct schema_field *f,
			void *base);

static read_fn reader_of(enum schema_shape shape);

/* Reads the keys of one mapping into the struct at base. */
static void read_fields(const struct reader *r, const struct value *v,
			const struct schema_section *s, void *base)
{
	if (!is_collection(r, v, YAML_MAPPING))
		return;
	for (size_t i = 0; i < length_of(v->node); i++) {
		const struct yaml_pair *pair = &v->node->pairs[i];
		const struct schema_field *f = schema_find(s, pair->key->text);
		struct yaml_path path = { .up = v->path, .key = pair->key->text };
		struct value child = { pair->value, &path, v->quiet };

		if (!f) {
			refuse_key(r, v, s, pair->key);
			continue;
		}
		child.quiet |= r->mode == CONFIG_LENIENT && !f->vital;
		reader_of(f->shape)(r, &child, f, base);
	}
}

static void set_place(const struct schema_section *s, void *base, struct place at)
{
	if (s->has_at)
		*(struct place *)((char *)base + s->doc_at) = at;
}

static void read_section(const struct reader *r, const struct value *v,
			 const struct schema_field *f, void *base)
{
	const struct schema_section *s = f->section;
	char *out = (char *)base + f->offset;

	if (!is_collection(r, v, YAML_MAPPING))
		return;
	if (s->has_set)
		*(bool *)(out + s->doc_set) = true;
	set_place(s, out, v->node->at);
	read_fields(r, v, s, out);
}

/* Names appear in logs, metrics, browsers and terminals, so they must be printable. */
static bool is_name(const struct reader *r, const struct value *v, const struct yaml_node *key)
{
	struct value at_key = { key, v->path, v->quiet };

	if (!key->n) {
		complain(r, &at_key, "a name must not be empty");
		return false;
	}
	if (!yaml_printable(key->text)) {
		complain(r, &at_key, "a name must be printable");
		return false;
	}
	return true;
}

static void read_named(const struct reader *r, const struct value *v, const struct schema_field *f,
		       void *base)
{
	const struct schema_section *s = f->section;
	char *items;
	size_t n = 0;

	if (!is_collection(r, v, YAML_MAPPING))
		return;
	items = arena_array(r->arena, length_of(v->node), s->doc_size);
	for (size_t i = 0; i < length_of(v->node); i++) {
		const struct yaml_pair *pair = &v->node->pairs[i];
		struct yaml_path path = { .up = v->path, .key = pair->key->text };
		struct value child = { pair->value, &path, v->quiet };
		char *item = items + n * s->doc_size;

		if (!is_name(r, &child, pair->key))
			continue;
		*(const char **)(item + s->doc_name) = pair->key->text;
		set_place(s, item, pair->key->at);
		read_fields(r, &child, s, item);
		n++;
	}
	store_array(f, base, items, n);
}

static void read_list(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	const struct schema_section *s = f->section;
	size_t n = length_of(v->node);
	char *items;

	if (!is_collection(r, v, YAML_SEQUENCE))
		return;
	items = arena_array(r->arena, n, s->doc_size);
	for (size_t i = 0; i < n; i++) {
		struct yaml_path path = { .up = v->path, .index = i };
		struct value child = { v->node->items[i], &path, v->quiet };

		set_place(s, items + i * s->doc_size, child.node->at);
		read_fields(r, &child, s, items + i * s->doc_size);
	}
	store_array(f, base, items, n);
}

static read_fn reader_of(enum schema_shape shape)
{
	static const read_fn readers[] = {
		[SCHEMA_TEXT] = read_text,	   [SCHEMA_WORD] = read_word,
		[SCHEMA_INT] = read_int,	   [SCHEMA_BOOL] = read_bool,
		[SCHEMA_DURATION] = read_duration, [SCHEMA_WORDS] = read_words,
		[SCHEMA_SECTION] = read_section,   [SCHEMA_NAMED] = read_named,
		[SCHEMA_LIST] = read_list,
	};

	assert(shape < ARRAY_SIZE(readers));
	return readers[shape];
}

static bool has_key(const struct yaml_node *mapping, const char *key)
{
	for (size_t i = 0; i < mapping->n; i++)
		if (strcmp(mapping->pairs[i].key->text, key) == 0)
			return true;
	return false;
}

static void read_document(const struct reader *r, const struct yaml_node *node,
			  const struct schema_section *root, void *out)
{
	const char *first = root->needs_first ? root->fields[0].key : NULL;
	struct value v = { .node = node };

	if (node->kind == YAML_MAPPING) {
		if (first && !has_key(node, first))
			complain(r, &v, "the key '%s' is missing", first);
		read_fields(r, &v, root, out);
	} else if (first) {
		complain(r, &v, "the document must be a mapping with the key '%s', not %s", first,
			 yaml_describe(node));
	} else {
		complain(r, &v, "the document must be a mapping, not %s", yaml_describe(node));
	}
}

int config_document_parse(struct str bytes, enum config_mode mode,
			  const struct schema_section *root, struct arena *arena, void *ret,
			  struct errs *errors)
{
	const struct reader r = { mode, arena, errors };
	size_t before = errors->n + errors->dropped;
	const struct yaml_node *node;

	assert(root && arena && ret);

	if (yaml_parse(bytes.p, bytes.n, arena, &node, errors) == 0)
		read_document(&r, node, root, ret);
	errs_sort(errors);
	return errors->n + errors->dropped == before ? 0 : -EINVAL;
}
