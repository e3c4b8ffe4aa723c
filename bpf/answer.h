/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * answer: ICMP errors that the program sends itself. The packet is truncated and becomes the
 * quotation in an error from the VIP, which is sent back to where the packet came from.
 */
#pragma once

#include "bpf/encap.h"
#include "bpf/link.h"

#define QUOTE4 548    /* 576 in all (RFC 1812) */
#define QUOTE6 1232   /* 1280 in all (RFC 4443) */
#define ICMP_TOS 0xc0 /* internetwork control (RFC 1812, 4.3.2.5) */

/* The error: type and code for both families, and the MTU for a packet that is too big (0 else). */
struct answer {
	__u8 type4, code4, type6;
	__u32 mtu;
};

/*
 * A token bucket for all ICMP errors of this CPU: icmp_due is the time at which the next error
 * would be on schedule; it may run ahead of the clock by the burst. Routers must limit the rate
 * of ICMP errors (RFC 1812, 4.3.2.8; RFC 4443, 2.4(f)).
 */
static __always_inline int is_over_limit(const struct abi_settings *s)
{
	__u64 now = bpf_ktime_get_coarse_ns(), due;
	__u32 key = 0;
	struct abi_cpu *cpu = bpf_map_lookup_elem(&lb_cpu, &key);

	if (!cpu)
		return 1;
	due = cpu->icmp_due > now ? cpu->icmp_due : now;
	if (due - now > (__u64)s->icmp_gap_ns * s->icmp_burst)
		return 1;
	cpu->icmp_due = due + s->icmp_gap_ns;
	return 0;
}

/*
 * Errors must not be sent in reply to ICMP errors, later fragments, or packets whose source is
 * not a single host (RFC 1812, 4.3.2.7; RFC 4443, 2.4(e)).
 */
static __always_inline int may_answer(const struct packet *p)
{
	__u32 first;

	if (p->tracking == TRACK_FIND || p->later)
		return 0;
	if (p->type == bpf_htons(ETH_P_IPV6))
		return (p->source[0] | p->source[1] | p->source[2] | p->source[3]) &&
		       (bpf_ntohl(p->source[0]) >> 24) != 0xff;
	first = bpf_ntohl(p->source[3]) >> 24;
	return first != 0 && first != 127 && first < 224;
}

/*
 * The sum of the 16-bit words of length bytes at an offset, not folded; length is a multiple of
 * 4. A global function, so that the verifier checks the loop once and not for each path that
 * leads here. The masks bound the offsets for the verifier.
 */
__noinline __u32 sum_frame(struct xdp_md *ctx, __u32 at, __u32 length)
{
	__u64 sum = 0;
	__u32 *word;

	for (__u32 i = 0; i < QUOTE6; i += 4) {
		word = frame_start(ctx) + (at & 0xff) + i;
		if (i >= length || (void *)(word + 1) > frame_end(ctx))
			break;
		sum += *word;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	return halves(sum) + halves(sum >> 32);
}

/*
 * The checksum of the IPv4 header is summed from the fields just written. ICMP has no
 * pseudo-header.
 */
static __always_inline int write_icmp4(struct xdp_md *ctx, const struct packet *p,
				       const struct answer *a, __u32 quote)
{
	__u32 sum = sum_frame(ctx, p->at + sizeof(struct iphdr) + sizeof(struct icmp), quote);
	struct iphdr *ip = frame_start(ctx) + header_at(p);
	struct icmp *icmp = (void *)(ip + 1);
	__u16 length = bpf_htons(sizeof(*ip) + sizeof(*icmp) + quote);

	if ((void *)(icmp + 1) > frame_end(ctx))
		return -1;
	*(__u32 *)ip = 0;
	*(__u16 *)ip = bpf_htons(0x4500 | ICMP_TOS);
	ip->tot_len = length;
	ip->id = 0;
	ip->frag_off = bpf_htons(IP_DF);
	ip->ttl = OUTER_TTL;
	ip->protocol = IPPROTO_ICMP;
	ip->saddr = p->destination[3];
	ip->daddr = p->source[3];
	ip->check = fold(bpf_htons(0x4500 | ICMP_TOS) + length + bpf_htons(IP_DF) +
			 bpf_htons(OUTER_TTL << 8 | IPPROTO_ICMP) + halves(ip->saddr) +
			 halves(ip->daddr));
	icmp->type = a->type4;
	icmp->code = a->code4;
	icmp->data = bpf_htonl(a->mtu);
	icmp->checksum = fold(sum + bpf_htons(a->type4 << 8 | a->code4) + halves(icmp->data));
	return 0;
}

static __always_inline __u32 sum_words(const __u32 *word, int n)
{
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < n; i++)
		sum += halves(word[i]);
	return sum;
}

