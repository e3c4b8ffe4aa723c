/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * flow: a bucket of stored flows, which is one cache line. Words are read and written whole.
 * If two CPUs write the same slot, the last one wins, and the next packet of the other flow
 * stores it again.
 */
#pragma once

#include "bpf/maps.h"

/* A flow that was found, or the slot where it can be stored. */
struct place {
	struct abi_bucket *bucket;
	__u64 flow; /* as found; 0: not found */
	__s32 slot; /* where it is; -1: nowhere */
	__u32 tag;
	__u32 now, timeout;
};

/* The mask proves to the verifier that the slot is in bounds. */
static __always_inline __u64 flow_read(const struct abi_bucket *b, __u32 slot)
{
	return *(const volatile __u64 *)&b->flow[slot & (ABI_BUCKET_FLOWS - 1)];
}

/*
 * Whether the flow was seen within the timeout. Stamps have 15 bits and wrap around. The clock of
 * another CPU may be ahead by a tick, which the 2 on both sides allows for.
 */
static __always_inline int flow_is_alive(const struct place *at, __u64 flow)
{
	return ((at->now + 2 - ABI_FLOW_STAMP(flow)) & ABI_FLOW_STAMP_MASK) <= at->timeout + 2;
}

/* Looks for the tag of the hash. A tag is never 0, so it cannot match an empty slot. */
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

/*
 * Refreshes the stamp and marks the flow as confirmed. The word is written only if it changes, at
 * most once per tick, so that the cache line stays shared between CPUs.
 */
static __always_inline void flow_touch(const struct place *at)
{
	__u64 flow =
		ABI_FLOW(ABI_FLOW_AS(at->flow), ABI_FLOW_GENERATION(at->flow), at->now, at->tag) |
		ABI_FLOW_CONFIRMED;

	if (flow != at->flow)
		at->bucket->flow[at->slot & (ABI_BUCKET_FLOWS - 1)] = flow;
}

/*
 * Chooses the slot of a new flow: an empty one, or that of a dead flow; else that of the
 * oldest flow with a single packet; else none. A flood of single packets so cannot evict
 * established flows.
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

/* A new flow is not confirmed: its stamp is set, the flag is not. */
static __always_inline void flow_store(const struct place *at, __u32 as, __u8 generation)
{
	at->bucket->flow[at->slot & (ABI_BUCKET_FLOWS - 1)] =
		ABI_FLOW(as, generation, at->now, at->tag);
}
