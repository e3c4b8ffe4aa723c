/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe: caches with indexes, so that neither a change nor a pass walks over the whole cluster.
 *
 * A change is translated to keys at once. Changes that come while the program is not active are
 * only in the caches: when it becomes active it looks at everything.
 */
#include "src/mux/observe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define ID_MAX                                                                                     \
	512 /* of "namespace/name namespace/name"; names have at most 253 bytes, Services 63 */

static const char role_mux[] = "mux", role_channel[] = "channel", role_stray[] = "stray";

static const struct mux_service *service_of(const struct k8s_object *o)
{
	return (const struct mux_service *)o;
}

static const struct mux_slice *slice_of(const struct k8s_object *o)
{
	return (const struct mux_slice *)o;
}

static const char *pair(char id[static ID_MAX], const char *namespace, const char *name)
{
	snprintf(id, ID_MAX, "%s/%s", namespace, name);
	return id;
}

/* ---- indexes ---- */

static void index_of_mux(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	struct controller *c = user;
	struct mux_reference mux;
	char id[ID_MAX];

	if (mux_role(&c->settings, service_of(o), &mux) == MUX_ROLE_CHANNEL)
		add(pair(id, mux.namespace, mux.name), to);
}

static void index_of_role(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	static const char *const names[] = { [MUX_ROLE_NONE] = NULL,
					     [MUX_ROLE_MUX] = role_mux,
					     [MUX_ROLE_CHANNEL] = role_channel,
					     [MUX_ROLE_STRAY] = role_stray };
	struct controller *c = user;
	struct mux_reference mux;
	const char *name = names[mux_role(&c->settings, service_of(o), &mux)];

	if (name)
		add(name, to);
}

static bool is_ours(const struct mux_slice *slice)
{
	return cstr_eq(k8s_map_get(&slice->labels, MUX_LABEL_MANAGED_BY), MUX_MANAGED_BY);
}

static const char *service_name(const struct mux_slice *slice)
{
	return k8s_map_get(&slice->labels, MUX_LABEL_SERVICE);
}

static void index_of_service(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	const char *service = service_name(slice_of(o));
	char id[ID_MAX];

	if (service)
		add(pair(id, o->namespace, service), to);
}

static void index_of_written(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	struct controller *c = user;
	_cleanup_(arena_freep) struct arena *arena = NULL;
	const char *key;

	if (!is_ours(slice_of(o)))
		return;
	arena = arena_new();
	key = mux_slice_key(&c->settings, slice_of(o), arena);
	if (key)
		add(key, to);
}

static void index_of_ours(const struct k8s_object *o, k8s_index_add_fn add, void *to, void *user)
{
	if (is_ours(slice_of(o)))
		index_of_service(o, add, to, user);
}

/* ---- changes ---- */

static const struct mux_service *find_service(const struct controller *c, const char *namespace,
					      const char *name)
{
	return service_of(k8s_cache_get(operator_cache(c->op, KIND_SERVICE), namespace, name));
}

/* The view was made from a Service that was the same in all that matters. */
static bool is_known(const struct controller *c, const struct mux_reference *mux,
		     const struct mux_service *service)
{
	const struct key *key = controller_key(c, mux->namespace, mux->name);

	return key && key->view && mux_view_knows(key->view, &c->settings, service);
}

static void touch_service(struct controller *c, const struct mux_service *s, bool may_know)
{
	const struct k8s_object *o = &s->object;
	struct mux_reference mux = { 0 };
	enum mux_role role = mux_role(&c->settings, s, &mux);

	switch (role) {
	case MUX_ROLE_NONE:
		return;
	case MUX_ROLE_STRAY:
		controller_touch_stray(c, o);
		return;
	case MUX_ROLE_MUX:
		snprintf(mux.namespace, sizeof(mux.namespace), "%s", o->namespace);
		snprintf(mux.name, sizeof(mux.name), "%s", o->name);
		break;
	case MUX_ROLE_CHANNEL:
		break;
	}
	if (may_know && is_known(c, &mux, s))
		controller_touch_channel(c, mux.namespace, mux.name,
					 role == MUX_ROLE_CHANNEL ? o : NULL);
	else
		controller_touch(c, mux.namespace, mux.name);
}

