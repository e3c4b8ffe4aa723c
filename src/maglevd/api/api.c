/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods are those of wire/api_methods.h; their handlers are in read.c, operate.c, config.c,
 * dataplane.c and history.c. Each handler that changes something calls api__may_change() first.
 * Events are made in watch.c.
 */
#include "src/maglevd/api/api.h"

#include <stdlib.h>

#include "base/mem.h"
#include "proto/maglev_descriptors.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"

/*
 * Names have up to 128 bytes, reasons up to 127; only a list of names can be longer. Compressed
 * requests may grow to a thousand times their size, so with a higher limit the requests of one read
 * could take long to unpack.
 */
#define REQUEST_MAX ((size_t)16384)
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

bool api__may_change(struct api *a, struct grpc_call *call)
{
	return service_may_change(a->service, call);
}

struct arena *api__scratch(struct api *a)
{
	return service_scratch(a->service);
}

/* ---- the server ---- */

static uint64_t generation(void *user)
{
	const struct api *a = user;

	return engine_generation(a->setup.engine);
}

int api_new(const struct api_setup *setup, struct api **ret)
{
	struct api *a = mem_zalloc(sizeof(*a));
	const struct service_config config = {
		.options = setup->options,
		.methods = api_methods,
		.handlers = handlers,
		.n_methods = API_METHODS,
		.user = a,
		.generation = generation,
		.max_message = REQUEST_MAX,
		.max_queued = EVENTS_MAX,
		.descriptor_set = maglev_descriptors,
		.descriptor_set_size = maglev_descriptors_size,
	};
	int r;

	a->setup = *setup;
	a->started = loop_realtime();
	r = service_new(setup->loop, &config, &a->service);
	if (r < 0) {
		free(a);
		return r;
	}
	a->watch = watch_new(setup->loop, setup->engine, setup->reconcile);
	*ret = a;
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	service_free(a->service);
	watch_free(a->watch);
	free(a);
}

struct service *api_service(const struct api *a)
{
	return a->service;
}

const struct watch_stats *api_watch_stats(const struct api *a)
{
	return watch_stats(a->watch);
}
