/* SPDX-License-Identifier: Apache-2.0 */
/* BGP peers and BFD profiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/units.h"
#include "core/metal/build.h"

#define BASIC_AUTH "kubernetes.io/basic-auth"
#define BGP_PORT 179

/* ---- profiles ---- */

struct bound {
	size_t from, to; /* offsets of the value in the document and in the result */
	uint32_t min, max;
	const char *what;
};

#define BOUND(member, low, high, name)                                                             \
	{                                                                                          \
		offsetof(struct metal_bfd_doc, member), offsetof(struct metal_bfd, member), low,   \
			high, name                                                                 \
	}

static const struct bound bounds[] = {
	BOUND(multiplier, 2, 255, "detect multiplier"),
	BOUND(receive_ms, 10, 60000, "receive interval"),
	BOUND(transmit_ms, 10, 60000, "transmit interval"),
	BOUND(minimum_ttl, 1, 254, "minimum ttl"),
	BOUND(echo_ms, 10, 60000, "echo interval"),
};

static int build_profile(struct metal__build *b, const struct metal_bfd_doc *d,
			 struct metal_bfd *profile)
{
	*profile = (struct metal_bfd){ .name = arena_strdup(b->arena, d->name),
				       .echo_mode = d->echo_mode,
				       .passive = d->passive };
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		const struct bound *bound = &bounds[i];
		int64_t value = *(const int64_t *)((const char *)d + bound->from);

		if (value == METAL_UNSET)
			continue;
		if (value < bound->min || value > bound->max) {
			metal__fail(b, "invalid value %lld, must be in %u-%u range",
				    (long long)value, bound->min, bound->max);
			return metal__join(b, "invalid %s value", bound->what);
		}
		*(uint32_t *)((char *)profile + bound->to) = (uint32_t)value;
	}
	return 0;
}

int metal__build_profiles(struct metal__build *b)
{
	size_t n = b->doc->n_profiles;
	struct metal_bfd *profiles = arena_array_of(b->arena, n, struct metal_bfd);

	for (size_t i = 0; i < n; i++)
		if (build_profile(b, &b->doc->profiles[i], &profiles[i]) < 0)
			return metal__within(b, "parsing bfd profile #%zu: ", i + 1);
	b->config.profiles = profiles;
	b->config.n_profiles = n;
	return 0;
}

static const struct metal_bfd *find_profile(const struct metal__build *b, const char *name)
{
	const struct metal_bfd *all = b->config.profiles;
	size_t n = b->config.n_profiles;
	size_t at = sorted_place(n, i, strcmp(all[i].name, name) < 0);

	return at < n && strcmp(all[at].name, name) == 0 ? &all[at] : NULL;
}

/* ---- peers ---- */

static int check_numbers(struct metal__build *b, const struct metal_peer_doc *d)
{
	bool dynamic = metal__is_set(d->dynamic_asn);

	if (!d->my_asn)
		return metal__fail(b, "missing local ASN");
	if (!d->peer_asn && !dynamic)
		return metal__fail(b, "missing peer ASN and dynamicASN");
	if (d->peer_asn && dynamic)
		return metal__fail(b, "both peer ASN and dynamicASN specified");
	if (dynamic && strcmp(d->dynamic_asn, "internal") != 0 &&
	    strcmp(d->dynamic_asn, "external") != 0)
		return metal__fail(b, "invalid dynamicASN %s", d->dynamic_asn);
	if (d->peer_asn == d->my_asn && d->ebgp_multihop)
		return metal__fail(b, "invalid ebgp-multihop parameter set for an ibgp peer");
	if (!metal__is_set(d->address) && !metal__is_set(d->interface))
		return metal__fail(b, "peer has no Address or Interface specified");
	if (metal__is_set(d->address) && metal__is_set(d->interface))
		return metal__fail(b, "peer has both Address and Interface specified");
	return 0;
}

static int parse_time(struct metal__build *b, const char *text, int64_t *ret)
{
	if (duration_parse(text, ret) < 0 || *ret < 0)
		return metal__fail(b, "invalid duration %s", metal__quote(b, text));
	return 0;
}

/* One timer follows from the other, if only one of them is set. */
static int build_timers(struct metal__build *b, const struct metal_peer_doc *d,
			struct metal_peer *peer)
{
	bool has_hold = metal__is_set(d->hold_time), has_alive = metal__is_set(d->keepalive_time);
	char hold[DURATION_STRLEN], alive[DURATION_STRLEN];

