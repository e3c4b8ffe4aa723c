/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/metal.h"

#include <assert.h>
#include <string.h>

#include "base/base64.h"
#include "wire/labels.h"

static const struct k8s_field pool_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct wire_pool, labels),
	K8S_FIELD("spec.addresses", K8S_STRINGS, struct wire_pool, addresses),
	K8S_FIELD("spec.autoAssign", K8S_BOOL, struct wire_pool, auto_assign),
	K8S_FIELD("spec.avoidBuggyIPs", K8S_BOOL, struct wire_pool, avoid_buggy_ips),
	K8S_FIELD("spec.serviceAllocation", K8S_PRESENT, struct wire_pool, has_allocation),
	K8S_FIELD("spec.serviceAllocation.priority", K8S_INT, struct wire_pool, priority),
	K8S_FIELD("spec.serviceAllocation.namespaces", K8S_STRINGS, struct wire_pool, namespaces),
	K8S_FIELD("spec.serviceAllocation.namespaceSelectors", K8S_LIST, struct wire_pool,
		  namespace_selectors, .of = &wire_selector_layout),
	K8S_FIELD("spec.serviceAllocation.serviceSelectors", K8S_LIST, struct wire_pool,
		  service_selectors, .of = &wire_selector_layout),
	K8S_FIELD("status.assignedIPv4", K8S_INT, struct wire_pool, assigned4, .absent = -1),
	K8S_FIELD("status.assignedIPv6", K8S_INT, struct wire_pool, assigned6, .absent = -1),
	K8S_FIELD("status.availableIPv4", K8S_INT, struct wire_pool, available4, .absent = -1),
	K8S_FIELD("status.availableIPv6", K8S_INT, struct wire_pool, available6, .absent = -1),
	K8S_FIELD("status.services", K8S_INT, struct wire_pool, services, .absent = -1),
};
static const struct k8s_layout pool_layout = K8S_LAYOUT(struct wire_pool, pool_fields);

static const struct k8s_field peer_fields[] = {
	K8S_FIELD("spec.myASN", K8S_INT, struct wire_peer, my_asn),
	K8S_FIELD("spec.peerASN", K8S_INT, struct wire_peer, peer_asn),
	K8S_FIELD("spec.localASN", K8S_INT, struct wire_peer, local_asn),
	K8S_FIELD("spec.peerPort", K8S_INT, struct wire_peer, port),
	K8S_FIELD("spec.dynamicASN", K8S_NAME, struct wire_peer, dynamic_asn),
	K8S_FIELD("spec.peerAddress", K8S_STRING, struct wire_peer, address),
	K8S_FIELD("spec.interface", K8S_STRING, struct wire_peer, interface),
	K8S_FIELD("spec.sourceAddress", K8S_STRING, struct wire_peer, source),
	K8S_FIELD("spec.routerID", K8S_STRING, struct wire_peer, router_id),
	K8S_FIELD("spec.holdTime", K8S_STRING, struct wire_peer, hold_time),
	K8S_FIELD("spec.keepaliveTime", K8S_STRING, struct wire_peer, keepalive_time),
	K8S_FIELD("spec.connectTime", K8S_STRING, struct wire_peer, connect_time),
	K8S_FIELD("spec.password", K8S_STRING, struct wire_peer, password),
	K8S_FIELD("spec.passwordSecret.name", K8S_STRING, struct wire_peer, password_secret),
	K8S_FIELD("spec.bfdProfile", K8S_NAME, struct wire_peer, bfd_profile),
	K8S_FIELD("spec.vrf", K8S_NAME, struct wire_peer, vrf),
	K8S_FIELD("spec.enableGracefulRestart", K8S_BOOL, struct wire_peer, graceful_restart),
	K8S_FIELD("spec.ebgpMultiHop", K8S_BOOL, struct wire_peer, ebgp_multihop),
	K8S_FIELD("spec.disableMP", K8S_BOOL, struct wire_peer, disable_mp),
	K8S_FIELD("spec.dualStackAddressFamily", K8S_BOOL, struct wire_peer, dual_stack),
	K8S_FIELD("spec.nodeSelectors", K8S_LIST, struct wire_peer, node_selectors,
		  .of = &wire_selector_layout),
};
static const struct k8s_layout peer_layout = K8S_LAYOUT(struct wire_peer, peer_fields);

