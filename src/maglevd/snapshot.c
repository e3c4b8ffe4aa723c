/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot is made in the arena of the load. The document that it is made from is as large as
 * the configuration, and is freed as soon as that is built. build() is pure code: at a reload it
 * runs in a child process.
 */
#include "src/maglevd/snapshot.h"

#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "core/l4/validate.h"
#include "lib/regex/regex.h"
#include "lib/tls/tls.h"
#include "lib/yaml/yaml_file.h"
#include "wire/config_yaml.h"

/* core has no regular expressions: it asks this function whether a pattern compiles. */
static bool regexp_ok(const char *pattern, char *reason, size_t reason_size)
{
	_cleanup_(regex_freep) struct regex *re = NULL;

	return regex_compile(pattern, &re, reason, reason_size) == 0;
}

/* A context is made of the text as the prober will do it, to see whether that works. */
static bool read_ca(const char *path, struct arena *arena, const char **ret, char *reason,
		    size_t reason_size)
{
	_cleanup_(arena_freep) struct arena *scratch = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct errs errors = { .arena = scratch };
	struct tls_context *context;
	struct tls_refusal why;
	struct tls_config config = { .role = TLS_CLIENT, .minimum = TLS_SYSTEM };

	if (yaml_read_file(path, &text, &errors) < 0) {
		snprintf(reason, reason_size, "%s", errors.items[0].text);
		return false;
	}
	config.ca = buf_cstr(&text);
	if (!tls_is_pem(config.ca)) {
		snprintf(reason, reason_size, "it does not begin with \"-----BEGIN\"");
		return false;
	}
	if (tls_context_new(&config, &context, &why) < 0) {
		snprintf(reason, reason_size, "%s", why.reason);
		return false;
	}
	tls_context_free(context);
	*ret = arena_strndup(arena, text.p, text.n);
	return true;
}

/*
 * From the file, or from the snapshot in force. The document of the file is kept if it may be used
 * again; additions go to a copy.
 */
static int read_document(struct config_load *load, const struct snapshot_input *input,
			 struct arena *scratch, struct snapshot *s, struct l4_doc *ret)
{
	struct arena *arena = input->extend ? load->arena : scratch;
	int r = 0;

	if (input->is_reused) {
		s->doc = input->in_force->doc;
		s->origin = input->in_force->origin;
		*ret = *s->doc;
		return 0;
	}
	r = config_yaml_load(load->sources, CONFIG_STRICT, arena, ret, &load->errors);
	if (r == 0 && input->extend) {
		s->doc = arena_copy(arena, ret, sizeof(*ret));
		s->origin = s;
	}
	return r;
}

static enum config_result build(struct str bytes, struct config_load *load, const void *user)
{
	_cleanup_(arena_freep) struct arena *document = arena_new();
	const struct snapshot_input *input = user;
	const struct l4_rules rules = { .regexp_ok = regexp_ok,
					.read_ca = read_ca,
					.no_dataplane = input->no_dataplane };
	struct snapshot *s = arena_new_of(load->arena, struct snapshot);
	struct l4_doc doc;

	s->arena = load->arena;
	if (read_document(load, input, document, s, &doc) < 0)
		return CONFIG_PARSE_ERROR;
	if (input->extend)
		input->extend(document, &doc, &load->warnings, input->user);
	if (l4_config_build(&doc, &rules, load->arena, &s->config, &load->errors, &load->warnings) <
	    0)
		return CONFIG_SEMANTIC_ERROR;
	load->config = s;
	return CONFIG_OK;
}

struct config_source snapshot_source(const char *path, const struct snapshot_input *input)
{
	return (struct config_source){
		.path = path, .build = build, .user = input, .skips_file = &input->is_reused
	};
}

const struct l4_config *snapshot_config(const struct config_load *load)
{
	const struct snapshot *s = load->config;

	assert(load->result == CONFIG_OK);
	return &s->config;
}

struct snapshot *snapshot_take(struct config_load *load)
{
	struct snapshot *s = load->config;

	assert(load->result == CONFIG_OK);
	if (s->origin && s->origin != s)
		s->origin->refs++;
	return s;
}

static void release(struct snapshot *s)
{
	if (s->refs)
		s->refs--;
	else
		arena_free(s->arena);
}

void snapshot_free(struct snapshot *s)
{
	struct snapshot *origin = s ? s->origin : NULL;

	if (!s)
		return;
	release(s);
	if (origin && origin != s)
		release(origin);
}
