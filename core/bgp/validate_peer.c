/* SPDX-License-Identifier: Apache-2.0 */
/* The sections bfd-profiles and peers. The limits are those of FRR's commands. */
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/bgp/validate_build.h"

#define PASSWORD_BYTES 80 /* the kernel's limit for TCP MD5 keys */
#define INTERFACE_BYTES 15

static const struct rule_spot profiles_spot = { .in = &bgp__root, .name = "bfd-profiles" };
static const struct rule_spot peers_spot = { .in = &bgp__root, .name = "peers" };

/* ---- BFD profiles ---- */

/* A duration in whole units; the fallback counts if it is not. */
static uint32_t in_units(struct bgp__build *b, const struct rule_spot *spot,
			 const struct rule_range *range, const struct doc_duration *d, int64_t unit)
{
	int64_t v = rule_duration(&b->sink, spot, range, d);

	if (v % unit == 0)
		return (uint32_t)(v / unit);
	rule_fail(&b->sink, spot, range->word, d->at, "must be a whole number of %s",
		  unit == NSEC_PER_SEC ? "seconds" : "milliseconds");
	return (uint32_t)(range->fallback / unit);
}

static void build_profile(struct bgp__build *b, const struct bgp_doc_bfd *d, struct frr_bfd *p)
{
	static const struct rule_range receive = { "receive-interval", 10 * NSEC_PER_MSEC,
						   60 * NSEC_PER_SEC, 0 },
				       transmit = { "transmit-interval", 10 * NSEC_PER_MSEC,
						    60 * NSEC_PER_SEC, 0 },
				       echo = { "echo-interval", 10 * NSEC_PER_MSEC,
						60 * NSEC_PER_SEC, 0 },
				       multiplier = { "detect-multiplier", 2, 255, 0 },
				       ttl = { "minimum-ttl", 1, 254, 0 };
	const struct rule_spot spot = { .in = &profiles_spot, .name = d->name };

	p->name = arena_strdup(b->arena, d->name);
	bgp__check_name(b, &spot, d->at, d->name);
	p->receive_ms = in_units(b, &spot, &receive, &d->receive, NSEC_PER_MSEC);
	p->transmit_ms = in_units(b, &spot, &transmit, &d->transmit, NSEC_PER_MSEC);
	p->echo_ms = in_units(b, &spot, &echo, &d->echo, NSEC_PER_MSEC);
	p->multiplier = (uint32_t)rule_number(&b->sink, &spot, &multiplier, &d->multiplier);
	p->minimum_ttl = (uint32_t)rule_number(&b->sink, &spot, &ttl, &d->minimum_ttl);
	p->echo_mode = rule_flag(&d->echo_mode, false);
	p->passive = rule_flag(&d->passive, false);
}

void bgp__build_profiles(struct bgp__build *b)
{
	size_t n = b->doc->n_bfd;
	struct frr_bfd *list = arena_array_of(b->arena, n, struct frr_bfd);

	b->profiles = rule_entries(&b->sink, &profiles_spot, &bgp_schema_bfd, b->doc->bfd, n);
	for (size_t i = 0; i < n; i++)
		build_profile(b, b->profiles[i].doc, &list[i]);
	b->config->profiles = list;
	b->config->n_profiles = n;
}

/* ---- peers ---- */

/* A number, "internal" or "external". */
static void build_asn(struct bgp__build *b, const struct rule_spot *spot,
		      const struct bgp_doc_peer *d, struct frr_peer *p)
{
	uint64_t number;

	if (!d->asn.set) {
		rule_fail(&b->sink, spot, "asn", d->at, "is required");
		return;
	}
	if (cstr_eq(d->asn.v, "internal")) {
		p->as_kind = FRR_AS_INTERNAL;
	} else if (cstr_eq(d->asn.v, "external")) {
		p->as_kind = FRR_AS_EXTERNAL;
	} else if (str_to_u64(str_of(d->asn.v), UINT32_MAX - 1, &number) == 0 && number > 0) {
		p->as_kind = FRR_AS_NUMBER;
		p->asn = (uint32_t)number;
	} else {
		rule_fail(&b->sink, spot, "asn", d->asn.at,
			  "%s must be a number from 1 to 4294967294, internal or external",
			  rule_quote(&b->sink, d->asn.v));
	}
}

static void build_place(struct bgp__build *b, const struct rule_spot *spot,
			const struct bgp_doc_peer *d, struct frr_peer *p)
{
	p->interface = bgp__token(b, spot, "interface", &d->interface, INTERFACE_BYTES);
	if (d->address.set && *d->address.v)
		rule_address(&b->sink, spot, "address", AF_UNSPEC, &d->address, &p->address);
	else if (!p->interface)
		rule_fail(&b->sink, spot, "address", d->at,
			  "is required, or interface for an unnumbered session");
	if (p->interface && addr_is_set(&p->address))
		rule_fail(&b->sink, spot, "interface", d->interface.at,
			  "must not be set with an address");
	if (d->source.set && *d->source.v)
		rule_address(&b->sink, spot, "source",
			     addr_is_set(&p->address) ? p->address.family : AF_UNSPEC, &d->source,
			     &p->source);
}