static const struct k8s_field bgp_fields[] = {
	K8S_FIELD("spec.aggregationLength", K8S_INT, struct wire_bgp_advertisement, length4),
	K8S_FIELD("spec.aggregationLengthV6", K8S_INT, struct wire_bgp_advertisement, length6),
	K8S_FIELD("spec.localPref", K8S_INT, struct wire_bgp_advertisement, local_pref),
	K8S_FIELD("spec.communities", K8S_STRINGS, struct wire_bgp_advertisement, communities),
	K8S_FIELD("spec.ipAddressPools", K8S_STRINGS, struct wire_bgp_advertisement, pools),
	K8S_FIELD("spec.peers", K8S_STRINGS, struct wire_bgp_advertisement, peers),
	K8S_FIELD("spec.ipAddressPoolSelectors", K8S_LIST, struct wire_bgp_advertisement,
		  pool_selectors, .of = &wire_selector_layout),
	K8S_FIELD("spec.nodeSelectors", K8S_LIST, struct wire_bgp_advertisement, node_selectors,
		  .of = &wire_selector_layout),
	K8S_FIELD("spec.serviceSelectors", K8S_LIST, struct wire_bgp_advertisement,
		  service_selectors, .of = &wire_selector_layout),
};
static const struct k8s_layout bgp_layout = K8S_LAYOUT(struct wire_bgp_advertisement, bgp_fields);

struct preference {
	int64_t weight;
	struct wire_selector nodes;
};

static const struct k8s_field preference_fields[] = {
	K8S_FIELD("weight", K8S_INT, struct preference, weight),
	WIRE_SELECTOR("preference", struct preference, nodes),
};
static const struct k8s_layout preference_layout = K8S_LAYOUT(struct preference, preference_fields);

static const struct k8s_field l2_fields[] = {
	K8S_FIELD("spec.ipAddressPools", K8S_STRINGS, struct wire_l2_advertisement, pools),
	K8S_FIELD("spec.interfaces", K8S_STRINGS, struct wire_l2_advertisement, interfaces),
	K8S_FIELD("spec.ipAddressPoolSelectors", K8S_LIST, struct wire_l2_advertisement,
		  pool_selectors, .of = &wire_selector_layout),
	K8S_FIELD("spec.nodeSelectors", K8S_LIST, struct wire_l2_advertisement, node_selectors,
		  .of = &wire_selector_layout),
	K8S_FIELD("spec.serviceSelectors", K8S_LIST, struct wire_l2_advertisement,
		  service_selectors, .of = &wire_selector_layout),
	K8S_FIELD("spec.preferredNodeSelectors", K8S_LIST, struct wire_l2_advertisement,
		  preferences, .of = &preference_layout),
};
static const struct k8s_layout l2_layout = K8S_LAYOUT(struct wire_l2_advertisement, l2_fields);

static const struct k8s_field bfd_fields[] = {
	K8S_FIELD("spec.receiveInterval", K8S_INT, struct wire_bfd_profile, receive_ms,
		  .absent = METAL_UNSET),
	K8S_FIELD("spec.transmitInterval", K8S_INT, struct wire_bfd_profile, transmit_ms,
		  .absent = METAL_UNSET),
	K8S_FIELD("spec.detectMultiplier", K8S_INT, struct wire_bfd_profile, multiplier,
		  .absent = METAL_UNSET),
	K8S_FIELD("spec.echoInterval", K8S_INT, struct wire_bfd_profile, echo_ms,
		  .absent = METAL_UNSET),
	K8S_FIELD("spec.minimumTtl", K8S_INT, struct wire_bfd_profile, minimum_ttl,
		  .absent = METAL_UNSET),
	K8S_FIELD("spec.echoMode", K8S_BOOL, struct wire_bfd_profile, echo_mode),
	K8S_FIELD("spec.passiveMode", K8S_BOOL, struct wire_bfd_profile, passive),
};
static const struct k8s_layout bfd_layout = K8S_LAYOUT(struct wire_bfd_profile, bfd_fields);

static const struct k8s_field alias_fields[] = {
	K8S_FIELD("name", K8S_STRING, struct wire_alias, name),
	K8S_FIELD("value", K8S_STRING, struct wire_alias, value),
};
static const struct k8s_layout alias_layout = K8S_LAYOUT(struct wire_alias, alias_fields);

static const struct k8s_field community_fields[] = {
	K8S_FIELD("spec.communities", K8S_LIST, struct wire_community, aliases,
		  .of = &alias_layout),
};
static const struct k8s_layout community_layout =
	K8S_LAYOUT(struct wire_community, community_fields);

static const struct k8s_field place_fields[] = {
	K8S_FIELD("metadata.labels", K8S_MAP, struct wire_place, labels),
};
static const struct k8s_layout place_layout = K8S_LAYOUT(struct wire_place, place_fields);

