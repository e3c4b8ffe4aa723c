/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that read: from the model, through wire/api. Lists may be long, so they are answered in
 * parts.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/cli/cli.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reload.h"
#include "wire/api.h"
#include "wire/config_text.h"

#define FRONTENDS_AT_ONCE 4 /* each may have many backends */
#define PIECES_AT_ONCE 8    /* of the configuration; a frontend is a piece */
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

/* Backends first, then frontends; most have none. */
static const ProtobufCMessage *more_overrides(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	Maglev__ListOverridesResponse *list =
		wire_overrides(model(w->api), base->at, BACKENDS_AT_ONCE, arena);

	base->at += BACKENDS_AT_ONCE;
	return list ? &list->base : NULL;
}

API_HANDLER(list_overrides)
{
	api__answer(user, call, more_overrides, 0, NULL);
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

/* Messages are only read. */
static char *borrow(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* Fields that occur once are in the first part. */
static const ProtobufCMessage *more_config(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	const struct l4_config *c = model(w->api)->config;
	Maglev__GetConfigResponse *part = arena_new_of(arena, Maglev__GetConfigResponse);
	enum config_format format =
		strcmp(w->name, "json") == 0 ? CONFIG_FORMAT_JSON : CONFIG_FORMAT_YAML;
	_cleanup_(buf_free) struct buf text = { 0 };
	size_t n = config_text_pieces(c), end = base->at + PIECES_AT_ONCE;

	if (base->at >= n)
		return NULL;
	maglev__get_config_response__init(part);
	if (base->at == 0) {
		part->generation = engine_generation(w->api->setup.engine);
		part->loaded = reload_stats(w->api->setup.reload)->last_success;
		part->file = borrow(w->api->setup.config_path);
	}
	for (; base->at < n && base->at < end; base->at++)
		config_text_add(c, format, base->at, &text);
	part->n_text = text.n ? 1 : 0;
	part->text = arena_array_of(arena, 1, char *);
	part->text[0] = arena_strndup(arena, text.p, text.n);
	return &part->base;
}

API_HANDLER(get_config)
{
	const char *format = ((const Maglev__GetConfigRequest *)request)->format;

	if (*format && strcmp(format, "yaml") != 0 && strcmp(format, "json") != 0)
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "format is yaml or json, not \"%s\"",
			  format);
	else
		api__answer(user, call, more_config, 0, mem_strdup(format));
}

API_HANDLER(get_version)
{
	struct api *a = user;
	Maglev__VersionInfo info;

	maglev__version_info__init(&info);
	info.program = borrow("maglevd");
	info.version = borrow(cli_version.version);
	info.commit = borrow(cli_version.commit);
	info.date = borrow(cli_version.date);
	info.started = a->started;
	grpc_reply(call, &info.base);
}
