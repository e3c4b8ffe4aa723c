/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/gate.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/random.h"

#define COLUMNS 16384 /* a power of two; several times the clients that have many connections */

struct gate {
	uint64_t seed; /* so that nobody knows who shares a counter */
	atomic_uint open;
	atomic_uint counts[2][COLUMNS];
};

struct gate *gate_new(void)
{
	struct gate *g = mem_zalloc(sizeof(*g));

	if (getrandom(&g->seed, sizeof(g->seed), 0) < 0)
		g->seed = (uint64_t)(uintptr_t)g; /* as early in the start as that can be */
	return g;
}

void gate_free(struct gate *g)
{
	free(g);
}

/* The two counters of a client. */
struct pair {
	atomic_uint *a, *b;
};

static struct pair find(struct gate *g, const struct addr *client)
{
	uint64_t key = 0, state;

	memcpy(&key, client->bytes, client->family == AF_INET6 ? 8 : 4);
	state = g->seed ^ key ^ client->family;
	state = random_next(&state);
	return (struct pair){ &g->counts[0][state % COLUMNS],
			      &g->counts[1][(state >> 32) % COLUMNS] };
}

static unsigned up(atomic_uint *counter)
{
	return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void down(atomic_uint *counter)
{
	atomic_fetch_sub_explicit(counter, 1, memory_order_relaxed);
}

enum gate_verdict gate_enter(struct gate *g, const struct addr *client, unsigned most,
			     unsigned each)
{
	struct pair p = find(g, client);
	bool full = up(&g->open) >= most;
	unsigned a = up(p.a), b = up(p.b);

	if (!full && (a < each || b < each))
		return GATE_OPEN;
	gate_leave(g, client);
	return full ? GATE_FULL : GATE_CROWDED;
}

void gate_leave(struct gate *g, const struct addr *client)
{
	struct pair p = find(g, client);

	down(p.a);
	down(p.b);
	down(&g->open);
}
