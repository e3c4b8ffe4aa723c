/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * nexthop: the route to a server, from the kernel's FIB. One answer is used by a CPU for a
 * quarter of a tick: the lookup costs as much as everything else together, and a change of routes
 * need not take effect sooner.
 */
#pragma once

#include "bpf/maps.h"
#include "bpf/packet.h"

#ifndef AF_INET
#define AF_INET 2
#define AF_INET6 10
#endif

/*
 * The route depends on the ingress device. A host index that was given to another address has
 * rested for longer than a route is fresh.
 */
static __always_inline int nexthop_is_fresh(const struct abi_hop *hop, __u32 now,
					    const struct xdp_md *ctx)
{
	return hop->known && hop->stamp == now && hop->ingress == ctx->ingress_ifindex;
}

/* Copies the address of the host into its next hop, which is not known then. -1: no such host. */
static __always_inline int nexthop_begin(struct abi_hop *hop, __u32 id)
{
	const struct abi_host *host = bpf_map_lookup_elem(&lb_hosts, &id);

	if (!host)
		return -1;
	__builtin_memcpy(hop->address, host->address, sizeof(hop->address));
	hop->family = host->family;
	hop->known = 0;
	return 0;
}

/*
 * Describes the outer packet to the FIB. tot_len stays 0, which passes the kernel's check of the
 * MTU; mtu_result, in the same union, returns the MTU.
 */
static __always_inline void fib_question(struct bpf_fib_lookup *fib, const struct abi_hop *hop,
					 const struct abi_settings *s)
{
	fib->l4_protocol = IPPROTO_GRE;
	if (hop->family == 4) {
		fib->family = AF_INET;
		fib->ipv4_src = s->source4;
		fib->ipv4_dst = hop->address[3];
		return;
	}
	fib->family = AF_INET6;
	__builtin_memcpy(fib->ipv6_src, s->source6, sizeof(fib->ipv6_src));
	__builtin_memcpy(fib->ipv6_dst, hop->address, sizeof(fib->ipv6_dst));
}

/* Asks the FIB for the way to hop->address. Returns 0 with *hop filled, or a BPF_FIB_LKUP_RET_*. */
static __noinline int nexthop_ask(struct xdp_md *ctx, const struct abi_settings *s,
				  struct abi_hop *hop, __u32 now)
{
	struct bpf_fib_lookup fib = { 0 };
	int r;

	fib_question(&fib, hop, s);
	fib.ifindex = ctx->ingress_ifindex;
	r = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	if (r)
		return r;
	__builtin_memcpy(hop->dmac, fib.dmac, sizeof(hop->dmac));
	__builtin_memcpy(hop->smac, fib.smac, sizeof(hop->smac));
	hop->mtu = fib.mtu_result;
	hop->ifindex = fib.ifindex;
	hop->ingress = ctx->ingress_ifindex;
	hop->stamp = now;
	hop->known = 1;
	return 0;
}

/* BPF_FIB_LKUP_RET_FRAG_NEEDED cannot occur, see fib_question(). */
static __always_inline enum abi_event fib_event(int code)
{
	switch (code) {
	case BPF_FIB_LKUP_RET_BLACKHOLE:
		return ABI_DROP_BLACKHOLE;
	case BPF_FIB_LKUP_RET_UNREACHABLE:
		return ABI_DROP_UNREACHABLE;
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return ABI_DROP_PROHIBIT;
	case BPF_FIB_LKUP_RET_NOT_FWDED:
		return ABI_DROP_NO_ROUTE;
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
		return ABI_DROP_FORWARDING_OFF;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return ABI_PASS_NO_NEIGHBOUR;
	default:
		return ABI_DROP_ROUTE_TYPE;
	}
}
