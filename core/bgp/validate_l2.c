/* SPDX-License-Identifier: Apache-2.0 */
/* The section l2, and what VIPs say about it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/bgp/validate_build.h"

#define INTERFACE_BYTES 15
#define PATH_BYTES 4095
#define KEY_MIN 16 /* bytes */
#define DEFAULT_PRIORITY 100
#define DEFAULT_PORT 9112
#define GROUP_VIPS 4096

static const struct rule_spot l2_spot = { .in = &bgp__root, .name = "l2" };
static const struct rule_range priority = { "priority", 1, UINT8_MAX, DEFAULT_PRIORITY };

/* ---- groups ---- */

static struct str trimmed(struct str s)
{
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	while (s.n && isspace((unsigned char)*s.p))
		s = (struct str){ s.p + 1, s.n - 1 };
	return s;
}

static void build_key(struct bgp__build *b, const struct rule_spot *spot,
		      const struct bgp_doc_l2 *d, struct bgp_l2 *g)
{
	const char *path = bgp__token(b, spot, "key-file", &d->key_file, PATH_BYTES);
	struct bgp_key_file file;
	int r;

	if (!d->key_file.set || !*d->key_file.v)
		rule_fail(&b->sink, spot, "key-file", d->at, "is required");
	if (!path)
		return;
	r = b->machine->read_key(path, b->arena, &file);
	if (r < 0) {
		rule_fail(&b->sink, spot, "key-file", d->key_file.at, "%s cannot be read: %s",
			  rule_quote(&b->sink, path), strerror(-r));
		return;
	}
	g->key = trimmed(file.bytes);
	if (g->key.n < KEY_MIN)
		rule_fail(&b->sink, spot, "key-file", d->key_file.at,
			  "%s must hold at least %d bytes, not %zu", rule_quote(&b->sink, path),
			  KEY_MIN, g->key.n);
	if (file.is_public)
		rule_doubt(&b->sink, spot, "key-file", d->key_file.at,
			   "%s can be read by every user of this machine",
			   rule_quote(&b->sink, path));
}

static int64_t build_heartbeat(struct bgp__build *b, const struct rule_spot *spot,
			       const struct doc_duration *d)
{
	static const struct rule_range heartbeat = { "heartbeat", 10 * NSEC_PER_MSEC,
						     10 * NSEC_PER_SEC, L2_HEARTBEAT };
	int64_t v = rule_duration(&b->sink, spot, &heartbeat, d);

	if (v % NSEC_PER_MSEC == 0)
		return v;
	rule_fail(&b->sink, spot, "heartbeat", d->at, "must be a whole number of milliseconds");
	return L2_HEARTBEAT;
}

static void build_group(struct bgp__build *b, const struct bgp_doc_l2 *d, struct bgp_l2 *g)
{
	static const struct rule_range number = { "group", 0, UINT32_MAX, 0 },
				       losses = { "losses", 2, 100, L2_LOSSES },
				       port = { "port", 1, UINT16_MAX, DEFAULT_PORT };
	static const char *const list[] = { "ipv4", "ipv6" };
	static const struct rule_words families = { "family", list, ARRAY_SIZE(list) };
	const struct rule_spot spot = { .in = &l2_spot, .name = d->name };
	int family = d->family.set ? rule_choose(&b->sink, &spot, &families, &d->family) : 0;

	g->name = arena_strdup(b->arena, d->name);
	g->interface = bgp__token(b, &spot, "interface", &d->interface, INTERFACE_BYTES);
	if (!d->interface.set || !*d->interface.v)
		rule_fail(&b->sink, &spot, "interface", d->at, "is required");
	build_key(b, &spot, d, g);
	g->number = (uint32_t)rule_number(&b->sink, &spot, &number, &d->group);
	g->rule = (struct l2_rule){
		.priority = (uint8_t)rule_number(&b->sink, &spot, &priority, &d->priority),
		.preempt = rule_flag(&d->preempt, true),
		.heartbeat = build_heartbeat(b, &spot, &d->heartbeat),
		.losses = (unsigned)rule_number(&b->sink, &spot, &losses, &d->losses),
	};
	g->family = family == 1 ? AF_INET6 : AF_INET;
	g->port = (uint16_t)rule_number(&b->sink, &spot, &port, &d->port);
}

static bool is_same_place(const struct bgp_l2 *a, const struct bgp_l2 *b)
{
	return a->interface && b->interface && strcmp(a->interface, b->interface) == 0 &&
	       a->number == b->number && a->family == b->family && a->port == b->port;
}

/* The others could not tell the heartbeats of two such groups from each other. */
static void compare_groups(struct bgp__build *b)
{
	const struct bgp_l2 *list = b->config->l2;

	for (size_t i = 1; i < b->config->n_l2; i++) {
		const struct bgp_doc_l2 *d = b->l2[i].doc;
		const struct rule_spot spot = { .in = &l2_spot, .name = d->name };
		size_t k = 0;

		while (k < i && !is_same_place(&list[k], &list[i]))
			k++;
		if (k < i)
			rule_fail(&b->sink, &spot, "group", d->group.set ? d->group.at : d->at,
				  "%u is already the group of %s on this interface and port",
				  list[i].number, rule_quote(&b->sink, list[k].name));
	}
}

void bgp__build_l2(struct bgp__build *b)
{
	size_t n = b->doc->n_l2;
	struct bgp_l2 *list = arena_array_of(b->arena, n, struct bgp_l2);

	b->l2 = rule_entries(&b->sink, &l2_spot, &bgp_schema_l2, b->doc->l2, n);
	for (size_t i = 0; i < n; i++)
		build_group(b, b->l2[i].doc, &list[i]);
	b->config->l2 = list;
	b->config->n_l2 = n;
	compare_groups(b);
}

/* ---- VIPs ---- */

void bgp__build_vip_l2(struct bgp__build *b, const struct rule_spot *spot,
		       const struct bgp_doc_vip *d, struct bgp_vip *v)
{
	const struct bgp__names groups = { "group of l2", b->l2, b->config->n_l2 };
	struct rule_range own = priority;

	v->l2 = BGP_NONE;
	if (d->l2.set)
		v->l2 = bgp__find(b, spot, "l2", &d->l2, &groups);
	else if (d->l2_priority.set)
		rule_fail(&b->sink, spot, "l2-priority", d->l2_priority.at, "needs l2");
	if (v->l2 == BGP_NONE)
		return;
	own.word = "l2-priority";
	own.fallback = b->config->l2[v->l2].rule.priority;
	v->l2_priority = (uint8_t)rule_number(&b->sink, spot, &own, &d->l2_priority);
}

void bgp__count_l2(struct bgp__build *b)
{
	for (size_t g = 0; g < b->config->n_l2; g++) {
		const struct rule_spot spot = { .in = &l2_spot, .name = b->l2[g].name };
		size_t n = 0;

		for (size_t i = 0; i < b->config->n_vips; i++)
			n += b->config->vips[i].l2 == g;
		if (n > GROUP_VIPS)
			rule_fail(&b->sink, &spot, NULL, b->l2[g].at,
				  "has %zu VIPs, and may have at most %d", n, GROUP_VIPS);
	}
}
