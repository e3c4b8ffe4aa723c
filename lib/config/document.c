/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document: walks over the tree of a document along the tables of a schema.
 *
 * A key names a field of the table. The field's shape selects the function that reads the value,
 * and its offset says where in the struct of the enclosing section the result is stored. A value
 * that cannot be read adds an error and leaves the field unset, and the walk continues, so that all
 * mistakes in a file are reported at once. In lenient mode only vital fields add errors.
 *
 * Several files are read one after the other into the same struct (struct config_sources), each
 * before the files that it includes. What an earlier file has set is found there.
 *
 * The values are looked at through document_node.h, so that one walk serves both syntaxes. The
 * texts of the result are those of the parser's tree; both are in the caller's arena.
 */
#include "lib/config/document.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/near.h"
#include "base/units.h"
#include "lib/config/document_node.h"
#include "lib/yaml/yaml.h"

struct reader {
	const struct config__syntax *syntax;
	enum config_mode mode;
	struct arena *arena;
	struct errs *errors;
	const struct config_sources *sources; /* NULL: a document of one text */
	unsigned file;			      /* that is being read */
	bool has_first;			      /* a file has the first key of the root */
	struct place top;		      /* the mapping of the first file */
};

/* A value and where it is in the document. */
struct value {
	struct config__node node;
	const struct yaml_path *path; /* NULL for the whole document */
	bool quiet;		      /* lenient mode, not vital: adds no errors */
};

/* Further errors are only counted, so formatting their text would be wasted. */
static bool is_full(const struct reader *r)
{
	return r->errors->n == ERRS_MAX;
}

static const char *shown(const struct reader *r, const struct config__node *node)
{
	return is_full(r) ? "" : err_shown(node->text, r->arena);
}

/* "a mapping", "a number", "quoted text" */
static const char *describe(const struct config__node *node)
{
	static const char *const types[] = {
		[CONFIG__NOTHING] = "nothing",	 [CONFIG__BOOL] = "true or false",
		[CONFIG__INT] = "a number",	 [CONFIG__FLOAT] = "a number with a fraction",
		[CONFIG__TEXT] = "quoted text",	 [CONFIG__LIST] = "a list",
		[CONFIG__MAPPING] = "a mapping",
	};

	return node->type == CONFIG__TEXT && node->plain ? "text" : types[node->type];
}

__attribute__((format(printf, 4, 5))) static void
complain_as(const struct reader *r, const struct value *v, const char *code, const char *fmt, ...)
{
	va_list ap;

	if (v->quiet)
		return;
	if (is_full(r)) {
		r->errors->dropped++;
		return;
	}
	va_start(ap, fmt);
	errs_add_coded(r->errors, code, v->node.at, yaml_path_format(v->path, r->arena),
		       arena_vprintf(r->arena, fmt, ap));
	va_end(ap);
}

#define complain(r, v, ...) complain_as((r), (v), CONFIG_CODE_VALUE, __VA_ARGS__)

/* A null scalar looks like a setting but has no effect, so it is an error. */
static bool is_missing(const struct reader *r, const struct value *v, const char *example)
{
	if (v->node.type != CONFIG__NOTHING)
		return false;
	complain(r, v, "has no value; write %s, or leave the key out", example);
	return true;
}

static void set_text(struct doc_text *out, const struct config__node *node)
{
	*out = (struct doc_text){ .set = true, .at = node->at, .v = node->text };
}

static void read_text(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	if (is_missing(r, v, "text"))
		return;
	if (v->node.type == CONFIG__TEXT)
		set_text((struct doc_text *)((char *)base + f->offset), &v->node);
	else if (v->node.type < CONFIG__LIST)
		complain(r, v, "must be text, not %s; if it is meant so, put it in quotes",
			 describe(&v->node));
	else
		complain(r, v, "must be text, not %s", describe(&v->node));
}

static bool is_number(const struct config__node *node)
{
	return node->type == CONFIG__INT || node->type == CONFIG__FLOAT;
}

/* A word may look like a number (a port, a version), which YAML does not type as text. */
static void read_word(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	if (is_number(&v->node))
		set_text((struct doc_text *)((char *)base + f->offset), &v->node);
	else
		read_text(r, v, f, base);
}

