/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * packet: from a frame to addresses, protocol and ports. Only the form is checked here; whether a
 * packet is for a VIP is decided in choose.h.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

#define MAX_VLAN_TAGS 2
#define MAX_EXTENSIONS 6
#define MAPPED bpf_htonl(0xffff) /* third word of an IPv4 address in 128 bits */
#define IP_FRAGMENT 0x3fff	 /* more fragments, or an offset */
#define IP_OFFSET 0x1fff
#define IP_DF 0x4000
#define FRAGMENT6 0xfff9 /* the same for IPv6 */
#define NEXT_FRAGMENT 44
#define TCP_SYN 0x02
#define TCP_ACK 0x10
#define NEXT_AH 51

/* <linux/icmp.h> includes headers of libc, which cannot be compiled for BPF. */
#define ICMP4_UNREACHABLE 3
#define ICMP4_FRAG_NEEDED 4 /* a code of ICMP4_UNREACHABLE */
#define ICMP4_TIME_EXCEEDED 11
#define ICMP4_PARAMETER 12
#define ICMP6_UNREACHABLE 1
#define ICMP6_TOO_BIG 2
#define ICMP6_TIME_EXCEEDED 3
#define ICMP6_PARAMETER 4

enum parsed {
	PARSED_OTHER,	  /* not IP, or broken: left to the kernel */
	PARSED_PORTS,	  /* TCP or UDP */
	PARSED_PROTOCOL,  /* another protocol */
	PARSED_ICMP,	  /* ICMP or ICMPv6 */
	PARSED_FRAGMENT,  /* first or later */
	PARSED_MALFORMED, /* only the addresses are known */
};

/* How a packet uses the flow table. */
enum tracking {
	TRACK,	    /* find the flow, or store it */
	TRACK_FIND, /* find it, but store nothing: an ICMP error, which is never answered either */
	TRACK_NONE, /* no flow, by source address alone: a fragment */
};

struct packet {
	__u32 source[4], destination[4];
	__u16 ports[2]; /* source, destination; network order; 0 if there are none */
	__u16 at;	/* offset of the IP header in the frame */
	__u16 payload;	/* offset of its payload from the IP header */
	__u16 length;	/* of the IP packet */
	__u16 type;	/* ETH_P_*, network order */
	__u16 id;	/* IPv4 */
	__u8 protocol;
	__u8 tos, ttl;
	__u8 may_fragment; /* IPv4 without DF */
	__u8 tracking;
	__u8 opens; /* a TCP connection: SYN without ACK */
	__u8 later; /* IPv4: a fragment that is not the first */
};

struct vlan_tag {
	__be16 tci, type;
};

struct icmp {
	__u8 type, code;
	__sum16 checksum;
	__be32 data; /* the MTU of a packet that is too big */
};

/* The beginning that all extension headers share; fragment is used in the fragment header only. */
struct extension {
	__u8 next, length;
	__be16 fragment;
};

