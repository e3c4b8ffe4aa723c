/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * encap: builds the outer headers and sends the frame.
 */
#pragma once

#include "bpf/nexthop.h"
#include "bpf/packet.h"

#define OUTER_TTL 64
#define DSCP 0xfc /* the other two bits of TOS are ECN, which is not copied */
#define GRE4 24	  /* bytes that the outer IPv4 header and GRE add */
#define GRE6 44	  /* the same for IPv6 */

struct gre {
	__be16 flags, type;
};

static __always_inline __u32 overhead_of(const struct abi_hop *hop)
{
	return hop->family == 4 ? GRE4 : GRE6;
}

/* The ones' complement checksum of a sum of 16-bit words (RFC 1071). */
static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

/* The two 16-bit words of a 32-bit one, added. */
static __always_inline __u32 halves(__u32 word)
{
	return (word & 0xffff) + (word >> 16);
}

/*
 * The identification is copied from the inner packet, so no counter is needed. DF is set unless
 * the inner packet may be fragmented. The first two bytes are written as one word.
 */
static __always_inline void write_outer4(struct iphdr *o, const struct packet *p, __u32 source,
					 __u32 destination)
{
	__u16 first = bpf_htons(0x4500 | (p->tos & DSCP));
	__u16 ttl_protocol = bpf_htons(OUTER_TTL << 8 | IPPROTO_GRE);
	__u16 length = bpf_htons(p->length + GRE4);
	__u16 fragment = p->may_fragment ? 0 : bpf_htons(IP_DF);

	*(__u16 *)o = first;
	o->tot_len = length;
	o->id = p->id;
	o->frag_off = fragment;
	o->ttl = OUTER_TTL;
	o->protocol = IPPROTO_GRE;
	o->saddr = source;
	o->daddr = destination;
	o->check = fold((__u32)first + ttl_protocol + length + p->id + fragment + halves(source) +
			halves(destination));
}

/* The flow label is 0. IPv6 has no header checksum. */
static __always_inline void write_outer6(struct ipv6hdr *o, const struct packet *p,
					 const __u32 source[4], const __u32 destination[4])
{
	*(__u32 *)o = bpf_htonl(0x60000000 | (__u32)(p->tos & DSCP) << 20);
	o->payload_len = bpf_htons(p->length + sizeof(struct gre));
	o->nexthdr = IPPROTO_GRE;
	o->hop_limit = OUTER_TTL;
	__builtin_memcpy(&o->saddr, source, sizeof(o->saddr));
	__builtin_memcpy(&o->daddr, destination, sizeof(o->daddr));
}

/*
 * Decrements TTL or hop limit, as any router does. The IPv4 checksum is updated incrementally
 * (RFC 1624): TTL is the high byte of its word, so the sum rises by 0x0100.
 */
static __always_inline void lower_ttl(void *inner, const struct packet *p)
{
	struct iphdr *v4 = inner;
	struct ipv6hdr *v6 = inner;
	__u32 sum;

	if (p->type == bpf_htons(ETH_P_IPV6)) {
		v6->hop_limit--;
		return;
	}
	v4->ttl--;
	sum = (__u32)v4->check + bpf_htons(0x0100);
	v4->check = sum + (sum >= 0xffff);
}

/* Whether the GRE source address of the server's family is set. */
static __always_inline int has_source(const struct abi_hop *hop, const struct abi_settings *s)
{
	const __u32 *a = s->source6;

	return hop->family == 4 ? s->source4 != 0 : (a[0] | a[1] | a[2] | a[3]) != 0;
}

/* Whether the server is this host: GRE would go from its address to the same address. */
static __always_inline int is_here(const struct abi_hop *hop, const struct abi_settings *s)
{
	if (hop->family == 4)
		return hop->address[3] == s->source4;
	for (int i = 0; i < 4; i++) {
		if (hop->address[i] != s->source6[i])
			return 0;
	}
	return 1;
}

