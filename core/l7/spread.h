/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread: the table of a pool with `balance: maglev`, which maps the hash of a request to a server.
 * Pure.
 *
 * The table is that of core/maglev. It follows from hosts, ports and weights alone: routers that do
 * not know of each other agree, and a server that comes or goes moves few requests of the others.
 *
 * A server that cannot be used is passed over: the hash draws another slot, and so on, always the
 * same ones. So only its own requests move, and they are spread over all others.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/l7/balance.h"
#include "core/l7/config.h"

/*
 * The number of slots for a pool of n servers: at least 100 for each up to 10,000 servers. There
 * are only three sizes, because another size moves most requests.
 */
size_t l7_spread_size(size_t n);
/* Fills slots[size] with indices of servers. Servers that drain have none. */
void l7_spread_build(const struct l7_server *servers, size_t n, uint16_t *slots, size_t size);
/*
 * The server for a hash; L7_NONE: none can be used. If few of many servers can be used, it is the
 * next one in the schedule of the same pool.
 */
size_t l7_spread_find(const uint16_t *slots, size_t size, const struct l7_schedule *s,
		      const struct l7_fleet *f, uint64_t hash);
