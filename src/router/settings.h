/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: a configuration of the router with all that it owns, from a file (lib/config/loader.h)
 * or from the body of a request.
 *
 * Regular expressions are compiled twice: once to check them, maybe in the child process that reads
 * the file, and once by settings_compile() in the process that uses them.
 */
#pragma once

#include "core/l7/config.h"
#include "lib/config/loader.h"
#include "wire/router_doc.h"

struct settings {
	struct arena *arena; /* holds this struct, too */
	struct l7_config config;
	struct l7_regex *patterns; /* list of all */
	unsigned references;	   /* 1 if it was just made; counted by one thread */
};

/* What a file is made a configuration with; must outlive the source. */
struct settings_file {
	const char *path;	/* read as JSON if it ends in ".json", else as YAML */
	struct endpoint listen; /* the only listener, if the file has none */
	/* More checks, which are not for a child process; -EINVAL with why. NULL: none. */
	int (*inspect)(const struct l7_config *c, struct buf *why);
};

struct config_source settings_source(const struct settings_file *file);
/* Of a load without errors, which the settings then own. */
struct settings *settings_take(struct config_load *load);
/* Logs the result of a load (lib/config/report.h), or "config-loaded". */
void settings_log(const struct config_load *load, const char *path, bool again);

/*
 * A document as it was read, in memory of its own: settings refer to nothing in it, and it is much
 * larger. Zeroed, and freed by the caller.
 */
struct settings_doc {
	struct l7_doc doc;
	struct arena *arena;
};

void settings_doc_free(struct settings_doc *d);

/*
 * The same from bytes. The settings own the arena of errors if this returns CONFIG_OK. *doc is what
 * could be read.
 */
enum config_result settings_parse(struct str bytes, enum router_syntax syntax,
				  struct settings_doc *doc, struct errs *errors,
				  struct errs *warnings, struct settings **ret);
/* The pool whose servers are replaced. */
struct settings_pool {
	const char *name;
	uint32_t first; /* servers without idx are counted from here */
	bool tls;	/* its servers have TLS, unless they say something else */
};

/* Its servers as JSON, as settings with that pool alone. */
enum config_result settings_parse_servers(struct str bytes, const struct settings_pool *pool,
					  struct settings_doc *doc, struct errs *errors,
					  struct settings **ret);
/* Without listeners of its own it gets one at that address. */
void settings_listen(struct settings *s, const struct endpoint *at);
/* Without `clients` of its own it gets those of the other. */
void settings_keep_clients(struct settings *s, const struct l7_config *other);
/* Without listeners of its own it gets copies of those of the other. */
void settings_keep_listeners(struct settings *s, const struct l7_config *other);

/* To be called once before settings_matches(). */
void settings_compile(struct settings *s);
static inline struct settings *settings_hold(struct settings *s)
{
	s->references++;
	return s;
}
/* Frees them with the last reference. NULL is allowed. */
void settings_release(struct settings *s);
/* Whether a pattern of compiled settings matches the whole text; from any thread. */
bool settings_matches(const struct l7_regex *regex, struct str text);
