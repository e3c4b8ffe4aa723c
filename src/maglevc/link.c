/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/link.h"

#include <assert.h>

#include "base/cleanup.h"
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
	struct link *l = user;
	bool lost = status == GRPC_UNAVAILABLE && !l->session->clients[SERVER_MAGLEVD].connected;

	l->call = NULL;
	l->tried = true;
	l->silent = status == GRPC_DEADLINE_EXCEEDED;
	l->why.n = 0;
	if (lost || l->silent)
		buf_adds(&l->why, text);
}

static void ask(struct link *l)
{
	Grpc__Health__V1__HealthCheckRequest request;
	const struct grpc_client_events events = { .message = on_answer,
						   .done = on_over,
						   .user = l };

	grpc__health__v1__health_check_request__init(&request);
	l->call = grpc_client_call(l->session->clients[SERVER_MAGLEVD].client, &health_check,
				   &request.base, PATIENCE, &events);
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct link *l = container_of(w, struct link, tick);
	bool well = link_state(l) == LINK_REACHABLE;

	l->ticks++;
	if (!l->call && (!well || l->ticks % EVERY == 0))
		ask(l);
}

void link_start(struct link *l, struct session *s)
{
	assert(l && s && s->loop);

	*l = (struct link){ .session = s };
	ev_timer_init(&l->tick, on_tick, 0., TICK);
	ev_timer_start(s->loop, &l->tick);
}

void link_stop(struct link *l)
{
	ev_timer_stop(l->session->loop, &l->tick);
	if (l->call)
		grpc_client_cancel(TAKE_PTR(l->call));
	buf_free(&l->why);
}

enum link_state link_state(const struct link *l)
{
	if (l->silent)
		return LINK_SILENT;
	if (l->session->clients[SERVER_MAGLEVD].connected)
		return LINK_REACHABLE;
	return l->tried ? LINK_UNREACHABLE : LINK_CONNECTING;
}
