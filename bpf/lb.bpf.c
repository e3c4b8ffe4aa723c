/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * lb: the Maglev data plane. A packet to a VIP gets a GRE header and is sent to one of the VIP's
 * servers, which answers the client directly; all other packets pass untouched.
 *
 *	packet.h	parses the frame: addresses, protocol, ports
 *	choose.h	finds the VIP, the flow (flow.h) or table slot (hash.h), the server
 *	forward.h	sends it: next hop (nexthop.h), outer headers (encap.h), or an
 *			ICMP error back to the client (answer.h)
 *
 * User space owns the maps of bpf/abi.h and is not needed while packets flow. The rules and the
 * reasons are in docs/design/xdp.md.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/forward.h"

/* Whether the ICMP type is an error. Other types, such as echo requests, are left to the kernel. */
static __always_inline int is_icmp_error(const struct packet *p, __u8 type)
{
	if (p->type == bpf_htons(ETH_P_IPV6))
		return type >= ICMP6_UNREACHABLE && type <= ICMP6_PARAMETER;
	return type == ICMP4_UNREACHABLE || type == ICMP4_TIME_EXCEEDED || type == ICMP4_PARAMETER;
}

/*
 * Parses the packet that an ICMP error to a VIP quotes. Returns 0, or -1 if the quotation is too
 * short or is not a packet from that VIP.
 */
static __always_inline int parse_quoted(struct xdp_md *ctx, const struct packet *p,
					struct packet *quoted)
{
	enum parsed parsed;

	quoted->at = payload_at(p) + sizeof(struct icmp);
	quoted->type = p->type;
	parsed = p->type == bpf_htons(ETH_P_IP) ? parse_v4(ctx, quoted, 1)
						: parse_v6(ctx, quoted, 1);
	if (parsed == PARSED_PORTS ? payload_at(quoted) + 4 > p->at + p->length
				   : parsed != PARSED_PROTOCOL)
		return -1;
	for (int i = 0; i < 4; i++) {
		if (quoted->source[i] != p->destination[i])
			return -1;
	}
	return 0;
}

/*
 * An ICMP error to one of our addresses belongs to the flow that it quotes: the server sent the
 * quoted packet from the VIP to the client. The error takes on the tuple of that flow as the
 * client's packets have it, so that it reaches the same server (path MTU discovery depends on it).
 */
static __noinline __u32 find_quoted(struct xdp_md *ctx, const struct abi_config *config,
				    struct packet *p)
{
	struct packet quoted = { 0 };
	struct icmp *icmp = frame_start(ctx) + payload_at(p);
	__u32 vip;

	if (find_address(config, p) == NOT_OURS || (void *)(icmp + 1) > frame_end(ctx) ||
	    !is_icmp_error(p, icmp->type) || parse_quoted(ctx, p, &quoted))
		return NOT_OURS;
	__builtin_memcpy(p->source, quoted.destination, sizeof(p->source));
	p->ports[0] = quoted.ports[1];
	p->ports[1] = quoted.ports[0];
	p->protocol = quoted.protocol;
	p->tracking = TRACK_FIND;
	vip = find_vip(config, p);
	if (is_vip(vip))
		count(ABI_NOTE_ICMP_ERROR);
	return vip;
}

/*
 * Packets without ports are ours by their address alone. Malformed ones are dropped, and so are
 * fragments to an address with per-port VIPs, because their VIP is not known.
 */
static __noinline __u32 find_portless(const struct abi_config *config, const struct packet *p,
				      enum parsed parsed)
{
	__u32 vip = find_address(config, p);

	if (vip == NOT_OURS)
		return NOT_OURS;
	if (parsed == PARSED_MALFORMED) {
		count(ABI_DROP_MALFORMED);
		return NOT_WANTED;
	}
	if (vip == ABI_CELL_BY_PORT && parsed == PARSED_FRAGMENT) {
		count(ABI_DROP_FRAGMENT);
		return NOT_WANTED;
	}
	return vip;
}

/* Finds the VIP; NOT_OURS: pass, NOT_WANTED: drop, which was counted already. */
static __always_inline __u32 find(struct xdp_md *ctx, const struct abi_config *config,
				  struct packet *p, enum parsed parsed)
{
	if (parsed == PARSED_PORTS)
		return find_vip(config, p);
	if (parsed == PARSED_ICMP)
		return find_quoted(ctx, config, p);
	p->tracking = parsed == PARSED_FRAGMENT ? TRACK_NONE : TRACK;
	return find_portless(config, p, parsed);
}

SEC("xdp")
int maglev_lb(struct xdp_md *ctx)
{
	struct packet p = { 0 };
	enum parsed parsed = parse_frame(ctx, &p);
	__u32 zero = 0, vip;
	const struct abi_config *config = bpf_map_lookup_elem(&lb_config, &zero);

	if (parsed == PARSED_OTHER || !config)
		return XDP_PASS;
	vip = find(ctx, config, &p, parsed);
	if (!is_vip(vip))
		return vip == NOT_WANTED ? XDP_DROP : XDP_PASS;
	return balance(ctx, config, &p, vip);
}

/* The kernel allows bpf_fib_lookup() to GPL programs only; this one is under either licence. */
char LICENSE[] SEC("license") = "GPL";
