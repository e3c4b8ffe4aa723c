/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate: the rules of speaker.yaml.
 *
 *	validate_peer.c		BFD profiles, peers
 *	validate_vip.c		advertisements, VIPs, and the prefixes that VIPs share
 *	validate_l2.c		groups on local networks
 *	this file		name, router, maglevds, and what the others have in common
 *
 * An invalid value is reported once and then counts as not given: an entry keeps its name, so that
 * references to it resolve.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/bgp/validate_build.h"

#define PATH_BYTES 4095
#define TARGET_BYTES 300 /* host and port */
#define NEAR_ERRORS 20	 /* after this many errors, suggestions are left out */

const struct rule_spot bgp__root = { .name = "speaker" };

static const struct rule_spot router_spot = { .in = &bgp__root, .name = "router" };
static const struct rule_spot maglevds_spot = { .in = &bgp__root, .name = "maglevds" };

/* ---- in common ---- */

static const char *near_names(struct bgp__build *b, const char *name,
			      const struct bgp__names *names)
{
	struct near near = { .wanted = str_of(name),
			     .limit = strlen(name) < 4 ? 1 : 2,
			     .max = NEAR_MAX };

	if (b->sink.errors->n >= NEAR_ERRORS)
		return "";
	for (size_t i = 0; i < names->n; i++)
		near_consider(&near, names->entries[i].name);
	return rule_near(&b->sink, &near);
}

static int by_name(const void *key, const void *item)
{
	return strcmp(key, ((const struct rule_entry *)item)->name);
}

size_t bgp__find(struct bgp__build *b, const struct rule_spot *in, const char *word,
		 const struct doc_text *d, const struct bgp__names *names)
{
	const struct rule_entry *e =
		names->n ? bsearch(d->v, names->entries, names->n, sizeof(*e), by_name) : NULL;

	if (e)
		return (size_t)(e - names->entries);
	rule_fail(&b->sink, in, word, d->at, "there is no %s %s%s", names->what,
		  rule_quote(&b->sink, d->v), near_names(b, d->v, names));
	return BGP__NONE;
}

void bgp__check_name(struct bgp__build *b, const struct rule_spot *spot, struct place at,
		     const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";

	if (name[strspn(name, allowed)])
		rule_fail(&b->sink, spot, NULL, at,
			  "%s has characters other than letters, digits, '-', '_' and '.'",
			  rule_quote(&b->sink, name));
}

const char *bgp__token(struct bgp__build *b, const struct rule_spot *spot, const char *word,
		       const struct doc_text *d, size_t max)
{
	if (!d->set || !*d->v || !rule_token(&b->sink, spot, word, d, max))
		return NULL;
	return arena_strdup(b->arena, d->v);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct schema_texts bgp__sorted(struct bgp__build *b, const char **items, size_t n)
{
	const char **copies = arena_array_of(b->arena, n, const char *);
	size_t kept = 0;

	if (n)
		qsort(items, n, sizeof(*items), by_text);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(items[i - 1], items[i]) != 0)
			copies[kept++] = arena_strdup(b->arena, items[i]);
	return (struct schema_texts){ copies, kept };
}

/* ---- name and router ---- */

static void build_name(struct bgp__build *b)
{
	const struct doc_text *d = &b->doc->name;
	const char *name = d->set ? d->v : b->machine->name;

	b->config->name = arena_strdup(b->arena, name);
	if (d->set)
		rule_printable(&b->sink, &bgp__root, "name", d->at, name, L2_NAME_MAX);
	else if (b->doc->n_l2 && (!*name || strlen(name) > L2_NAME_MAX))
		rule_fail(&b->sink, &bgp__root, "name", b->doc->l2[0].at,
			  "is required, because the host name has %zu bytes", strlen(name));
	else if (b->doc->n_l2 && strcmp(name, "localhost") == 0)
		rule_doubt(&b->sink, &bgp__root, "name", b->doc->l2[0].at,
			   "is not set, and the host name is localhost, which may be the name of "
			   "other members as well");
}

/* The place of what needs a router: sessions do, and VIPs without l2. NULL: nothing does. */
static const struct place *needs_router(const struct bgp__build *b)
{
	if (b->doc->router.set)
		return &b->doc->router.at;
	if (b->doc->n_peers)
		return &b->doc->peers[0].at;
	for (size_t i = 0; i < b->doc->n_vips; i++)
		if (b->doc->vips[i].advertisement.set || !b->doc->vips[i].l2.set)
			return &b->doc->vips[i].at;
	return NULL;
}

