/* SPDX-License-Identifier: Apache-2.0 */
/* Leases and the addresses that they use: finding, sharing, putting and taking. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "core/ipam/private.h"

/* ---- finding ---- */

size_t ipam__entry_place(const struct ipam *m, const char *key)
{
	return sorted_place(m->entries.n, i, strcmp(m->entries.items[i]->key, key) < 0);
}

struct ipam__entry *ipam__find_entry(const struct ipam *m, const char *key)
{
	size_t at = ipam__entry_place(m, key);

	return at < m->entries.n && strcmp(m->entries.items[at]->key, key) == 0
		       ? m->entries.items[at]
		       : NULL;
}

struct ipam__pool *ipam__find_pool(const struct ipam *m, const char *name)
{
	size_t at = sorted_place(m->n_pools, i, strcmp(m->pools[i].metal->name, name) < 0);

	return at < m->n_pools && strcmp(m->pools[at].metal->name, name) == 0 ? &m->pools[at]
									      : NULL;
}

/* The network of an address, whether its pool avoids that address or not. */
struct ipam__range *ipam__find_range(const struct ipam *m, const struct addr *a)
{
	size_t at = sorted_place(m->n_ranges, i, addr_cmp(&m->ranges[i].prefix.address, a) <= 0);

	return at && metal_prefix_has(&m->ranges[at - 1].prefix, a) ? &m->ranges[at - 1] : NULL;
}

size_t ipam__slot_place(const struct ipam__slots *list, const struct addr *a)
{
	return sorted_place(list->n, i, addr_cmp(&list->items[i]->address, a) < 0);
}

struct ipam__slot *ipam__find_slot(const struct ipam__slots *list, const struct addr *a)
{
	size_t at = ipam__slot_place(list, a);

	return at < list->n && addr_cmp(&list->items[at]->address, a) == 0 ? list->items[at] : NULL;
}

static int group_cmp(const struct ipam__group *g, const char *sharing, const char *backend)
{
	int by_sharing = strcmp(g->sharing, sharing);

	return by_sharing ? by_sharing : strcmp(g->backend, backend);
}

static size_t group_place(const struct ipam *m, const char *sharing, const char *backend)
{
	return sorted_place(m->groups.n, i, group_cmp(m->groups.items[i], sharing, backend) < 0);
}

struct ipam__group *ipam__find_group(const struct ipam *m, const char *sharing, const char *backend)
{
	size_t at = group_place(m, sharing, backend);

	return at < m->groups.n && group_cmp(m->groups.items[at], sharing, backend) == 0
		       ? m->groups.items[at]
		       : NULL;
}

/* The pool that has all the addresses. */
struct ipam__pool *ipam__pool_of(const struct ipam *m, const struct addr *addresses, size_t n)
{
	struct ipam__pool *pool = NULL;

	for (size_t i = 0; i < n; i++) {
		struct ipam__range *range = ipam__find_range(m, &addresses[i]);

		if (!range || !metal_pool_has(range->pool->metal, &addresses[i]) ||
		    (pool && pool != range->pool))
			return NULL;
		pool = range->pool;
	}
	return pool;
}

/* ---- sharing ---- */

static bool is_mine(const struct ipam__entry *e, const struct ipam_request *r)
{
	return strcmp(e->key, r->key) == 0;
}

static const struct ipam_port *collision(const struct ipam__entry *e, const struct ipam_request *r)
{
	for (size_t i = 0; i < r->n_ports; i++)
		for (size_t j = 0; j < e->n_ports; j++)
			if (r->ports[i].port == e->ports[j].port &&
			    strcmp(r->ports[i].protocol, e->ports[j].protocol) == 0)
				return &r->ports[i];
	return NULL;
}