/*
 * Why the digits of an integer are refused, or NULL. 010 is octal in YAML 1.1, not in 1.2; JSON
 * has none of this.
 */
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
	if (v->node.type != CONFIG__INT) {
		complain(r, v, "must be a whole number, not %s", describe(&v->node));
		return;
	}
	refused = refuse_digits(v->node.text);
	if (refused) {
		complain(r, v, "%s", refused);
		return;
	}
	errno = 0;
	number = strtoll(v->node.text, NULL, 10);
	if (errno)
		complain(r, v, "is too large a number");
	else
		*out = (struct doc_int){ .set = true, .at = v->node.at, .v = number };
}

static void read_bool(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	struct doc_bool *out = (struct doc_bool *)((char *)base + f->offset);

	if (is_missing(r, v, "true or false"))
		return;
	if (v->node.type == CONFIG__BOOL)
		*out = (struct doc_bool){ .set = true, .at = v->node.at, .v = v->node.truth };
	else if (v->node.type == CONFIG__TEXT && v->node.plain)
		complain(r, v, "must be true or false, not '%s'", shown(r, &v->node));
	else
		complain(r, v, "must be true or false, not %s", describe(&v->node));
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
	if (v->node.type != CONFIG__TEXT && !is_number(&v->node)) {
		complain(r, v, "must be a duration such as 2s or 500ms, not %s",
			 describe(&v->node));
		return;
	}
	error = duration_parse(v->node.text, &ns);
	if (error == 0)
		*out = (struct doc_duration){ .set = true, .at = v->node.at, .v = ns };
	else if (has_no_unit(v->node.text))
		complain(r, v, "durations carry a unit: 2s, 500ms");
	else if (error == -ERANGE)
		complain(r, v, "is too long a duration");
	else
		complain(r, v, "'%s' is not a duration; write it as 2s, 500ms or 1m30s",
			 shown(r, &v->node));
}

/*
 * An array of structs in the document, with room for more items. Earlier files may have filled it;
 * then it is copied, because memory of an arena cannot grow. The type of the array is not known
 * here, so pointer and length are read and stored with memcpy().
 */
struct array {
	char *items;
	size_t n, old; /* old: items of earlier files */
};

static struct array open_array(const struct reader *r, const struct schema_field *f,
			       const void *base, size_t more)
{
	const size_t size = f->section->doc_size;
	struct array a = { 0 };
	const char *items;

	memcpy(&items, (const char *)base + f->offset, sizeof(items));
	memcpy(&a.old, (const char *)base + f->count, sizeof(a.old));
	a.items = arena_array(r->arena, a.old + more, size);
	if (a.old)
		memcpy(a.items, items, a.old * size);
	a.n = a.old;
	return a;
}

static void store_array(const struct schema_field *f, void *base, const struct array *a)
{
	memcpy((char *)base + f->offset, &a->items, sizeof(a->items));
	memcpy((char *)base + f->count, &a->n, sizeof(a->n));
}

/* True for a collection, and for null, which stands for an empty one. */
static bool is_collection(const struct reader *r, const struct value *v, enum config__type type)
{
	if (v->node.type == type || v->node.type == CONFIG__NOTHING)
		return true;
	complain(r, v, "must be %s, not %s", type == CONFIG__MAPPING ? "a mapping" : "a list",
		 describe(&v->node));
	return false;
}

static size_t length_of(const struct config__node *node)
{
	return node->type < CONFIG__LIST ? 0 : node->n;
}

/* The value at index i of a list. The caller keeps *path while it uses the value. */
static struct value item_of(const struct reader *r, const struct value *v, size_t i,
			    struct yaml_path *path)
{
	struct value item = { r->syntax->item(&v->node, i), path, v->quiet };

	*path = (struct yaml_path){ .up = v->path, .index = i };
	item.node.at.file = r->file;
	return item;
}

/* The value of the i-th key of a mapping. */
static struct value pair_of(const struct reader *r, const struct value *v, size_t i,
			    struct yaml_path *path, struct config__node *ret_key)
{
	struct value child = { r->syntax->pair(&v->node, i, ret_key), path, v->quiet };

	*path = (struct yaml_path){ .up = v->path, .key = ret_key->text };
	child.node.at.file = ret_key->at.file = r->file;
	return child;
}