	if ((has_hold && parse_time(b, d->hold_time, &peer->hold_ns) < 0) ||
	    (has_alive && parse_time(b, d->keepalive_time, &peer->keepalive_ns) < 0))
		return -EINVAL;
	if (has_hold && !has_alive)
		peer->keepalive_ns = peer->hold_ns / 3;
	if (!has_hold && has_alive)
		peer->hold_ns =
			peer->keepalive_ns > INT64_MAX / 3 ? INT64_MAX : peer->keepalive_ns * 3;
	peer->has_timers = has_hold || has_alive;
	if (peer->hold_ns >= NSEC_PER_SEC && peer->hold_ns < 3 * NSEC_PER_SEC)
		return metal__fail(b, "invalid hold time \"%s\": must be 0 or >=3s",
				   duration_format(peer->hold_ns, hold));
	if (peer->keepalive_ns > peer->hold_ns)
		return metal__fail(
			b, "invalid keepaliveTime \"%s\", must be lower than holdTime \"%s\"",
			duration_format(peer->keepalive_ns, alive),
			duration_format(peer->hold_ns, hold));
	return 0;
}

static int build_connect(struct metal__build *b, const struct metal_peer_doc *d,
			 struct metal_peer *peer)
{
	if (!metal__is_set(d->connect_time))
		return 0;
	if (parse_time(b, d->connect_time, &peer->connect_ns) < 0)
		return -EINVAL;
	if (peer->connect_ns < NSEC_PER_SEC || peer->connect_ns >= 65536 * NSEC_PER_SEC)
		return metal__fail(b, "connect time should be between 1 seconds to 65535");
	if (peer->connect_ns % NSEC_PER_SEC)
		return metal__fail(b, "connect time should contain a whole number of seconds");
	return 0;
}

static int parse_address(struct metal__build *b, const char *text, const char *what,
			 struct addr *ret)
{
	if (metal__is_set(text) && addr_parse(text, ret) < 0)
		return metal__fail(b, "invalid %s %s", what, metal__quote(b, text));
	return 0;
}

static const struct metal_secret_doc *find_secret(const struct metal__build *b, const char *name)
{
	for (size_t i = 0; i < b->doc->n_secrets; i++)
		if (strcmp(b->doc->secrets[i].name, name) == 0)
			return &b->doc->secrets[i];
	return NULL;
}

static int read_secret(struct metal__build *b, const struct metal_peer_doc *d,
		       struct metal_peer *peer)
{
	const struct metal_secret_doc *s = find_secret(b, d->password_secret);

	if (!s)
		return metal__miss(b, "secret ref not found for peer config \"%s\"/\"%s\"",
				   d->namespace, d->name);
	if (!cstr_eq(s->type, BASIC_AUTH))
		return metal__fail(
			b, "secret type mismatch on \"%s\"/\"%s\", type \"%s\" is expected ",
			s->namespace, s->name, BASIC_AUTH);
	if (!s->password)
		return metal__fail(b, "password not specified in the secret \"%s\"/\"%s\"",
				   s->namespace, s->name);
	peer->password = metal__text(b, s->password);
	return 0;
}

static int build_password(struct metal__build *b, const struct metal_peer_doc *d,
			  struct metal_peer *peer)
{
	bool secret = metal__is_set(d->password_secret) && !b->options->early;

	if (secret && metal__is_set(d->password))
		return metal__fail(b,
				   "can not have both password and secret ref set in peer config "
				   "\"%s\"/\"%s\"",
				   d->namespace, d->name);
	peer->password = metal__text(b, d->password);
	if (secret && !b->options->without_secrets && read_secret(b, d, peer) < 0)
		return metal__join(b, "failed to parse peer %s password secret", d->name);
	return 0;
}

static int build_addresses(struct metal__build *b, const struct metal_peer_doc *d,
			   struct metal_peer *peer)
{
	if (parse_address(b, d->address, "BGPPeer address", &peer->address) < 0 ||
	    parse_address(b, d->router_id, "router ID", &peer->router_id) < 0 ||
	    parse_address(b, d->source, "source IP", &peer->source) < 0)
		return -EINVAL;
	return 0;
}

static struct metal_peer plain_values(struct metal__build *b, const struct metal_peer_doc *d)
{
	enum metal_as as = !metal__is_set(d->dynamic_asn)	     ? METAL_AS_NUMBER
			   : strcmp(d->dynamic_asn, "internal") == 0 ? METAL_AS_INTERNAL
								     : METAL_AS_EXTERNAL;

