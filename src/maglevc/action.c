/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/action.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"
#include "base/units.h"
#include "proto/maglev.pb-c.h"

/* protobuf-c has no const strings; requests are only read. */
static char *borrow(const char *s)
{
	return (char *)(uintptr_t)(s ? s : "");
}

/* The walk has let only numbers through. */
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
}

static void fill_sync(const struct command *c, int64_t now, ProtobufCMessage *request)
{
	Maglev__SyncVPPLBStateRequest *m = (Maglev__SyncVPPLBStateRequest *)request;

	m->frontend = borrow(c->args[SLOT_FRONTEND]);
	m->plan = c->args[SLOT_PLAN] != NULL;
}

static bool is_checked(const ProtobufCMessage *answer)
{
	return ((const Maglev__CheckConfigResponse *)answer)->ok;
}

static bool is_reloaded(const ProtobufCMessage *answer)
{
	return ((const Maglev__ReloadConfigResponse *)answer)->ok;
}

#define METHOD(name, takes, gives)                                                                 \
	{                                                                                          \
		.path = "/maglev.Maglev/" name, .request = &maglev__##takes##__descriptor,         \
		.response = &maglev__##gives##__descriptor                                         \
	}

#define ACT_ON_BACKEND(name) METHOD(name, backend_request, backend_info)

static const struct action actions[ACTS] = {
	[ACT_FRONTENDS] = { .method = METHOD("ListFrontends", list_frontends_request,
					     list_frontends_response),
			    .render = render_frontends },
	[ACT_FRONTEND] = { .method = METHOD("GetFrontend", get_frontend_request, frontend_info),
			   .fill = fill_frontend,
			   .render = render_frontend },
	[ACT_BACKENDS] = { .method = METHOD("ListBackends", list_backends_request,
					    list_backends_response),
			   .render = render_backends },
	[ACT_BACKEND] = { .method = METHOD("GetBackend", get_backend_request, backend_info),
			  .fill = fill_backend,
			  .render = render_backend },
	[ACT_HEALTHCHECKS] = { .method = METHOD("ListHealthChecks", list_health_checks_request,
						list_health_checks_response),
			       .render = render_healthchecks },
	[ACT_HEALTHCHECK] = { .method = METHOD("GetHealthCheck", get_health_check_request,
					       health_check_info),
			      .fill = fill_healthcheck,
			      .render = render_healthcheck },
	[ACT_VPP_INFO] = { .method = METHOD("GetVPPInfo", get_vppinfo_request, vppinfo),
			   .render = render_vpp_info },
	[ACT_LB_STATE] = { .method = METHOD("GetVPPLBState", get_vpplbstate_request, vpplbstate),
			   .render = render_lb_state },
	[ACT_LB_COUNTERS] = { .method = METHOD("GetVPPLBCounters", get_vpplbcounters_request,
					       vpplbcounters),
			      .render = render_lb_counters },
	[ACT_SYNC] = { .method = METHOD("SyncVPPLBState", sync_vpplbstate_request,
					sync_vpplbstate_response),
		       .fill = fill_sync,
		       .render = render_sync },
	[ACT_PAUSE] = { .method = ACT_ON_BACKEND("PauseBackend"),
			.fill = fill_act,
			.render = render_act },
	[ACT_RESUME] = { .method = ACT_ON_BACKEND("ResumeBackend"),
			 .fill = fill_act,
			 .render = render_act },
	[ACT_ENABLE] = { .method = ACT_ON_BACKEND("EnableBackend"),
			 .fill = fill_act,
			 .render = render_act },
	[ACT_DISABLE] = { .method = ACT_ON_BACKEND("DisableBackend"),
			  .fill = fill_act,
			  .render = render_act },
	[ACT_WEIGHT] = { .method = METHOD("SetFrontendPoolBackendWeight", set_weight_request,
					  frontend_info),
			 .fill = fill_weight,
			 .render = render_weight },
	[ACT_WATCH] = { .method = { .path = "/maglev.Maglev/WatchEvents",
				    .request = &maglev__watch_request__descriptor,
				    .response = &maglev__event__descriptor,
				    .server_streaming = true },
			.fill = fill_watch },
	[ACT_CONFIG_CHECK] = { .method = METHOD("CheckConfig", check_config_request,
						check_config_response),
			       .render = render_config_check,
			       .accepted = is_checked },
	[ACT_CONFIG_RELOAD] = { .method = METHOD("ReloadConfig", reload_config_request,
						 reload_config_response),
				.render = render_config_reload,
				.accepted = is_reloaded },
};

const struct action *action_of(enum act act)
{
	assert(act < ACTS);
	return actions[act].method.path ? &actions[act] : NULL;
}

ProtobufCMessage *action_request(const struct action *a, const struct command *c, int64_t now)
{
	ProtobufCMessage *request = mem_zalloc(a->method.request->sizeof_message);

	protobuf_c_message_init(a->method.request, request);
	if (a->fill)
		a->fill(c, now, request);
	return request;
}
