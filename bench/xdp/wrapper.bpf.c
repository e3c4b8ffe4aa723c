/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * wrapper: BPF_PROG_TEST_RUN does not restore the packet between repetitions. The wrapper does
 * that, chooses the flow, and tail-calls the measured program. Its own cost is measured with a
 * program that does nothing. The generator sends the same packets into a device, and the sink
 * drops and counts them.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/xdp/wrapper.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wrapper_order);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} subjects SEC(".maps");

static __always_inline void put(void *frame, void *end, __u32 at, __u16 value)
{
	__u16 *place = frame + (at & 63);

	if ((void *)(place + 1) <= end)
		*place = bpf_htons(value);
}

/*
 * Writes the low 16 bits of the flow into the address and the rest into the port. Flows are spread
 * over the VIPs by a hash, so that the order of VIPs has no pattern.
 */
static __always_inline void pick_flow(void *frame, void *end, const struct wrapper_order *o,
				      __u32 flow)
{
	__u32 vip = o->first_vip + (flow * 2654435761u >> 12) % o->vips, sum;

	put(frame, end, o->address_at, flow);
	put(frame, end, o->port_at, 1024 + (flow >> 16));
	if (!o->vip_at)
		return;
	put(frame, end, o->vip_at, vip);
	sum = (flow & 0xffff) + vip; /* the header's checksum stays what it is */
	put(frame, end, o->id_at, ~(sum + (sum >> 16)));
}

/* Prepares the next frame and returns the order; NULL if there is no room. */
static __always_inline struct wrapper_order *restore(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct wrapper_order *o = bpf_map_lookup_elem(&orders, &zero);
	__u64 *frame, *end;
	long size;

	if (!o)
		return NULL;
	frame = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	size = (void *)end - (void *)frame;
	asm volatile("" : "+r"(size)); /* the verifier has no 32-bit sums of pointers */
	if (bpf_xdp_adjust_head(ctx, (int)size - (int)o->length))
		return NULL;
	frame = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (frame + WRAPPER_HEAD / 8 > end)
		return NULL;
#pragma unroll
	for (int i = 0; i < WRAPPER_HEAD / 8; i++)
		frame[i] = o->head[i];
	pick_flow(frame, end, o, o->next++ & o->mask);
	return o;
}

SEC("xdp")
int wrapper(struct xdp_md *ctx)
{
	if (restore(ctx))
		bpf_tail_call(ctx, &subjects, 0);
	return XDP_ABORTED;
}

/* Sends the same frames into a device. */
SEC("xdp")
int generator(struct xdp_md *ctx)
{
	const struct wrapper_order *o = restore(ctx);

	return o ? bpf_redirect(o->ifindex, 0) : XDP_ABORTED;
}

/* Counts the frames that came back. Not atomic: only one CPU counts. */
SEC("xdp")
int sink(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct wrapper_order *o = bpf_map_lookup_elem(&orders, &zero);

	if (o)
		o->sunk++;
	return XDP_DROP;
}

/* The least that every encapsulation has to do. */
SEC("xdp")
int nothing(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -24) ? XDP_ABORTED : XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
