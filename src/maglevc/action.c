/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/action.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>

#include "base/mem.h"
#include "base/units.h"
#include "src/maglevc/when.h"
#include "wire/api_methods.h"
#include "wire/router_methods.h"
#include "wire/speaker_methods.h"

/*
 * protobuf-c declares strings without const. The cast is safe because requests are only read. An
 * absent argument becomes the empty string, which is protobuf's default.
 */
static char *borrow(const char *s)
{
	return (char *)(uintptr_t)(s ? s : "");
}

/*
 * The walk has already checked that the argument is a number in range, so parsing cannot fail.
 */
static uint32_t to_number(const char *s)
{
	uint64_t v = 0;

	str_to_u64(str_of(s), UINT32_MAX, &v);
	return (uint32_t)v;
}

static void fill_frontend(const struct command *c, const struct action_input *in,
			  ProtobufCMessage *request)
{
	((Maglev__GetFrontendRequest *)request)->name = borrow(c->args[SLOT_FRONTEND]);
}

static void fill_backend(const struct command *c, const struct action_input *in,
			 ProtobufCMessage *request)
{
	((Maglev__GetBackendRequest *)request)->name = borrow(c->args[SLOT_BACKEND]);
}

static void fill_healthcheck(const struct command *c, const struct action_input *in,
			     ProtobufCMessage *request)
{
	((Maglev__GetHealthCheckRequest *)request)->name = borrow(c->args[SLOT_HEALTHCHECK]);
}

/* 0: at once. */
static int64_t begin_of(const struct command *c, int64_t now)
{
	int64_t at = 0;

	if (c->args[SLOT_FROM])
		when_parse(c->args[SLOT_FROM], now, &at);
	return at;
}

/*
 * The API takes the end of an override as an absolute time, so a duration ("for 1h") is added to
 * its beginning here. The sum saturates instead of overflowing: a very long duration means no end.
 * 0: it has none.
 */
static int64_t end_of(const struct command *c, int64_t now)
{
	int64_t begin = begin_of(c, now), ns = 0, at = 0;

	begin = begin ? begin : now;
	if (c->args[SLOT_UNTIL])
		when_parse(c->args[SLOT_UNTIL], begin, &at);
	if (c->args[SLOT_FOR] && duration_parse(c->args[SLOT_FOR], &ns) == 0)
		at = ns < INT64_MAX - begin ? begin + ns : INT64_MAX;
	return at;
}

int action_check(const struct command *c, int64_t now, struct buf *why)
{
	int64_t begin = begin_of(c, now), end = end_of(c, now);

	if (c->act == ACT_HISTORY && !c->args[SLOT_FRONTEND] && !c->args[SLOT_BACKEND])
		buf_adds(why, "the past of what? Name a frontend or a backend");
	else if (c->args[SLOT_FOR] && c->args[SLOT_UNTIL])
		buf_adds(why, "\"for\" and \"until\" exclude each other");
	else if (begin && c->args[SLOT_WAIT])
		buf_adds(why, "\"from\" and \"wait\" exclude each other");
	else if (begin && begin <= now)
		buf_printf(why, "from %s lies in the past", c->args[SLOT_FROM]);
	else if (end && end <= (begin ? begin : now))
		buf_printf(why, "until %s lies %s", c->args[SLOT_UNTIL],
			   begin ? "before the beginning" : "in the past");
	else
		return 0;
	return -EINVAL;
}

static void fill_act(const struct command *c, const struct action_input *in,
		     ProtobufCMessage *request)
{
	Maglev__BackendRequest *m = (Maglev__BackendRequest *)request;

	m->name = borrow(c->args[SLOT_BACKEND]);
	m->reason = borrow(c->args[SLOT_REASON]);
	m->until = end_of(c, in->now);
	m->from = begin_of(c, in->now);
}

