/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: one API call per request and server. If the command already names a pool, the backends
 * offered are only the members of that pool. Names that several servers have are offered once.
 */
#include "src/maglevc/names.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/units.h"
#include "lib/grpc/client.h"
#include "proto/maglev.pb-c.h"
#include "proto/router.pb-c.h"
#include "proto/speaker.pb-c.h"
#include "src/maglevc/action.h"

#define PATIENCE NSEC_PER_SEC

/* A request for names that waits for its answer. */
struct question {
	struct session *session;
	const struct command *command;
	enum node_kind kind;
	struct candidates *out;
	struct map seen; /* names in out, if there are several servers */
	bool many;
	size_t open; /* calls without an answer */
};

/* The map borrows the name from the candidates. */
static void add(struct question *q, const char *name)
{
	if (q->many && map_get(&q->seen, name))
		return;
	candidates_add(q->out, name, "");
	if (q->many)
		map_put(&q->seen, q->out->items[q->out->n - 1].word, q);
}

static void add_frontends(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__ListFrontendsResponse *m = (const Maglev__ListFrontendsResponse *)message;

	for (size_t i = 0; i < m->n_frontends; i++)
		add(q, m->frontends[i]->name);
}

static void add_backends(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__ListBackendsResponse *m = (const Maglev__ListBackendsResponse *)message;

	for (size_t i = 0; i < m->n_backends; i++)
		add(q, m->backends[i]->name);
}

static void add_healthchecks(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__ListHealthChecksResponse *m =
		(const Maglev__ListHealthChecksResponse *)message;

	for (size_t i = 0; i < m->n_healthchecks; i++)
		add(q, m->healthchecks[i]->name);
}

static void add_vips(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__ListAnnouncementsResponse *m =
		(const Maglev__ListAnnouncementsResponse *)message;

	for (size_t i = 0; i < m->n_announcements; i++)
		add(q, m->announcements[i]->vip);
}

static void add_routes(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__ListRoutesResponse *m = (const Maglev__ListRoutesResponse *)message;

	for (size_t i = 0; i < m->n_routes; i++)
		add(q, m->routes[i]->name);
}

static void add_pools(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__ListPoolsResponse *m = (const Maglev__ListPoolsResponse *)message;

	for (size_t i = 0; i < m->n_pools; i++)
		add(q, m->pools[i]->name);
}

static void add_members(struct question *q, const Maglev__PoolInfo *pool)
{
	for (size_t i = 0; i < pool->n_backends; i++)
		add(q, pool->backends[i]->name);
}

/* Adds the pools of a frontend, or the members of the pool that the command names. */
static void add_inside(struct question *q, const ProtobufCMessage *message)
{
	const Maglev__FrontendInfo *m = (const Maglev__FrontendInfo *)message;

	for (size_t i = 0; i < m->n_pools; i++)
		if (q->kind == NODE_POOL)
			add(q, m->pools[i]->name);
		else if (strcmp(m->pools[i]->name, q->command->args[SLOT_POOL]) == 0)
			add_members(q, m->pools[i]);
}

/*
 * Which call lists the names of a kind, and how they are taken from its answer. The request is
 * filled from the command, so GET_FRONTEND asks for the frontend that was typed.
 */
static const struct listing {
	enum act act;
	void (*add)(struct question *q, const ProtobufCMessage *message);
} inside_frontend = { ACT_FRONTEND, add_inside }, listings[] = {
	[NODE_FRONTEND] = { ACT_FRONTENDS, add_frontends },
	[NODE_BACKEND] = { ACT_BACKENDS, add_backends },
	[NODE_HEALTHCHECK] = { ACT_HEALTHCHECKS, add_healthchecks },
	[NODE_POOL] = { ACT_FRONTEND, add_inside },
	[NODE_VIP] = { ACT_ANNOUNCEMENTS, add_vips },
	[NODE_ROUTE] = { ACT_ROUTES, add_routes },
	[NODE_ROUTER_POOL] = { ACT_POOLS, add_pools },
};

static const struct listing *listing_of(const struct question *q)
{
	if (q->kind == NODE_BACKEND && q->command->args[SLOT_POOL])
		return &inside_frontend;
	return &listings[q->kind];
}

static void on_answer(const ProtobufCMessage *message, void *user)
{
	struct question *q = user;

	listing_of(q)->add(q, message);
}

static void on_over(enum grpc_status status, const char *text, void *user)
{
	struct question *q = user;

	if (--q->open == 0)
		ev_break(q->session->loop, EVBREAK_ONE);
}

/* Servers that are known to be there; all of them if none is, because that may change. */
static bool is_asked(const struct session_servers *servers, size_t i)
{
	for (size_t j = 0; j < servers->n; j++)
		if (servers->items[j].connected)
			return servers->items[i].connected;
	return true;
}

void names_ask(enum node_kind kind, const struct command *c, struct candidates *out, void *session)
{
	struct session *s = session;
	struct question q = { .session = s, .command = c, .kind = kind, .out = out };
	const struct action *a = action_of(listing_of(&q)->act);
	const struct session_servers *servers = &s->servers[a->server];
	const struct action_input in = { 0 };
	_cleanup_(cleanup_free) ProtobufCMessage *request = NULL;
	const struct grpc_client_events events = { .message = on_answer,
						   .done = on_over,
						   .user = &q };

	assert(c && out && (size_t)kind < ARRAY_SIZE(listings) && a);

	if (session_connect(s, a->server) != STATUS_DONE)
		return;
	q.many = servers->n > 1;
	request = action_request(a, c, &in);
	for (size_t i = 0; i < servers->n; i++) {
		if (!is_asked(servers, i))
			continue;
		q.open++;
		grpc_client_call(servers->items[i].client, a->method, request, PATIENCE, &events);
	}
	/* other code may break the loop as well, so the count decides */
	while (q.open)
		ev_run(s->loop, 0);
	map_free(&q.seen);
}