static void tell_mismatch(const struct ipam__entry *e, const struct ipam_request *r,
			  struct buf *why)
{
	if (!*e->sharing)
		buf_adds(why, ": existing service does not allow sharing");
	else if (!*ipam__text(r->sharing))
		buf_adds(why, ": new service does not allow sharing");
	else if (strcmp(e->sharing, r->sharing) != 0)
		buf_printf(why, ": sharing key \"%s\" does not match existing sharing key \"%s\"",
			   r->sharing, e->sharing);
	else
		buf_printf(why, ": backend key \"%s\" does not match existing sharing key \"%s\"",
			   ipam__text(r->backend), e->backend);
}

/* Whether the keys of a slot are those of the request. */
static bool same_group(const struct ipam__slot *s, const struct ipam_request *r)
{
	return s->group && group_cmp(s->group, ipam__text(r->sharing), ipam__text(r->backend)) == 0;
}

/* Appends the other users of a slot, and returns the first; NULL if there is none. */
static const struct ipam__entry *others(const struct ipam__slot *s, const struct ipam_request *r,
					struct buf *out)
{
	const struct ipam__entry *first = NULL;

	for (size_t i = 0; i < s->users.n; i++) {
		const struct ipam__entry *e = s->users.items[i];

		if (is_mine(e, r))
			continue;
		if (out)
			buf_printf(out, "%s%s", first ? "," : "", e->key);
		first = first ? first : e;
	}
	return first;
}

/* Whether the request may use an address that is in use. why may be NULL. */
bool ipam__may_share(const struct ipam__slot *s, const struct ipam_request *r, struct buf *why)
{
	_cleanup_(buf_free) struct buf names = { 0 };
	char address[ADDR_STRLEN];

	if (!same_group(s, r)) {
		const struct ipam__entry *other = others(s, r, why ? &names : NULL);

		if (!other)
			return true;
		if (why) {
			buf_printf(why,
				   "can't change sharing key for \"%s\", address also in use by %s",
				   r->key, buf_cstr(&names));
			tell_mismatch(other, r, why);
		}
		return false;
	}
	for (size_t i = 0; i < s->users.n; i++) {
		const struct ipam__entry *e = s->users.items[i];
		const struct ipam_port *port = is_mine(e, r) ? NULL : collision(e, r);

		if (!port)
			continue;
		if (why)
			buf_printf(why, "port %s/%u is already in use on \"%s\"", port->protocol,
				   port->port, addr_format(&s->address, address));
		return false;
	}
	return true;
}

/* ---- putting and taking ---- */

static void add_slot(struct ipam__slots *list, struct ipam__slot *s)
{
	size_t at = ipam__slot_place(list, &s->address);

	vec_insert_at(list, at);
	list->items[at] = s;
}

static void remove_slot(struct ipam__slots *list, const struct ipam__slot *s)
{
	size_t at = ipam__slot_place(list, &s->address);

	vec_remove_at(list, at);
}

static void leave_group(struct ipam *m, struct ipam__slot *s)
{
	struct ipam__group *g = s->group;
	size_t at;

	s->group = NULL;
	if (!g)
		return;
	remove_slot(&g->list, s);
	if (g->list.n)
		return;
	at = group_place(m, g->sharing, g->backend);
	vec_remove_at(&m->groups, at);
	vec_free(&g->list);
	free(g->sharing);
	free(g->backend);
	free(g);
}

static void join_group(struct ipam *m, struct ipam__slot *s, const struct ipam__entry *e)
{
	struct ipam__group *g = ipam__find_group(m, e->sharing, e->backend);

	if (s->group == g && g)
		return;
	leave_group(m, s);
	if (!*e->sharing)
		return;
	if (!g) {
		size_t at = group_place(m, e->sharing, e->backend);

		g = mem_zalloc(sizeof(*g));
		g->sharing = mem_strdup(e->sharing);
		g->backend = mem_strdup(e->backend);
		vec_insert_at(&m->groups, at);
		m->groups.items[at] = g;
	}
	s->group = g;
	add_slot(&g->list, s);
}

