/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers and streams show a view (view.h), which is made when somebody asks and shared until the
 * next generation. A long answer keeps its own, so it never starts again, however often the
 * configuration changes. Streams change to the newest view once a second at most: otherwise a
 * hundred updates a second would be a hundred replays of everything.
 */
#include "src/router/show.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "lib/pb/pb.h"
#include "proto/router_descriptors.h"
#include "src/router/explain.h"
#include "src/router/info.h"
#include "src/router/past.h"
#include "wire/router_methods.h"

#define REQUEST_MAX ((size_t)64 * 1024) /* bytes: a request that is explained has headers */
#define EVENTS_MAX ((size_t)1024 * 1024)
#define AT_ONCE 16 /* items in one part of a list */
#define TIDY 1.	   /* s between two looks for views that are out of date */

struct show {
	struct ev_loop *loop;
	struct router *router;
	struct service *service;
	struct service_watch *watch;
	struct rates *rates;
	struct info_sources from;
	struct view *view;	 /* of the newest generation that was asked for; NULL: none yet */
	struct view *watched;	 /* of the streams */
	uint64_t watched_number; /* changes with it; never 0 */
	char name[HOST_NAME_MAX + 1];
	char *refusal;
	ev_timer tidy;
};

#define HANDLER(name)                                                                              \
	static void name(struct grpc_call *call, const ProtobufCMessage *request, void *user)

/* ---- views ---- */

static struct view *newest(struct show *s)
{
	const struct generation *g = router_current(s->router);

	if (s->view && view_number(s->view) == (g ? g->number : 0))
		return s->view;
	view_release(s->view);
	s->view = view_new(s->router);
	return s->view;
}

static struct info info_of(struct show *s, const struct view *v, struct arena *arena)
{
	return (struct info){ .from = &s->from, .view = v, .figures = true, .arena = arena };
}

/* A view that nobody uses any more would keep its generation. */
static void on_tidy(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct show *s = container_of(timer, struct show, tidy);
	const struct generation *g = router_current(s->router);

	if (s->view && view_number(s->view) != (g ? g->number : 0))
		view_release(TAKE_PTR(s->view));
	if (s->watched && !service_watch_stats(s->watch)->subscribers)
		view_release(TAKE_PTR(s->watched));
}

/* ---- lists ---- */

/* A list that is being made, with the view that it shows. */
struct list {
	struct service_answer answer;
	struct view *view;
};

static void release(struct service_answer *answer)
{
	struct list *l = (struct list *)answer;

	view_release(l->view);
	free(l);
}

static void answer_list(struct show *s, struct grpc_call *call, service_part_fn part)
{
	struct list *l = mem_zalloc(sizeof(*l));

	l->view = view_hold(newest(s));
	l->answer.part = part;
	l->answer.user = s;
	l->answer.release = release;
	service_answer(s->service, call, &l->answer);
}

/* These make the next part of a list; NULL is the end. */
static const ProtobufCMessage *more_listeners(struct service_answer *w, struct arena *arena)
{
	const struct view *v = ((const struct list *)w)->view;
	const struct info i = info_of(w->user, v, arena);
	Maglev__ListListenersResponse *part = arena_new_of(arena, Maglev__ListListenersResponse);

	if (w->at >= v->n_listeners)
		return NULL;
	maglev__list_listeners_response__init(part);
	part->listeners = arena_array_of(arena, AT_ONCE, Maglev__RouterListener *);
	while (w->at < v->n_listeners && part->n_listeners < AT_ONCE)
		part->listeners[part->n_listeners++] = info_listener(&i, w->at++);
	return &part->base;
}

static const ProtobufCMessage *more_routes(struct service_answer *w, struct arena *arena)
{
	const struct view *v = ((const struct list *)w)->view;
	const struct info i = info_of(w->user, v, arena);
	Maglev__ListRoutesResponse *part = arena_new_of(arena, Maglev__ListRoutesResponse);

	if (w->at >= v->n_routes)
		return NULL;
	maglev__list_routes_response__init(part);
	part->routes = arena_array_of(arena, AT_ONCE, Maglev__RouterRoute *);
	while (w->at < v->n_routes && part->n_routes < AT_ONCE)
		part->routes[part->n_routes++] = info_route(&i, w->at++);
	return &part->base;
}

static const ProtobufCMessage *more_streams(struct service_answer *w, struct arena *arena)
{
	const struct view *v = ((const struct list *)w)->view;
	const struct info i = info_of(w->user, v, arena);
	Maglev__ListStreamsResponse *part = arena_new_of(arena, Maglev__ListStreamsResponse);

	if (w->at >= v->n_streams)
		return NULL;
	maglev__list_streams_response__init(part);
	part->streams = arena_array_of(arena, AT_ONCE, Maglev__RouterStream *);
	while (w->at < v->n_streams && part->n_streams < AT_ONCE)
		part->streams[part->n_streams++] = info_stream(&i, w->at++);
	return &part->base;
}