static void on_service(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	struct controller *c = user;
	struct mux_reference was = { 0 }, is = { 0 };
	bool same;

	if (!operator_is_active(c->op))
		return;
	same = change == K8S_UPDATED &&
	       mux_role(&c->settings, service_of(old), &was) ==
		       mux_role(&c->settings, service_of(new), &is) &&
	       memcmp(&was, &is, sizeof(was)) == 0;
	if (old && !same)
		touch_service(c, service_of(old), false);
	if (new)
		touch_service(c, service_of(new), same);
}

/* The endpoints of a Service have changed. */
static void touch_channel(struct controller *c, const char *namespace, const char *name)
{
	const struct mux_service *s = find_service(c, namespace, name);
	struct mux_reference mux;

	if (s && mux_role(&c->settings, s, &mux) == MUX_ROLE_CHANNEL)
		controller_touch_channel(c, mux.namespace, mux.name, &s->object);
}

/* Somebody has changed or deleted what we wrote, or the answer to our own write has come. */
static void touch_written(struct controller *c, const struct mux_slice *slice)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const char *key = mux_slice_key(&c->settings, slice, arena);
	const char *channel = key ? strchr(key, ' ') : NULL;
	const char *slash = channel ? strchr(channel, '/') : NULL;
	struct k8s_object name = { 0 };

	if (!service_name(slice))
		return;
	if (slash) {
		name.namespace = arena_strndup(arena, channel + 1, (size_t)(slash - channel - 1));
		name.name = slash + 1;
		controller_touch_channel(c, slice->object.namespace, service_name(slice), &name);
	} else {
		controller_touch(c, slice->object.namespace, service_name(slice));
	}
}

static void on_slice(enum k8s_change change, const struct k8s_object *old,
		     const struct k8s_object *new, void *user)
{
	const struct k8s_object *both[] = { old, new };
	struct controller *c = user;

	if (!operator_is_active(c->op))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		const struct mux_slice *slice = slice_of(both[i]);

		if (!slice)
			continue;
		if (is_ours(slice))
			touch_written(c, slice);
		else if (service_name(slice))
			touch_channel(c, slice->object.namespace, service_name(slice));
	}
}

static void on_endpoints(enum k8s_change change, const struct k8s_object *old,
			 const struct k8s_object *new, void *user)
{
	const struct k8s_object *o = new ? new : old;
	struct controller *c = user;

	if (!operator_is_active(c->op))
		return;
	touch_channel(c, o->namespace, o->name);
	if (controller_key(c, o->namespace, o->name))
		controller_touch_channel(c, o->namespace, o->name, NULL);
}

static void on_config_map(enum k8s_change change, const struct k8s_object *old,
			  const struct k8s_object *new, void *user)
{
	const struct k8s_object *o = new ? new : old;
	struct controller *c = user;

	if (!operator_is_active(c->op))
		return;
	for (size_t i = 0; i < c->keys.n; i++) {
		const struct mux_view *v = c->keys.items[i]->view;

		if (!v || !cstr_eq(v->namespace, o->namespace) || !cstr_eq(v->state_name, o->name))
			continue;
		if (mux_view_knows_state(v, (const struct mux_config_map *)new))
			controller_touch_channel(c, v->namespace, v->name, NULL);
		else
			controller_touch(c, v->namespace, v->name);
	}
}

static bool same_pairs(const struct k8s_list *a, const struct k8s_list *b)
{
	const struct k8s_pair *x = a->items, *y = b->items;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!cstr_eq(x[i].key, y[i].key) || !cstr_eq(x[i].value, y[i].value))
			return false;
	return true;
}

/* A mux may choose the namespaces of its channels by their labels. */
static void on_namespace(enum k8s_change change, const struct k8s_object *old,
			 const struct k8s_object *new, void *user)
{
	struct controller *c = user;

	if (!operator_is_active(c->op) ||
	    (change == K8S_UPDATED && same_pairs(&((const struct mux_namespace *)old)->labels,
						 &((const struct mux_namespace *)new)->labels)))
		return;
	for (size_t i = 0; i < c->keys.n; i++) {
		const struct key *k = c->keys.items[i];

		if (!k->view || k->view->reads_namespaces)
			controller_touch(c, k->namespace, k->name);
	}
}

static void touch_role(struct controller *c, const char *role)
{
	const struct k8s_cache *services = operator_cache(c->op, KIND_SERVICE);
	size_t first, n = k8s_cache_find(services, SERVICES_OF_ROLE, role, &first);

	for (size_t i = 0; i < n; i++)
		touch_service(c, service_of(k8s_cache_found(services, SERVICES_OF_ROLE, first + i)),
			      false);
}