/*
 * Makes the frame [link bytes, not written yet][outer header][GRE][inner packet]. The head moves
 * once, by the difference of old and new headers. Returns 0, or -1 if there is no room.
 */
static __always_inline int push_outer(struct xdp_md *ctx, const struct packet *p,
				      const struct abi_hop *hop, const struct abi_settings *s,
				      __u32 link)
{
	__u32 overhead = overhead_of(hop);
	struct gre *gre;
	void *outer;

	if (bpf_xdp_adjust_head(ctx, (int)(p->at - link - overhead)))
		return -1;
	outer = frame_start(ctx) + link;
	if (hop->family == 4) {
		gre = outer + sizeof(struct iphdr);
		if ((void *)(gre + 1) + sizeof(struct iphdr) > frame_end(ctx))
			return -1;
		write_outer4(outer, p, s->source4, hop->address[3]);
	} else {
		gre = outer + sizeof(struct ipv6hdr);
		if ((void *)(gre + 1) + sizeof(struct iphdr) > frame_end(ctx))
			return -1;
		write_outer6(outer, p, s->source6, hop->address);
	}
	gre->flags = 0;
	gre->type = p->type;
	lower_ttl(gre + 1, p);
	return 0;
}

static __always_inline __u16 outer_type(const struct abi_hop *hop)
{
	return hop->family == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

/*
 * XDP_TX is faster than a redirect on NICs, but a veth drops such frames unless its peer has an
 * XDP program, too: user space sets the flag.
 */
static __always_inline int leave(const struct xdp_md *ctx, const struct abi_settings *s,
				 __u32 ifindex)
{
	if (s->flags & ABI_SET_TX && ifindex == ctx->ingress_ifindex)
		return XDP_TX;
	return bpf_redirect(ifindex, 0);
}

/*
 * Sends through a VLAN device by the device below it, with the tag; through any other device
 * without a tag. XDP cannot redirect to a VLAN device itself.
 */
static __noinline int send_by_link(struct xdp_md *ctx, const struct packet *p,
				   const struct abi_settings *s, const struct abi_hop *hop)
{
	const __u32 ifindex = hop->ifindex;
	const struct abi_link *link = bpf_map_lookup_elem(&lb_links, &ifindex);
	struct vlan_tag *tag;
	struct ethhdr *eth;

	if (push_outer(ctx, p, hop, s, link ? ETH_HLEN + sizeof(*tag) : ETH_HLEN))
		return drop(ABI_DROP_NO_ROOM);
	eth = frame_start(ctx);
	tag = (void *)(eth + 1);
	if ((void *)(tag + 1) > frame_end(ctx))
		return drop(ABI_DROP_NO_ROOM);
	__builtin_memcpy(eth, hop->dmac, 2 * ETH_ALEN);
	if (!link) {
		eth->h_proto = outer_type(hop);
		return leave(ctx, s, ifindex);
	}
	eth->h_proto = link->tag_type;
	tag->tci = bpf_htons(link->vlan);
	tag->type = outer_type(hop);
	return leave(ctx, s, link->ifindex);
}

/*
 * The common case: no VLAN devices are in use. dmac and smac are adjacent in struct abi_hop,
 * so one copy writes both.
 */
static __always_inline int send(struct xdp_md *ctx, const struct packet *p,
				const struct abi_settings *s, const struct abi_hop *hop)
{
	struct ethhdr *eth;

	if (s->flags & ABI_SET_LINKS)
		return send_by_link(ctx, p, s, hop);
	if (push_outer(ctx, p, hop, s, ETH_HLEN))
		return drop(ABI_DROP_NO_ROOM);
	eth = frame_start(ctx);
	if ((void *)(eth + 1) > frame_end(ctx))
		return drop(ABI_DROP_NO_ROOM);
	__builtin_memcpy(eth, hop->dmac, 2 * ETH_ALEN);
	eth->h_proto = outer_type(hop);
	return leave(ctx, s, hop->ifindex);
}
