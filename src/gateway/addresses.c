/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/addresses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/log/log.h"

/* What a Gateway has. */
struct entry {
	char *key; /* "NAMESPACE/NAME" */
	struct addr given[PLAN_ADDRESSES_MAX];
	size_t n;
	enum gw_address_state state;
	char *message;
	bool seen; /* in the present pass */
};

/* An address that a router cannot use. */
struct refusal {
	struct addr addr;
	int64_t until; /* monotonic */
	char *why;
};

struct addresses {
	struct addresses_config config;
	struct map entries;
	VEC(struct entry *) all;
	VEC(struct refusal) refusals; /* at most one for each address of a Gateway */
	ev_timer timer;
	size_t missing;
};

/* ---- addresses that routers refuse ---- */

static const struct refusal *refusal_of(const struct addresses *a, const struct addr *addr)
{
	for (size_t i = 0; i < a->refusals.n; i++)
		if (addr_cmp(&a->refusals.items[i].addr, addr) == 0)
			return &a->refusals.items[i];
	return NULL;
}

static void drop_refusals(struct addresses *a)
{
	int64_t now = loop_monotonic();

	for (size_t i = a->refusals.n; i--;)
		if (a->refusals.items[i].until <= now) {
			free(a->refusals.items[i].why);
			vec_remove_at(&a->refusals, i);
		}
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct addresses *a = container_of(timer, struct addresses, timer);

	drop_refusals(a);
	if (!a->refusals.n)
		ev_timer_stop(loop, timer);
	a->config.due(a->config.user);
}

static bool is_given(const struct addresses *a, const struct addr *addr)
{
	for (size_t i = 0; i < a->all.n; i++)
		for (size_t j = 0; j < a->all.items[i]->n; j++)
			if (addr_cmp(&a->all.items[i]->given[j], addr) == 0)
				return true;
	return false;
}

bool addresses_refuse(struct addresses *a, const char *address, const char *why)
{
	struct endpoint at;

	if (endpoint_parse(address, &at) < 0 || !is_given(a, &at.addr) || refusal_of(a, &at.addr))
		return false;
	vec_push(&a->refusals,
		 (struct refusal){ at.addr, loop_monotonic() + ADDRESSES_REST, mem_strdup(why) });
	if (!ev_is_active(&a->timer))
		ev_timer_again(a->config.loop, &a->timer);
	return true;
}

/* ---- results ---- */

static struct entry *entry_of(struct addresses *a, const char *key)
{
	struct entry *e = map_get(&a->entries, key);

	if (e)
		return e;
	e = mem_zalloc(sizeof(*e));
	e->key = mem_strdup(key);
	map_put(&a->entries, e->key, e);
	vec_push(&a->all, e);
	return e;
}

static bool is_same(const struct entry *e, const struct gw_addresses *to)
{
	if (e->state != to->state || e->n != to->n || !cstr_eq(e->message, to->message))
		return false;
	for (size_t i = 0; i < e->n; i++)
		if (addr_cmp(&e->given[i], &to->items[i]) != 0)
			return false;
	return true;
}

/* The only place where what a Gateway has changes. */
static bool set(struct addresses *a, struct entry *e, const struct gw_gateway *gateway,
		const struct gw_addresses *to)
{
	char text[ADDR_STRLEN] = "";

	e->seen = true;
	a->missing += to->state != GW_ADDRESS_OK;
	if (is_same(e, to))
		return false;
	e->state = to->state;
	e->n = to->n;
	for (size_t i = 0; i < to->n; i++)
		e->given[i] = to->items[i];
	free(e->message);
	e->message = to->message ? mem_strdup(to->message) : NULL;
	if (to->n)
		addr_format(&to->items[0], text);
	log_info("address", LOG_S("gateway", e->key), LOG_S("address", text),
		 LOG_S("message", to->message ?: ""));
	gw_set_addresses(a->config.gw, gateway->object.namespace, gateway->object.name, to);
	return true;
}

/* ---- from ranges ---- */

static struct addr address_of(const struct k8s_list *list, size_t i)
{
	const struct gw_address *item = (const struct gw_address *)list->items + i;
	struct addr addr = { 0 };

	if (!item->type || strcmp(item->type, "IPAddress") == 0)
		addr_parse(item->value ?: "", &addr);
	return addr;
}

/* What it asks for, and what it has; other types than addresses are translation's to refuse. */
static void fill(struct addresses *a, const struct gw_gateway *g, const char *key,
		 struct plan_gateway *p)
{
	const struct entry *e = map_get(&a->entries, key);

	*p = (struct plan_gateway){ .key = key, .created = g->created ?: "" };
	for (size_t i = 0; i < g->addresses.n && p->n_requested < PLAN_ADDRESSES_MAX; i++) {
		struct addr addr = address_of(&g->addresses, i);

		if (addr_is_set(&addr))
			p->requested[p->n_requested++] = addr;
	}
	if (e && e->n)
		p->held = e->given[0];
	else if (g->status_addresses.n)
		p->held = address_of(&g->status_addresses, 0);
}