static size_t user_place(const struct ipam__slot *s, const struct ipam__entry *e)
{
	if (!s->users.items)
		return 0;
	return sorted_place(s->users.n, i, strcmp(s->users.items[i]->key, e->key) < 0);
}

static void use(struct ipam *m, struct ipam__entry *e, size_t i)
{
	struct ipam__range *range = ipam__find_range(m, &e->lease.addresses[i]);
	struct ipam__slot *s = ipam__find_slot(&range->used, &e->lease.addresses[i]);
	size_t at;

	if (!s) {
		s = mem_zalloc(sizeof(*s));
		s->address = e->lease.addresses[i];
		add_slot(&range->used, s);
	}
	join_group(m, s, e);
	at = user_place(s, e);
	vec_insert_at(&s->users, at);
	s->users.items[at] = e;
	e->slots[i] = s;
}

static void disuse(struct ipam *m, struct ipam__entry *e, size_t i)
{
	struct ipam__slot *s = e->slots[i];
	struct ipam__range *range = ipam__find_range(m, &s->address);
	size_t at = user_place(s, e);

	vec_remove_at(&s->users, at);
	e->slots[i] = NULL;
	if (s->users.n)
		return;
	leave_group(m, s);
	remove_slot(&range->used, s);
	vec_free(&s->users);
	free(s);
}

void ipam__detach(struct ipam *m, struct ipam__entry *e)
{
	for (size_t i = 0; i < e->lease.n; i++)
		disuse(m, e, i);
	e->pool->services--;
}

void ipam__attach(struct ipam *m, struct ipam__entry *e, struct ipam__pool *pool)
{
	e->pool = pool;
	e->lease.pool = pool->metal->name;
	for (size_t i = 0; i < e->lease.n; i++)
		use(m, e, i);
	pool->services++;
}

static void free_ports(struct ipam__entry *e)
{
	for (size_t i = 0; i < e->n_ports; i++)
		free((char *)(uintptr_t)e->ports[i].protocol);
	free(e->ports);
}

static void free_values(struct ipam__entry *e)
{
	free_ports(e);
	free(e->sharing);
	free(e->backend);
}

void ipam__free_entry(struct ipam__entry *e)
{
	free_values(e);
	free(e->key);
	free(e);
}

static struct ipam__entry *new_entry(struct ipam *m, const char *key)
{
	size_t at = ipam__entry_place(m, key);
	struct ipam__entry *e = mem_zalloc(sizeof(*e));

	e->key = mem_strdup(key);
	vec_insert_at(&m->entries, at);
	m->entries.items[at] = e;
	return e;
}

static void set_values(struct ipam__entry *e, const struct ipam_request *r)
{
	e->sharing = mem_strdup(ipam__text(r->sharing));
	e->backend = mem_strdup(ipam__text(r->backend));
	e->n_ports = r->n_ports;
	e->ports = mem_resize(NULL, r->n_ports, sizeof(*e->ports));
	for (size_t i = 0; i < r->n_ports; i++)
		e->ports[i] =
			(struct ipam_port){ mem_strdup(r->ports[i].protocol), r->ports[i].port };
}

/* The addresses were checked. The request may borrow from the lease itself. */
void ipam__put(struct ipam *m, const struct ipam_request *r, const struct addr *addresses, size_t n,
	       struct ipam__pool *pool)
{
	struct ipam__entry *e = ipam__find_entry(m, r->key), old = { 0 };
	struct addr copy[IPAM_ADDRESSES];

	memcpy(copy, addresses, n * sizeof(*addresses));
	if (!e) {
		e = new_entry(m, r->key);
	} else {
		ipam__detach(m, e);
		old = *e;
	}
	set_values(e, r);
	e->lease = (struct ipam_lease){
		.key = e->key, .n = n, .sharing = e->sharing, .backend = e->backend
	};
	memcpy(e->lease.addresses, copy, n * sizeof(*copy));
	ipam__attach(m, e, pool);
	if (old.key)
		free_values(&old);
}
