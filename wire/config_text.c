/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text: the walk along the tables of the schema (core/l4/schema.h) that the reader of the
 * file and the comparison of two configurations also follow, so that a new key appears here by
 * itself. Only arrays of sections need a row here (arrays[], and the pools of a frontend), because
 * the tables do not say where the configuration keeps them.
 *
 * Both formats have the same structure. The writer knows how deep it is and whether something
 * precedes in the same mapping; name() puts the comma, the indentation and the key.
 */
#include "wire/config_text.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/schema.h"
#include "lib/json/json.h"

struct writer {
	struct buf *out;
	const struct l4_config *config;
	bool json;
	unsigned depth; /* of mappings that are open */
	bool first;	/* nothing is in the current mapping yet */
	bool dash;	/* YAML: the next key begins an item of a list */
	bool flow;	/* the current mapping is on one line */
};

/* ---- scalars ---- */

/* Words that YAML reads as something other than text. */
static bool is_reserved(const char *word)
{
	static const char *const words[] = { "true", "false", "yes", "no", "on",
					     "off",  "null",  "y",   "n" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(word, words[i]) == 0)
			return true;
	return false;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether YAML reads the word as text without quotes. */
static bool is_plain(const char *word)
{
	if (!is_letter(*word) && *word != '/')
		return false;
	for (const char *p = word; *p; p++)
		if (!is_letter(*p) && !(*p >= '0' && *p <= '9') && !strchr("_./-", *p))
			return false;
	return !is_reserved(word);
}

/* A quoted string of JSON is one of YAML as well. */
static void write_text(struct writer *w, const char *text)
{
	if (!w->json && is_plain(text))
		buf_adds(w->out, text);
	else
		json_write_string(w->out, text, strlen(text));
}

static void write_texts(struct writer *w, const struct schema_texts *list)
{
	buf_addc(w->out, '[');
	for (size_t i = 0; i < list->n; i++) {
		buf_adds(w->out, i ? ", " : "");
		write_text(w, list->items[i]);
	}
	buf_addc(w->out, ']');
}

/*
 * Values that are neither numbers nor free text: words, addresses, codes, durations. None of them
 * needs quotes in YAML unless it has a colon.
 */
static void write_printed(struct writer *w, const struct schema_kind *kind, const void *value)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	kind->print(kind, value, &text);
	if (w->json || strchr(buf_cstr(&text), ':'))
		json_write_string(w->out, text.p, text.n);
	else
		buf_add(w->out, text.p, text.n);
}

static void write_value(struct writer *w, const struct schema_field *f, const void *value)
{
	if (f->kind == &schema_text)
		write_text(w, *(const char *const *)value);
	else if (f->kind == &schema_texts)
		write_texts(w, value);
	else if (f->kind == &l4_kind_ca)
		write_text(w, ((const struct l4_ca *)value)->file);
	else if (f->shape == SCHEMA_INT || f->shape == SCHEMA_BOOL)
		f->kind->print(f->kind, value, w->out);
	else
		write_printed(w, f->kind, value);
}

/* ---- structure ---- */

static void indent(struct writer *w, unsigned depth)
{
	buf_printf(w->out, "%*s", (int)(2 * depth), "");
}

/* Begins an entry: a comma, a new line, the key. */
static void name(struct writer *w, const char *key)
{
	if (w->json || w->flow)
		buf_adds(w->out, w->first ? "" : ",");
	if (w->flow) {
		buf_addc(w->out, ' ');
	} else if (w->json) {
		buf_addc(w->out, '\n');
		indent(w, w->depth);
	} else {
		indent(w, w->dash ? w->depth - 1 : w->depth);
		buf_adds(w->out, w->dash ? "- " : "");
	}
	w->first = w->dash = false;
	write_text(w, key);
	buf_adds(w->out, ": ");
}

static void end_value(struct writer *w)
{
	if (!w->json && !w->flow)
		buf_addc(w->out, '\n');
}

/* The blank that name() puts behind the colon does not belong at the end of a line. */
static void enter(struct writer *w, const char *key, char bracket)
{
	name(w, key);
	if (w->json)
		buf_addc(w->out, bracket);
	else
		w->out->p[w->out->n - 1] = '\n';
	w->depth++;
	w->first = true;
}

static void leave(struct writer *w, char bracket)
{
	w->depth--;
	w->first = false;
	if (!w->json)
		return;
	buf_addc(w->out, '\n');
	indent(w, w->depth);
	buf_addc(w->out, bracket);
}

/* ---- sections ---- */

static bool is_zero(const struct schema_field *f, const char *value)
{
	for (size_t i = 0; i < f->size; i++)
		if (value[i])
			return false;
	return true;
}

/*
 * Whether a value says nothing and is left out: no address, no text, no reference, no port. Zero is
 * a value of other numbers, of switches, and the first of a list of words; but not among the
 * parameters of a check, where it is the default, since a type of check may not have all of them;
 * nor of "ports", where it means that a port is given.
 */