static bool apply(struct addresses *a, const struct gw_gateway *gateway,
		  const struct plan_gateway *p)
{
	struct gw_addresses to = { p->given, p->n_given, GW_ADDRESS_OK, NULL };
	_cleanup_(buf_free) struct buf message = { 0 };
	char text[ADDR_STRLEN];

	switch (p->state) {
	case PLAN_ADDRESS_OK:
		break;
	case PLAN_ADDRESS_OUTSIDE:
		to.state = GW_ADDRESS_NOT_USABLE;
		buf_printf(&message, "%s is in no address pool", addr_format(&p->bad, text));
		break;
	case PLAN_ADDRESS_TAKEN:
		to.state = GW_ADDRESS_NOT_USABLE;
		buf_printf(&message, "%s is used by Gateway %s", addr_format(&p->bad, text),
			   p->taken);
		break;
	case PLAN_ADDRESS_NONE:
		to.state = GW_ADDRESS_NONE_LEFT;
		buf_adds(&message, a->config.n_ranges ? "the address pools have no address left"
						      : "there is no address pool");
		break;
	}
	for (size_t i = 0; i < p->n_given; i++) {
		const struct refusal *r = refusal_of(a, &p->given[i]);

		if (!r)
			continue;
		to.state = GW_ADDRESS_NOT_USABLE;
		to.n = 0;
		buf_printf(&message, "routers cannot listen on %s: %s",
			   addr_format(&p->given[i], text), r->why);
		break;
	}
	to.message = message.n ? buf_cstr(&message) : NULL;
	return set(a, entry_of(a, p->key), gateway, &to);
}

static char *key_of(const struct gw_gateway *g)
{
	struct buf key = { 0 };

	buf_printf(&key, "%s/%s", g->object.namespace, g->object.name);
	buf_cstr(&key);
	return key.p;
}

static bool update_from_ranges(struct addresses *a)
{
	size_t n = gw_gateways(a->config.gw);
	struct plan_gateway *plans = mem_zalloc((n + 1) * sizeof(*plans));
	char **keys = mem_zalloc((n + 1) * sizeof(char *));
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		const struct gw_gateway *g = gw_gateway_at(a->config.gw, i).object;

		keys[i] = key_of(g);
		fill(a, g, keys[i], &plans[i]);
	}
	plan_addresses(a->config.ranges, a->config.n_ranges, plans, n);
	for (size_t i = 0; i < n; i++)
		changed |= apply(a, gw_gateway_at(a->config.gw, i).object, &plans[i]);
	for (size_t i = 0; i < n; i++) /* one may be named in the result of another */
		free(keys[i]);
	free(plans);
	free(keys);
	return changed;
}

/* ---- from Services ---- */

static bool update_from_service(struct addresses *a, const struct gw_gateway *g)
{
	struct gw_addresses to = { .state = GW_ADDRESS_PENDING,
				   .message = "its Service has no address yet" };
	_cleanup_(buf_free) struct buf message = { 0 };
	char *key = key_of(g);
	struct addr found;
	bool changed;

	if (services_address(a->config.services, g->object.namespace, g->object.name, &found)) {
		const struct refusal *r = refusal_of(a, &found);

		to = (struct gw_addresses){ &found, 1, GW_ADDRESS_OK, NULL };
		if (r) {
			to.state = GW_ADDRESS_NOT_USABLE;
			to.n = 0;
			buf_printf(&message, "routers cannot listen on it: %s", r->why);
			to.message = buf_cstr(&message);
		}
	}
	changed = set(a, entry_of(a, key), g, &to);
	free(key);
	return changed;
}

/* ---- the whole ---- */

static void free_entry(struct entry *e)
{
	free(e->key);
	free(e->message);
	free(e);
}

static void drop_gone(struct addresses *a)
{
	for (size_t i = a->all.n; i--;) {
		struct entry *e = a->all.items[i];

		if (e->seen)
			continue;
		map_remove(&a->entries, e->key);
		vec_remove_at(&a->all, i);
		free_entry(e);
	}
}

bool addresses_update(struct addresses *a)
{
	bool changed = false;

	a->missing = 0;
	for (size_t i = 0; i < a->all.n; i++)
		a->all.items[i]->seen = false;
	if (!a->config.services)
		changed = update_from_ranges(a);
	for (size_t i = 0; a->config.services && i < gw_gateways(a->config.gw); i++)
		changed |= update_from_service(a, gw_gateway_at(a->config.gw, i).object);
	drop_gone(a);
	return changed;
}

size_t addresses_given(const struct addresses *a)
{
	return a->all.n - a->missing;
}

size_t addresses_missing(const struct addresses *a)
{
	return a->missing;
}

struct addresses *addresses_new(const struct addresses_config *config)
{
	struct addresses *a = mem_zalloc(sizeof(*a));

	a->config = *config;
	ev_timer_init(&a->timer, on_timer, 0., loop_seconds(ADDRESSES_REST / 60));
	return a;
}

void addresses_free(struct addresses *a)
{
	if (!a)
		return;
	ev_timer_stop(a->config.loop, &a->timer);
	for (size_t i = 0; i < a->all.n; i++)
		free_entry(a->all.items[i]);
	for (size_t i = 0; i < a->refusals.n; i++)
		free(a->refusals.items[i].why);
	vec_free(&a->refusals);
	vec_free(&a->all);
	map_free(&a->entries);
	free(a);
}
