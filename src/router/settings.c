/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/settings.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/config/report.h"
#include "lib/log/log.h"
#include "lib/regex/regex.h"
#include "src/router/secures.h"

struct l7_regex {
	struct l7_regex *next;
	const char *pattern;
	struct regex *compiled; /* NULL before settings_compile() */
};

/* ---- regular expressions ---- */

static const struct l7_regex *check_pattern(const char *pattern, char *reason, size_t size,
					    void *user)
{
	_cleanup_(regex_freep) struct regex *compiled = NULL;
	struct settings *s = user;
	struct l7_regex *r;

	if (regex_compile_whole(pattern, &compiled, reason, size) < 0)
		return NULL;
	r = arena_new_of(s->arena, struct l7_regex);
	r->pattern = arena_strdup(s->arena, pattern);
	r->next = s->patterns;
	return s->patterns = r;
}

void settings_compile(struct settings *s)
{
	char reason[REGEX_REASON_SIZE];

	for (struct l7_regex *r = s->patterns; r; r = r->next)
		if (regex_compile_whole(r->pattern, &r->compiled, reason, sizeof(reason)) < 0)
			r->compiled = NULL; /* checked before: cannot happen; it matches nothing */
}

bool settings_matches(const struct l7_regex *r, struct str text)
{
	return r->compiled && regex_match(r->compiled, text.p, text.n) == REGEX_MATCH;
}

void settings_release(struct settings *s)
{
	if (!s || --s->references)
		return;
	for (struct l7_regex *r = s->patterns; r; r = r->next)
		regex_free(r->compiled);
	arena_free(s->arena);
}

/* ---- from bytes ---- */

static struct settings *make(struct arena *arena)
{
	struct settings *s = arena_new_of(arena, struct settings);

	s->arena = arena;
	s->references = 1;
	return s;
}

static enum config_result check(struct settings *s, const struct l7_doc *doc, struct errs *errors,
				struct errs *warnings)
{
	const struct l7_calls calls = { check_pattern, s };

	if (l7_config_build(doc, s->arena, &calls, &s->config, errors, warnings) < 0)
		return CONFIG_SEMANTIC_ERROR;
	return CONFIG_OK;
}

void settings_doc_free(struct settings_doc *d)
{
	arena_free(d->arena);
}

/* parsed is what reading the document returned. */
static enum config_result make_of(int parsed, const struct settings_doc *doc, struct errs *errors,
				  struct errs *warnings, struct settings **ret)
{
	struct settings *s = make(errors->arena);
	enum config_result result = CONFIG_PARSE_ERROR;

	if (parsed == 0)
		result = check(s, &doc->doc, errors, warnings);
	if (result == CONFIG_OK && secure_load(&s->config, &doc->doc, errors) < 0)
		result = CONFIG_SEMANTIC_ERROR;
	if (result == CONFIG_OK)
		*ret = s;
	return result;
}

enum config_result settings_parse(struct str bytes, enum router_syntax syntax,
				  struct settings_doc *doc, struct errs *errors,
				  struct errs *warnings, struct settings **ret)
{
	doc->arena = arena_new();
	return make_of(router_doc_parse(bytes, syntax, doc->arena, &doc->doc, errors), doc, errors,
		       warnings, ret);
}

/* What is counted over all pools does not start with this one. */
static void shift_numbers(struct settings *s, const struct l7_doc_pool *doc, uint32_t first)
{
	struct l7_server *servers = (void *)(uintptr_t)s->config.pools[0].servers;

	if (doc->n_upstreams && doc->upstreams[0].idx.set)
		return;
	for (size_t i = 0; i < s->config.pools[0].n_servers; i++)
		servers[i].idx += first;
}

enum config_result settings_parse_servers(struct str bytes, const struct settings_pool *pool,
					  struct settings_doc *doc, struct errs *errors,
					  struct settings **ret)
{
	struct errs warnings = { .arena = errors->arena };
	struct settings *s = make(errors->arena);
	enum config_result result = CONFIG_PARSE_ERROR;
	struct l7_doc_pool *only;

	doc->arena = arena_new();
	only = arena_new_of(doc->arena, struct l7_doc_pool);
	doc->doc = (struct l7_doc){ .pools = only, .n_pools = 1 };
	if (router_doc_parse_servers(bytes, doc->arena, only, errors) == 0) {
		only->name =
			(struct doc_text){ .set = true, .v = arena_strdup(doc->arena, pool->name) };
		only->tls.set = pool->tls;
		result = check(s, &doc->doc, errors, &warnings);
	}
	if (result != CONFIG_OK)
		return result;
	shift_numbers(s, only, pool->first);
	*ret = s;
	return CONFIG_OK;
}

