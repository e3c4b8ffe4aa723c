/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/socket_group.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

struct socket_group *socket_group_new(void)
{
	struct socket_group *g = mem_zalloc(sizeof(*g));

	atomic_init(&g->references, 1);
	atomic_init(&g->users, 1);
	return g;
}

struct socket_group *socket_group_hold(struct socket_group *g)
{
	atomic_fetch_add(&g->references, 1);
	return g;
}

void socket_group_release(struct socket_group *g)
{
	if (g && atomic_fetch_sub(&g->references, 1) == 1)
		free(g);
}

bool socket_group_enter(struct socket_group *g, unsigned n)
{
	unsigned before = atomic_load(&g->users);

	do {
		if (before == SOCKET_GROUP_CLOSED)
			return false;
	} while (!atomic_compare_exchange_weak(&g->users, &before, before + n));
	return true;
}

void socket_group_leave(struct socket_group *g, unsigned n)
{
	unsigned before = atomic_fetch_sub(&g->users, n);

	assert(before >= n && before != SOCKET_GROUP_CLOSED);
}

bool socket_group_close(struct socket_group *g)
{
	unsigned none = 0;

	return atomic_compare_exchange_strong(&g->users, &none, SOCKET_GROUP_CLOSED) ||
	       none == SOCKET_GROUP_CLOSED;
}
