/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: of a text, byte by byte, so that the hash of every beginning comes for free (FNV-1a, mixed
 * at the end). The keys of the tables come from the configuration and are always compared, so no
 * request can make a search slow.
 */
#pragma once

#include <stdint.h>

static inline uint64_t l7_hash_start(uint64_t kind)
{
	return UINT64_C(0xcbf29ce484222325) + kind;
}

static inline uint64_t l7_hash_add(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
}

/* The low bits alone select a slot. */
static inline uint64_t l7_hash_end(uint64_t hash)
{
	return hash ^ (hash >> 32);
}
