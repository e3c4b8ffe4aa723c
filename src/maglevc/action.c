/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/action.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/units.h"
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

static void fill_frontend(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetFrontendRequest *)request)->name = borrow(c->args[SLOT_FRONTEND]);
}

static void fill_backend(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetBackendRequest *)request)->name = borrow(c->args[SLOT_BACKEND]);
}

static void fill_healthcheck(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetHealthCheckRequest *)request)->name = borrow(c->args[SLOT_HEALTHCHECK]);
}

/*
 * The API takes the end of an override as an absolute time, so a duration ("for 1h") is added to
 * now here. The sum saturates instead of overflowing: a very long duration means no end.
 */
static void fill_act(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	Maglev__BackendRequest *m = (Maglev__BackendRequest *)request;
	int64_t ns = 0;

	m->name = borrow(c->args[SLOT_BACKEND]);
	m->reason = borrow(c->args[SLOT_REASON]);
	if (c->args[SLOT_FOR] && duration_parse(c->args[SLOT_FOR], &ns) == 0)
		m->until = ns < INT64_MAX - now ? now + ns : INT64_MAX;
}

static void fill_weight(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	Maglev__SetWeightRequest *m = (Maglev__SetWeightRequest *)request;

	m->frontend = borrow(c->args[SLOT_FRONTEND]);
	m->pool = borrow(c->args[SLOT_POOL]);
	m->backend = borrow(c->args[SLOT_BACKEND]);
	m->weight = to_number(c->args[SLOT_WEIGHT]);
	m->flush = c->args[SLOT_FLUSH] != NULL;
}

static void fill_watch(const struct command *c, int64_t now, ProtobufCMessage *request)
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

static void fill_sync(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	Maglev__SyncVPPLBStateRequest *m = (Maglev__SyncVPPLBStateRequest *)request;

	m->frontend = borrow(c->args[SLOT_FRONTEND]);
	m->plan = c->args[SLOT_PLAN] != NULL;
}

/* Without a backend: all of it. */
static void fill_lb_state(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetVPPLBStateRequest *)request)->backend = borrow(c->args[SLOT_BACKEND]);
}

static void fill_announcement(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetAnnouncementRequest *)request)->vip = borrow(c->args[SLOT_VIP]);
}

static void fill_drain(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	Maglev__DrainVIPRequest *m = (Maglev__DrainVIPRequest *)request;

	m->vip = borrow(c->args[SLOT_VIP]);
	m->reason = borrow(c->args[SLOT_REASON]);
}

static void fill_undrain(const struct command *c, int64_t now, ProtobufCMessage *request)
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

static void fill_route(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetRouteRequest *)request)->name = borrow(c->args[SLOT_ROUTE]);
}

static void fill_router_pool(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetPoolRequest *)request)->name = borrow(c->args[SLOT_ROUTER_POOL]);
}

static void fill_generation(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__GetGenerationDiffRequest *)request)->number = generation_of(c);
}

static void fill_rollback(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	((Maglev__RollbackRequest *)request)->number = generation_of(c);
}

static void fill_route_for(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	Maglev__ExplainRequestRequest *m = (Maglev__ExplainRequestRequest *)request;

	m->method = borrow(c->args[SLOT_METHOD]);
	m->host = borrow(c->args[SLOT_HOST]);
	m->path = borrow(c->args[SLOT_PATH]);
	m->listener = borrow(c->args[SLOT_LISTENER]);
	m->n_headers = c->args[SLOT_HEADER] ? 1 : 0;
	m->headers = (char **)(uintptr_t)&c->args[SLOT_HEADER];
}

static void fill_watch_router(const struct command *c, int64_t now, ProtobufCMessage *request)
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
 * Indexed by act. Acts without a row (help, version, exit) have no method and are handled
 * without the server.
 */
static const struct action actions[ACTS] = {
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
	[ACT_SYNC] = { METHOD(SYNC_LB_STATE), .fill = fill_sync, .render = render_sync },
	[ACT_PAUSE] = { METHOD(PAUSE_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_RESUME] = { METHOD(RESUME_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_ENABLE] = { METHOD(ENABLE_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_DISABLE] = { METHOD(DISABLE_BACKEND), .fill = fill_act, .render = render_act },
	[ACT_WEIGHT] = { METHOD(SET_WEIGHT), .fill = fill_weight, .render = render_weight },
	[ACT_WATCH] = { METHOD(WATCH_EVENTS), .fill = fill_watch },
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
	[ACT_WATCH_SPEAKER] = { SPEAKER(WATCH_SPEAKER) },
	[ACT_ROUTER] = { ROUTER(GET_ROUTER), .render = render_router },
	[ACT_LISTENERS] = { ROUTER(LIST_LISTENERS), .render = render_listeners },
	[ACT_ROUTES] = { ROUTER(LIST_ROUTES), .render = render_routes },
	[ACT_ROUTE] = { ROUTER(GET_ROUTE), .fill = fill_route, .render = render_route },
	[ACT_POOLS] = { ROUTER(LIST_POOLS), .render = render_pools },
	[ACT_ROUTER_POOL] = { ROUTER(GET_POOL), .fill = fill_router_pool, .render = render_pool },
	[ACT_GENERATIONS] = { ROUTER(LIST_GENERATIONS), .render = render_generations },
	[ACT_GENERATION] = { ROUTER(GET_GENERATION_DIFF), .fill = fill_generation,
			     .render = render_generation },
	[ACT_ROUTE_FOR] = { ROUTER(EXPLAIN_REQUEST), .fill = fill_route_for,
			    .render = render_route_for },
	[ACT_ROLLBACK] = { ROUTER(ROLLBACK), .fill = fill_rollback, .render = render_rollback },
	[ACT_WATCH_ROUTER] = { ROUTER(WATCH_ROUTER), .fill = fill_watch_router },
};

const struct action *action_of(enum act act)
{
	assert(act < ACTS);
	return actions[act].method ? &actions[act] : NULL;
}

ProtobufCMessage *action_request(const struct action *a, const struct command *c, int64_t now)
{
	ProtobufCMessage *request = mem_zalloc(a->method->request->sizeof_message);

	protobuf_c_message_init(a->method->request, request);
	if (a->fill)
		a->fill(c, now, request);
	return request;
}
