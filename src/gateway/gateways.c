/* SPDX-License-Identifier: Apache-2.0 */
/* gateways: Gateways as the program sees them, their addresses, and how results are freed. */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "src/gateway/model.h"

/* ---- addresses ---- */

void gw_set_addresses(struct gw *g, const char *namespace, const char *name,
		      const struct gw_addresses *addresses)
{
	struct arena *arena = arena_new();
	const char *key = gw__key(arena, namespace, name);
	const char *message = gw__text(addresses->message);
	size_t list = addresses->n * sizeof(struct addr);
	struct gw__addresses *a = mem_zalloc(sizeof(*a) + list + strlen(key) + strlen(message) + 2);
	char *texts = (char *)a + sizeof(*a) + list;
	struct gw__node *n = gw__find(g, GW_GATEWAY, key);

	a->state = addresses->state;
	a->n = addresses->n;
	if (list)
		memcpy(a->items, addresses->items, list);
	a->key = memcpy(texts, key, strlen(key) + 1);
	texts += strlen(key) + 1;
	a->message = *message ? memcpy(texts, message, strlen(message) + 1) : NULL;
	free(map_remove(&g->addresses, key));
	if (addresses->n || addresses->state != GW_ADDRESS_PENDING || a->message)
		map_put(&g->addresses, a->key, a);
	else
		free(a);
	if (n)
		gw__make_stale(g, n);
	arena_free(arena);
}

/* ---- what the program sees ---- */

static struct gw_view view_of(const struct gw__node *n)
{
	const struct gw__view *v = gw__view(n);

	return (struct gw_view){ .object = (const void *)n->object,
				 .accepted = v->accepted.ok,
				 .ports = v->ports,
				 .n_ports = v->n_ports };
}

size_t gw_gateways(const struct gw *g)
{
	return g->gateways.n;
}

struct gw_view gw_gateway_at(const struct gw *g, size_t i)
{
	return view_of(g->gateways.items[i]);
}

bool gw_gateway_find(const struct gw *g, const char *namespace, const char *name,
		     struct gw_view *ret)
{
	struct arena *arena = arena_new();
	const struct gw__node *n = gw__find(g, GW_GATEWAY, gw__key(arena, namespace, name));

	arena_free(arena);
	if (!n || !n->result || !n->object)
		return false;
	*ret = view_of(n);
	return true;
}

void gw_on_gateway(struct gw *g, void (*fn)(const char *namespace, const char *name, void *user),
		   void *user)
{
	g->on_gateway = fn;
	g->on_gateway_user = user;
}

/* ---- results ---- */

void gw__free_result(struct gw *g, struct gw__node *n)
{
	void *result = n->result;

	(void)g;
	n->result = NULL;
	if (!result)
		return;
	if (n->kind == GW_GATEWAY_CLASS) {
		gw__verdict_free(result);
		free(result);
	} else if (n->kind == GW_GATEWAY) {
		gw__view_free(result);
	} else if (n->kind >= GW_HTTP_ROUTE && n->kind <= GW_UDP_ROUTE) {
		gw__route_free(result);
	} else if (n->kind == GW__LISTENER) {
		gw__slot_free(result);
	} else if (n->kind == GW__POOL) {
		gw__pool_free(result);
	} else {
		gw__policy_free(result);
	}
}
