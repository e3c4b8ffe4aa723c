/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the text with which a router hands over: an answer within the bounds; what is taken
 * is the same after it was written and read again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/router_handover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): the check must not depend on how the harness was built. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void compare_servers(const struct router_handover_server *a,
			    const struct router_handover_server *b)
{
	require(a->pool == b->pool && a->server == b->server && a->down == b->down);
	require(a->n == b->n && a->n <= ROUTER_HANDOVER_ADDRESSES);
	for (size_t i = 0; i < a->n; i++)
		require(addr_cmp(&a->addresses[i], &b->addresses[i]) == 0);
}

static void compare(const struct router_handover *a, const struct router_handover *b)
{
	require(a->generation == b->generation && a->n == b->n && str_eq(a->config, b->config));
	require(a->n_servers == b->n_servers && a->last == b->last);
	for (size_t i = 0; i < a->n_servers; i++)
		compare_servers(&a->servers[i], &b->servers[i]);
	for (size_t i = 0; i < a->n; i++) {
		require(a->sockets[i].kind == b->sockets[i].kind);
		if (a->sockets[i].text)
			require(strcmp(a->sockets[i].text, b->sockets[i].text) == 0);
		else
			require(endpoint_cmp(&a->sockets[i].at, &b->sockets[i].at) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf text = { 0 };
	struct router_handover h, again;
	int r = router_handover_parse((struct str){ (const char *)data, size }, arena, &h);

	require(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT || r == -E2BIG);
	if (r < 0)
		return 0;
	require(h.n <= ROUTER_HANDOVER_SOCKETS);
	router_handover_write(&h, &text);
	r = router_handover_parse((struct str){ text.p, text.n }, arena, &again);
	require(r == 0);
	compare(&h, &again);
	return 0;
}
