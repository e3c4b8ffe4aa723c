/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot is made in the arena of the load. The document that it is made from is as large as
 * the configuration, and is freed as soon as that is built. build() is pure code: at a reload it
 * runs in a child process.
 */
#include "src/maglevd/snapshot.h"

#include <assert.h>

#include "base/cleanup.h"
#include "core/l4/validate.h"
#include "lib/regex/regex.h"
#include "wire/config_yaml.h"

/* core has no regular expressions: it asks this function whether a pattern compiles. */
static bool regexp_ok(const char *pattern, char *reason, size_t reason_size)
{
	_cleanup_(regex_freep) struct regex *re = NULL;

	return regex_compile(pattern, &re, reason, reason_size) == 0;
}

static const struct l4_rules rules = { .regexp_ok = regexp_ok };
static const struct l4_rules rules_without_dataplane = { .regexp_ok = regexp_ok,
							 .no_dataplane = true };

static enum config_result build(struct str bytes, struct config_load *load, const void *user)
{
	_cleanup_(arena_freep) struct arena *document = arena_new();
	struct snapshot *s = arena_new_of(load->arena, struct snapshot);
	struct l4_doc doc;

	s->arena = load->arena;
	if (config_yaml_parse(bytes.p, bytes.n, CONFIG_STRICT, document, &doc, &load->errors) < 0)
		return CONFIG_PARSE_ERROR;
	if (l4_config_build(&doc, user, load->arena, &s->config, &load->errors, &load->warnings) <
	    0)
		return CONFIG_SEMANTIC_ERROR;
	load->config = s;
	return CONFIG_OK;
}

struct config_source snapshot_source(const char *path, bool no_dataplane)
{
	return (struct config_source){ .path = path,
				       .build = build,
				       .user = no_dataplane ? &rules_without_dataplane : &rules };
}

const struct l4_config *snapshot_config(const struct config_load *load)
{
	const struct snapshot *s = load->config;

	assert(load->result == CONFIG_OK);
	return &s->config;
}

struct snapshot *snapshot_take(struct config_load *load)
{
	assert(load->result == CONFIG_OK);
	return load->config;
}

void snapshot_free(struct snapshot *s)
{
	if (s)
		arena_free(s->arena);
}