static bool is_unset(const struct schema_section *s, const struct schema_field *f,
		     const char *value)
{
	if (f->kind == &schema_texts)
		return ((const struct schema_texts *)(const void *)value)->n == 0;
	if (f->kind == &schema_text && !is_zero(f, value))
		return !**(const char *const *)(const void *)value;
	if (s != &l4_schema_params && strcmp(f->key, "ports") != 0 &&
	    (f->kind->words || f->kind == &schema_uint || f->shape == SCHEMA_BOOL ||
	     f->shape == SCHEMA_DURATION))
		return false;
	return is_zero(f, value);
}

/* Whether anything of a section is written. */
static bool has_values(const struct schema_section *s, const char *values)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];

		if (f->shape == SCHEMA_SECTION && has_values(f->section, values))
			return true;
		if (f->kind && !is_unset(s, f, values + f->at))
			return true;
	}
	return false;
}

static bool is_used(const struct writer *w, const struct schema_field *f)
{
	return strcmp(f->key, "xdp") != 0 || w->config->dataplane == L4_DATAPLANE_XDP;
}

/* Writes the values of a section and of the sections in it, but not its arrays of sections. */
static void write_fields(struct writer *w, const struct schema_section *s, const void *values)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		const char *value = (const char *)values + f->at;

		if (f->shape == SCHEMA_SECTION && has_values(f->section, values) && is_used(w, f)) {
			enter(w, f->key, '{');
			write_fields(w, f->section, values);
			leave(w, '}');
		} else if (f->kind && !is_unset(s, f, value)) {
			name(w, f->key);
			write_value(w, f, value);
			end_value(w);
		}
	}
}

/* One line for each member: there may be many. */
static void write_members(struct writer *w, const struct l4_pool *p)
{
	enter(w, "backends", '{');
	for (size_t i = 0; i < p->n_members; i++) {
		name(w, w->config->backends[p->members[i].backend].name);
		buf_addc(w->out, '{');
		w->flow = w->first = true;
		write_fields(w, &l4_schema_member, &p->members[i]);
		w->flow = w->first = false;
		buf_adds(w->out, " }");
		end_value(w);
	}
	leave(w, '}');
}

/* An item of a list is a mapping without a key. */
static void write_pool(struct writer *w, const struct l4_pool *p)
{
	if (w->json) {
		buf_adds(w->out, w->first ? "\n" : ",\n");
		indent(w, w->depth);
		buf_addc(w->out, '{');
	}
	w->depth++;
	w->first = w->dash = true;
	write_fields(w, &l4_schema_pool, p);
	write_members(w, p);
	leave(w, '}');
}

static void write_pools(struct writer *w, const struct l4_frontend *f)
{
	if (!f->n_pools)
		return;
	enter(w, "pools", '[');
	for (size_t i = 0; i < f->n_pools; i++)
		write_pool(w, &f->pools[i]);
	leave(w, ']');
}

/* ---- the document ---- */

/* The arrays of the configuration, in the order of the document. */
static const struct array {
	const char *key;
	const struct schema_section *section;
	size_t items, n; /* offsets in struct l4_config */
} arrays[] = {
	{ "healthchecks", &l4_schema_check, offsetof(struct l4_config, checks),
	  offsetof(struct l4_config, n_checks) },
	{ "backends", &l4_schema_backend, offsetof(struct l4_config, backends),
	  offsetof(struct l4_config, n_backends) },
	{ "frontends", &l4_schema_frontend, offsetof(struct l4_config, frontends),
	  offsetof(struct l4_config, n_frontends) },
};

static size_t count(const struct l4_config *c, const struct array *a)
{
	return *(const size_t *)(const void *)((const char *)c + a->n);
}

static void write_entry(struct writer *w, const struct array *a, size_t i)
{
	const char *items =
		*(const char *const *)(const void *)((const char *)w->config + a->items);
	const char *entry = items + i * a->section->config_size;

	if (i == 0)
		enter(w, a->key, '{');
	enter(w, *(const char *const *)(const void *)(entry + a->section->config_name), '{');
	write_fields(w, a->section, entry);
	if (a->section == &l4_schema_frontend)
		write_pools(w, (const struct l4_frontend *)(const void *)entry);
	leave(w, '}');
	if (i + 1 == count(w->config, a))
		leave(w, '}');
}

size_t config_text_pieces(const struct l4_config *c)
{
	size_t n = 2; /* the settings, the end */

	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
		n += count(c, &arrays[i]);
	return n;
}

static void write_settings(struct writer *w)
{
	w->depth = 0;
	w->first = true;
	buf_adds(w->out, w->json ? "{" : "");
	w->depth = w->json ? 1 : 0;
	enter(w, "maglev", '{');
	write_fields(w, &l4_schema_maglev, w->config);
}

void config_text_add(const struct l4_config *c, enum config_format format, size_t piece,
		     struct buf *out)
{
	struct writer w = { .out = out, .config = c, .json = format == CONFIG_FORMAT_JSON };

	assert(c && out && piece < config_text_pieces(c));

	if (piece-- == 0) {
		write_settings(&w);
		return;
	}
	w.depth = w.json ? 2 : 1;
	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++) {
		size_t n = count(c, &arrays[i]);

		if (piece < n) {
			w.depth += piece ? 1 : 0;
			write_entry(&w, &arrays[i], piece);
			return;
		}
		piece -= n;
	}
	if (w.json)
		buf_adds(out, "\n  }\n}\n");
}
