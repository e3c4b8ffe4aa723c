/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way: the way of a packet (core/way), put together from the last known state of all upstreams.
 *
 * Where a request goes is known to routers alone, so a query for HOST/PATH first asks each of them;
 * one that does not answer in time is left out. Then maglevds are asked for the newest figures of
 * what the way shows. Everybody may read ways, so only a few of them are
 * under way at the same time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/page/reply.h"
#include "lib/pb/pb.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/upstream.h"
#include "src/frontend/way_facts.h"
#include "wire/api_methods.h"
#include "wire/router_methods.h"
#include "wire/way.h"

#define TIMEOUT (3 * NSEC_PER_SEC)
#define AT_ONCE 32
#define QUERY_MAX 2048 /* bytes of each parameter */

struct asking;

/* The call to one router or maglevd. */
struct question {
	struct asking *asking;
	const ProtobufCMessage *answer; /* in the arena; NULL: none */
	char *refusal;			/* in the arena; NULL: it was answered */
};

struct asking {
	struct dashboard *dashboard;
	struct http_exchange *x; /* NULL: the browser has gone away */
	struct arena *arena;
	struct way_query query;
	struct wire_way_request more;
	struct question *questions; /* one for each router */
	struct question *figures;   /* one for each maglevd */
	struct way_facts facts;
	size_t left_out;
	size_t pending;
	bool later;			/* the handler has returned before the answer */
	void (*next)(struct asking *a); /* called when nothing is pending */
};

static void free_asking(struct asking *a)
{
	a->dashboard->ways--;
	arena_free(a->arena);
	free(a);
}

/* ---- the answer ---- */

/* What the dashboard itself has to say beside the notes of the way. */
static void add_notes(const struct asking *a, size_t left_out, Maglev__Way *m)
{
	const struct dashboard__set *routers = &a->dashboard->routers;
	char **notes = arena_array_of(a->arena, m->n_notes + routers->n + 1, char *);

	if (m->n_notes)
		memcpy(notes, m->notes, m->n_notes * sizeof(*notes));
	m->notes = notes;
	for (size_t i = 0; i < routers->n; i++)
		if (a->questions[i].refusal)
			notes[m->n_notes++] = arena_printf(a->arena, "router %s: %s",
							   upstream_view(routers->items[i])->name,
							   a->questions[i].refusal);
	if (left_out)
		notes[m->n_notes++] =
			arena_printf(a->arena, "%zu more frontends are not shown", left_out);
}

/* The facts with the figures that were answered. */
static struct way_facts with_figures(const struct asking *a)
{
	struct way_maglevd *maglevds =
		arena_copy(a->arena, a->facts.maglevds, a->facts.n_maglevds * sizeof(*maglevds));
	struct way_facts facts = a->facts;

	for (size_t i = 0; i < facts.n_maglevds; i++)
		if (a->figures[i].answer)
			wire_way_take_history((const void *)a->figures[i].answer, a->arena,
					      &maglevds[i]);
	facts.maglevds = maglevds;
	return facts;
}

static void reply(struct asking *a)
{
	_cleanup_(buf_free) struct buf json = { 0 };
	struct way_facts facts = with_figures(a);
	struct way way = way_find(&facts, &a->query, a->arena);
	Maglev__Way *m = wire_way(&way, &a->query, loop_realtime(), a->arena);

	add_notes(a, a->left_out, m);
	pb_json_write(&m->base, PB_JSON_SHOWN, &json);
	buf_addc(&json, '\n');
	page_json(a->x, 200, (struct str){ json.p, json.n });
}

static void finish(struct asking *a)
{
	reply(a);
	free_asking(a);
}

/* ---- the questions ---- */

/* The message is only borrowed: the copy is made of its encoding. */
static void on_answer(const ProtobufCMessage *message, void *user)
{
	struct question *q = user;
	_cleanup_(buf_free) struct buf bytes = { 0 };
	ProtobufCMessage *copy = NULL;

	pb_encode(message, &bytes);
	if (pb_decode(message->descriptor, (struct str){ bytes.p, bytes.n }, NULL, q->asking->arena,
		      &copy, NULL) == 0)
		q->answer = copy;
}

/* Without a browser nothing follows. That is also so at the end, when upstreams are freed. */
static void go_on(struct asking *a)
{
	if (a->x)
		a->next(a);
	else
		free_asking(a);
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct question *q = user;

	if (status != GRPC_OK) {
		q->answer = NULL;
		q->refusal = arena_strdup(q->asking->arena, *text ? text : "it does not answer");
	}
	if (--q->asking->pending == 0)
		go_on(q->asking);
}