static const struct k8s_field secret_fields[] = {
	K8S_FIELD("type", K8S_NAME, struct wire_secret, type),
	K8S_FIELD("data.password", K8S_STRING, struct wire_secret, password),
};
static const struct k8s_layout secret_layout = K8S_LAYOUT(struct wire_secret, secret_fields);

const struct wire_metal_row wire_metal_kinds[WIRE_METAL_KINDS] = {
	[WIRE_POOLS] = { WIRE_METAL_GROUP, "v1beta1", "ipaddresspools", "IPAddressPool",
			 &pool_layout },
	[WIRE_PEERS] = { WIRE_METAL_GROUP, "v1beta2", "bgppeers", "BGPPeer", &peer_layout },
	[WIRE_BGP_ADVERTISEMENTS] = { WIRE_METAL_GROUP, "v1beta1", "bgpadvertisements",
				      "BGPAdvertisement", &bgp_layout },
	[WIRE_L2_ADVERTISEMENTS] = { WIRE_METAL_GROUP, "v1beta1", "l2advertisements",
				     "L2Advertisement", &l2_layout },
	[WIRE_BFD_PROFILES] = { WIRE_METAL_GROUP, "v1beta1", "bfdprofiles", "BFDProfile",
				&bfd_layout },
	[WIRE_COMMUNITIES] = { WIRE_METAL_GROUP, "v1beta1", "communities", "Community",
			       &community_layout },
	[WIRE_NODES] = { "", "v1", "nodes", "Node", &place_layout },
	[WIRE_NAMESPACES] = { "", "v1", "namespaces", "Namespace", &place_layout },
	[WIRE_SECRETS] = { "", "v1", "secrets", "Secret", &secret_layout },
};

/* ---- objects to the document ---- */

static struct metal_texts texts(const struct k8s_list *list)
{
	return (struct metal_texts){ list->items, list->n };
}

/* The API server checks the range; a number outside of it counts as not set. */
static uint32_t number(int64_t n, int64_t max)
{
	return n > 0 && n <= max ? (uint32_t)n : 0;
}

static struct metal_pool_doc pool_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_pool *p = (const struct wire_pool *)o;

	return (struct metal_pool_doc){
		.name = o->name,
		.labels = wire_labels(&p->labels),
		.addresses = texts(&p->addresses),
		.auto_assign = p->auto_assign != K8S_NO,
		.avoid_buggy_ips = p->avoid_buggy_ips == K8S_YES,
		.has_allocation = p->has_allocation == K8S_YES,
		.priority = p->priority,
		.namespaces = texts(&p->namespaces),
		.namespace_selectors = wire_selectors(&p->namespace_selectors, arena),
		.service_selectors = wire_selectors(&p->service_selectors, arena),
	};
}

static struct metal_peer_doc peer_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_peer *p = (const struct wire_peer *)o;

	return (struct metal_peer_doc){
		.name = o->name,
		.namespace = o->namespace,
		.my_asn = number(p->my_asn, UINT32_MAX),
		.peer_asn = number(p->peer_asn, UINT32_MAX),
		.local_asn = number(p->local_asn, UINT32_MAX),
		.dynamic_asn = p->dynamic_asn,
		.address = p->address,
		.interface = p->interface,
		.source = p->source,
		.router_id = p->router_id,
		.port = (uint16_t)number(p->port, UINT16_MAX),
		.hold_time = p->hold_time,
		.keepalive_time = p->keepalive_time,
		.connect_time = p->connect_time,
		.nodes = wire_selectors(&p->node_selectors, arena),
		.password = p->password,
		.password_secret = p->password_secret,
		.bfd_profile = p->bfd_profile,
		.vrf = p->vrf,
		.graceful_restart = p->graceful_restart == K8S_YES,
		.ebgp_multihop = p->ebgp_multihop == K8S_YES,
		.disable_mp = p->disable_mp == K8S_YES,
		.dual_stack = p->dual_stack == K8S_YES,
	};
}

static struct metal_bgp_doc bgp_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_bgp_advertisement *a = (const struct wire_bgp_advertisement *)o;

	return (struct metal_bgp_doc){
		.name = o->name,
		.length4 = a->length4,
		.length6 = a->length6,
		.local_pref = number(a->local_pref, UINT32_MAX),
		.communities = texts(&a->communities),
		.pools = texts(&a->pools),
		.peers = texts(&a->peers),
		.pool_selectors = wire_selectors(&a->pool_selectors, arena),
		.nodes = wire_selectors(&a->node_selectors, arena),
		.services = wire_selectors(&a->service_selectors, arena),
	};
}

