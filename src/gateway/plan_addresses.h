/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_addresses: which Gateway gets which address. Pure.
 *
 * A Gateway gets what it asks for, if that is in a range and no other Gateway has it; without a
 * request, one of the ranges. What a Gateway has it keeps. Of two that ask for the same address the
 * one that has it wins, then the older one, then the first by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

#define PLAN_ADDRESSES_MAX 16 /* of a Gateway */

/* Addresses that may be given away, both ends included. */
struct plan_range {
	struct addr first, last;
};

/*
 * "192.0.2.0/24" (without its first and last address, which many networks do not route),
 * "192.0.2.10-192.0.2.20", or one address. -EINVAL; *ret is untouched then.
 */
int plan_range_parse(const char *text, struct plan_range *ret);

enum plan_address_state {
	PLAN_ADDRESS_OK,
	PLAN_ADDRESS_OUTSIDE, /* asked for what is in no range */
	PLAN_ADDRESS_TAKEN,   /* asked for what another one has */
	PLAN_ADDRESS_NONE,    /* no range has one left */
};

struct plan_gateway {
	const char *key;     /* namespace and name */
	const char *created; /* RFC 3339: the order of texts is that of times */
	struct addr requested[PLAN_ADDRESSES_MAX];
	size_t n_requested; /* 0: any */
	struct addr held;   /* what it has; unset: nothing */
	/* the result */
	enum plan_address_state state;
	struct addr given[PLAN_ADDRESSES_MAX];
	size_t n_given;
	struct addr bad;   /* that cannot be given */
	const char *taken; /* the key of the one that has it */
};

/* Fills the results. The order of the Gateways does not matter. */
void plan_addresses(const struct plan_range *ranges, size_t n_ranges, struct plan_gateway *gateways,
		    size_t n);