static __always_inline void *frame_start(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *frame_end(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_end;
}

/*
 * The offsets with a bound that the verifier can see even where it has lost track of their range.
 */
static __always_inline __u32 header_at(const struct packet *p)
{
	return p->at & 0x3fff;
}

static __always_inline __u32 payload_at(const struct packet *p)
{
	return header_at(p) + (p->payload & 0x3fff);
}

static __always_inline __u32 ports_of(const struct packet *p)
{
	return (__u32)bpf_ntohs(p->ports[0]) << 16 | bpf_ntohs(p->ports[1]);
}

/* Skips the Ethernet header and up to two tags; sets at and type. */
static __always_inline int parse_link(struct xdp_md *ctx, struct packet *p)
{
	void *data = frame_start(ctx), *end = frame_end(ctx);
	struct ethhdr *eth = data;
	struct vlan_tag *tag = (void *)(eth + 1);

	if ((void *)tag > end)
		return -1;
	p->type = eth->h_proto;
	p->at = ETH_HLEN;
#pragma unroll
	for (int i = 0; i < MAX_VLAN_TAGS; i++) {
		if (p->type != bpf_htons(ETH_P_8021Q) && p->type != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(tag + 1) > end)
			return -1;
		p->type = tag->type;
		p->at += sizeof(*tag);
		tag++;
	}
	return 0;
}

/*
 * Whether the whole packet is in the frame, perhaps in buffers after the first (multi-buffer
 * XDP).
 */
static __always_inline int is_whole(struct xdp_md *ctx, const struct packet *p)
{
	__u32 need = p->at + p->length;

	return need <= frame_end(ctx) - frame_start(ctx) || need <= bpf_xdp_get_buff_len(ctx);
}

/*
 * Reads the ports if the packet has at least min bytes of a TCP or UDP header. The seventh word
 * of TCP has the flags.
 */
static __always_inline enum parsed parse_ports(struct xdp_md *ctx, struct packet *p, __u32 min)
{
	__u16 *ports = frame_start(ctx) + payload_at(p);

	if (p->payload + min > p->length || (void *)(ports + 2) > frame_end(ctx))
		return PARSED_MALFORMED;
	p->ports[0] = ports[0];
	p->ports[1] = ports[1];
	if (min == 20 && (void *)(ports + 7) <= frame_end(ctx))
		p->opens = (ports[6] & bpf_htons(TCP_SYN | TCP_ACK)) == bpf_htons(TCP_SYN);
	return PARSED_PORTS;
}

/* In a quoted packet only the first bytes of the header are guaranteed: the ports are enough. */
static __always_inline enum parsed parse_transport(struct xdp_md *ctx, struct packet *p, int quoted)
{
	if (p->protocol == IPPROTO_TCP)
		return parse_ports(ctx, p, quoted ? 4 : 20);
	if (p->protocol == IPPROTO_UDP)
		return parse_ports(ctx, p, quoted ? 4 : 8);
	if (p->protocol == (p->type == bpf_htons(ETH_P_IP) ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return PARSED_ICMP;
	return PARSED_PROTOCOL;
}

/* A packet with a wrong length or version is left to the kernel, which drops and counts it. */
static __always_inline enum parsed parse_v4(struct xdp_md *ctx, struct packet *p, int quoted)
{
	struct iphdr *ip = frame_start(ctx) + header_at(p);
	__u16 fragment;

	if ((void *)(ip + 1) > frame_end(ctx) || ip->version != 4 || ip->ihl < 5)
		return PARSED_OTHER;
	p->payload = ip->ihl * 4;
	p->length = bpf_ntohs(ip->tot_len);
	if (p->length < p->payload || (!quoted && !is_whole(ctx, p)))
		return PARSED_OTHER;
	p->source[2] = p->destination[2] = MAPPED;
	p->source[3] = ip->saddr;
	p->destination[3] = ip->daddr;
	p->protocol = ip->protocol;
	p->tos = ip->tos;
	p->ttl = ip->ttl;
	p->id = ip->id;
	fragment = bpf_ntohs(ip->frag_off);
	p->may_fragment = !(fragment & IP_DF);
	p->later = (fragment & IP_OFFSET) != 0;
	if (fragment & IP_FRAGMENT)
		return PARSED_FRAGMENT;
	return parse_transport(ctx, p, quoted);
}

static __always_inline int is_extension(__u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
	       protocol == IPPROTO_DSTOPTS || protocol == NEXT_FRAGMENT || protocol == NEXT_AH;
}

/* AH counts in units of 4 bytes, the others in units of 8 (RFC 4302, 2.2; RFC 8200, 4). */
static __always_inline __u32 extension_length(__u8 protocol, __u8 length)
{
	if (protocol == NEXT_FRAGMENT)
		return 8;
	return protocol == NEXT_AH ? ((__u32)length + 2) * 4 : ((__u32)length + 1) * 8;
}

/*
 * Skips the extension headers, which most packets do not have; hence not inlined. At most
 * MAX_EXTENSIONS; a packet with more is malformed. A fragment header of an unfragmented packet
 * ("atomic fragment") is skipped.
 */
static __noinline enum parsed parse_extensions(struct xdp_md *ctx, struct packet *p, int quoted)
{
	__u32 at = payload_at(p), length;
	struct extension *e;

#pragma unroll
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		if (!is_extension(p->protocol))
			break;
		e = frame_start(ctx) + at;
		if ((void *)(e + 1) > frame_end(ctx))
			return PARSED_MALFORMED;
		if (p->protocol == NEXT_FRAGMENT && e->fragment & bpf_htons(FRAGMENT6))
			return PARSED_FRAGMENT;
		length = extension_length(p->protocol, e->length);
		p->protocol = e->next;
		p->payload += length;
		at += length;
	}
	return is_extension(p->protocol) ? PARSED_MALFORMED : parse_transport(ctx, p, quoted);
}

/*
 * IPv4-mapped addresses must not appear on the wire; here one would be taken for an IPv4 address.
 */
static __always_inline int is_mapped(const __u32 address[4])
{
	return address[2] == MAPPED && !address[0] && !address[1];
}

static __always_inline enum parsed parse_v6(struct xdp_md *ctx, struct packet *p, int quoted)
{
	struct ipv6hdr *ip = frame_start(ctx) + header_at(p);

	if ((void *)(ip + 1) > frame_end(ctx) || ip->version != 6)
		return PARSED_OTHER;
	p->payload = sizeof(*ip);
	p->length = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	if (p->length < sizeof(*ip) || (!quoted && !is_whole(ctx, p)))
		return PARSED_OTHER;
	__builtin_memcpy(p->source, &ip->saddr, sizeof(p->source));
	__builtin_memcpy(p->destination, &ip->daddr, sizeof(p->destination));
	if (is_mapped(p->source) || is_mapped(p->destination))
		return PARSED_OTHER;
	p->protocol = ip->nexthdr;
	p->tos = ip->priority << 4 | ip->flow_lbl[0] >> 4;
	p->ttl = ip->hop_limit;
	if (p->protocol == IPPROTO_TCP || p->protocol == IPPROTO_UDP)
		return parse_transport(ctx, p, quoted);
	return parse_extensions(ctx, p, quoted);
}

/* *p is zeroed by the caller. */
static __always_inline enum parsed parse_frame(struct xdp_md *ctx, struct packet *p)
{
	if (parse_link(ctx, p))
		return PARSED_OTHER;
	if (p->type == bpf_htons(ETH_P_IP))
		return parse_v4(ctx, p, 0);
	if (p->type == bpf_htons(ETH_P_IPV6))
		return parse_v6(ctx, p, 0);
	return PARSED_OTHER;
}
