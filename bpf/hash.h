/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * hash: two hashes. The one without a seed selects the slot of a new flow in the table. All
 * balancers must agree on it, so it is part of the contract between releases, and a test checks
 * its values. The seeded one selects the place of a flow in the flow table and is private to this
 * host, so that outsiders cannot aim at one bucket.
 */
#pragma once

#include "bpf/packet.h"

#define HASH_START 0x6d61676c65767631ull /* "maglevv1" */

/* Words are in host order, so that machines of both byte orders agree. */
static __always_inline __u64 hash_source(__u64 hash, const struct packet *p)
{
	const __u32 *s = p->source;

	hash = abi_mix(hash, (__u64)bpf_ntohl(s[0]) << 32 | bpf_ntohl(s[1]));
	return abi_mix(hash, (__u64)bpf_ntohl(s[2]) << 32 | bpf_ntohl(s[3]));
}

/*
 * The slot of a table, by 32 bits of the hash: multiplication instead of division, even to 2^-16.
 */
static __always_inline __u32 hash_slot(const struct packet *p, int by_source, __u32 size)
{
	__u64 hash = hash_source(HASH_START, p);

	if (!by_source)
		hash = abi_mix(hash, (__u64)p->protocol << 32 | ports_of(p));
	return (abi_mix(hash, 0) >> 32) * size >> 32;
}

/* The destination is represented by the VIP's index. */
static __always_inline __u64 hash_flow(const struct packet *p, __u32 vip, const __u64 seed[2])
{
	__u64 hash = hash_source(seed[0], p);

	hash = abi_mix(hash, (__u64)vip << 40 | (__u64)p->protocol << 32 | ports_of(p));
	return abi_mix(hash, seed[1]);
}