static struct metal_l2_doc l2_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_l2_advertisement *a = (const struct wire_l2_advertisement *)o;
	const struct preference *from = a->preferences.items;
	struct metal_preference_doc *preferences =
		arena_array_of(arena, a->preferences.n, struct metal_preference_doc);

	for (size_t i = 0; i < a->preferences.n; i++)
		preferences[i] =
			(struct metal_preference_doc){ from[i].weight,
						       wire_selector(&from[i].nodes, arena) };
	return (struct metal_l2_doc){
		.name = o->name,
		.pools = texts(&a->pools),
		.interfaces = texts(&a->interfaces),
		.pool_selectors = wire_selectors(&a->pool_selectors, arena),
		.nodes = wire_selectors(&a->node_selectors, arena),
		.services = wire_selectors(&a->service_selectors, arena),
		.preferences = preferences,
		.n_preferences = a->preferences.n,
	};
}

static struct metal_bfd_doc bfd_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_bfd_profile *p = (const struct wire_bfd_profile *)o;

	return (struct metal_bfd_doc){
		.name = o->name,
		.receive_ms = p->receive_ms,
		.transmit_ms = p->transmit_ms,
		.multiplier = p->multiplier,
		.echo_ms = p->echo_ms,
		.minimum_ttl = p->minimum_ttl,
		.echo_mode = p->echo_mode == K8S_YES,
		.passive = p->passive == K8S_YES,
	};
}

static struct metal_community_doc community_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_community *c = (const struct wire_community *)o;
	const struct wire_alias *from = c->aliases.items;
	struct metal_alias_doc *aliases =
		arena_array_of(arena, c->aliases.n, struct metal_alias_doc);

	for (size_t i = 0; i < c->aliases.n; i++)
		aliases[i] = (struct metal_alias_doc){ from[i].name, from[i].value };
	return (struct metal_community_doc){ o->name, aliases, c->aliases.n };
}

static struct metal_place place_doc(const struct k8s_object *o, struct arena *arena)
{
	return (struct metal_place){ o->name,
				     wire_labels(&((const struct wire_place *)o)->labels) };
}

/* A password that is no base64, or has a NUL in it, counts as missing. */
static const char *decoded(const char *text, struct arena *arena)
{
	size_t n = text ? strlen(text) : 0;
	char *out = arena_alloc(arena, n + 1);
	ssize_t got = text ? base64_decode((struct str){ text, n }, out) : -1;

	if (got < 0 || memchr(out, '\0', (size_t)got))
		return NULL;
	out[got] = '\0';
	return out;
}

static struct metal_secret_doc secret_doc(const struct k8s_object *o, struct arena *arena)
{
	const struct wire_secret *s = (const struct wire_secret *)o;

	return (struct metal_secret_doc){ o->name, o->namespace, s->type,
					  decoded(s->password, arena) };
}

#define EACH(which, type, convert, list, count)                                                    \
	do {                                                                                       \
		const struct wire_metal_objects *all = &from->kinds[which];                        \
		type *docs = arena_array_of(arena, all->n, type);                                  \
                                                                                                   \
		for (size_t i = 0; i < all->n; i++)                                                \
			docs[i] = convert(all->items[i], arena);                                   \
		(list) = docs;                                                                     \
		(count) = all->n;                                                                  \
	} while (0)

void wire_metal_doc(const struct wire_metal *from, struct arena *arena, struct metal_doc *ret)
{
	struct metal_doc d = { 0 };

	EACH(WIRE_POOLS, struct metal_pool_doc, pool_doc, d.pools, d.n_pools);
	EACH(WIRE_PEERS, struct metal_peer_doc, peer_doc, d.peers, d.n_peers);
	EACH(WIRE_BGP_ADVERTISEMENTS, struct metal_bgp_doc, bgp_doc, d.bgp, d.n_bgp);
	EACH(WIRE_L2_ADVERTISEMENTS, struct metal_l2_doc, l2_doc, d.l2, d.n_l2);
	EACH(WIRE_BFD_PROFILES, struct metal_bfd_doc, bfd_doc, d.profiles, d.n_profiles);
	EACH(WIRE_COMMUNITIES, struct metal_community_doc, community_doc, d.communities,
	     d.n_communities);
	EACH(WIRE_NODES, struct metal_place, place_doc, d.nodes, d.n_nodes);
	EACH(WIRE_NAMESPACES, struct metal_place, place_doc, d.namespaces, d.n_namespaces);
	EACH(WIRE_SECRETS, struct metal_secret_doc, secret_doc, d.secrets, d.n_secrets);
	*ret = d;
}
