/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of methods, the rule for which clients may change anything, certificates, and counters
 * of calls. The handlers are in read.c, operate.c, config.c and dataplane.c; each one that changes
 * something calls api__may_change() first. Long answers are made in answer.c, events in watch.c.
 */
#include "src/maglevd/api/api.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "proto/maglev_descriptors.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"

/*
 * Names have up to 128 bytes, reasons up to 127, and nothing else in a request is long. Compressed
 * requests may grow to a thousand times their size, so with a higher limit the requests of one read
 * could take long to unpack.
 */
#define REQUEST_MAX ((size_t)4096)
/*
 * A reload may change ten thousand backends within milliseconds, each with an event and a log line.
 * Even a client that reads as fast as possible has most of them waiting for a moment.
 */
#define EVENTS_MAX ((size_t)8 * 1024 * 1024)

static void watch_events(struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	struct api *a = user;

	watch_subscribe(a->watch, call, (const Maglev__WatchRequest *)request);
}

#define METHOD(name, in, out, handler)                                                             \
	{                                                                                          \
		{ "/maglev.Maglev/" name, &maglev__##in##__descriptor,                             \
		  &maglev__##out##__descriptor, false },                                           \
			handler                                                                    \
	}

static const struct grpc_route routes[] = {
	METHOD("ListFrontends", list_frontends_request, list_frontends_response,
	       api__list_frontends),
	METHOD("GetFrontend", get_frontend_request, frontend_info, api__get_frontend),
	METHOD("ListBackends", list_backends_request, list_backends_response, api__list_backends),
	METHOD("GetBackend", get_backend_request, backend_info, api__get_backend),
	METHOD("PauseBackend", backend_request, backend_info, api__pause_backend),
	METHOD("ResumeBackend", backend_request, backend_info, api__resume_backend),
	METHOD("EnableBackend", backend_request, backend_info, api__enable_backend),
	METHOD("DisableBackend", backend_request, backend_info, api__disable_backend),
	METHOD("ListHealthChecks", list_health_checks_request, list_health_checks_response,
	       api__list_health_checks),
	METHOD("GetHealthCheck", get_health_check_request, health_check_info,
	       api__get_health_check),
	METHOD("SetFrontendPoolBackendWeight", set_weight_request, frontend_info, api__set_weight),
	{ { "/maglev.Maglev/WatchEvents", &maglev__watch_request__descriptor,
	    &maglev__event__descriptor, true },
	  watch_events },
	METHOD("CheckConfig", check_config_request, check_config_response, api__check_config),
	METHOD("ReloadConfig", reload_config_request, reload_config_response, api__reload_config),
	METHOD("GetVPPInfo", get_vppinfo_request, vppinfo, api__get_vpp_info),
	METHOD("GetVPPLBState", get_vpplbstate_request, vpplbstate, api__get_lb_state),
	METHOD("SyncVPPLBState", sync_vpplbstate_request, sync_vpplbstate_response,
	       api__sync_lb_state),
	METHOD("GetVPPLBCounters", get_vpplbcounters_request, vpplbcounters, api__get_lb_counters),
};
_Static_assert(ARRAY_SIZE(routes) == API_METHODS, "struct api_stats has a row for each");

size_t api__frontend(struct api *a, struct grpc_call *call, const char *name)
{
	size_t i = l4_config_frontend(engine_model(a->setup.engine)->config, name);

	if (i == SIZE_MAX)
		grpc_fail(call, GRPC_NOT_FOUND, "no frontend is called \"%s\"", name);
	return i;
}

size_t api__backend(struct api *a, struct grpc_call *call, const char *name)
{
	size_t i = l4_config_backend(engine_model(a->setup.engine)->config, name);

	if (i == SIZE_MAX)
		grpc_fail(call, GRPC_NOT_FOUND, "no backend is called \"%s\"", name);
	return i;
}

bool api__may_change(struct api *a, struct grpc_call *call)
{
	const char *name = grpc_peer_name(call);

	if (!a->setup.n_operators)
		return true;
	for (size_t i = 0; name && i < a->setup.n_operators; i++)
		if (strcmp(a->setup.operators[i], name) == 0)
			return true;
	grpc_fail(call, GRPC_PERMISSION_DENIED,
		  "\"%s\" may read but not change anything: it is not among --grpc-operators",
		  name ? name : "");
	return false;
}

struct arena *api__scratch(struct api *a)
{
	arena_reset(a->scratch);
	return a->scratch;
}

/* ---- the server ---- */

/* Called at the end of each call. Health and reflection are not in the table and not counted. */
static void on_trace(const struct grpc_trace *trace, void *user)
{
	struct api *a = user;
	char peer[ENDPOINT_STRLEN];

	for (size_t i = 0; i < API_METHODS; i++)
		if (strcmp(routes[i].method.path, trace->path) == 0)
			a->stats.calls[i][trace->status]++;
	log_debug("grpc-call", LOG_S("peer", endpoint_format(&trace->peer, peer)),
		  LOG_S("method", trace->path), LOG_S("status", grpc_status_name(trace->status)),
		  LOG_T("duration", trace->duration));
}

static int load_tls(const struct api *a, struct tls_context **ret, char *reason, size_t reason_size)
{
	*ret = NULL;
	if (!a->setup.tls.certificate)
		return 0;
	return tls_server_context_new(&a->setup.tls, ret, reason, reason_size);
}

static int open_server(struct api *a)
{
	const struct grpc_server_config config = {
		.listen = a->setup.listen,
		.routes = routes,
		.n_routes = ARRAY_SIZE(routes),
		.user = a,
		.tls = a->tls,
		.max_message = REQUEST_MAX,
		.max_queued = EVENTS_MAX,
		.descriptor_set = a->setup.reflection ? maglev_descriptors : NULL,
		.descriptor_set_size = a->setup.reflection ? maglev_descriptors_size : 0,
		.trace = on_trace,
	};

	return grpc_server_new(a->setup.loop, &config, &a->server);
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct api *a = user;

	a->generation++;
}

static void observe_reloads(struct api *a)
{
	a->observer = (struct engine_observer){ .reloaded = on_reloaded, .user = a };
	engine_observe(a->setup.engine, &a->observer);
}

int api_new(const struct api_setup *setup, struct api **ret, char *reason, size_t reason_size)
{
	struct api *a = mem_zalloc(sizeof(*a));
	int r;

	a->setup = *setup;
	r = load_tls(a, &a->tls, reason, reason_size);
	if (r == 0) {
		r = open_server(a);
		snprintf(reason, reason_size, "%s", r < 0 ? strerror(-r) : "");
	}
	if (r < 0) {
		tls_context_free(a->tls);
		free(a);
		return r;
	}
	a->scratch = arena_new();
	api__answers_init(a);
	observe_reloads(a);
	a->watch = watch_new(setup->loop, setup->engine);
	*ret = a;
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	grpc_server_free(a->server);
	api__answers_stop(a);
	watch_free(a->watch);
	tls_context_free(a->tls);
	arena_free(a->scratch);
	free(a);
}

struct endpoint api_endpoint(const struct api *a)
{
	return grpc_server_endpoint(a->server);
}

int api_reload_tls(struct api *a, char *reason, size_t reason_size)
{
	struct tls_context *fresh;
	int r = load_tls(a, &fresh, reason, reason_size);

	if (r < 0 || !fresh)
		return r;
	grpc_server_set_tls(a->server, fresh);
	tls_context_free(a->tls);
	a->tls = fresh;
	return 0;
}

void api_drain(struct api *a, void (*done)(void *user), void *user)
{
	grpc_server_drain(a->server, done, user);
}

const char *api_method_name(size_t i)
{
	return strrchr(routes[i].method.path, '/') + 1;
}

const struct api_stats *api_stats(const struct api *a)
{
	return &a->stats;
}

const struct grpc_server_stats *api_server_stats(const struct api *a)
{
	return grpc_server_stats(a->server);
}

const struct watch_stats *api_watch_stats(const struct api *a)
{
	return watch_stats(a->watch);
}