/* Words that cannot be read are left out, so n may be less than the length of the list. */
static void read_words(const struct reader *r, const struct value *v, const struct schema_field *f,
		       void *base)
{
	static const struct schema_field item = { .shape = SCHEMA_WORD };
	struct doc_words *out = (struct doc_words *)((char *)base + f->offset);
	struct doc_text *words;
	size_t n = 0;

	if (!is_collection(r, v, CONFIG__LIST))
		return;
	words = arena_array_of(r->arena, length_of(&v->node), struct doc_text);
	for (size_t i = 0; i < length_of(&v->node); i++) {
		struct yaml_path path;
		struct value child = item_of(r, v, i, &path);

		read_word(r, &child, &item, &words[n]);
		n += words[n].set;
	}
	*out = (struct doc_words){ .set = true, .at = v->node.at, .items = words, .n = n };
}

/* Pairs whose value cannot be read are left out, as are words of lists. */
static void read_pairs(const struct reader *r, const struct value *v, const struct schema_field *f,
		       void *base)
{
	static const struct schema_field item = { .shape = SCHEMA_WORD };
	struct doc_pairs *out = (struct doc_pairs *)((char *)base + f->offset);
	struct doc_pair *pairs;
	size_t n = 0;

	if (!is_collection(r, v, CONFIG__MAPPING))
		return;
	pairs = arena_array_of(r->arena, length_of(&v->node), struct doc_pair);
	for (size_t i = 0; i < length_of(&v->node); i++) {
		struct yaml_path path;
		struct config__node key;
		struct value child = pair_of(r, v, i, &path, &key);

		set_text(&pairs[n].name, &key);
		read_word(r, &child, &item, &pairs[n].value);
		n += pairs[n].value.set;
	}
	*out = (struct doc_pairs){ .set = true, .at = v->node.at, .items = pairs, .n = n };
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
		       const struct schema_section *s, const struct config__node *key)
{
	struct yaml_path path = { .up = v->path, .key = key->text };
	struct value at_key = { *key, &path, v->quiet || r->mode == CONFIG_LENIENT };
	const char *meant = at_key.quiet || is_full(r) ? NULL : nearest_key(s, key->text);

	if (meant)
		complain_as(r, &at_key, CONFIG_CODE_KEY, "unknown key; did you mean '%s'?", meant);
	else
		complain_as(r, &at_key, CONFIG_CODE_KEY, "unknown key");
}

/* "FILE:3:5", for complaints about what two files have. */
static const char *show_place(const struct reader *r, struct place at)
{
	return arena_printf(r->arena, "%s:%u:%u",
			    errs_file(r->errors, at, r->errors->n_files ? r->errors->files[0] : ""),
			    at.line, at.column);
}

/* A value of an earlier file stays; two keys of one file were refused by the syntax. */
static bool is_given(const struct reader *r, const struct value *v, const struct schema_field *f,
		     const void *base)
{
	const struct doc_any *given;

	if (!r->file || f->shape >= SCHEMA_SECTION)
		return false;
	given = schema_written(f, base);
	if (given->set)
		complain(r, v, "is given twice, first at %s", show_place(r, given->at));
	return given->set;
}

typedef void (*read_fn)(const struct reader *r, const struct value *v, const struct schema_field *f,
			void *base);

static read_fn reader_of(enum schema_shape shape);

