/* SPDX-License-Identifier: Apache-2.0 */
/* update: GET, patch, and after a conflict again, with a short random delay. */
#include "lib/k8s/update.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/cursor.h"
#include "lib/loop/backoff.h"

static const struct backoff_policy retry = { .first = 20 * NSEC_PER_MSEC,
					     .last = NSEC_PER_SEC,
					     .jitter = 80 };

struct k8s_update {
	struct k8s_update_config config;
	struct arena *arena; /* of the texts */
	struct k8s_resource resource;
	struct k8s_call *call;
	struct backoff backoff;
	unsigned tries;
};

static void update_free(struct k8s_update *u)
{
	k8s_call_cancel(u->call);
	backoff_stop(&u->backoff);
	arena_free(u->arena);
	free(u);
}

static void finish(struct k8s_update *u, const struct k8s_result *result)
{
	u->config.done(result, u->config.user);
	update_free(u);
}

static void fail(struct k8s_update *u, enum k8s_code code, const char *message)
{
	finish(u, &(struct k8s_result){ .code = code, .reason = "", .message = message });
}

static int call(struct k8s_update *u, enum k8s_verb verb, struct str body,
		void (*done)(const struct k8s_result *result, void *user))
{
	const struct k8s_call_config config = { .verb = verb,
						.resource = &u->resource,
						.namespace = u->config.namespace,
						.name = u->config.name,
						.subresource = u->config.subresource,
						.manager = u->config.manager,
						.body = body,
						.done = done,
						.user = u };

	return k8s_call(u->config.client, &config, &u->call);
}

static void on_patched(const struct k8s_result *result, void *user)
{
	struct k8s_update *u = user;

	u->call = NULL;
	if (result->code == K8S_CONFLICT && ++u->tries < K8S_UPDATE_TRIES)
		backoff_start(&u->backoff);
	else
		finish(u, result);
}

static void change(struct k8s_update *u, const struct json_node *tree, const char *version)
{
	struct buf patch = { 0 };

	if (!u->config.change(tree, version, &patch, u->config.user))
		fail(u, K8S_OK, "");
	else if (call(u, K8S_VERB_MERGE_PATCH, (struct str){ patch.p, patch.n }, on_patched) < 0)
		fail(u, K8S_NETWORK, "too many requests are waiting");
	buf_free(&patch);
}

static void on_read(const struct k8s_result *result, void *user)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct k8s_update *u = user;
	const struct json_node *tree;
	struct json_cursor root, metadata, at;
	const char *version;

	u->call = NULL;
	if (result->code != K8S_OK) {
		finish(u, result);
		return;
	}
	if (json_parse(result->body, NULL, arena, &tree, &errors) < 0) {
		fail(u, K8S_MALFORMED, "the object is not JSON");
		return;
	}
	root = json_cursor_of(tree, &errors);
	metadata = json_member(&root, "metadata");
	at = json_member(&metadata, "resourceVersion");
	if (json_get_string(&at, &version) <= 0)
		fail(u, K8S_MALFORMED, "the object has no resourceVersion");
	else
		change(u, tree, version);
}

static void on_due(void *user)
{
	struct k8s_update *u = user;

	if (call(u, K8S_VERB_GET, (struct str){ 0 }, on_read) < 0)
		fail(u, K8S_NETWORK, "too many requests are waiting");
}

static const char *copy(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

int k8s_update(const struct k8s_update_config *config, struct k8s_update **ret)
{
	struct k8s_update *u = mem_zalloc(sizeof(*u));
	int r;

	assert(config && config->client && config->change && config->done && ret);
	u->arena = arena_new();
	u->config = *config;
	u->resource = (struct k8s_resource){ copy(u->arena, config->resource->group),
					     copy(u->arena, config->resource->version),
					     copy(u->arena, config->resource->plural) };
	u->config.namespace = copy(u->arena, config->namespace);
	u->config.name = copy(u->arena, config->name);
	u->config.subresource = copy(u->arena, config->subresource);
	u->config.manager = copy(u->arena, config->manager);
	backoff_init(&u->backoff, k8s_client_loop(config->client), &retry, on_due, u);
	r = call(u, K8S_VERB_GET, (struct str){ 0 }, on_read);
	if (r < 0)
		update_free(u);
	else
		*ret = u;
	return r;
}

void k8s_update_cancel(struct k8s_update *u)
{
	if (u)
		update_free(u);
}
