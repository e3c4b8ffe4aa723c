/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: all resources together. Pools are used as soon as they are valid by
 * themselves; what the whole says is shown to people.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/controller/private.h"

static void collect(const struct controller *c, struct arena *arena, struct wire_metal *ret)
{
	*ret = (struct wire_metal){ 0 };
	for (size_t i = 0; i < KIND_SERVICES; i++) {
		const struct k8s_cache *cache = operator_cache(c->op, KIND_METAL + i);
		size_t n = k8s_cache_count(cache);
		const struct k8s_object **items =
			arena_array_of(arena, n + 1, const struct k8s_object *);

		for (size_t j = 0; j < n; j++)
			items[j] = k8s_cache_at(cache, j);
		ret->kinds[i] = (struct wire_metal_objects){ items, n };
	}
}

static const char *check(const struct wire_metal *from, const struct metal_options *options,
			 struct arena *arena, struct metal_config *ret)
{
	struct metal_error error;
	struct metal_doc doc;

	wire_metal_doc(from, arena, &doc);
	return metal_config_build(&doc, options, arena, ret, &error) < 0 ? error.text : NULL;
}

/* ---- for webhooks ---- */

/* collect() has left room for one more. */
static void replace(struct wire_metal_objects *all, const struct k8s_object *o)
{
	const struct k8s_object **items = (const struct k8s_object **)(uintptr_t)all->items;
	size_t i = 0;

	while (i < all->n && strcmp(items[i]->name, o->name) != 0)
		i++;
	items[i] = o;
	all->n += i == all->n;
}

const char *controller_check(const struct controller *c, size_t kind,
			     const struct k8s_object *instead, struct arena *arena)
{
	static const struct metal_options early = { .early = true };
	struct metal_config ignored;
	struct wire_metal from;

	collect(c, arena, &from);
	if (instead)
		replace(&from.kinds[kind], instead);
	return check(&from, &early, arena, &ignored);
}

const char *controller_check_alone(const struct controller *c, size_t kind,
				   const struct k8s_object *object, struct arena *arena)
{
	static const struct metal_options early = { .early = true };
	struct wire_metal from, alone = { 0 };
	struct metal_config ignored;

	collect(c, arena, &from);
	alone.kinds[WIRE_NODES] = from.kinds[WIRE_NODES];
	alone.kinds[kind] = (struct wire_metal_objects){ &object, 1 };
	return check(&alone, &early, arena, &ignored);
}

/* ---- the turn ---- */

static void set_error(char **to, const char *text)
{
	char *copy = text ? mem_strdup(text) : NULL;

	free(*to);
	*to = copy;
}

static void on_freed(const struct ipam_lease *lease, void *user)
{
	log_info("address-freed", LOG_S("service", lease->key), LOG_S("reason", "pool-changed"));
}

/* The pools of the arena are in force from now on. */
static void use_pools(struct controller *c, struct arena *arena, const struct metal_config *pools)
{
	const struct metal_config *old = c->in_force;

	ipam_set_pools(c->ipam, pools, on_freed, c);
	for (size_t i = 0; i < pools->n_pools; i++)
		statuses__pool(c, pools->pools[i].name);
	for (size_t i = 0; old && i < old->n_pools; i++)
		statuses__pool(c, old->pools[i].name);
	arena_free(c->arena);
	c->arena = arena;
	c->in_force = pools;
	log_info("config-loaded", LOG_U("pools", pools->n_pools));
	services__add_all(c);
}

/* A cluster without the kind says nothing about pools: it must not look like one without pools. */
static bool has_kind(const struct controller *c)
{
	return k8s_informer_state(operator_informer(c->op, KIND_METAL + WIRE_POOLS)) != K8S_ABSENT;
}

/* What is wrong with the pools alone; if nothing is, they are used. */
static void look_at_pools(struct controller *c, const struct wire_metal *from)
{
	static const struct metal_options only = { .pools_only = true };
	struct arena *arena = arena_new();
	struct metal_config *pools = arena_new_of(arena, struct metal_config);
	const char *error = has_kind(c) ? check(from, &only, arena, pools)
					: "the kind IPAddressPool is not installed";

	set_error(&c->pool_error, error);
	c->stats.stale = error;
	if (error) {
		c->stats.failures++;
		arena_free(arena);
		return;
	}
	c->stats.loaded = true;
	use_pools(c, arena, pools);
}

enum queue_result config__turn(struct controller *c, struct key *k)
{
	static const struct metal_options all = { .without_secrets = true };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct metal_config ignored;
	struct wire_metal from;
	const char *error;

	collect(c, arena, &from);
	look_at_pools(c, &from);
	error = check(&from, &all, arena, &ignored);
	if (error && !cstr_eq(error, c->error))
		log_warn("config-invalid", LOG_S("error", error), LOG_B("in_force", c->in_force));
	if (!error && c->error)
		log_info("config-valid");
	set_error(&c->error, error);
	c->checked = true;
	operator_add(c->op, &c->status.item, RANK_STATUS);
	operator_add(c->op, &c->state.item, RANK_STATUS);
	return QUEUE_DONE;
}