void observe_all(struct controller *c)
{
	const struct k8s_cache *slices = operator_cache(c->op, KIND_SLICE);

	touch_role(c, role_mux);
	touch_role(c, role_channel);
	touch_role(c, role_stray);
	for (size_t i = 0; i < k8s_cache_count(slices);
	     i++) { /* also those of muxes that are gone */
		const struct mux_slice *slice = slice_of(k8s_cache_at(slices, i));

		if (is_ours(slice) && service_name(slice))
			controller_touch(c, slice->object.namespace, service_name(slice));
	}
}

void observe_kinds(struct controller *c)
{
	c->rows[KIND_SERVICE] = (struct operator_kind){
		.resource = { "", "v1", "services" },
		.layout = &c->kinds->service,
		.indexes = { [SERVICES_OF_MUX] = index_of_mux, [SERVICES_OF_ROLE] = index_of_role },
		.changed = on_service
	};
	c->rows[KIND_SLICE] =
		(struct operator_kind){ .resource = { "discovery.k8s.io", "v1", "endpointslices" },
					.layout = &c->kinds->slice,
					.indexes = { [SLICES_OF_SERVICE] = index_of_service,
						     [SLICES_OF_CHANNEL] = index_of_written,
						     [SLICES_OF_MUX] = index_of_ours },
					.changed = on_slice };
	c->rows[KIND_ENDPOINTS] = (struct operator_kind){ .resource = { "", "v1", "endpoints" },
							  .layout = &c->kinds->endpoints,
							  .changed = on_endpoints };
	c->rows[KIND_CONFIG_MAP] = (struct operator_kind){ .resource = { "", "v1", "configmaps" },
							   .layout = &c->kinds->config_map,
							   .changed = on_config_map };
	c->rows[KIND_NAMESPACE] = (struct operator_kind){ .resource = { "", "v1", "namespaces" },
							  .layout = &c->kinds->namespace,
							  .changed = on_namespace };
}

/* ---- facts ---- */

struct pin {
	enum kind kind;
	const struct k8s_object *object;
};

struct observation {
	struct controller *controller;
	struct arena *arena;
	struct mux_facts facts;
	struct mux_state state;
	VEC(struct pin) pins;
	unsigned refs;
};

static void pin(struct observation *o, enum kind kind, const struct k8s_object *object)
{
	if (object)
		vec_push(&o->pins, (struct pin){ kind, k8s_object_ref(object) });
}