static void on_gone(void *user)
{
	((struct asking *)user)->x = NULL;
}

static void call(struct asking *a, struct question *q, struct upstream *u,
		 const struct grpc_method *method, const ProtobufCMessage *request)
{
	const struct grpc_client_events events = { .message = on_answer,
						   .done = on_done,
						   .user = q };

	q->asking = a;
	a->pending += upstream_call(u, method, request, TIMEOUT, &events);
}

/* Goes on with next when all calls have ended, which may be now. */
static void wait_for(struct asking *a, void (*next)(struct asking *a))
{
	a->next = next;
	if (!a->pending) {
		go_on(a);
		return;
	}
	if (!a->later)
		http_reply_later(a->x, on_gone, a);
	a->later = true;
}

/* The figures of what the way shows: maglevds keep them, and may be too old to have them. */
static void ask_figures(struct asking *a)
{
	const struct dashboard__set *servers = &a->dashboard->servers;
	const Maglev__RequestExplanation **explained = arena_array_of(
		a->arena, a->dashboard->routers.n, const Maglev__RequestExplanation *);
	struct way way;

	for (size_t i = 0; i < a->dashboard->routers.n; i++)
		explained[i] = (const void *)a->questions[i].answer;
	a->facts = way_facts_read(a->dashboard, &a->query, explained, a->arena, &a->left_out);
	way = way_find(&a->facts, &a->query, a->arena);
	for (size_t i = 0; i < servers->n; i++) {
		Maglev__GetHistoryRequest request;

		maglev__get_history_request__init(&request);
		if (wire_way_fill_history(&way, upstream_view(servers->items[i])->name, a->arena,
					  &request))
			call(a, &a->figures[i], servers->items[i], &api_methods[API_GET_HISTORY],
			     &request.base);
	}
	wait_for(a, finish);
}

static void ask_routers(struct asking *a)
{
	const struct dashboard__set *routers = &a->dashboard->routers;
	Maglev__ExplainRequestRequest request;

	maglev__explain_request_request__init(&request);
	wire_way_fill_explain(&a->query, &a->more, a->arena, &request);
	for (size_t i = 0; i < routers->n; i++)
		call(a, &a->questions[i], routers->items[i],
		     &router_methods[ROUTER_EXPLAIN_REQUEST], &request.base);
	wait_for(a, ask_figures);
}

/* ---- the request ---- */

/* The value of a parameter, in the arena; NULL: it is absent. Errors are -EINVAL. */
static int parameter(struct str query, const char *name, struct arena *arena, const char **ret)
{
	struct str value = page_query(query, str_of(name));
	_cleanup_(buf_free) struct buf text = { 0 };

	*ret = NULL;
	if (!value.n)
		return 0;
	if (value.n > QUERY_MAX || page_decode(value, &text) < 0)
		return -EINVAL;
	*ret = arena_strndup(arena, text.p, text.n);
	return 0;
}

/* A sentence about what is wrong; NULL: nothing is. */
static const char *read_request(struct asking *a, struct str query)
{
	const char *q, *why = NULL;

	if (parameter(query, "q", a->arena, &q) < 0 ||
	    parameter(query, "method", a->arena, &a->more.method) < 0 ||
	    parameter(query, "header", a->arena, &a->more.header) < 0 ||
	    parameter(query, "listener", a->arena, &a->more.listener) < 0)
		return "a parameter is too long or not encoded as it should be";
	if (!q)
		return "the parameter q is missing";
	return way_query_parse(q, a->arena, &a->query, &why) < 0 ? why : NULL;
}

void dashboard__on_way(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;
	struct asking *a;
	const char *why;

	if (d->ways >= AT_ONCE) {
		page_error(x, 503, "too many ways are being looked for; try again");
		return;
	}
	d->ways++;
	a = mem_zalloc(sizeof(*a));
	a->dashboard = d;
	a->x = x;
	a->arena = arena_new();
	a->questions = arena_array_of(a->arena, d->routers.n, struct question);
	a->figures = arena_array_of(a->arena, d->servers.n, struct question);
	why = read_request(a, request->query);
	if (why) {
		page_error(x, 400, why);
		free_asking(a);
		return;
	}
	if (a->query.kind == WAY_REQUEST)
		ask_routers(a);
	else
		ask_figures(a);
}
