/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * flow: one cache line of remembered flows. Words are read and written whole; between CPUs the last
 * writer wins, and the flow that lost is stored again by its next packet.
 */
#pragma once

#include "bpf/maps.h"

/* A flow that is known, or the place where to put it. */
struct place {
	struct abi_bucket *bucket;
	__u64 flow; /* as found; 0: not found */
	__s32 slot; /* where it is; -1: nowhere */
	__u32 tag;
	__u32 now, timeout;
};

static __always_inline __u64 flow_read(const struct abi_bucket *b, __u32 slot)
{
	return *(const volatile __u64 *)&b->flow[slot & (ABI_BUCKET_FLOWS - 1)];
}

/* Another CPU's clock may be a tick ahead. */
static __always_inline int flow_is_alive(const struct place *at, __u64 flow)
{
	return ((at->now + 2 - ABI_FLOW_STAMP(flow)) & ABI_FLOW_STAMP_MASK) <= at->timeout + 2;
}

/* A tag is never 0, so that an empty place has none. */
static __always_inline void flow_find(struct place *at, __u64 hash)
{
	at->tag = hash >> 40 ? hash >> 40 : 1;
	at->flow = 0;
	at->slot = -1;
#pragma unroll
	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		__u64 flow = flow_read(at->bucket, i);

		if (ABI_FLOW_TAG(flow) == at->tag) {
			at->flow = flow;
			at->slot = i;
			break;
		}
	}
}

/* Seen again: stamped anew, but at most once a tick, so that the line stays shared. */
static __always_inline void flow_touch(const struct place *at)
{
	__u64 flow =
		ABI_FLOW(ABI_FLOW_AS(at->flow), ABI_FLOW_GENERATION(at->flow), at->now, at->tag) |
		ABI_FLOW_CONFIRMED;

	if (flow != at->flow)
		at->bucket->flow[at->slot & (ABI_BUCKET_FLOWS - 1)] = flow;
}

/*
 * Where a new flow goes: an empty place, or that of a dead flow; else of the oldest that was seen
 * only once; else nowhere.
 */
static __always_inline void flow_make_room(struct place *at)
{
	__u32 oldest = 0;

#pragma unroll
	for (__u32 i = 0; i < ABI_BUCKET_FLOWS; i++) {
		__u64 flow = flow_read(at->bucket, i);
		__u32 age = (at->now + 2 - ABI_FLOW_STAMP(flow)) & ABI_FLOW_STAMP_MASK;

		if (!ABI_FLOW_AS(flow) || age > at->timeout + 2) {
			at->slot = i;
			at->flow = 0;
			break;
		}
		if (!(flow & ABI_FLOW_CONFIRMED) && age >= oldest) {
			oldest = age;
			at->slot = i;
			at->flow = flow;
		}
	}
	if (at->flow)
		count(ABI_NOTE_EVICTED);
}

static __always_inline void flow_store(const struct place *at, __u32 as, __u8 generation)
{
	at->bucket->flow[at->slot & (ABI_BUCKET_FLOWS - 1)] =
		ABI_FLOW(as, generation, at->now, at->tag);
}
