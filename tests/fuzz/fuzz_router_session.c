/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as sessions that a router hands over: what is taken is the same after it was written
 * and read again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/net/udp.h"
#include "wire/router_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): the check must not depend on how the harness was built. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void compare(const struct router_session *a, const struct router_session *b)
{
	require(endpoint_cmp(&a->at, &b->at) == 0 && endpoint_cmp(&a->client, &b->client) == 0);
	require(addr_cmp(&a->local, &b->local) == 0 && a->family == b->family);
	require(a->iface == b->iface && a->turn == b->turn);
	require(a->in == b->in && a->out == b->out);
	require(a->received == b->received && a->sent == b->sent);
	require(a->age == b->age && a->silent == b->silent);
	require(a->confirmed == b->confirmed && a->unanswered == b->unanswered);
	require(str_eq(a->stream, b->stream) && str_eq(a->pool, b->pool));
	require(str_eq(a->server, b->server));
}

/* The ends that can be are those that come back. */
static void check_path(const struct router_session *s)
{
	struct udp_path p;
	struct endpoint client;
	struct addr local;

	if (udp_path_make(s->family, &s->client, &s->local, s->iface, &p) < 0)
		return;
	client = udp_peer(&p);
	local = udp_local(&p);
	require(client.port == s->client.port);
	require(!addr_is_set(&local) || local.family == AF_INET || local.family == AF_INET6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct str rest = { (const char *)data, size }, again;
	struct router_session s, back;

	while (router_session_parse(&rest, &s) == 0) {
		text.n = 0;
		require(router_session_write(&s, &text) && text.n <= ROUTER_SESSION_MAX);
		again = (struct str){ text.p, text.n };
		require(router_session_parse(&again, &back) == 0 && again.n == 0);
		compare(&s, &back);
		check_path(&s);
	}
	return 0;
}