/* ICMPv6 sums a pseudo-header of addresses, length and protocol as well (RFC 8200, 8.1). */
static __always_inline int write_icmp6(struct xdp_md *ctx, const struct packet *p,
				       const struct answer *a, __u32 quote)
{
	__u32 sum = sum_frame(ctx, p->at + sizeof(struct ipv6hdr) + sizeof(struct icmp), quote);
	struct ipv6hdr *ip = frame_start(ctx) + header_at(p);
	struct icmp *icmp = (void *)(ip + 1);
	__u16 length = bpf_htons(sizeof(*icmp) + quote);

	if ((void *)(icmp + 1) > frame_end(ctx))
		return -1;
	*(__u32 *)ip = bpf_htonl(0x60000000 | ICMP_TOS << 20);
	ip->payload_len = length;
	ip->nexthdr = IPPROTO_ICMPV6;
	ip->hop_limit = OUTER_TTL;
	__builtin_memcpy(&ip->saddr, p->destination, sizeof(ip->saddr));
	__builtin_memcpy(&ip->daddr, p->source, sizeof(ip->daddr));
	icmp->type = a->type6;
	icmp->code = 0;
	icmp->data = bpf_htonl(a->mtu);
	icmp->checksum =
		fold(sum + sum_words(p->source, 4) + sum_words(p->destination, 4) + length +
		     bpf_htons(IPPROTO_ICMPV6) + bpf_htons(a->type6 << 8) + halves(icmp->data));
	return 0;
}

/*
 * Truncates the packet to its quotation and makes room for the headers before it. The link header
 * has its addresses swapped: the frame goes back to the sender's router.
 */
static __always_inline int make_quotation(struct xdp_md *ctx, const struct packet *p, __u32 quote,
					  __u32 room)
{
	__u32 length = bpf_xdp_get_buff_len(ctx);
	struct link_header saved;

	if (link_save(ctx, &saved))
		return -1;
	if (bpf_xdp_adjust_tail(ctx, (int)(p->at + quote - length)))
		return -1;
	if (bpf_xdp_adjust_head(ctx, -(int)room))
		return -1;
	link_swap(&saved);
	return link_restore(ctx, &saved, p->at, p->type);
}

/*
 * Returns the verdict: a drop with its reason, or the error on its way back. The quotation is
 * rounded down to a multiple of 4 for sum_frame().
 */
static __noinline int answer(struct xdp_md *ctx, const struct packet *p,
			     const struct abi_settings *s, const struct answer *a)
{
	int v6 = p->type == bpf_htons(ETH_P_IPV6);
	__u32 limit = v6 ? QUOTE6 : QUOTE4;
	__u32 quote = (p->length < limit ? p->length : limit) & ~3u;

	if (!may_answer(p))
		return drop(ABI_DROP_UNANSWERED);
	if (is_over_limit(s))
		return drop(ABI_DROP_ICMP_LIMIT);
	if (make_quotation(ctx, p, quote, v6 ? 48 : 28))
		return drop(ABI_DROP_NO_ROOM);
	if (v6 ? write_icmp6(ctx, p, a, quote) : write_icmp4(ctx, p, a, quote))
		return drop(ABI_DROP_NO_ROOM);
	count(a->mtu ? ABI_ANSWER_TOO_BIG : ABI_ANSWER_TIME_EXCEEDED);
	return leave(ctx, s, ctx->ingress_ifindex);
}

static __always_inline int answer_time_exceeded(struct xdp_md *ctx, const struct packet *p,
						const struct abi_settings *s)
{
	const struct answer a = { .type4 = ICMP4_TIME_EXCEEDED, .type6 = ICMP6_TIME_EXCEEDED };

	return answer(ctx, p, s, &a);
}

static __always_inline int answer_too_big(struct xdp_md *ctx, const struct packet *p,
					  const struct abi_settings *s, __u32 mtu)
{
	const struct answer a = { .type4 = ICMP4_UNREACHABLE,
				  .code4 = ICMP4_FRAG_NEEDED,
				  .type6 = ICMP6_TOO_BIG,
				  .mtu = mtu };

	return answer(ctx, p, s, &a);
}