	return (struct metal_peer){
		.name = arena_strdup(b->arena, d->name),
		.my_asn = d->my_asn,
		.asn = d->peer_asn,
		.local_asn = d->local_asn,
		.as = as,
		.interface = metal__text(b, d->interface),
		.port = d->port ? d->port : BGP_PORT,
		.nodes = metal__selectors(b, &d->nodes),
		.vrf = metal__text(b, d->vrf),
		.graceful_restart = d->graceful_restart,
		.ebgp_multihop = d->ebgp_multihop,
		.dual_stack = d->dual_stack,
	};
}

static int build_peer(struct metal__build *b, const struct metal_peer_doc *d,
		      struct metal_peer *peer)
{
	*peer = plain_values(b, d);
	if (check_numbers(b, d) < 0)
		return -EINVAL;
	if (build_timers(b, d, peer) < 0)
		return metal__within(b, "invalid BGPPeer timers: ");
	if (build_addresses(b, d, peer) < 0 ||
	    metal__unique_selectors(b, &d->nodes, "nodeSelectors") < 0)
		return -EINVAL;
	if (metal__valid_selectors(b, &d->nodes) < 0)
		return metal__join(b, "failed to convert peer %s node selector", d->name);
	if (build_password(b, d, peer) < 0)
		return -EINVAL;
	return build_connect(b, d, peer);
}

int metal__build_peers(struct metal__build *b)
{
	size_t n = b->doc->n_peers;
	struct metal_peer *peers = arena_array_of(b->arena, n, struct metal_peer);

	for (size_t i = 0; i < n; i++) {
		const struct metal_peer_doc *d = &b->doc->peers[i];

		if (build_peer(b, d, &peers[i]) < 0)
			return metal__within(b, "parsing peer %s ", d->name);
		if (b->options->early || !metal__is_set(d->bfd_profile))
			continue;
		peers[i].profile = find_profile(b, d->bfd_profile);
		if (!peers[i].profile)
			return metal__miss(b, "peer %s referencing non existing bfd profile %s",
					   d->name, d->bfd_profile);
	}
	b->config.peers = peers;
	b->config.n_peers = n;
	return 0;
}

/* ---- pairs of peers on one node ---- */

/* "192.0.2.1", or "192.0.2.1-red" in a VRF. */
static const char *identify(struct metal__build *b, const struct metal_peer_doc *d)
{
	const char *id = metal__is_set(d->address) ? d->address : d->interface ? d->interface : "";

	return metal__is_set(d->vrf) ? arena_printf(b->arena, "%s-%s", id, d->vrf) : id;
}

static const char *shown(const char *text)
{
	return text ? text : "";
}

static int check_pair(struct metal__build *b, const struct metal_peer_doc *p,
		      const struct metal_peer_doc *q)
{
	const char *one = identify(b, p), *other = identify(b, q);

	if (strcmp(shown(p->router_id), shown(q->router_id)) != 0)
		return metal__fail(b,
				   "peer %s has RouterID different from %s, in FRR mode peers "
				   "selecting the same node must all have the same RouterID",
				   shown(p->router_id), shown(q->router_id));
	if (strcmp(one, other) == 0)
		return metal__fail(b,
				   "peer %s already exists, FRR mode doesn't support duplicate "
				   "BGPPeers selecting the same node",
				   one);
	if (p->my_asn != q->my_asn && strcmp(shown(p->vrf), shown(q->vrf)) == 0)
		return metal__fail(b,
				   "peer %s has myAsn different from %s, in FRR mode peers "
				   "selecting the same node must have the same myAsn within the "
				   "same VRF",
				   one, other);
	return 0;
}

/* A bit for each node that a peer selects; without any node all peers may meet. */
static const uint64_t *selected(struct metal__build *b, const struct metal_peer_doc *d,
				size_t words)
{
	uint64_t *bits = arena_array_of(b->arena, words, uint64_t);

	if (!b->n_nodes)
		bits[0] = 1;
	for (size_t i = 0; i < b->n_nodes; i++)
		if (metal_selects(&d->nodes, &b->nodes[i].labels))
			bits[i / 64] |= (uint64_t)1 << i % 64;
	return bits;
}

static bool meet(const uint64_t *a, const uint64_t *b, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

int metal__check_pairs(struct metal__build *b)
{
	size_t n = b->doc->n_peers, words = b->n_nodes / 64 + 1;
	const uint64_t **bits = arena_array_of(b->arena, n, const uint64_t *);
	const struct metal_peer_doc *d = b->doc->peers;

	for (size_t i = 0; i < n; i++) {
		bits[i] = selected(b, &d[i], words);
		for (size_t j = 0; j < i; j++)
			if (meet(bits[i], bits[j], words) && check_pair(b, &d[i], &d[j]) < 0)
				return -EINVAL;
	}
	return 0;
}
