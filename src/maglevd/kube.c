/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube: informers on one side, the document on the other.
 *
 *	objects change -> is it about a Service that asks? -> in SETTLE changed(), once for all
 *
 * Nothing is kept beside the caches, so there is nothing that could differ from them.
 */
#include "src/maglevd/kube.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"
#include "wire/cluster.h"

#define SETTLE .1 /* s; changes of many pods come together */

enum { SERVICES, SLICES, NODES, KINDS };

struct kube {
	struct kube_config config;
	struct operator_kind kinds[KINDS];
	struct operator_frame *op;
	ev_timer settle;
};

/* ---- changes ---- */

static void on_settled(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct kube *k = container_of(timer, struct kube, settle);

	k->config.changed(k->config.user);
}

static void touch(struct kube *k)
{
	if (!operator_is_synced(k->op) || ev_is_active(&k->settle))
		return;
	ev_timer_set(&k->settle, SETTLE, 0.);
	ev_timer_start(k->config.loop, &k->settle);
}

static bool asks(const struct k8s_object *o)
{
	return o && wire_service_asks((const struct wire_service *)o);
}

static void on_service(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	if (asks(old) || asks(new))
		touch(user);
}

static void on_slice(enum k8s_change change, const struct k8s_object *old,
		     const struct k8s_object *new, void *user)
{
	struct kube *k = user;
	const struct k8s_cache *services = operator_cache(k->op, SERVICES);
	const struct k8s_object *both[] = { old, new };

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		const char *name =
			both[i] ? wire_slice_service((const struct wire_slice *)both[i]) : NULL;

		if (name && asks(k8s_cache_get(services, both[i]->namespace, name)))
			touch(k);
	}
}

/* Kubelets change the status of their node all the time; only addresses matter. */
static void on_node(enum k8s_change change, const struct k8s_object *old,
		    const struct k8s_object *new, void *user)
{
	struct cluster_node a, b;

	if (old && new) {
		a = wire_cluster_node((const struct wire_node *)old);
		b = wire_cluster_node((const struct wire_node *)new);
		if (cstr_eq(a.address4, b.address4) && cstr_eq(a.address6, b.address6))
			return;
	}
	touch(user);
}

static void index_slice(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	const char *service = wire_slice_service((const struct wire_slice *)o);
	_cleanup_(buf_free) struct buf key = { 0 };

	if (!service)
		return;
	buf_printf(&key, "%s/%s", o->namespace, service);
	add(buf_cstr(&key), to);
}

/* ---- the document ---- */

static struct cluster_service read_service(const struct kube *k, const struct wire_service *s,
					   struct arena *arena)
{
	const struct k8s_cache *cache = operator_cache(k->op, SLICES);
	const char *key = arena_printf(arena, "%s/%s", s->object.namespace, s->object.name);
	size_t first, n = k8s_cache_find(cache, 0, key, &first);
	const struct wire_slice **slices = arena_array_of(arena, n, const struct wire_slice *);

	for (size_t i = 0; i < n; i++)
		slices[i] = (const struct wire_slice *)k8s_cache_found(cache, 0, first + i);
	return wire_cluster_service(s, slices, n, arena);
}

static void read_services(const struct kube *k, struct arena *arena, struct cluster *ret)
{
	const struct k8s_cache *cache = operator_cache(k->op, SERVICES);
	size_t all = k8s_cache_count(cache), n = 0;
	struct cluster_service *made;

	for (size_t i = 0; i < all; i++)
		n += asks(k8s_cache_at(cache, i));
	made = arena_array_of(arena, n, struct cluster_service);
	for (size_t i = 0; i < all; i++) {
		const struct k8s_object *o = k8s_cache_at(cache, i);

		if (asks(o))
			made[ret->n_services++] =
				read_service(k, (const struct wire_service *)o, arena);
	}
	ret->services = made;
}

static void read_nodes(const struct kube *k, struct arena *arena, struct cluster *ret)
{
	const struct k8s_cache *cache = operator_cache(k->op, NODES);
	struct cluster_node *made =
		arena_array_of(arena, k8s_cache_count(cache), struct cluster_node);

	for (size_t i = 0; i < k8s_cache_count(cache); i++)
		made[ret->n_nodes++] =
			wire_cluster_node((const struct wire_node *)k8s_cache_at(cache, i));
	ret->nodes = made;
}

void kube_extend(struct arena *arena, struct l4_doc *doc, struct errs *warnings, const void *user)
{
	const struct kube *k = user;
	struct cluster cluster = { .own = k->config.node };

	read_services(k, arena, &cluster);
	read_nodes(k, arena, &cluster);
	cluster_extend(&cluster, arena, doc, warnings);
}

/* ---- the operator ---- */

static void on_synced(void *user)
{
	struct kube *k = user;

	log_info("kube-synced", LOG_U("services", k8s_cache_count(operator_cache(k->op, SERVICES))),
		 LOG_U("nodes", k8s_cache_count(operator_cache(k->op, NODES))));
	k->config.synced(k->config.user);
}

static void on_trouble(const struct operator_trouble *t, void *user)
{
	log_warn("kube-failed", LOG_S("doing", t->doing), LOG_S("what", t->what),
		 LOG_S("code", k8s_code_name(t->code)), LOG_S("error", t->message),
		 LOG_T("retry", t->delay));
}

static void make_kinds(struct kube *k)
{
	k->kinds[SERVICES] = (struct operator_kind){ .resource = { "", "v1", "services" },
						     .layout = &wire_service_layout,
						     .changed = on_service };
	k->kinds[SLICES] = (struct operator_kind){
		.resource = { "discovery.k8s.io", "v1", "endpointslices" },
		.layout = &wire_slice_layout,
		.label_selector = "kubernetes.io/service-name",
		.indexes = { index_slice },
		.changed = on_slice,
	};
	k->kinds[NODES] = (struct operator_kind){ .resource = { "", "v1", "nodes" },
						  .layout = &wire_node_layout,
						  .changed = on_node };
}

int kube_new(const struct kube_config *config, struct kube **ret, struct errs *errors)
{
	struct kube *k = mem_zalloc(sizeof(*k));
	int r;

	k->config = *config;
	ev_init(&k->settle, on_settled);
	make_kinds(k);
	r = operator_new(&(struct operator_config){ .loop = config->loop,
						    .options = config->options,
						    .name = "maglevd",
						    .controller = "maglev.dev/maglevd",
						    .kinds = k->kinds,
						    .n_kinds = KINDS,
						    .synced = on_synced,
						    .trouble = on_trouble,
						    .user = k },
			 &k->op, errors);
	if (r < 0) {
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void kube_free(struct kube *k)
{
	if (!k)
		return;
	ev_timer_stop(k->config.loop, &k->settle);
	operator_free(k->op);
	free(k);
}

void kube_start(struct kube *k)
{
	operator_start(k->op);
}

const struct operator_frame *kube_operator(const struct kube *k)
{
	return k->op;
}