static void fill_many(const struct command *c, const struct action_input *in,
		      ProtobufCMessage *request)
{
	Maglev__ActOnBackendsRequest *m = (Maglev__ActOnBackendsRequest *)request;

	m->address = borrow(c->args[SLOT_ADDRESS]);
	m->n_names = c->args[SLOT_NAMES] ? 1 : 0;
	m->names = (char **)(uintptr_t)&c->args[SLOT_NAMES];
	m->act = borrow(c->args[SLOT_ACT]);
	m->reason = borrow(c->args[SLOT_REASON]);
	m->until = end_of(c, in->now);
	m->from = begin_of(c, in->now);
	m->dry_run = in->dry_run || c->args[SLOT_PLAN];
}

static void fill_weight(const struct command *c, const struct action_input *in,
			ProtobufCMessage *request)
{
	Maglev__SetWeightRequest *m = (Maglev__SetWeightRequest *)request;

	m->frontend = borrow(c->args[SLOT_FRONTEND]);
	m->pool = borrow(c->args[SLOT_POOL]);
	m->backend = borrow(c->args[SLOT_BACKEND]);
	m->weight = to_number(c->args[SLOT_WEIGHT]);
	m->flush = c->args[SLOT_FLUSH] != NULL;
	m->reason = borrow(c->args[SLOT_REASON]);
}

static void fill_watch(const struct command *c, const struct action_input *in,
		       ProtobufCMessage *request)
{
	Maglev__WatchRequest *m = (Maglev__WatchRequest *)request;

	m->log = c->args[SLOT_LOG] != NULL;
	m->log_level = borrow(c->args[SLOT_LEVEL]);
	m->backend = c->args[SLOT_WATCH_BACKEND] != NULL;
	m->frontend = c->args[SLOT_WATCH_FRONTEND] != NULL;
	m->config = c->args[SLOT_WATCH_CONFIG] != NULL;
	m->dataplane = c->args[SLOT_WATCH_DATAPLANE] != NULL;
	m->info = c->args[SLOT_WATCH_INFO] != NULL;
	m->probes = c->args[SLOT_WATCH_PROBES] != NULL;
}

static void fill_sync(const struct command *c, const struct action_input *in,
		      ProtobufCMessage *request)
{
	Maglev__SyncVPPLBStateRequest *m = (Maglev__SyncVPPLBStateRequest *)request;

	m->frontend = borrow(c->args[SLOT_FRONTEND]);
	m->plan = c->args[SLOT_PLAN] != NULL;
}

/* Without a backend: all of it. */
static void fill_lb_state(const struct command *c, const struct action_input *in,
			  ProtobufCMessage *request)
{
	((Maglev__GetVPPLBStateRequest *)request)->backend = borrow(c->args[SLOT_BACKEND]);
}

/* The arguments are lists of one name, or of none. */
static void fill_history(const struct command *c, const struct action_input *in,
			 ProtobufCMessage *request)
{
	Maglev__GetHistoryRequest *m = (Maglev__GetHistoryRequest *)request;

	m->n_frontends = c->args[SLOT_FRONTEND] ? 1 : 0;
	m->frontends = (char **)(uintptr_t)&c->args[SLOT_FRONTEND];
	m->n_backends = c->args[SLOT_BACKEND] ? 1 : 0;
	m->backends = (char **)(uintptr_t)&c->args[SLOT_BACKEND];
	m->span = borrow(c->args[SLOT_DAY] ? "day" : "hour");
}

static void fill_config(const struct command *c, const struct action_input *in,
			ProtobufCMessage *request)
{
	((Maglev__GetConfigRequest *)request)->format = borrow(in->json ? "json" : "yaml");
}

static void fill_announcement(const struct command *c, const struct action_input *in,
			      ProtobufCMessage *request)
{
	((Maglev__GetAnnouncementRequest *)request)->vip = borrow(c->args[SLOT_VIP]);
}

static void fill_drain(const struct command *c, const struct action_input *in,
		       ProtobufCMessage *request)
{
	Maglev__DrainVIPRequest *m = (Maglev__DrainVIPRequest *)request;

	m->vip = borrow(c->args[SLOT_VIP]);
	m->reason = borrow(c->args[SLOT_REASON]);
}

static void fill_undrain(const struct command *c, const struct action_input *in,
			 ProtobufCMessage *request)
{
	((Maglev__UndrainVIPRequest *)request)->vip = borrow(c->args[SLOT_VIP]);
}

