/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table names the calls to each kind of server, and what is done with an answer. Answers are kept
 * as bytes until all calls are over, and are then read into one arena with the facts that borrow
 * from them.
 */
#include "src/maglevc/explain.h"

#include <signal.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "lib/grpc/client.h"
#include "lib/pb/pb.h"
#include "src/maglevc/render.h"
#include "src/maglevc/servers.h"
#include "wire/api_methods.h"
#include "wire/router_methods.h"
#include "wire/speaker_methods.h"
#include "wire/way.h"

struct explain;

/* The facts of one server, whichever kind it is. */
union facts {
	struct way_maglevd maglevd;
	struct way_speaker speaker;
	struct way_router router;
};

struct query {
	enum server server;
	const struct grpc_method *method;
	void (*take)(const ProtobufCMessage *answer, struct arena *arena, union facts *to);
	bool request; /* only for a query of HOST/PATH */
	bool spare;   /* a server that refuses this one has the rest all the same */
};

/* A server that is asked. */
struct target {
	enum server server;
	struct session_client *client;
	struct way_source source;
	union facts facts;
};

/* A call to a server. */
struct ask {
	struct explain *explain;
	struct target *target;
	const struct query *query;
	struct grpc_client_call *call; /* NULL once it is over */
	struct buf answer;
	bool answered;
};

struct explain {
	struct session *session;
	const struct command *command;
	struct arena *arena;
	struct way_query query;
	struct target *targets;
	size_t n_targets;
	struct ask *asks;
	size_t n_asks, n_read, pending;
	bool interrupted;
};

/* ---- answers ---- */

static void take_frontends(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListFrontendsResponse *m = (const void *)answer;
	struct way_frontend *all = arena_array_of(arena, m->n_frontends, struct way_frontend);

	for (size_t i = 0; i < m->n_frontends; i++)
		all[i] = wire_way_frontend(m->frontends[i], arena);
	to->maglevd.frontends = all;
	to->maglevd.n_frontends = m->n_frontends;
}

static void take_backends(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListBackendsResponse *m = (const void *)answer;
	struct way_backend *all = arena_array_of(arena, m->n_backends, struct way_backend);

	for (size_t i = 0; i < m->n_backends; i++)
		all[i] = wire_way_backend(m->backends[i]);
	to->maglevd.backends = all;
	to->maglevd.n_backends = m->n_backends;
}

static void take_plane(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	wire_way_plane((const void *)answer, &to->maglevd);
}

static void take_speaker(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	wire_way_speaker((const void *)answer, arena, &to->speaker);
}

static void take_announcements(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListAnnouncementsResponse *m = (const void *)answer;
	struct way_announcement *all =
		arena_array_of(arena, m->n_announcements, struct way_announcement);

	for (size_t i = 0; i < m->n_announcements; i++)
		all[i] = wire_way_announcement(m->announcements[i]);
	to->speaker.announcements = all;
	to->speaker.n_announcements = m->n_announcements;
}

static void take_sessions(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListSessionsResponse *m = (const void *)answer;
	struct way_session *all = arena_array_of(arena, m->n_sessions, struct way_session);

	for (size_t i = 0; i < m->n_sessions; i++)
		all[i] = wire_way_session(m->sessions[i]);
	to->speaker.sessions = all;
	to->speaker.n_sessions = m->n_sessions;
}

static void take_router(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	wire_way_router((const void *)answer, &to->router);
}

static void take_listeners(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListListenersResponse *m = (const void *)answer;
	struct way_listener *all = arena_array_of(arena, m->n_listeners, struct way_listener);

	for (size_t i = 0; i < m->n_listeners; i++)
		all[i] = wire_way_listener(m->listeners[i]);
	to->router.listeners = all;
	to->router.n_listeners = m->n_listeners;
}

static void take_routes(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListRoutesResponse *m = (const void *)answer;
	struct way_route *all = arena_array_of(arena, m->n_routes, struct way_route);

	for (size_t i = 0; i < m->n_routes; i++)
		all[i] = wire_way_route(m->routes[i], arena);
	to->router.routes = all;
	to->router.n_routes = m->n_routes;
}

