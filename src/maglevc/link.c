/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/link.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/client.h"
#include "proto/grpc/health.pb-c.h"

#define TICK 1.			    /* s; a server that does not answer is checked at every tick */
#define EVERY 5			    /* ticks between checks while the server answers */
#define PATIENCE (2 * NSEC_PER_SEC) /* deadline of one check */

static const struct grpc_method health_check = {
	.path = "/grpc.health.v1.Health/Check",
	.request = &grpc__health__v1__health_check_request__descriptor,
	.response = &grpc__health__v1__health_check_response__descriptor,
};

/* The content of the answer does not matter, see on_over(). */
static void on_answer(const ProtobufCMessage *message, void *user)
{
}

/*
 * Any status from the server proves that it is there, even UNIMPLEMENTED or NOT_SERVING. Only a
 * deadline and a lost connection count as failures.
 */
static void on_over(enum grpc_status status, const char *text, void *user)
{
	struct link_check *k = user;
	bool lost = status == GRPC_UNAVAILABLE && !k->client->connected;

	k->call = NULL;
	k->tried = true;
	k->silent = status == GRPC_DEADLINE_EXCEEDED;
	k->why.n = 0;
	if (lost || k->silent)
		buf_adds(&k->why, text);
}

static void ask(struct link_check *k)
{
	Grpc__Health__V1__HealthCheckRequest request;
	const struct grpc_client_events events = { .message = on_answer,
						   .done = on_over,
						   .user = k };

	grpc__health__v1__health_check_request__init(&request);
	k->call = grpc_client_call(k->client->client, &health_check, &request.base, PATIENCE,
				   &events);
}

static enum link_state state_of(const struct link_check *k)
{
	if (k->silent)
		return LINK_SILENT;
	if (k->client->connected)
		return LINK_REACHABLE;
	return k->tried ? LINK_UNREACHABLE : LINK_CONNECTING;
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct link *l = container_of(w, struct link, tick);

	l->ticks++;
	for (size_t i = 0; i < l->n; i++) {
		struct link_check *k = &l->checks[i];

		if (!k->call && (state_of(k) != LINK_REACHABLE || l->ticks % EVERY == 0))
			ask(k);
	}
}

void link_start(struct link *l, struct session *s)
{
	const struct session_servers *servers = &s->servers[SERVER_MAGLEVD];

	assert(l && s && s->loop && servers->n);

	*l = (struct link){ .session = s, .n = servers->n };
	l->checks = mem_zalloc(l->n * sizeof(*l->checks));
	for (size_t i = 0; i < l->n; i++)
		l->checks[i].client = &servers->items[i];
	ev_timer_init(&l->tick, on_tick, 0., TICK);
	ev_timer_start(s->loop, &l->tick);
}

void link_stop(struct link *l)
{
	ev_timer_stop(l->session->loop, &l->tick);
	for (size_t i = 0; i < l->n; i++) {
		if (l->checks[i].call)
			grpc_client_cancel(l->checks[i].call);
		buf_free(&l->checks[i].why);
	}
	free(l->checks);
}

enum link_state link_state(const struct link *l)
{
	enum link_state worst = LINK_REACHABLE;

	for (size_t i = 0; i < l->n; i++)
		if (state_of(&l->checks[i]) > worst)
			worst = state_of(&l->checks[i]);
	return worst;
}

size_t link_lost(const struct link *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += state_of(&l->checks[i]) >= LINK_SILENT;
	return n;
}