static uint64_t generation_of(const struct command *c)
{
	uint64_t v = 0;

	if (c->args[SLOT_GENERATION])
		str_to_u64(str_of(c->args[SLOT_GENERATION]), UINT64_MAX, &v);
	return v;
}

static void fill_route(const struct command *c, const struct action_input *in,
		       ProtobufCMessage *request)
{
	((Maglev__GetRouteRequest *)request)->name = borrow(c->args[SLOT_ROUTE]);
}

static void fill_router_pool(const struct command *c, const struct action_input *in,
			     ProtobufCMessage *request)
{
	((Maglev__GetPoolRequest *)request)->name = borrow(c->args[SLOT_ROUTER_POOL]);
}

static void fill_generation(const struct command *c, const struct action_input *in,
			    ProtobufCMessage *request)
{
	((Maglev__GetGenerationDiffRequest *)request)->number = generation_of(c);
}

static void fill_rollback(const struct command *c, const struct action_input *in,
			  ProtobufCMessage *request)
{
	((Maglev__RollbackRequest *)request)->number = generation_of(c);
}

static void fill_route_for(const struct command *c, const struct action_input *in,
			   ProtobufCMessage *request)
{
	Maglev__ExplainRequestRequest *m = (Maglev__ExplainRequestRequest *)request;

	m->method = borrow(c->args[SLOT_METHOD]);
	m->host = borrow(c->args[SLOT_HOST]);
	m->path = borrow(c->args[SLOT_PATH]);
	m->listener = borrow(c->args[SLOT_LISTENER]);
	m->n_headers = c->args[SLOT_HEADER] ? 1 : 0;
	m->headers = (char **)(uintptr_t)&c->args[SLOT_HEADER];
}

static void fill_watch_router(const struct command *c, const struct action_input *in,
			      ProtobufCMessage *request)
{
	((Maglev__WatchRouterRequest *)request)->rates = c->args[SLOT_RATES] != NULL;
}

static bool is_checked(const ProtobufCMessage *answer)
{
	return ((const Maglev__CheckConfigResponse *)answer)->ok;
}

static bool is_reloaded(const ProtobufCMessage *answer)
{
	return ((const Maglev__ReloadConfigResponse *)answer)->ok;
}

#define METHOD(number) .method = &api_methods[API_##number]
#define SPEAKER(number) .server = SERVER_SPEAKER, .method = &speaker_methods[SPEAKER_##number]
#define ROUTER(number) .server = SERVER_ROUTER, .method = &router_methods[ROUTER_##number]

/*
 * Indexed by act. Acts without a row (help, exit) have no method and are handled without the
 * server. The version is that of several programs, see version.c.
 */