static void take_pools(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	const Maglev__ListPoolsResponse *m = (const void *)answer;
	struct way_router_pool *all = arena_array_of(arena, m->n_pools, struct way_router_pool);

	for (size_t i = 0; i < m->n_pools; i++)
		all[i] = wire_way_pool(m->pools[i], arena);
	to->router.pools = all;
	to->router.n_pools = m->n_pools;
}

static void take_explanation(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	struct way_explanation *e = arena_new_of(arena, struct way_explanation);

	*e = wire_way_explanation((const void *)answer, arena);
	to->router.explanation = e;
}

static void take_history(const ProtobufCMessage *answer, struct arena *arena, union facts *to)
{
	wire_way_take_history((const void *)answer, arena, &to->maglevd);
}

/* Asked after the others, for what the way shows; an older maglevd does not have it. */
static const struct query history = { SERVER_MAGLEVD, &api_methods[API_GET_HISTORY], take_history,
				      false, true };

static const struct query queries[] = {
	{ SERVER_MAGLEVD, &api_methods[API_LIST_FRONTENDS], take_frontends, false, false },
	{ SERVER_MAGLEVD, &api_methods[API_LIST_BACKENDS], take_backends, false, false },
	{ SERVER_MAGLEVD, &api_methods[API_GET_LB_STATE], take_plane, false, true },
	{ SERVER_SPEAKER, &speaker_methods[SPEAKER_GET_SPEAKER], take_speaker, false, false },
	{ SERVER_SPEAKER, &speaker_methods[SPEAKER_LIST_ANNOUNCEMENTS], take_announcements, false,
	  false },
	{ SERVER_SPEAKER, &speaker_methods[SPEAKER_LIST_SESSIONS], take_sessions, false, false },
	{ SERVER_ROUTER, &router_methods[ROUTER_GET_ROUTER], take_router, false, false },
	{ SERVER_ROUTER, &router_methods[ROUTER_LIST_LISTENERS], take_listeners, false, false },
	{ SERVER_ROUTER, &router_methods[ROUTER_LIST_ROUTES], take_routes, false, false },
	{ SERVER_ROUTER, &router_methods[ROUTER_LIST_POOLS], take_pools, false, false },
	{ SERVER_ROUTER, &router_methods[ROUTER_EXPLAIN_REQUEST], take_explanation, true, true },
};

/* ---- servers ---- */

/* The fields that facts need even if a server says nothing. */
static union facts nothing_known(enum server server)
{
	union facts f = { 0 };

	if (server == SERVER_MAGLEVD)
		f.maglevd.dataplane = f.maglevd.plane_problem = "";
	else if (server == SERVER_SPEAKER)
		f.speaker.problem = "";
	else
		f.router.problem = "";
	return f;
}

/* The host alone is enough of a name, unless two servers of the kind have the same. */
static const char *name_of(struct explain *e, const struct session_servers *all, size_t i)
{
	const char *name = all->items[i].name, *colon = strrchr(name, ':');
	size_t n = colon ? (size_t)(colon - name) : strlen(name);

	for (size_t k = 0; k < all->n; k++)
		if (k != i && strncmp(all->items[k].name, name, n + 1) == 0)
			return name;
	return arena_strndup(e->arena, name, n);
}

static void add_targets(struct explain *e, enum server server)
{
	struct session_servers *all = &e->session->servers[server];

	for (size_t i = 0; i < all->n; i++)
		e->targets[e->n_targets++] = (struct target){
			.server = server,
			.client = &all->items[i],
			.source = { name_of(e, all, i), all->items[i].name, true, "" },
			.facts = nothing_known(server),
		};
}

static enum status find_targets(struct explain *e)
{
	enum status status = STATUS_DONE;

