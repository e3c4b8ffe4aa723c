/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * forward: sends a packet to its server, hands it to the kernel, answers it or drops it.
 */
#pragma once

#include "bpf/answer.h"
#include "bpf/choose.h"

/*
 * The active half of the settings. The index is read once per packet, so the packet sees one
 * half.
 */
static __always_inline const struct abi_settings *settings_of(const struct abi_config *config)
{
	return &config->settings[*(const volatile __u32 *)&config->active & 1];
}

/* Now, in quarters of a tick of the flow clock. */
static __always_inline __u32 short_ticks(const struct abi_config *config)
{
	return bpf_jiffies64() >> ((config->clock_shift - ABI_SHORT_TICKS) & 31);
}

static __always_inline void count_sent(const struct abi_config *config, __u32 cpu, __u32 id,
				       const struct packet *p)
{
	__u32 index = cpu * config->servers + id;
	struct abi_as_counts *counts = bpf_map_lookup_elem(&lb_as_counts, &index);

	if (!counts)
		return;
	counts->packets++;
	counts->bytes += p->length;
}

/*
 * Hands the encapsulated packet to the kernel, with MAC addresses and tags as received, so that
 * the kernel accepts the frame and forwards it.
 */
static __noinline int pass_encapsulated(struct xdp_md *ctx, const struct packet *p,
					const struct abi_hop *hop, const struct abi_settings *s)
{
	struct link_header saved;

	if (link_save(ctx, &saved) || push_outer(ctx, p, hop, s, header_at(p)) ||
	    link_restore(ctx, &saved, p->at, outer_type(hop)))
		return drop(ABI_DROP_NO_ROOM);
	return XDP_PASS;
}

/*
 * Without a neighbour entry the kernel gets the packet, because forwarding it makes the kernel
 * resolve the neighbour; XDP cannot.
 */
static __always_inline int forward_without_way(struct xdp_md *ctx, const struct packet *p,
					       const struct abi_hop *hop,
					       const struct abi_settings *s, int code)
{
	enum abi_event event = fib_event(code);

	count(event);
	return event == ABI_PASS_NO_NEIGHBOUR ? pass_encapsulated(ctx, p, hop, s) : XDP_DROP;
}

/*
 * Only IPv4 in IPv4 may be fragmented on the way, and the kernel does it. Otherwise the sender is
 * told the MTU that fits.
 */
static __always_inline int forward_too_big(struct xdp_md *ctx, const struct packet *p,
					   const struct abi_hop *hop, const struct abi_settings *s)
{
	if (!p->may_fragment || hop->family != 4)
		return answer_too_big(ctx, p, s, hop->mtu - overhead_of(hop));
	count(ABI_PASS_FRAGMENT);
	return pass_encapsulated(ctx, p, hop, s);
}

/*
 * The order of the checks matters: the MTU is known only with a next hop, and bytes are counted
 * only for packets that are sent.
 */
static __always_inline int forward(struct xdp_md *ctx, const struct abi_config *config,
				   const struct packet *p, const struct abi_settings *s,
				   const struct choice *c, __u32 cpu)
{
	__u32 index = cpu * config->servers + c->server.host, now = short_ticks(config);
	struct abi_hop *hop = bpf_map_lookup_elem(&lb_hops, &index);
	int fresh, code;

	if (!hop)
		return drop(ABI_DROP_NO_SERVER);
	fresh = nexthop_is_fresh(hop, now, ctx);
	if (!fresh && nexthop_begin(hop, c->server.host))
		return drop(ABI_DROP_NO_SERVER);
	if (!has_source(hop, s))
		return drop(ABI_DROP_NO_SOURCE);
	/* a route to this host is never stored, so others do not pay for the question */
	if (!fresh && is_here(hop, s)) {
		count_sent(config, cpu, c->id, p);
		return XDP_PASS;
	}
	if (!fresh) {
		code = nexthop_ask(ctx, s, hop, now);
		if (code)
			return forward_without_way(ctx, p, hop, s, code);
	}
	if (p->length + overhead_of(hop) > hop->mtu)
		return forward_too_big(ctx, p, hop, s);
	count_sent(config, cpu, c->id, p);
	return send(ctx, p, s, hop);
}

/* TTL 1 would expire here, as in any router; the answer comes before a server is chosen. */
static __always_inline int balance(struct xdp_md *ctx, const struct abi_config *config,
				   const struct packet *p, __u32 vip)
{
	const struct abi_settings *s = settings_of(config);
	__u32 cpu = bpf_get_smp_processor_id();
	struct choice c = { 0 };

	if (p->ttl <= 1)
		return answer_time_exceeded(ctx, p, s);
	choose(config, s, vip, p, &c);
	count_vip(config, cpu, vip, c.kind, p->length);
	if (!c.server.vip)
		return drop(ABI_DROP_NO_SERVER);
	return forward(ctx, config, p, s, &c, cpu);
}
