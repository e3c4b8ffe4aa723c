/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: sorts pointers to the parts of the model, and writes them from top to bottom.
 *
 * Each line is written in the form in which FRR prints it, as far as FRR prints it at all, so that
 * what runs can be compared with what is wanted. Numbers that are FRR's defaults are left out where
 * the model says so with 0.
 */
#include "core/frr/model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/frr/words.h"

#define IN_MAP "maglev-in"
#define OUT_MAP "maglev-out-"

/* The parts of the model in their order. */
struct view {
	struct arena *arena;
	const struct frr_model *m;
	const struct frr_router **routers;
	const struct frr_class **classes;
	struct buf *out;
};

/* ---- order ---- */

typedef int (*compare_fn)(const void *, const void *);

/* Pointers to the n items of size bytes at `items`, sorted. */
static void *sorted(struct arena *arena, const void *items, size_t n, size_t size,
		    compare_fn compare)
{
	const void **all = arena_array(arena, n + 1, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = (const char *)items + i * size;
	qsort(all, n, sizeof(*all), compare);
	return all;
}

#define SORTED(view, items, n, compare)                                                            \
	sorted((view)->arena, (items), (n), sizeof((items)[0]), (compare))

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The default router has no VRF and comes first. */
static int compare_routers(const void *left, const void *right)
{
	const struct frr_router *a = *(const void *const *)left, *b = *(const void *const *)right;

	return strcmp(a->vrf ? a->vrf : "", b->vrf ? b->vrf : "");
}

static int compare_peers(const void *left, const void *right)
{
	const struct frr_peer *a = *(const void *const *)left, *b = *(const void *const *)right;

	return strcmp(a->name, b->name);
}

static int compare_classes(const void *left, const void *right)
{
	const struct frr_class *a = *(const void *const *)left, *b = *(const void *const *)right;

	if (a->number == b->number && a->n_peers && b->n_peers)
		return strcmp(a->peers[0], b->peers[0]);
	return by_number(a->number, b->number);
}

static int compare_profiles(const void *left, const void *right)
{
	const struct frr_bfd *a = *(const void *const *)left, *b = *(const void *const *)right;

	return strcmp(a->name, b->name);
}

static int compare_prefixes(const void *left, const void *right)
{
	const struct frr_prefix *a = *(const void *const *)left, *b = *(const void *const *)right;
	int r = addr_cmp(&a->address, &b->address);

	return r ? r : by_number(a->length, b->length);
}

/* Communities are numbers with one or two colons; bgpd prints them by value. */
static int compare_communities(const void *left, const void *right)
{
	struct str a = frr__community_number(str_of(**(const char *const *const *)left));
	struct str b = frr__community_number(str_of(**(const char *const *const *)right));
	struct str x, y;

	while (str_cut(&a, ':', &x) && str_cut(&b, ':', &y)) {
		uint64_t i = 0, j = 0;
		int r;

		str_to_u64(x, UINT32_MAX, &i);
		str_to_u64(y, UINT32_MAX, &j);
		r = by_number(i, j);
		if (r)
			return r;
	}
	return 0;
}

/* ---- what a peer is ---- */

/* The ASN that a peer is shown. */
static uint32_t shown_asn(const struct frr_peer *p, uint32_t own)
{
	return p->local_asn ? p->local_asn : own;
}

static bool gets_class(const struct frr_class *c, const struct frr_peer *p)
{
	for (size_t i = 0; i < c->n_peers; i++)
		if (strcmp(c->peers[i], p->name) == 0)
			return true;
	return c->n_peers == 0;
}

/* ---- route maps ---- */

static void write_origin(struct view *v, const struct frr_class *c)
{
	buf_printf(v->out,
		   "!\n"
		   "route-map " FRR_ORIGIN_MAP "%" PRIu32 " permit 10\n"
		   " set tag %" PRIu32 "\n"
		   "exit\n",
		   c->number, c->number);
}

/* One line with all communities; without any, none. bgpd drops what is there twice. */
static void write_communities(struct view *v, const char *what, const char *const *items, size_t n)
{
	const char *const *const *all = SORTED(v, items, n, compare_communities);

	for (size_t i = 0; i < n; i++) {
		struct str text = frr__canonical_community(str_of(*all[i]));

		if (i && compare_communities(&all[i - 1], &all[i]) == 0)
			continue;
		buf_printf(v->out, "%s %.*s", i ? "" : what, (int)text.n, text.p);
	}
	if (n)
		buf_addc(v->out, '\n');
}

static const char *const *joined(struct arena *arena, const char *const *a, size_t n_a,
				 const char *const *b, size_t n_b)
{
	const char **all = arena_array_of(arena, n_a + n_b, const char *);

	for (size_t i = 0; i < n_a + n_b; i++)
		all[i] = i < n_a ? a[i] : b[i - n_a];
	return all;
}

/* Of the routes of a class at a peer. */
static struct frr_attributes attributes_at(struct view *v, const struct frr_class *class,
					   const struct frr_peer *peer)
{
	const struct frr_attributes *c = &class->attributes, *p = &peer->attributes;
	const struct frr_attributes *preference = c->has_local_preference ? c : p;
	const struct frr_attributes *med = c->has_med ? c : p;

	return (struct frr_attributes){
		.has_local_preference = preference->has_local_preference,
		.local_preference = preference->local_preference,
		.has_med = med->has_med,
		.med = med->med,
		.communities = joined(v->arena, c->communities, c->n_communities, p->communities,
				      p->n_communities),
		.n_communities = c->n_communities + p->n_communities,
		.large_communities = joined(v->arena, c->large_communities, c->n_large_communities,
					    p->large_communities, p->n_large_communities),
		.n_large_communities = c->n_large_communities + p->n_large_communities,
	};
}

static void write_entry(struct view *v, const struct frr_router *r, const struct frr_peer *p,
			const struct frr_class *c)
{
	const struct frr_attributes a = attributes_at(v, c, p);
	bool internal = frr_peer_is_internal(p, r->asn);

	buf_printf(v->out,
		   "!\n"
		   "route-map " OUT_MAP "%s permit %" PRIu32 "\n"
		   " match tag %" PRIu32 "\n",
		   p->name, c->number, c->number);
	/* a router with its own ASN in the path of an internal route refuses it */
	if (c->prepend && !internal) {
		buf_adds(v->out, " set as-path prepend");
		for (unsigned i = 0; i < c->prepend; i++)
			buf_printf(v->out, " %" PRIu32, shown_asn(p, r->asn));
		buf_addc(v->out, '\n');
	}
	write_communities(v, " set community", a.communities, a.n_communities);
	write_communities(v, " set large-community", a.large_communities, a.n_large_communities);
	if (a.has_local_preference && internal)
		buf_printf(v->out, " set local-preference %" PRIu32 "\n", a.local_preference);
	if (a.has_med)
		buf_printf(v->out, " set metric %" PRIu32 "\n", a.med);
	buf_adds(v->out, "exit\n");
}

/* The last entry is there for a peer without classes: a map must exist to be used. */
static void write_peer_maps(struct view *v, const struct frr_router *r, const struct frr_peer *p)
{
	for (size_t i = 0; i < v->m->n_classes; i++)
		if (gets_class(v->classes[i], p))
			write_entry(v, r, p, v->classes[i]);
	buf_printf(v->out, "!\nroute-map " OUT_MAP "%s deny %d\nexit\n", p->name,
		   FRR_CLASS_MAX + 1);
}

/* ---- BFD ---- */

static void write_number(struct buf *out, const char *before, uint32_t number)
{
	if (number)
		buf_printf(out, "%s %" PRIu32 "\n", before, number);
}

static void write_profile(struct view *v, const struct frr_bfd *b)
{
	buf_printf(v->out, " profile %s\n", b->name);
	write_number(v->out, "  detect-multiplier", b->multiplier);
	write_number(v->out, "  receive-interval", b->receive_ms);
	write_number(v->out, "  transmit-interval", b->transmit_ms);
	write_number(v->out, "  echo transmit-interval", b->echo_ms);
	write_number(v->out, "  echo receive-interval", b->echo_ms);
	if (b->echo_mode)
		buf_adds(v->out, "  echo-mode\n");
	if (b->passive)
		buf_adds(v->out, "  passive-mode\n");
	write_number(v->out, "  minimum-ttl", b->minimum_ttl);
	buf_adds(v->out, " exit\n");
}

/*
 * bfdd takes a session down when the bgpd that asked for it ends, and the peer then removes the
 * routes that graceful restart should keep. So with graceful restart bgpd does not ask, and bfdd
 * has the session from its own configuration. That needs to know the address and the interface:
 * only the address of a neighbour that is one hop away tells both.
 */
static bool outlives_bgpd(const struct frr_router *r, const struct frr_peer *p)
{
	return p->bfd && p->graceful_restart && !p->interface && !p->ebgp_multihop &&
	       !frr_peer_is_internal(p, r->asn);
}

static void write_bfd_peer(struct view *v, const struct frr_router *r, const struct frr_peer *p)
{
	char text[ADDR_STRLEN];

	buf_printf(v->out, " peer %s", addr_format(&p->address, text));
	if (addr_is_set(&p->source))
		buf_printf(v->out, " local-address %s", addr_format(&p->source, text));
	if (r->vrf)
		buf_printf(v->out, " vrf %s", r->vrf);
	buf_printf(v->out, "\n  profile %s\n exit\n", p->bfd);
}

static void write_bfd_peers(struct view *v, const struct frr_router *r)
{
	const struct frr_peer *const *peers = SORTED(v, r->peers, r->n_peers, compare_peers);

	for (size_t i = 0; i < r->n_peers; i++)
		if (outlives_bgpd(r, peers[i]))
			write_bfd_peer(v, r, peers[i]);
}

static void write_bfd(struct view *v)
{
	const struct frr_bfd *const *all =
		SORTED(v, v->m->profiles, v->m->n_profiles, compare_profiles);

	if (!v->m->n_profiles)
		return;
	buf_adds(v->out, "!\nbfd\n");
	for (size_t i = 0; i < v->m->n_profiles; i++)
		write_profile(v, all[i]);
	for (size_t i = 0; i < v->m->n_routers; i++)
		write_bfd_peers(v, v->routers[i]);
	buf_adds(v->out, "exit\n");
}

/* ---- neighbours ---- */

static const char *id_of(const struct frr_peer *p, char text[static ADDR_STRLEN])
{
	return p->interface ? p->interface : addr_format(&p->address, text);
}

static void write_remote(struct buf *out, const struct frr_peer *p, const char *id)
{
	buf_printf(out, " neighbor %s%s remote-as ", id, p->interface ? " interface" : "");
	switch (p->as_kind) {
	case FRR_AS_NUMBER:
		buf_printf(out, "%" PRIu32 "\n", p->asn);
		break;
	case FRR_AS_INTERNAL:
		buf_adds(out, "internal\n");
		break;
	case FRR_AS_EXTERNAL:
		buf_adds(out, "external\n");
		break;
	}
}

/* How the peer is reached. */
static void write_transport(struct buf *out, const struct frr_router *r, const struct frr_peer *p,
			    const char *id)
{
	char text[ADDR_STRLEN];
	bool external = !frr_peer_is_internal(p, r->asn);

	if (p->port && p->port != 179)
		buf_printf(out, " neighbor %s port %u\n", id, p->port);
	if (p->password)
		buf_printf(out, " neighbor %s password %s\n", id, p->password);
	if (external && p->ebgp_multihop)
		buf_printf(out, " neighbor %s ebgp-multihop 255\n", id);
	/* the next hop of a global IPv6 address may be found on a link without that prefix */
	if (external && !p->ebgp_multihop && p->address.family == AF_INET6)
		buf_printf(out, " neighbor %s disable-connected-check\n", id);
	if (addr_is_set(&p->source))
		buf_printf(out, " neighbor %s update-source %s\n", id,
			   addr_format(&p->source, text));
}

/* With "bfd profile" alone, each frr-reload would remove "bfd", and end the session. */
static void write_neighbor_bfd(struct buf *out, const struct frr_router *r,
			       const struct frr_peer *p, const char *id)
{
	if (p->bfd && !outlives_bgpd(r, p))
		buf_printf(out,
			   " neighbor %s bfd\n"
			   " neighbor %s bfd profile %s\n",
			   id, id, p->bfd);
}

static void write_peer(struct view *v, const struct frr_router *r, const struct frr_peer *p)
{
	char text[ADDR_STRLEN];
	const char *id = id_of(p, text);

	write_remote(v->out, p, id);
	if (p->local_asn)
		buf_printf(v->out, " neighbor %s local-as %" PRIu32 " no-prepend replace-as\n", id,
			   p->local_asn);
	write_neighbor_bfd(v->out, r, p, id);
	write_transport(v->out, r, p, id);
	if (p->has_timers)
		buf_printf(v->out, " neighbor %s timers %" PRIu32 " %" PRIu32 "\n", id,
			   p->keepalive_s, p->hold_s);
	if (p->connect_s)
		buf_printf(v->out, " neighbor %s timers connect %" PRIu32 "\n", id, p->connect_s);
	/* by default FRR is a helper and says so; some peers then keep routes of a dead bgpd */
	buf_printf(v->out, " neighbor %s graceful-restart%s\n", id,
		   p->graceful_restart ? "" : "-disable");
}

/* ---- routers ---- */

static void write_network(struct view *v, const struct frr_prefix *x)
{
	char text[ADDR_STRLEN];

	buf_printf(v->out, "  network %s/%u route-map " FRR_ORIGIN_MAP "%" PRIu32 "\n",
		   addr_format(&x->address, text), x->length, x->class);
}

/* The route maps come before "activate", so that a session never runs without them. */
static void write_policy(struct view *v, const struct frr_peer *p)
{
	char text[ADDR_STRLEN];
	const char *id = id_of(p, text);

	buf_printf(v->out,
		   "  neighbor %s route-map " IN_MAP " in\n"
		   "  neighbor %s route-map " OUT_MAP "%s out\n"
		   "  neighbor %s activate\n",
		   id, id, p->name, id);
}

static bool is_in_family(const struct frr_prefix *x, bool six)
{
	return x->address.family == (six ? AF_INET6 : AF_INET);
}

static bool has_family(const struct frr_router *r, bool six)
{
	for (size_t i = 0; i < r->n_prefixes; i++)
		if (is_in_family(&r->prefixes[i], six))
			return true;
	for (size_t i = 0; i < r->n_peers; i++)
		if (six ? r->peers[i].ipv6 : r->peers[i].ipv4)
			return true;
	return false;
}

/* FRR prints no empty family, and to frr-reload.py one would always be a context to add. */
static void write_family(struct view *v, const struct frr_router *r,
			 const struct frr_peer *const *peers, bool six)
{
	const struct frr_prefix *const *prefixes =
		SORTED(v, r->prefixes, r->n_prefixes, compare_prefixes);

	if (!has_family(r, six))
		return;
	buf_printf(v->out, " !\n address-family ipv%c unicast\n", six ? '6' : '4');
	for (size_t i = 0; i < r->n_prefixes; i++)
		if (is_in_family(prefixes[i], six))
			write_network(v, prefixes[i]);
	for (size_t i = 0; i < r->n_peers; i++)
		if (six ? peers[i]->ipv6 : peers[i]->ipv4)
			write_policy(v, peers[i]);
	buf_adds(v->out, " exit-address-family\n");
}

static void write_globals(struct view *v, const struct frr_router *r)
{
	char text[ADDR_STRLEN];
	bool restart = false;

	for (size_t i = 0; i < r->n_peers; i++)
		restart |= r->peers[i].graceful_restart;
	buf_printf(v->out, "!\nrouter bgp %" PRIu32 "%s%s\n", r->asn, r->vrf ? " vrf " : "",
		   r->vrf ? r->vrf : "");
	if (addr_is_set(&r->id))
		buf_printf(v->out, " bgp router-id %s\n", addr_format(&r->id, text));
	buf_adds(v->out, " no bgp ebgp-requires-policy\n"
			 " no bgp default ipv4-unicast\n");
	/*
	 * While bgpd waits for other peers that could share the first updates of a session, FRR
	 * before 10.3 loses withdrawals. No two peers here could: each has its own route map.
	 *
	 * With graceful restart it has to wait. The routes of a bgpd that was started again pass
	 * their route maps 5 s after it has read its file, and its sessions come up in the second
	 * before. Two seconds later the routes are there; earlier, it would tell the peer that
	 * there are no more, and the peer would remove them until they come.
	 */
	buf_adds(v->out, restart ? " coalesce-time 2000\n"
				   " bgp graceful-restart preserve-fw-state\n"
				 : " coalesce-time 0\n");
	/*
	 * The last line is a default, which FRR does not print. So frr-reload.py always has a line
	 * to add in a router that exists; that of FRR 8.4 ends with an exception if it has only new
	 * contexts to add, such as another router, while a neighbour goes.
	 */
	buf_adds(v->out, " no bgp network import-check\n"
			 " no bgp shutdown\n");
}

static void write_router(struct view *v, const struct frr_router *r)
{
	const struct frr_peer *const *peers = SORTED(v, r->peers, r->n_peers, compare_peers);

	for (size_t i = 0; i < r->n_peers; i++)
		write_peer_maps(v, r, peers[i]);
	write_globals(v, r);
	for (size_t i = 0; i < r->n_peers; i++)
		write_peer(v, r, peers[i]);
	write_family(v, r, peers, false);
	write_family(v, r, peers, true);
	buf_adds(v->out, "exit\n");
}

/* ---- the whole ---- */

static int compare_to_class(const void *number, const void *item)
{
	const struct frr_class *c = *(const struct frr_class *const *)item;

	return by_number(*(const uint32_t *)number, c->number);
}

/* A prefix without its class would have a route map that does not exist. */
static void check(const struct view *v)
{
	const struct frr_model *m = v->m;

	for (size_t i = 0; i < m->n_classes; i++) {
		const struct frr_class *c = v->classes[i], *before = i ? v->classes[i - 1] : NULL;

		assert(c->number > 0 && c->number <= FRR_CLASS_MAX);
		assert(!before || c->number > before->number || (c->n_peers && before->n_peers));
	}
	for (size_t i = 0; i < m->n_routers; i++)
		for (size_t j = 0; j < m->routers[i].n_prefixes; j++)
			assert(bsearch(&m->routers[i].prefixes[j].class, v->classes, m->n_classes,
				       sizeof(v->classes[0]), compare_to_class));
}

static void write_head(struct view *v)
{
	if (v->m->log_level)
		buf_printf(v->out, "log syslog %s\n", v->m->log_level);
	/* a peer may be reached through the default route */
	buf_adds(v->out, "ip nht resolve-via-default\n"
			 "ipv6 nht resolve-via-default\n"
			 "!\n"
			 "route-map " IN_MAP " deny 10\n"
			 "exit\n");
}

bool frr_peer_is_internal(const struct frr_peer *p, uint32_t own)
{
	return p->as_kind == FRR_AS_INTERNAL ||
	       (p->as_kind == FRR_AS_NUMBER && p->asn == shown_asn(p, own));
}

void frr_render(const struct frr_model *m, struct buf *out)
{
	struct view v = { .arena = arena_new(), .m = m, .out = out };

	assert(m && out);
	v.routers = SORTED(&v, m->routers, m->n_routers, compare_routers);
	v.classes = SORTED(&v, m->classes, m->n_classes, compare_classes);
	check(&v);
	write_head(&v);
	write_bfd(&v);
	for (size_t i = 0; i < m->n_classes; i++)
		if (i == 0 || v.classes[i]->number != v.classes[i - 1]->number)
			write_origin(&v, v.classes[i]);
	for (size_t i = 0; i < m->n_routers; i++)
		write_router(&v, v.routers[i]);
	if (m->extra) {
		buf_printf(out, "!\n%s", m->extra);
		if (out->p[out->n - 1] != '\n')
			buf_addc(out, '\n');
	}
	arena_free(v.arena);
}