static const struct action actions[ACTS] = {
	[ACT_VERSION] = { METHOD(GET_VERSION) },
	[ACT_FRONTENDS] = { METHOD(LIST_FRONTENDS), .render = render_frontends },
	[ACT_FRONTEND] = { METHOD(GET_FRONTEND), .fill = fill_frontend, .render = render_frontend },
	[ACT_BACKENDS] = { METHOD(LIST_BACKENDS), .render = render_backends },
	[ACT_BACKEND] = { METHOD(GET_BACKEND), .fill = fill_backend, .render = render_backend },
	[ACT_HEALTHCHECKS] = { METHOD(LIST_HEALTH_CHECKS), .render = render_healthchecks },
	[ACT_HEALTHCHECK] = { METHOD(GET_HEALTH_CHECK), .fill = fill_healthcheck,
			      .render = render_healthcheck },
	[ACT_VPP_INFO] = { METHOD(GET_VPP_INFO), .render = render_vpp_info },
	[ACT_LB_STATE] = { METHOD(GET_LB_STATE), .fill = fill_lb_state, .render = render_lb_state },
	[ACT_LB_COUNTERS] = { METHOD(GET_LB_COUNTERS), .render = render_lb_counters },
	[ACT_HISTORY] = { METHOD(GET_HISTORY), .fill = fill_history, .render = render_history },
	[ACT_SYNC] = { METHOD(SYNC_LB_STATE), .fill = fill_sync, .render = render_sync },
	[ACT_PAUSE] = { METHOD(PAUSE_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_RESUME] = { METHOD(RESUME_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_ENABLE] = { METHOD(ENABLE_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_DISABLE] = { METHOD(DISABLE_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_MANY] = { METHOD(ACT_ON_BACKENDS), .fill = fill_many, .render = render_many },
	[ACT_OVERRIDES] = { METHOD(LIST_OVERRIDES), .render = render_overrides },
	[ACT_WEIGHT] = { METHOD(SET_WEIGHT), .fill = fill_weight, .render = render_weight },
	[ACT_WATCH] = { METHOD(WATCH_EVENTS), .fill = fill_watch, .render = render_event },
	[ACT_CONFIG] = { METHOD(GET_CONFIG), .fill = fill_config, .render = render_config,
			 .json = render_config },
	[ACT_CONFIG_CHECK] = { METHOD(CHECK_CONFIG), .render = render_config_check,
			       .accepted = is_checked },
	[ACT_CONFIG_RELOAD] = { METHOD(RELOAD_CONFIG), .render = render_config_reload,
				.accepted = is_reloaded },
	[ACT_SPEAKER] = { SPEAKER(GET_SPEAKER), .render = render_speaker },
	[ACT_ANNOUNCEMENTS] = { SPEAKER(LIST_ANNOUNCEMENTS), .render = render_announcements },
	[ACT_ANNOUNCEMENT] = { SPEAKER(GET_ANNOUNCEMENT), .fill = fill_announcement,
			       .render = render_announcement },
	[ACT_SESSIONS] = { SPEAKER(LIST_SESSIONS), .render = render_sessions },
	[ACT_DRAIN] = { SPEAKER(DRAIN_VIP), .fill = fill_drain, .render = render_drain },
	[ACT_UNDRAIN] = { SPEAKER(UNDRAIN_VIP), .fill = fill_undrain, .render = render_drain },
	[ACT_WATCH_SPEAKER] = { SPEAKER(WATCH_SPEAKER), .render = render_speaker_event },
	[ACT_ROUTER] = { ROUTER(GET_ROUTER), .render = render_router },
	[ACT_LISTENERS] = { ROUTER(LIST_LISTENERS), .render = render_listeners },
	[ACT_ROUTES] = { ROUTER(LIST_ROUTES), .render = render_routes },
	[ACT_ROUTE] = { ROUTER(GET_ROUTE), .fill = fill_route, .render = render_route },
	[ACT_STREAMS] = { ROUTER(LIST_STREAMS), .render = render_streams },
	[ACT_POOLS] = { ROUTER(LIST_POOLS), .render = render_pools },
	[ACT_ROUTER_POOL] = { ROUTER(GET_POOL), .fill = fill_router_pool, .render = render_pool },
	[ACT_GENERATIONS] = { ROUTER(LIST_GENERATIONS), .render = render_generations },
	[ACT_GENERATION] = { ROUTER(GET_GENERATION_DIFF), .fill = fill_generation,
			     .render = render_generation },
	[ACT_ROUTE_FOR] = { ROUTER(EXPLAIN_REQUEST), .fill = fill_route_for,
			    .render = render_route_for },
	[ACT_ROLLBACK] = { ROUTER(ROLLBACK), .fill = fill_rollback, .render = render_rollback },
	[ACT_WATCH_ROUTER] = { ROUTER(WATCH_ROUTER), .fill = fill_watch_router,
			       .render = render_router_event },
};

const struct action *action_of(enum act act)
{
	assert(act < ACTS);
	return actions[act].method ? &actions[act] : NULL;
}

ProtobufCMessage *action_request(const struct action *a, const struct command *c,
				 const struct action_input *in)
{
	ProtobufCMessage *request = mem_zalloc(a->method->request->sizeof_message);

	protobuf_c_message_init(a->method->request, request);
	if (a->fill)
		a->fill(c, in, request);
	return request;
}