void settings_listen(struct settings *s, const struct endpoint *at)
{
	struct l7_listener *l;

	if (s->config.n_listeners)
		return;
	l = arena_new_of(s->arena, struct l7_listener);
	*l = (struct l7_listener){
		.name = "default",
		.at = *at,
		.http2 = true,
		.fields = L7_X_FORWARDED,
		.trace_percent = 100,
	};
	s->config.listeners = l;
	s->config.n_listeners = 1;
}

static const char *copy_text(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

static void copy_tls(struct arena *arena, struct l7_listener_tls *t)
{
	struct l7_certificate *list =
		arena_copy(arena, t->certificates, t->n_certificates * sizeof(*list));

	for (size_t i = 0; i < t->n_certificates; i++)
		list[i] = (struct l7_certificate){ copy_text(arena, list[i].certificate),
						   copy_text(arena, list[i].key),
						   copy_text(arena, list[i].ocsp) };
	t->certificates = list;
	t->ciphers = copy_text(arena, t->ciphers);
	t->ca = copy_text(arena, t->ca);
	t->header.p = arena_strndup(arena, t->header.p ?: "", t->header.n);
}

void settings_keep_clients(struct settings *s, const struct l7_config *other)
{
	if (!s->config.clients.given && other->clients.connections) /* 0: there is none yet */
		s->config.clients = other->clients;
}

void settings_keep_listeners(struct settings *s, const struct l7_config *other)
{
	struct l7_listener *l;

	if (s->config.n_listeners || !other->n_listeners)
		return;
	l = arena_copy(s->arena, other->listeners, other->n_listeners * sizeof(*l));
	for (size_t i = 0; i < other->n_listeners; i++) {
		l[i].name = arena_strdup(s->arena, l[i].name);
		l[i].host.p = arena_strndup(s->arena, l[i].host.p ?: "", l[i].host.n);
		l[i].trusted.items = arena_copy(s->arena, l[i].trusted.items,
						l[i].trusted.n * sizeof(struct proxy));
		copy_tls(s->arena, &l[i].tls);
	}
	s->config.listeners = l;
	s->config.n_listeners = other->n_listeners;
}

/* ---- from a file ---- */

static enum router_syntax syntax_of(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && strcmp(path + n - 5, ".json") == 0 ? ROUTER_JSON : ROUTER_YAML;
}

/* "key: what is wrong" */
static void add_complaint(struct errs *errors, struct str why)
{
	struct str key;

	str_cut(&why, ':', &key);
	why = str_trim(why);
	errs_add_coded(errors, "InvalidTls", (struct place){ 0 },
		       arena_strndup(errors->arena, key.p, key.n),
		       arena_strndup(errors->arena, why.p, why.n));
}

/* Pure: at a reload it runs in a child process. */
static enum config_result build(struct str bytes, struct config_load *load, const void *user)
{
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };
	_cleanup_(buf_free) struct buf why = { 0 };
	const struct settings_file *file = user;
	enum config_result result;
	struct settings *s;

	doc.arena = arena_new();
	result = make_of(router_doc_load(load->sources, syntax_of(file->path), doc.arena, &doc.doc,
					 &load->errors),
			 &doc, &load->errors, &load->warnings, &s);
	if (result != CONFIG_OK)
		return result;
	settings_listen(s, &file->listen);
	if (file->inspect && file->inspect(&s->config, &why) < 0) {
		add_complaint(&load->errors, (struct str){ why.p, why.n });
		return CONFIG_SEMANTIC_ERROR;
	}
	load->config = s;
	return CONFIG_OK;
}

struct config_source settings_source(const struct settings_file *file)
{
	return (struct config_source){ .path = file->path, .build = build, .user = file };
}

struct settings *settings_take(struct config_load *load)
{
	assert(load->result == CONFIG_OK);
	return load->config;
}

void settings_log(const struct config_load *load, const char *path, bool again)
{
	const struct settings *s = load->config;

	config_report(load, path, again);
	if (s)
		log_info("config-loaded", LOG_S("file", path),
			 LOG_U("listeners", s->config.n_listeners),
			 LOG_U("routes", s->config.n_routes), LOG_U("pools", s->config.n_pools),
			 LOG_U("warnings", load->warnings.n));
}
