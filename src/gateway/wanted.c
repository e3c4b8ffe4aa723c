/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/wanted.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/log/log.h"
#include "src/gateway/kinds.h"

struct item {
	struct wanted *of;
	enum gw_kind kind;
	char *key; /* "secrets NAMESPACE/NAME" */
	char *namespace, *name;
	bool wanted;			 /* what was said last */
	bool touched;			 /* in the list of wanted_step() */
	struct k8s_informer *informer;	 /* NULL: not followed */
	const struct k8s_object *object; /* as told; NULL: none */
};

struct wanted {
	struct wanted_config config;
	struct k8s_names *names;
	struct k8s_kind *kinds[GW_KINDS]; /* of secrets and config maps alone */
	struct map items;
	VEC(struct item *) all, touched;
	size_t followed;
	bool full; /* said so */
};

static void on_changed(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	struct item *i = user;

	i->object = new;
	i->of->config.changed(i->kind, old, new, i->of->config.user);
}

static void on_synced(void *user)
{
	struct item *i = user;

	i->of->config.known(i->of->config.user);
}

static void on_trouble(const struct k8s_trouble *t, void *user)
{
	const struct item *i = user;

	log_warn("watch-failed", LOG_S("what", i->key), LOG_S("doing", t->doing),
		 LOG_S("code", k8s_code_name(t->code)), LOG_S("error", t->message));
}

static void follow(struct wanted *w, struct item *i)
{
	const struct gw_kind_info *info = &gw_kinds[i->kind];
	_cleanup_(buf_free) struct buf selector = { 0 };

	if (w->followed >= WANTED_MAX) {
		if (!w->full)
			log_error("too-many-references", LOG_S("what", i->key),
				  LOG_U("limit", WANTED_MAX));
		w->full = true;
		return;
	}
	buf_printf(&selector, "metadata.name=%s", i->name);
	i->informer = k8s_informer_new(&(struct k8s_informer_config){
		.client = operator_client(w->config.op),
		.kind = w->kinds[i->kind],
		.resource = { info->group, info->versions[0], info->resource },
		.namespace = i->namespace,
		.field_selector = buf_cstr(&selector),
		.changed = on_changed,
		.synced = on_synced,
		.trouble = on_trouble,
		.user = i,
	});
	k8s_informer_start(i->informer);
	w->followed++;
}

static void free_item(struct item *i)
{
	k8s_informer_free(i->informer);
	free(i->key);
	free(i->namespace);
	free(i->name);
	free(i);
}

static void forget(struct wanted *w, struct item *i)
{
	if (i->object)
		w->config.changed(i->kind, i->object, NULL, w->config.user);
	if (i->informer)
		w->followed--;
	map_remove(&w->items, i->key);
	for (size_t at = 0; at < w->all.n; at++)
		if (w->all.items[at] == i) {
			vec_remove_at(&w->all, at);
			break;
		}
	free_item(i);
}

static struct item *item_of(struct wanted *w, enum gw_kind kind, const char *namespace,
			    const char *name)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct item *i;

	buf_printf(&key, "%s %s/%s", gw_kinds[kind].resource, namespace, name);
	i = map_get(&w->items, buf_cstr(&key));
	if (i)
		return i;
	i = mem_zalloc(sizeof(*i));
	i->of = w;
	i->kind = kind;
	i->key = mem_strdup(buf_cstr(&key));
	i->namespace = mem_strdup(namespace);
	i->name = mem_strdup(name);
	map_put(&w->items, i->key, i);
	vec_push(&w->all, i);
	return i;
}

void wanted_set(struct wanted *w, enum gw_kind kind, const char *namespace, const char *name,
		bool wanted)
{
	struct item *i = item_of(w, kind, namespace, name);

	assert(w->kinds[kind]);
	i->wanted = wanted;
	if (i->touched)
		return;
	i->touched = true;
	vec_push(&w->touched, i);
}

void wanted_step(struct wanted *w)
{
	for (size_t at = 0; at < w->touched.n; at++) {
		struct item *i = w->touched.items[at];

		i->touched = false;
		if (!i->wanted)
			forget(w, i);
		else if (!i->informer)
			follow(w, i);
	}
	w->touched.n = 0;
}

size_t wanted_count(const struct wanted *w)
{
	return w->followed;
}

size_t wanted_pending(const struct wanted *w)
{
	size_t n = 0;

	for (size_t at = 0; at < w->all.n; at++)
		n += w->all.items[at]->informer &&
		     !k8s_informer_is_synced(w->all.items[at]->informer);
	return n + w->touched.n;
}

struct wanted *wanted_new(const struct wanted_config *config)
{
	static const enum gw_kind kinds[] = { GW_SECRET, GW_CONFIG_MAP };
	struct wanted *w = mem_zalloc(sizeof(*w));

	w->config = *config;
	w->names = k8s_names_new();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		w->kinds[kinds[i]] = k8s_kind_new(gw_kinds[kinds[i]].layout, w->names);
	return w;
}

void wanted_free(struct wanted *w)
{
	if (!w)
		return;
	for (size_t at = 0; at < w->all.n; at++)
		free_item(w->all.items[at]);
	for (size_t i = 0; i < GW_KINDS; i++)
		k8s_kind_free(w->kinds[i]);
	k8s_names_free(w->names);
	vec_free(&w->all);
	vec_free(&w->touched);
	map_free(&w->items);
	free(w);
}
