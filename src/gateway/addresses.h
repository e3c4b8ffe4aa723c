/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addresses: gives each Gateway its addresses, and tells translation.
 *
 * From ranges (--address-pool) or from the Services of Gateways (services.h). What the status of a
 * Gateway says is kept over restarts. An address that a router cannot listen on is not used for
 * ADDRESSES_REST, and the Gateway says so in its status.
 */
#pragma once

#include "lib/loop/loop.h"
#include "src/gateway/plan_addresses.h"
#include "src/gateway/services.h"
#include "src/gateway/translate.h"

#define ADDRESSES_REST INT64_C(300000000000) /* ns */

struct addresses;

struct addresses_config {
	struct ev_loop *loop;
	struct gw *gw; /* borrowed, as are the ranges */
	const struct plan_range *ranges;
	size_t n_ranges;
	const struct services *services; /* their addresses are used; NULL: the ranges */
	/* An address may be used again: addresses_update() is due. */
	void (*due)(void *user);
	void *user;
};

struct addresses *addresses_new(const struct addresses_config *config);
void addresses_free(struct addresses *a); /* NULL is allowed */
/*
 * Looks at all Gateways, when gw_work() has nothing left to do. True if translation was told
 * something new.
 */
bool addresses_update(struct addresses *a);
/* A router cannot listen there ("ADDRESS:PORT"). True if a Gateway has that address. */
bool addresses_refuse(struct addresses *a, const char *address, const char *why);
/* Gateways with an address, and without one. */
size_t addresses_given(const struct addresses *a);
size_t addresses_missing(const struct addresses *a);
