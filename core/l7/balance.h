/* SPDX-License-Identifier: Apache-2.0 */
/*
 * balance: which server of a pool gets a request. Pure.
 *
 * A schedule lists the servers in the order of a smooth weighted round robin: each server as often
 * as its weight says, and its turns spread as evenly as possible. Every policy walks over it or
 * draws from it, so that all of them respect weights.
 *
 * A server that is not fit is passed over. The others take its share in the order in which they
 * follow it. If none is fit, a server of the reserve is taken in the same way, so a request is
 * never refused while one server can be used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/l7/config.h"
#include "core/l7/host.h"

#define L7_SCHEDULE_MAX 4096 /* entries, or four for each server if that is more */

/* Its entries are indices of servers. Servers without weight are in none. */
struct l7_schedule {
	const uint16_t *turns;
	size_t n;
};

/* Builds the schedule in the arena. Weights are scaled down if their sum is above the bound. */
struct l7_schedule l7_schedule_build(struct arena *arena, const uint32_t *weights, size_t n);

/* Whether a server may get a request now. */
enum l7_fitness {
	L7_UNFIT,
	L7_RESERVE, /* only if no server is fit: it has failed this request, say */
	L7_FIT,
};

/* What is known about the servers now; user is passed on. */
struct l7_fleet {
	enum l7_fitness (*fitness)(size_t server, void *user);
	unsigned (*active)(size_t server, void *user); /* requests that it is answering */
	void *user;
};

/* The server whose turn it is; *turn is the caller's and only ever passed here. L7_NONE: none. */
size_t l7_balance_turn(const struct l7_schedule *s, const struct l7_fleet *f, uint32_t *turn);
/* The one of two random ones that has fewer active requests. */
size_t l7_balance_two(const struct l7_schedule *s, const struct l7_fleet *f, uint64_t random);
/* The one with the fewest active requests; of equals the next in turn. */
size_t l7_balance_least(const struct l7_schedule *s, const struct l7_fleet *f, uint32_t *turn);