	e->targets = arena_array_of(e->arena, (size_t)SERVERS * SERVERS_MAX, struct target);
	for (enum server i = 0; status == STATUS_DONE && i < SERVERS; i++) {
		status = session_connect(e->session, i);
		if (status == STATUS_DONE)
			add_targets(e, i);
	}
	return status;
}

/* ---- calls ---- */

static void on_content(struct str bytes, void *user)
{
	struct ask *a = user;

	buf_add(&a->answer, bytes.p, bytes.n);
	a->answered = true;
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct ask *a = user;
	struct explain *e = a->explain;

	a->call = NULL;
	a->answered &= status == GRPC_OK;
	if (status != GRPC_OK && !a->query->spare && a->target->source.connected) {
		a->target->source.connected = false;
		a->target->source.error = arena_strdup(
			e->arena, status == GRPC_DEADLINE_EXCEEDED ? "it does not answer" : text);
	}
	if (--e->pending == 0)
		ev_break(e->session->loop, EVBREAK_ONE);
}

static void fill(const struct explain *e, const struct query *q, ProtobufCMessage *request)
{
	const struct command *c = e->command;
	const struct wire_way_request more = { c->args[SLOT_METHOD], c->args[SLOT_HEADER],
					       c->args[SLOT_LISTENER] };

	if (q->request)
		wire_way_fill_explain(&e->query, &more, e->arena,
				      (Maglev__ExplainRequestRequest *)request);
}

/* request: NULL: that of the table. */
static void call(struct explain *e, struct target *t, const struct query *q,
		 ProtobufCMessage *request)
{
	struct ask *a = &e->asks[e->n_asks++];
	const struct grpc_client_events events = { .content = on_content,
						   .done = on_done,
						   .user = a };

	*a = (struct ask){ .explain = e, .target = t, .query = q };
	if (!request) {
		request = arena_alloc(e->arena, q->method->request->sizeof_message);
		protobuf_c_message_init(q->method->request, request);
		fill(e, q, request);
	}
	e->pending++;
	a->call = grpc_client_call(t->client->client, q->method, request,
				   e->session->options->timeout, &events);
}

static void call_all(struct explain *e)
{
	e->asks = arena_array_of(e->arena, e->n_targets * (ARRAY_SIZE(queries) + 1), struct ask);
	for (size_t i = 0; i < e->n_targets; i++)
		for (size_t k = 0; k < ARRAY_SIZE(queries); k++)
			if (queries[k].server == e->targets[i].server &&
			    (!queries[k].request || e->query.kind == WAY_REQUEST))
				call(e, &e->targets[i], &queries[k], NULL);
}

static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct explain *e = w->data;

	e->interrupted = true;
	e->session->ended |= !e->session->keys;
	ev_break(loop, EVBREAK_ONE);
}

/* In the shell Ctrl-C ends the command; elsewhere the default action ends the program. */
static void wait_for_all(struct explain *e)
{
	struct ev_loop *loop = e->session->loop;
	ev_signal interrupt;

	ev_signal_init(&interrupt, on_signal, SIGINT);
	interrupt.data = e;
	if (e->session->shell)
		ev_signal_start(loop, &interrupt);
	if (e->pending)
		ev_run(loop, 0);
	ev_signal_stop(loop, &interrupt);
	for (size_t i = 0; i < e->n_asks; i++)
		if (e->asks[i].call)
			grpc_client_cancel(TAKE_PTR(e->asks[i].call));
}

/* ---- the way ---- */

static void read_answers(struct explain *e)
{
	for (; e->n_read < e->n_asks; e->n_read++) {
		struct ask *a = &e->asks[e->n_read];
		ProtobufCMessage *message;

		if (a->answered &&
		    pb_decode(a->query->method->response, (struct str){ a->answer.p, a->answer.n },
			      NULL, e->arena, &message, NULL) == 0)
			a->query->take(message, e->arena, &a->target->facts);
	}
}

/* A server at a default address that does not answer is none. */
static bool counts(const struct explain *e, const struct target *t)
{
	return t->source.connected || e->session->options->given[t->server];
}

