/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery: one question at a time, in the order of kinds and versions.
 *
 * A round asks for each kind until a version of it is found. What was found is compared with what
 * was known. CustomResourceDefinitions are followed by an informer that keeps nothing of them but
 * their names; since a new definition is served a moment after it was stored, rounds follow it with
 * growing delays.
 */
#include "lib/k8s/discovery.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/cursor.h"
#include "lib/k8s/informer.h"

#define SOON (100 * NSEC_PER_MSEC)
#define LATER (5 * NSEC_PER_SEC) /* after a definition changed, rounds are quick for that long */

static const struct k8s_layout bare = { .size = sizeof(struct k8s_object) };

struct state {
	const char *version; /* NULL: not installed */
	bool known;
};

struct k8s_discovery {
	struct k8s_discovery_config config;
	struct state *states;
	struct k8s_call *call;
	size_t kind, version; /* that is asked for */
	bool again, synced;
	int64_t delay; /* until the next round */
	ev_timer due;
	struct k8s_names *names;
	struct k8s_kind *crd;
	struct k8s_informer *informer;
};

/* ---- answers ---- */

int k8s_discovery_parse(struct str text, const char *plural)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *tree;
	struct json_cursor root, resources;
	const char *name;

	if (json_parse(text, NULL, arena, &tree, &errors) < 0)
		return -EINVAL;
	root = json_cursor_of(tree, &errors);
	resources = json_member(&root, "resources");
	if (json_get_kind(&resources, JSON_KIND_ARRAY) <= 0)
		return -EINVAL;
	for (size_t i = 0; i < resources.node->n; i++) {
		struct json_cursor one = json_item(&resources, i);
		struct json_cursor at = json_member(&one, "name");

		if (json_get_string(&at, &name) > 0 && strcmp(name, plural) == 0)
			return 1;
	}
	return 0;
}

/* ---- rounds ---- */

static void ask(struct k8s_discovery *d);

static void plan(struct k8s_discovery *d, int64_t ns)
{
	struct ev_loop *loop = k8s_client_loop(d->config.client);

	ev_timer_stop(loop, &d->due);
	ev_timer_set(&d->due, loop_seconds(ns), 0);
	ev_timer_start(loop, &d->due);
}

static void end_round(struct k8s_discovery *d)
{
	bool all = true;

	for (size_t i = 0; i < d->config.n_wanted; i++)
		all &= d->states[i].known;
	d->kind = d->version = 0;
	if (d->again) {
		d->again = false;
		d->delay = SOON;
	} else {
		d->delay = d->delay < LATER ? d->delay * 2 : d->config.period;
	}
	plan(d, all ? d->delay : SOON * 10);
	if (!all || d->synced)
		return;
	d->synced = true;
	if (d->config.synced)
		d->config.synced(d->config.user);
}

/* The question about one kind is answered. */
static void settle(struct k8s_discovery *d, const char *version)
{
	struct state *s = &d->states[d->kind];
	bool news = !s->known || !cstr_eq(s->version, version);
	size_t kind = d->kind++;

	d->version = 0;
	s->known = true;
	s->version = version;
	if (news)
		d->config.changed(kind, version, d->config.user);
	ask(d);
}

static void on_done(const struct k8s_result *result, void *user)
{
	struct k8s_discovery *d = user;
	const struct k8s_wanted *w = &d->config.wanted[d->kind];
	int has = result->code == K8S_OK ? k8s_discovery_parse(result->body, w->plural) : 0;

	d->call = NULL;
	if ((result->code != K8S_OK && result->code != K8S_NOT_FOUND) || has < 0) {
		d->kind++; /* what was known stays */
		d->version = 0;
		ask(d);
	} else if (has) {
		settle(d, w->versions[d->version]);
	} else if (d->version + 1 < K8S_DISCOVERY_VERSIONS && w->versions[d->version + 1]) {
		d->version++;
		ask(d);
	} else {
		settle(d, NULL);
	}
}

static void ask(struct k8s_discovery *d)
{
	const struct k8s_wanted *w = &d->config.wanted[d->kind];
	struct k8s_call_config config = { .verb = K8S_VERB_GET, .done = on_done, .user = d };
	struct buf path = { 0 };
	int r;

	if (d->kind == d->config.n_wanted) {
		end_round(d);
		return;
	}
	buf_printf(&path, w->group[0] ? "/apis/%s/%s" : "/api%s/%s", w->group,
		   w->versions[d->version]);
	config.path = buf_cstr(&path);
	r = k8s_call(d->config.client, &config, &d->call);
	buf_free(&path);
	if (r < 0)
		end_round(d);
}

static void on_due(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_discovery *d = container_of(w, struct k8s_discovery, due);

	(void)loop;
	(void)events;
	ask(d);
}

void k8s_discovery_poke(struct k8s_discovery *d)
{
	if (d->call)
		d->again = true;
	else
		plan(d, 0);
	d->delay = SOON;
}

static void on_crd(enum k8s_change change, const struct k8s_object *old,
		   const struct k8s_object *new, void *user)
{
	(void)change;
	(void)old;
	(void)new;
	k8s_discovery_poke(user);
}

/* ---- public ---- */

struct k8s_discovery *k8s_discovery_new(const struct k8s_discovery_config *config)
{
	struct k8s_discovery *d = mem_zalloc(sizeof(*d));

	assert(config->client && config->changed && config->n_wanted);
	d->config = *config;
	if (!d->config.period)
		d->config.period = 30 * NSEC_PER_SEC;
	d->delay = d->config.period;
	d->states = mem_zalloc(config->n_wanted * sizeof(*d->states));
	d->names = k8s_names_new();
	d->crd = k8s_kind_new(&bare, d->names);
	d->informer = k8s_informer_new(&(struct k8s_informer_config){
		.client = config->client,
		.kind = d->crd,
		.resource = { "apiextensions.k8s.io", "v1", "customresourcedefinitions" },
		.optional = true,
		.changed = on_crd,
		.user = d });
	k8s_informer_start(d->informer);
	ev_timer_init(&d->due, on_due, 0, 0);
	plan(d, 0);
	return d;
}

void k8s_discovery_free(struct k8s_discovery *d)
{
	if (!d)
		return;
	k8s_informer_free(d->informer);
	k8s_kind_free(d->crd);
	k8s_names_free(d->names);
	k8s_call_cancel(d->call);
	ev_timer_stop(k8s_client_loop(d->config.client), &d->due);
	free(d->states);
	free(d);
}

const char *k8s_discovery_version(const struct k8s_discovery *d, size_t kind)
{
	assert(kind < d->config.n_wanted);
	return d->states[kind].version;
}