static void build_router(struct bgp__build *b)
{
	static const struct rule_range asn = { "asn", 1, UINT32_MAX - 1, 0 };
	const struct bgp_doc_router *d = &b->doc->router;
	const struct place *at = needs_router(b);

	b->config->asn = (uint32_t)rule_number(&b->sink, &router_spot, &asn, &d->asn);
	if (!d->asn.set && at)
		rule_fail(&b->sink, &router_spot, "asn", *at, "is required");
	if (d->router_id.set)
		rule_address(&b->sink, &router_spot, "router-id", AF_INET, &d->router_id,
			     &b->config->router_id);
}

/* ---- maglevds ---- */

/* Whether text is "host:port" or "[v6]:port". The host is looked up only when it is used. */
static bool is_target(const char *text)
{
	const char *colon = strrchr(text, ':');
	uint64_t port;

	if (!colon || colon == text || str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0 ||
	    port == 0)
		return false;
	return *text == '[' ? colon[-1] == ']' : memchr(text, ':', (size_t)(colon - text)) == NULL;
}

static void build_target(struct bgp__build *b, const struct rule_spot *spot,
			 const struct bgp_doc_maglevd *d, struct bgp_maglevd *m)
{
	m->address = "";
	if (!d->address.set) {
		rule_fail(&b->sink, spot, "address", d->at, "is required");
		return;
	}
	if (!rule_token(&b->sink, spot, "address", &d->address, TARGET_BYTES))
		return;
	m->address = arena_strdup(b->arena, d->address.v);
	if (!is_target(m->address))
		rule_fail(&b->sink, spot, "address", d->address.at,
			  "%s must be host:port, for example 127.0.0.1:9090",
			  rule_quote(&b->sink, d->address.v));
}

static void build_maglevd(struct bgp__build *b, const struct bgp_doc_maglevd *d,
			  struct bgp_maglevd *m)
{
	const struct rule_spot spot = { .in = &maglevds_spot, .name = d->name };

	m->name = arena_strdup(b->arena, d->name);
	if (strchr(d->name, '/'))
		rule_fail(&b->sink, &spot, NULL, d->at,
			  "must not contain '/', which separates it from the frontend");
	build_target(b, &spot, d, m);
	m->ca = bgp__token(b, &spot, "ca", &d->ca, PATH_BYTES);
	m->certificate = bgp__token(b, &spot, "certificate", &d->certificate, PATH_BYTES);
	m->key = bgp__token(b, &spot, "key", &d->key, PATH_BYTES);
	m->tls = rule_flag(&d->tls, m->ca || m->certificate);
	if (!m->certificate != !m->key)
		rule_fail(&b->sink, &spot, m->key ? "certificate" : "key", d->at,
			  "is required with a %s", m->key ? "key" : "certificate");
	if (!m->tls && (m->ca || m->certificate))
		rule_fail(&b->sink, &spot, "tls", d->tls.at,
			  "must not be false with a ca or a certificate");
}

static void build_maglevds(struct bgp__build *b)
{
	size_t n = b->doc->n_maglevds;
	struct bgp_maglevd *list = arena_array_of(b->arena, n, struct bgp_maglevd);

	b->maglevds =
		rule_entries(&b->sink, &maglevds_spot, &bgp_schema_maglevd, b->doc->maglevds, n);
	for (size_t i = 0; i < n; i++)
		build_maglevd(b, b->maglevds[i].doc, &list[i]);
	b->config->maglevds = list;
	b->config->n_maglevds = n;
}

/* ---- the whole ---- */

int bgp_config_build(const struct bgp_doc *doc, const struct bgp_machine *machine,
		     struct arena *arena, struct bgp_config *ret, struct errs *errors,
		     struct errs *warnings)
{
	_cleanup_(arena_freep) struct arena *scratch = arena_new();
	struct bgp_config config = { 0 };
	struct bgp__build b = {
		.doc = doc,
		.machine = machine,
		.arena = arena,
		.sink = { scratch, errors, warnings },
		.config = &config,
	};
	size_t before = rule_errors(&b.sink);

	build_name(&b);
	build_router(&b);
	bgp__build_profiles(&b);
	bgp__build_peers(&b);
	bgp__build_advertisements(&b);
	build_maglevds(&b);
	bgp__build_l2(&b);
	bgp__build_vips(&b);
	errs_sort(errors);
	errs_sort(warnings);
	if (rule_errors(&b.sink) != before)
		return -EINVAL;
	*ret = config;
	return 0;
}