static struct way_facts facts_of(struct explain *e)
{
	struct way_maglevd *maglevds = arena_array_of(e->arena, e->n_targets, struct way_maglevd);
	struct way_speaker *speakers = arena_array_of(e->arena, e->n_targets, struct way_speaker);
	struct way_router *routers = arena_array_of(e->arena, e->n_targets, struct way_router);
	struct way_facts facts = { maglevds, 0, speakers, 0, routers, 0 };

	for (size_t i = 0; i < e->n_targets; i++) {
		struct target *t = &e->targets[i];

		if (!counts(e, t))
			continue;
		if (t->server == SERVER_MAGLEVD) {
			t->facts.maglevd.source = t->source;
			maglevds[facts.n_maglevds++] = t->facts.maglevd;
		} else if (t->server == SERVER_SPEAKER) {
			t->facts.speaker.source = t->source;
			speakers[facts.n_speakers++] = t->facts.speaker;
		} else {
			t->facts.router.source = t->source;
			routers[facts.n_routers++] = t->facts.router;
		}
	}
	return facts;
}

/* Figures of what the way shows. They are worth a second round, but no failure. */
static void ask_history(struct explain *e, const struct way *way)
{
	for (size_t i = 0; i < e->n_targets; i++) {
		struct target *t = &e->targets[i];
		Maglev__GetHistoryRequest *request =
			arena_new_of(e->arena, Maglev__GetHistoryRequest);

		maglev__get_history_request__init(request);
		if (t->server == SERVER_MAGLEVD && t->source.connected &&
		    wire_way_fill_history(way, t->source.name, e->arena, request))
			call(e, t, &history, &request->base);
	}
	wait_for_all(e);
	read_answers(e);
}

static enum status print_way(struct explain *e, const Maglev__Way *m)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	const struct session *s = e->session;
	enum status status;

	if (s->options->json) {
		pb_json_write(&m->base, PB_JSON_PRETTY, &out);
		buf_addc(&out, '\n');
	} else {
		render_way(&m->base, &(struct render){ .color = s->options->color,
						       .now = m->at,
						       .command = e->command,
						       .out = &out,
						       .err = &err });
	}
	status = session_print(s, &out);
	return status == STATUS_DONE && !m->whole ? STATUS_REFUSED : status;
}

/* If none of the servers can be reached, nothing can be said. */
static enum status conclude(struct explain *e)
{
	struct way_facts facts;
	struct way way;
	bool any = false;

	for (size_t i = 0; i < e->n_targets; i++)
		any |= e->targets[i].source.connected;
	if (!any) {
		for (size_t i = 0; i < e->n_targets; i++)
			if (counts(e, &e->targets[i]) || i == 0)
				session_complain(e->session, "%s: %s", e->targets[i].source.name,
						 e->targets[i].source.error);
		return STATUS_NO_SERVER;
	}
	read_answers(e);
	facts = facts_of(e);
	way = way_find(&facts, &e->query, e->arena);
	ask_history(e, &way);
	facts = facts_of(e);
	way = way_find(&facts, &e->query, e->arena);
	return print_way(e, wire_way(&way, &e->query, loop_realtime(), e->arena));
}

static enum status explain(struct explain *e)
{
	enum status status = find_targets(e);

	if (status != STATUS_DONE)
		return status;
	call_all(e);
	wait_for_all(e);
	if (e->interrupted) {
		session_complain(e->session, "interrupted");
		return STATUS_REFUSED;
	}
	return conclude(e);
}

enum status explain_run(struct session *s, const struct command *c)
{
	struct explain e = { .session = s, .command = c };
	enum status status = STATUS_USAGE;
	const char *why;

	e.arena = arena_new();
	if (way_query_parse(c->args[SLOT_WAY], e.arena, &e.query, &why) < 0)
		session_complain(s, "%s: %s", c->args[SLOT_WAY], why);
	else
		status = explain(&e);
	for (size_t i = 0; i < e.n_asks; i++)
		buf_free(&e.asks[i].answer);
	arena_free(e.arena);
	return status;
}