/* Objects with a key of an index, as an array in the arena. */
static const void *found(const struct controller *c, enum kind kind, unsigned index,
			 const char *key, struct arena *arena, size_t *ret_n)
{
	const struct k8s_cache *cache = operator_cache(c->op, kind);
	size_t first, n = k8s_cache_find(cache, index, key, &first);
	const struct k8s_object **all = arena_array(arena, n, sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = k8s_cache_found(cache, index, first + i);
	*ret_n = n;
	return all;
}

static void pin_all(struct observation *o, enum kind kind, const void *objects, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pin(o, kind, ((const struct k8s_object *const *)objects)[i]);
}

static const struct mux_endpoints *find_endpoints(const struct controller *c, const char *namespace,
						  const char *name)
{
	return (const struct mux_endpoints *)k8s_cache_get(operator_cache(c->op, KIND_ENDPOINTS),
							   namespace, name);
}

void observe_look(struct controller *c, struct arena *arena, const char *namespace,
		  const char *name, struct mux_sight *ret)
{
	const struct mux_service *s = find_service(c, namespace, name);
	struct mux_reference mux;
	char id[ID_MAX], key[ID_MAX + ID_MAX];

	pair(id, namespace, name);
	*ret = (struct mux_sight){ .service = s, .endpoints = find_endpoints(c, namespace, name) };
	ret->slices = found(c, KIND_SLICE, SLICES_OF_SERVICE, id, arena, &ret->n_slices);
	if (!s || mux_role(&c->settings, s, &mux) != MUX_ROLE_CHANNEL)
		return;
	snprintf(key, sizeof(key), "%s/%s %s", mux.namespace, mux.name, id);
	ret->written = found(c, KIND_SLICE, SLICES_OF_CHANNEL, key, arena, &ret->n_written);
}

/* The channel of a pass may be gone, or belong to another mux; what was written is of this mux. */
static void on_look(const char *namespace, const char *name, struct mux_sight *ret, void *user)
{
	struct observation *o = user;
	char key[ID_MAX + ID_MAX];

	observe_look(o->controller, o->arena, namespace, name, ret);
	snprintf(key, sizeof(key), "%s/%s %s/%s", o->facts.namespace, o->facts.name, namespace,
		 name);
	ret->written =
		found(o->controller, KIND_SLICE, SLICES_OF_CHANNEL, key, o->arena, &ret->n_written);
	pin(o, KIND_SERVICE, (const struct k8s_object *)ret->service);
	pin(o, KIND_ENDPOINTS, (const struct k8s_object *)ret->endpoints);
	pin_all(o, KIND_SLICE, ret->slices, ret->n_slices);
	pin_all(o, KIND_SLICE, ret->written, ret->n_written);
}

static void see_state(struct observation *o)
{
	struct mux_facts *f = &o->facts;
	const char *text = f->config_map ? k8s_map_get(&f->config_map->data, MUX_STATE_KEY) : NULL;

	if (mux_state_parse(text, o->arena, &o->state, &f->state_error) == 0)
		f->state = &o->state;
}

static void see_namespaces(struct observation *o)
{
	const struct k8s_cache *cache = operator_cache(o->controller->op, KIND_NAMESPACE);
	size_t n = k8s_cache_count(cache);
	const struct mux_namespace **all = arena_array(o->arena, n, sizeof(*all));

	for (size_t i = 0; i < n; i++) {
		all[i] = (const struct mux_namespace *)k8s_cache_at(cache, i);
		pin(o, KIND_NAMESPACE, &all[i]->object);
	}
	o->facts.namespaces = all;
	o->facts.n_namespaces = n;
}

static void see_mux(struct observation *o)
{
	struct controller *c = o->controller;
	struct mux_facts *f = &o->facts;
	const struct mux_service *s = find_service(c, f->namespace, f->name);
	struct mux_reference mux;

	f->endpoints = find_endpoints(c, f->namespace, f->name);
	pin(o, KIND_ENDPOINTS, (const struct k8s_object *)f->endpoints);
	if (!s || mux_role(&c->settings, s, &mux) != MUX_ROLE_MUX)
		return;
	f->mux = s;
	pin(o, KIND_SERVICE, &s->object);
	f->config_map = (const struct mux_config_map *)k8s_cache_get(
		operator_cache(c->op, KIND_CONFIG_MAP), f->namespace,
		mux_state_name(&c->settings, s, o->arena));
	pin(o, KIND_CONFIG_MAP, (const struct k8s_object *)f->config_map);
}

static void see_all(struct observation *o)
{
	struct mux_facts *f = &o->facts;
	char id[ID_MAX];

	see_state(o);
	see_namespaces(o);
	pair(id, f->namespace, f->name);
	f->channels =
		found(o->controller, KIND_SERVICE, SERVICES_OF_MUX, id, o->arena, &f->n_channels);
	pin_all(o, KIND_SERVICE, f->channels, f->n_channels);
	f->slices = found(o->controller, KIND_SLICE, SLICES_OF_MUX, id, o->arena, &f->n_slices);
	pin_all(o, KIND_SLICE, f->slices, f->n_slices);
}

struct observation *observe(struct controller *c, const char *namespace, const char *name,
			    bool whole)
{
	struct observation *o = mem_zalloc(sizeof(*o));
	struct mux_facts *f = &o->facts;

	o->controller = c;
	o->refs = 1;
	o->arena = arena_new();
	*f = (struct mux_facts){ .settings = &c->settings,
				 .now = loop_realtime(),
				 .namespace = namespace,
				 .name = name,
				 .look = on_look,
				 .user = o };
	see_mux(o);
	if (whole)
		see_all(o);
	return o;
}

const struct mux_facts *observation_facts(const struct observation *o)
{
	return &o->facts;
}

struct arena *observation_arena(struct observation *o)
{
	return o->arena;
}

struct observation *observation_ref(struct observation *o)
{
	o->refs++;
	return o;
}

void observation_free(struct observation *o)
{
	if (!o || --o->refs)
		return;
	for (size_t i = 0; i < o->pins.n; i++)
		operator_unref(o->controller->op, o->pins.items[i].kind, o->pins.items[i].object);
	vec_free(&o->pins);
	arena_free(o->arena);
	free(o);
}