static const ProtobufCMessage *more_pools(struct service_answer *w, struct arena *arena)
{
	const struct view *v = ((const struct list *)w)->view;
	const struct info i = info_of(w->user, v, arena);
	Maglev__ListPoolsResponse *part = arena_new_of(arena, Maglev__ListPoolsResponse);

	if (w->at >= v->n_pools)
		return NULL;
	maglev__list_pools_response__init(part);
	part->pools = arena_array_of(arena, AT_ONCE, Maglev__RouterPool *);
	while (w->at < v->n_pools && part->n_pools < AT_ONCE)
		part->pools[part->n_pools++] = info_pool(&i, w->at++);
	return &part->base;
}

HANDLER(list_listeners)
{
	answer_list(user, call, more_listeners);
}

HANDLER(list_streams)
{
	answer_list(user, call, more_streams);
}

HANDLER(list_routes)
{
	answer_list(user, call, more_routes);
}

HANDLER(list_pools)
{
	answer_list(user, call, more_pools);
}

/* ---- single items ---- */

static void reply_router(struct show *s, struct grpc_call *call)
{
	const struct info i = info_of(s, newest(s), service_scratch(s->service));

	grpc_reply(call, &info_router(&i)->base);
}

HANDLER(get_router)
{
	reply_router(user, call);
}

HANDLER(get_route)
{
	struct show *s = user;
	const char *name = ((const Maglev__GetRouteRequest *)request)->name;
	const struct info i = info_of(s, newest(s), service_scratch(s->service));
	size_t place = view_find_route(i.view, name);

	if (place == SIZE_MAX)
		grpc_fail(call, GRPC_NOT_FOUND, "no route is called \"%s\"", name);
	else
		grpc_reply(call, &info_route(&i, place)->base);
}

HANDLER(get_pool)
{
	struct show *s = user;
	const char *name = ((const Maglev__GetPoolRequest *)request)->name;
	const struct info i = info_of(s, newest(s), service_scratch(s->service));
	size_t place = view_find_pool(i.view, name);

	if (place == SIZE_MAX)
		grpc_fail(call, GRPC_NOT_FOUND, "no pool is called \"%s\"", name);
	else
		grpc_reply(call, &info_pool(&i, place)->base);
}

HANDLER(explain_request)
{
	struct show *s = user;
	const struct info i = info_of(s, newest(s), service_scratch(s->service));
	const char *why;
	const Maglev__RequestExplanation *e =
		explain_of(&i, (const Maglev__ExplainRequestRequest *)request, &why);

	if (e)
		grpc_reply(call, &e->base);
	else
		grpc_fail(call, i.view->g ? GRPC_INVALID_ARGUMENT : GRPC_FAILED_PRECONDITION, "%s",
			  why);
}

/* ---- generations ---- */

HANDLER(list_generations)
{
	struct show *s = user;

	grpc_reply(call, &past_list(s->router, service_scratch(s->service))->base);
}

HANDLER(get_generation_diff)
{
	struct show *s = user;
	uint64_t number = ((const Maglev__GetGenerationDiffRequest *)request)->number;
	char why[128];
	const Maglev__GenerationDiff *diff =
		past_diff(s->router, number, service_scratch(s->service), why, sizeof(why));

	if (diff)
		grpc_reply(call, &diff->base);
	else
		grpc_fail(call, GRPC_NOT_FOUND, "%s", why);
}

HANDLER(rollback)
{
	struct show *s = user;
	uint64_t number = ((const Maglev__RollbackRequest *)request)->number;
	struct who who = service_who(s->service, call);
	struct endpoint peer = grpc_peer(call);
	char from[ENDPOINT_STRLEN];
	const struct history_origin origin = { HISTORY_ROLLBACK, endpoint_format(&peer, from),
					       &who };
	_cleanup_(buf_free) struct buf why = { 0 };
	int r;

	if (!service_may_change(s->service, call))
		return;
	r = router_rollback(s->router, number, &origin, &why);
	if (r < 0)
		grpc_fail(call, r == -ENOENT ? GRPC_NOT_FOUND : GRPC_FAILED_PRECONDITION, "%s",
			  why.n ? buf_cstr(&why) : "that generation is not known, or no longer");
	if (r < 0)
		return;
	service_log_act(&who, "rollback", LOG_U("number", number));
	reply_router(s, call);
}

/* ---- the stream ---- */

static uint64_t watched_generation(void *user)
{
	return ((const struct show *)user)->watched_number;
}