/* Reads the keys of one mapping into the struct at base. */
static void read_fields(const struct reader *r, const struct value *v,
			const struct schema_section *s, void *base)
{
	if (!is_collection(r, v, CONFIG__MAPPING))
		return;
	for (size_t i = 0; i < length_of(&v->node); i++) {
		struct yaml_path path;
		struct config__node key;
		struct value child = pair_of(r, v, i, &path, &key);
		const struct schema_field *f = schema_find(s, key.text);

		if (!f && r->sources && !v->path && strcmp(key.text, CONFIG_INCLUDE) == 0)
			continue;
		if (!f) {
			refuse_key(r, v, s, &key);
			continue;
		}
		if (child.node.type == CONFIG__NOTHING && r->syntax->null_is_absent)
			continue;
		child.quiet |= r->mode == CONFIG_LENIENT && !f->vital;
		if (!is_given(r, &child, f, base))
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

	if (!is_collection(r, v, CONFIG__MAPPING))
		return;
	if (!s->has_set || !*(bool *)(out + s->doc_set))
		set_place(s, out, v->node.at);
	if (s->has_set)
		*(bool *)(out + s->doc_set) = true;
	read_fields(r, v, s, out);
}

/* Names appear in logs, metrics, browsers and terminals, so they must be printable. */
static bool is_name(const struct reader *r, const struct value *v, const struct config__node *key)
{
	struct value at_key = { *key, v->path, v->quiet };

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

/* The names of earlier files, with the items that have them. */
static void collect_names(const struct schema_section *s, const struct array *a, struct map *ret)
{
	for (size_t i = 0; i < a->old; i++) {
		char *item = a->items + i * s->doc_size;

		map_put(ret, *(const char **)(item + s->doc_name), item);
	}
}

/* Whether an earlier file has the name already, which is reported. */
static bool is_taken(const struct reader *r, const struct value *v, const struct schema_section *s,
		     const struct map *names, const struct config__node *key)
{
	struct value at_key = { *key, v->path, v->quiet };
	const char *first = map_get(names, key->text);

	if (first)
		complain(r, &at_key, "occurs twice, first at %s",
			 s->has_at ? show_place(r, *(const struct place *)(first + s->doc_at))
				   : "another place");
	return first;
}

static void read_named(const struct reader *r, const struct value *v, const struct schema_field *f,
		       void *base)
{
	const struct schema_section *s = f->section;
	struct map names = { 0 };
	struct array a;

	if (!is_collection(r, v, CONFIG__MAPPING))
		return;
	a = open_array(r, f, base, length_of(&v->node));
	collect_names(s, &a, &names);
	for (size_t i = 0; i < length_of(&v->node); i++) {
		struct yaml_path path;
		struct config__node key;
		struct value child = pair_of(r, v, i, &path, &key);
		char *item = a.items + a.n * s->doc_size;

		if (!is_name(r, &child, &key) || is_taken(r, &child, s, &names, &key))
			continue;
		*(const char **)(item + s->doc_name) = key.text;
		set_place(s, item, key.at);
		read_fields(r, &child, s, item);
		a.n++;
	}
	map_free(&names);
	store_array(f, base, &a);
}

static void read_list(const struct reader *r, const struct value *v, const struct schema_field *f,
		      void *base)
{
	const struct schema_section *s = f->section;
	struct array a;

	if (!is_collection(r, v, CONFIG__LIST))
		return;
	a = open_array(r, f, base, length_of(&v->node));
	for (size_t i = 0; i < length_of(&v->node); i++) {
		struct yaml_path path;
		struct value child = item_of(r, v, i, &path);
		char *item = a.items + a.n++ * s->doc_size;

		set_place(s, item, child.node.at);
		read_fields(r, &child, s, item);
	}
	store_array(f, base, &a);
}

static read_fn reader_of(enum schema_shape shape)
{
	static const read_fn readers[] = {
		[SCHEMA_TEXT] = read_text,	   [SCHEMA_WORD] = read_word,
		[SCHEMA_INT] = read_int,	   [SCHEMA_BOOL] = read_bool,
		[SCHEMA_DURATION] = read_duration, [SCHEMA_WORDS] = read_words,
		[SCHEMA_PAIRS] = read_pairs,	   [SCHEMA_SECTION] = read_section,
		[SCHEMA_NAMED] = read_named,	   [SCHEMA_LIST] = read_list,
	};

	assert(shape < ARRAY_SIZE(readers));
	return readers[shape];
}

/* False if the mapping does not have the key. */
static bool find_key(const struct reader *r, const struct config__node *mapping, const char *word,
		     struct config__node *ret)
{
	struct config__node key;

	for (size_t i = 0; i < mapping->n; i++) {
		*ret = r->syntax->pair(mapping, i, &key);
		if (strcmp(key.text, word) == 0)
			return true;
	}
	return false;
}

/* Of several files one is enough that has the key, so this is known only after the last. */
static void need_first(const struct reader *r, const struct schema_section *root)
{
	const struct value v = { .node.at = r->top };

	if (root->needs_first && !r->has_first)
		complain(r, &v, "the key '%s' is missing", root->fields[0].key);
}

static void read_root(struct reader *r, const struct config__node *node,
		      const struct schema_section *root, void *out)
{
	const char *first = root->needs_first ? root->fields[0].key : NULL;
	struct value v = { .node = *node };
	struct config__node found;

	if (!r->file)
		r->top = node->at;
	if (node->type == CONFIG__MAPPING) {
		r->has_first |= first && find_key(r, node, first, &found);
		if (!r->sources)
			need_first(r, root);
		read_fields(r, &v, root, out);
	} else if (first) {
		r->has_first = true; /* one complaint is enough */
		complain(r, &v, "the document must be a mapping with the key '%s', not %s", first,
			 describe(node));
	} else {
		complain(r, &v, "the document must be a mapping, not %s", describe(node));
	}
}

/* Complaints of the syntax do not know the number of the file. */
static int parse_syntax(const struct reader *r, struct str bytes, struct config__node *ret)
{
	size_t before = r->errors->n;
	int e = r->syntax->parse(bytes, r->arena, ret, r->errors);

	for (size_t i = before; i < r->errors->n; i++)
		r->errors->items[i].at.file = r->file;
	if (e == 0)
		ret->at.file = r->file;
	return e;
}

static void read_file(struct reader *r, const struct schema_section *root, void *out);

static void read_included(struct reader *r, const struct doc_text *word,
			  const struct schema_section *root, void *out)
{
	unsigned first = 0, n = r->sources->include(r->sources->user, word->v, word->at, &first);
	unsigned from = r->file;

	for (unsigned i = 0; i < n; i++) {
		r->file = first + i;
		read_file(r, root, out);
	}
	r->file = from;
}

/* A word, or a list of words. */
static void read_includes(struct reader *r, const struct config__node *node,
			  const struct schema_section *root, void *out)
{
	static const struct schema_field field = { .shape = SCHEMA_WORDS };
	struct yaml_path path = { .key = CONFIG_INCLUDE };
	struct value v = { .path = &path };
	struct doc_words words = { 0 };
	struct doc_text word = { 0 };

	if (!find_key(r, node, CONFIG_INCLUDE, &v.node))
		return;
	v.node.at.file = r->file;
	if (v.node.type == CONFIG__LIST) {
		read_words(r, &v, &field, &words);
	} else {
		read_word(r, &v, &field, &word);
		words = (struct doc_words){ .items = &word, .n = word.set };
	}
	for (size_t i = 0; i < words.n; i++)
		read_included(r, &words.items[i], root, out);
}

/*
 * Whether there are only comments and empty lines. In a file that is included this is allowed: what
 * it had is switched off.
 */
static bool is_blank(struct str bytes)
{
	struct str line;

	while (str_cut(&bytes, '\n', &line)) {
		line = str_trim(line);
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n && *line.p != '#')
			return false;
	}
	return true;
}

static void read_file(struct reader *r, const struct schema_section *root, void *out)
{
	struct str bytes = r->sources->bytes(r->sources->user, r->file);
	struct config__node node;

	if (r->file && is_blank(bytes))
		return;
	if (parse_syntax(r, bytes, &node) < 0) {
		r->has_first = true; /* it may have been in there */
		return;
	}
	read_root(r, &node, root, out);
	if (node.type == CONFIG__MAPPING)
		read_includes(r, &node, root, out);
}

static size_t count(const struct errs *errors)
{
	return errors->n + errors->dropped;
}

static int parse(struct reader *r, struct str bytes, const struct schema_section *root, void *ret)
{
	size_t before = count(r->errors);
	struct config__node node;

	assert(root && r->arena && ret);

	if (parse_syntax(r, bytes, &node) == 0)
		read_root(r, &node, root, ret);
	errs_sort(r->errors);
	return count(r->errors) == before ? 0 : -EINVAL;
}

int config_document_parse(struct str bytes, enum config_mode mode,
			  const struct schema_section *root, struct arena *arena, void *ret,
			  struct errs *errors)
{
	struct reader r = {
		.syntax = &config__yaml, .mode = mode, .arena = arena, .errors = errors
	};

	return parse(&r, bytes, root, ret);
}

int config_document_parse_json(struct str bytes, enum config_mode mode,
			       const struct schema_section *root, struct arena *arena, void *ret,
			       struct errs *errors)
{
	struct reader r = {
		.syntax = &config__json, .mode = mode, .arena = arena, .errors = errors
	};

	return parse(&r, bytes, root, ret);
}

int config_document_load(const struct config_sources *sources, enum config_mode mode,
			 const struct schema_section *root, struct arena *arena, void *ret,
			 struct errs *errors)
{
	struct reader r = { .syntax = sources->json ? &config__json : &config__yaml,
			    .mode = mode,
			    .arena = arena,
			    .errors = errors,
			    .sources = sources };
	size_t before = count(errors);

	assert(sources && root && arena && ret);
	read_file(&r, root, ret);
	need_first(&r, root);
	errs_sort(errors);
	return count(errors) == before ? 0 : -EINVAL;
}
