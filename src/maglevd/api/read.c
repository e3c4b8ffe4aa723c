/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that read: from the model, through wire/api. Lists may be long, so they are answered in
 * parts.
 */
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"

#define FRONTENDS_AT_ONCE 4 /* each may have many backends */
#define BACKENDS_AT_ONCE 64

static const struct l4_model *model(const struct api *a)
{
	return engine_model(a->setup.engine);
}

/* The next part; an empty one is the end. */
static const ProtobufCMessage *more_frontends(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	Maglev__ListFrontendsResponse *list =
		wire_frontends(model(w->api), base->at, FRONTENDS_AT_ONCE, arena);

	base->at += list->n_frontends;
	return list->n_frontends ? &list->base : NULL;
}

API_HANDLER(list_frontends)
{
	api__answer(user, call, more_frontends, 0, NULL);
}

API_HANDLER(get_frontend)
{
	struct api *a = user;
	size_t i = api__frontend(a, call, ((const Maglev__GetFrontendRequest *)request)->name);

	if (i != SIZE_MAX)
		grpc_reply(call, &wire_frontend(model(a), i, api__scratch(a))->base);
}

static const ProtobufCMessage *more_backends(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	Maglev__ListBackendsResponse *list =
		wire_backends(model(w->api), base->at, BACKENDS_AT_ONCE, arena);

	base->at += list->n_backends;
	return list->n_backends ? &list->base : NULL;
}

API_HANDLER(list_backends)
{
	api__answer(user, call, more_backends, 0, NULL);
}

API_HANDLER(get_backend)
{
	struct api *a = user;
	size_t i = api__backend(a, call, ((const Maglev__GetBackendRequest *)request)->name);

	if (i != SIZE_MAX)
		grpc_reply(call, &wire_backend(model(a), i, api__scratch(a))->base);
}

API_HANDLER(list_health_checks)
{
	struct api *a = user;

	grpc_reply(call, &wire_checks(model(a)->config, api__scratch(a))->base);
}

API_HANDLER(get_health_check)
{
	struct api *a = user;
	const char *name = ((const Maglev__GetHealthCheckRequest *)request)->name;
	const struct l4_config *c = model(a)->config;
	const struct l4_check *check = l4_config_check(c, name);

	if (!check)
		grpc_fail(call, GRPC_NOT_FOUND, "no health check is called \"%s\"", name);
	else
		grpc_reply(call,
			   &wire_check(c, (size_t)(check - c->checks), api__scratch(a))->base);
}