/* Item 0 is the router; then come listeners, routes and pools. */
static size_t watched_items(void *user)
{
	const struct view *v = ((const struct show *)user)->watched;

	return 1 + v->n_listeners + v->n_routes + v->n_pools;
}

/* Everything may change without a word. */
static size_t watched_polled(void *user)
{
	return 1;
}

static void encode(size_t item, bool figures, struct arena *arena, struct buf *out, void *user)
{
	struct show *s = user;
	const struct view *v = s->watched;
	struct info i = info_of(s, v, arena);
	Maglev__RouterEvent event;

	i.figures = figures;
	maglev__router_event__init(&event);
	if (item == 0) {
		event.event_case = MAGLEV__ROUTER_EVENT__EVENT_ROUTER;
		event.router = info_router(&i);
	} else if (item < 1 + v->n_listeners) {
		event.event_case = MAGLEV__ROUTER_EVENT__EVENT_LISTENER;
		event.listener = info_listener(&i, item - 1);
	} else if (item < 1 + v->n_listeners + v->n_routes) {
		event.event_case = MAGLEV__ROUTER_EVENT__EVENT_ROUTE;
		event.route = info_route(&i, item - 1 - v->n_listeners);
	} else {
		event.event_case = MAGLEV__ROUTER_EVENT__EVENT_POOL;
		event.pool = info_pool(&i, item - 1 - v->n_listeners - v->n_routes);
	}
	pb_encode(&event.base, out);
}

/* Once a second, and before the first subscriber. */
static void renew(void *user)
{
	struct show *s = user;
	struct view *v = newest(s);

	if (v == s->watched)
		return;
	view_release(s->watched);
	s->watched = view_hold(v);
	s->watched_number++;
}

HANDLER(watch_router)
{
	struct show *s = user;

	if (!service_watch_stats(s->watch)->subscribers)
		renew(s);
	service_watch_subscribe(s->watch, call,
				((const Maglev__WatchRouterRequest *)request)->rates);
}

/* ---- the server ---- */

/* One handler for each method; one that is missing does not compile. */
static const grpc_handler_fn handlers[ROUTER_METHODS] = {
#define ROW(number, name, handler, takes, gives, stream) [ROUTER_##number] = handler,
	ROUTER_METHODS_LIST(ROW)
#undef ROW
};

/* An answer keeps its view, so no answer ever has to start again. */
static uint64_t same_generation(void *user)
{
	return 0;
}

static void start(struct show *s, struct ev_loop *loop)
{
	const struct service_watch_config config = { .generation = watched_generation,
						     .items = watched_items,
						     .encode = encode,
						     .polled = watched_polled,
						     .tick = renew,
						     .figures = true,
						     .user = s };

	gethostname(s->name, sizeof(s->name) - 1);
	s->refusal = mem_strdup("");
	ev_timer_init(&s->tidy, on_tidy, TIDY, TIDY);
	ev_timer_start(loop, &s->tidy);
	s->loop = loop;
	s->rates = rates_new(loop, s->router);
	s->from = (struct info_sources){
		.router = s->router,
		.rates = s->rates,
		.name = s->name,
		.started = loop_realtime(),
		.refusal = s->refusal,
	};
	s->watch = service_watch_new(loop, &config);
}

int show_new(struct ev_loop *loop, const struct service_options *options, struct router *router,
	     int inherited, struct show **ret)
{
	struct show *s = mem_zalloc(sizeof(*s));
	const struct service_config config = {
		.options = options,
		.methods = router_methods,
		.handlers = handlers,
		.n_methods = ROUTER_METHODS,
		.user = s,
		.generation = same_generation,
		.max_message = REQUEST_MAX,
		.max_queued = EVENTS_MAX,
		.descriptor_set = router_descriptors,
		.descriptor_set_size = router_descriptors_size,
		.inherited = inherited,
	};
	int r;

	s->router = router;
	r = service_new(loop, &config, &s->service);
	if (r < 0) {
		free(s);
		return r;
	}
	start(s, loop);
	*ret = s;
	return 0;
}

void show_free(struct show *s)
{
	if (!s)
		return;
	service_free(s->service);
	service_watch_free(s->watch);
	rates_free(s->rates);
	ev_timer_stop(s->loop, &s->tidy);
	view_release(s->view);
	view_release(s->watched);
	free(s->refusal);
	free(s);
}

void show_follow(struct show *s, const struct rollout *rollout)
{
	s->from.rollout = rollout;
}

void show_refused(struct show *s, const char *why)
{
	free(s->refusal);
	s->from.refusal = s->refusal = mem_strdup(why);
}

struct service *show_service(const struct show *s)
{
	return s->service;
}

const struct service_watch_stats *show_watch_stats(const struct show *s)
{
	return service_watch_stats(s->watch);
}
