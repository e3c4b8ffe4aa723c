/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * hash: two of them. The one without a seed says which slot of the table a new flow gets; all
 * balancers must agree on it, so it is part of the contract between releases, and a test holds its
 * values. The seeded one says where the flow table keeps a flow, and is this host's own.
 */
#pragma once

#include "bpf/packet.h"

#define HASH_START 0x6d61676c65767631ull

static __always_inline __u64 hash_source(__u64 hash, const struct packet *p)
{
	const __u32 *s = p->source;

	hash = abi_mix(hash, (__u64)bpf_ntohl(s[0]) << 32 | bpf_ntohl(s[1]));
	return abi_mix(hash, (__u64)bpf_ntohl(s[2]) << 32 | bpf_ntohl(s[3]));
}

/* The slot of a table, by 32 bits of hash: no division, and even to 2^-16. */
static __always_inline __u32 hash_slot(const struct packet *p, int by_source, __u32 size)
{
	__u64 hash = hash_source(HASH_START, p);

	if (!by_source)
		hash = abi_mix(hash, (__u64)p->protocol << 32 | ports_of(p));
	return (abi_mix(hash, 0) >> 32) * size >> 32;
}

static __always_inline __u64 hash_flow(const struct packet *p, __u32 vip, const __u64 seed[2])
{
	__u64 hash = hash_source(seed[0], p);

	hash = abi_mix(hash, (__u64)vip << 40 | (__u64)p->protocol << 32 | ports_of(p));
	return abi_mix(hash, seed[1]);
}