static void build_timers(struct bgp__build *b, const struct rule_spot *spot,
			 const struct bgp_doc_peer *d, struct frr_peer *p)
{
	static const struct rule_range hold = { "hold-time", 0, 65535 * NSEC_PER_SEC,
						90 * NSEC_PER_SEC },
				       keepalive = { "keepalive-time", 0, 65535 * NSEC_PER_SEC, 0 },
				       connect = { "connect-time", NSEC_PER_SEC,
						   65535 * NSEC_PER_SEC, 0 };

	p->has_timers = d->hold.set || d->keepalive.set;
	p->hold_s = in_units(b, spot, &hold, &d->hold, NSEC_PER_SEC);
	p->keepalive_s = d->keepalive.set
				 ? in_units(b, spot, &keepalive, &d->keepalive, NSEC_PER_SEC)
				 : p->hold_s / 3;
	p->connect_s = in_units(b, spot, &connect, &d->connect, NSEC_PER_SEC);
	if (p->hold_s && p->hold_s < 3)
		rule_fail(&b->sink, spot, "hold-time", d->hold.at, "must be 0s or at least 3s");
	else if (p->keepalive_s > p->hold_s)
		rule_fail(&b->sink, spot, "keepalive-time", d->keepalive.at,
			  "must not be longer than the hold-time");
}

/* By default the family of the address; both without one. */
static void build_families(struct bgp__build *b, const struct rule_spot *spot,
			   const struct bgp_doc_peer *d, struct frr_peer *p)
{
	static const char *const list[] = { "ipv4", "ipv6" };
	static const struct rule_words words = { "families", list, ARRAY_SIZE(list) };

	if (!d->families.set || d->families.n == 0) {
		p->ipv4 = p->address.family != AF_INET6;
		p->ipv6 = p->address.family != AF_INET;
		return;
	}
	for (size_t i = 0; i < d->families.n; i++) {
		int which = rule_choose(&b->sink, spot, &words, &d->families.items[i]);

		p->ipv4 |= which == 0;
		p->ipv6 |= which == 1;
	}
}

static void build_attributes(struct bgp__build *b, const struct rule_spot *spot,
			     const struct bgp_doc_peer *d, struct frr_peer *p)
{
	const struct bgp__attribute_docs attributes = { &d->communities, &d->local_preference,
							&d->med };

	p->attributes = bgp__attributes(b, spot, &attributes);
	if (d->local_preference.set && !frr_peer_is_internal(p, b->config->asn))
		rule_doubt(&b->sink, spot, "local-preference", d->local_preference.at,
			   "has no effect, because only internal peers are sent it");
}

static void build_peer(struct bgp__build *b, const struct bgp_doc_peer *d, struct bgp_peer *peer)
{
	static const struct rule_range local = { "local-asn", 1, UINT32_MAX - 1, 0 },
				       port = { "port", 1, UINT16_MAX, 0 };
	const struct rule_spot spot = { .in = &peers_spot, .name = d->name };
	struct frr_peer *p = &peer->frr;

	p->name = arena_strdup(b->arena, d->name);
	bgp__check_name(b, &spot, d->at, d->name);
	build_place(b, &spot, d, p);
	build_asn(b, &spot, d, p);
	build_timers(b, &spot, d, p);
	build_families(b, &spot, d, p);
	p->local_asn = (uint32_t)rule_number(&b->sink, &spot, &local, &d->local_asn);
	build_attributes(b, &spot, d, p);
	p->port = (uint16_t)rule_number(&b->sink, &spot, &port, &d->port);
	p->password = bgp__token(b, &spot, "password", &d->password, PASSWORD_BYTES);
	p->ebgp_multihop = rule_flag(&d->ebgp_multihop, false);
	p->graceful_restart = rule_flag(&d->graceful_restart, false);
	peer->vrf = bgp__token(b, &spot, "vrf", &d->vrf, INTERFACE_BYTES);
	if (d->bfd.set && *d->bfd.v) {
		const struct bgp__names names = { "BFD profile", b->profiles,
						  b->config->n_profiles };
		size_t i = bgp__find(b, &spot, "bfd", &d->bfd, &names);

		p->bfd = i == BGP__NONE ? NULL : b->config->profiles[i].name;
	}
}

void bgp__build_peers(struct bgp__build *b)
{
	size_t n = b->doc->n_peers;
	struct bgp_peer *list = arena_array_of(b->arena, n, struct bgp_peer);

	b->peers = rule_entries(&b->sink, &peers_spot, &bgp_schema_peer, b->doc->peers, n);
	for (size_t i = 0; i < n; i++)
		build_peer(b, b->peers[i].doc, &list[i]);
	b->config->peers = list;
	b->config->n_peers = n;
}
