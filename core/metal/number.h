/* SPDX-License-Identifier: Apache-2.0 */
/* number: addresses as numbers, for steps and sizes. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/addr.h"

typedef unsigned __int128 metal_number;

/* Bits of an address of a family. */
static inline unsigned metal_bits(uint8_t family)
{
	return family == AF_INET ? 32 : 128;
}

static inline metal_number metal_number_of(const struct addr *a)
{
	metal_number n = 0;

	for (unsigned i = 0; i < metal_bits(a->family) / 8; i++)
		n = n << 8 | a->bytes[i];
	return n;
}

static inline struct addr metal_address(uint8_t family, metal_number n)
{
	struct addr a = { .family = family };

	for (unsigned i = metal_bits(family) / 8; i-- > 0; n >>= 8)
		a.bytes[i] = (uint8_t)n;
	return a;
}
