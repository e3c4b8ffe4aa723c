/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes, the rule for which clients may change anything, certificates, and counters of calls.
 * The methods are those of wire/api_methods.h; their handlers are in read.c, operate.c, config.c
 * and dataplane.c. Each handler that changes something calls api__may_change() first. Long answers
 * are made in answer.c, events in watch.c.
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

/* One handler for each method; one that is missing does not link. */
API_HANDLER(watch_events)
{
	struct api *a = user;

	watch_subscribe(a->watch, call, (const Maglev__WatchRequest *)request);
}

static const grpc_handler_fn handlers[API_METHODS] = {
#define ROW(number, name, handler, takes, gives, stream) [API_##number] = api__##handler,
	API_METHODS_LIST(ROW)
#undef ROW
};

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

/* Without mutual TLS there are no names; options.c refuses operators without a client CA. */
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
		if (strcmp(api_methods[i].path, trace->path) == 0)
			a->stats.calls[i][trace->status]++;
	log_debug("grpc-call", LOG_S("peer", endpoint_format(&trace->peer, peer)),
		  LOG_S("method", trace->path), LOG_S("status", grpc_status_name(trace->status)),
		  LOG_T("duration", trace->duration));
}

/* *ret is NULL if the API is plaintext. */
static int load_tls(const struct api *a, struct tls_context **ret, char *reason, size_t reason_size)
{
	*ret = NULL;
	if (!a->setup.tls.certificate)
		return 0;
	return tls_h2_server_context_new(&a->setup.tls, ret, reason, reason_size);
}

static int open_server(struct api *a)
{
	const struct grpc_server_config config = {
		.listen = a->setup.listen,
		.routes = a->routes,
		.n_routes = ARRAY_SIZE(a->routes),
		.user = a,
		.tls = a->tls,
		.max_per_source = a->setup.max_per_client,
		.max_message = REQUEST_MAX,
		.max_queued = EVENTS_MAX,
		.descriptor_set = a->setup.reflection ? maglev_descriptors : NULL,
		.descriptor_set_size = a->setup.reflection ? maglev_descriptors_size : 0,
		.trace = on_trace,
	};

	for (size_t i = 0; i < API_METHODS; i++)
		a->routes[i] = (struct grpc_route){ api_methods[i], handlers[i] };
	return grpc_server_new(a->setup.loop, &config, &a->server);
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
	a->watch = watch_new(setup->loop, setup->engine, setup->reconcile);
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

/* Open connections keep the certificates that they began with. */
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
