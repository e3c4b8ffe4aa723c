/* SPDX-License-Identifier: Apache-2.0 */
/* What the data plane counted, with the names of the configuration. */
#include <stdlib.h>

#include "core/l4/names.h"
#include "wire/api.h"
#include "wire/api_private.h"

char *api__frontend_name(const struct l4_config *c, size_t frontend)
{
	return api__text(frontend == SIZE_MAX ? "" : c->frontends[frontend].name);
}

char *api__backend_name(const struct l4_config *c, size_t frontend, const struct addr *address)
{
	size_t backend = frontend == SIZE_MAX ? SIZE_MAX : l4_backend_of(c, frontend, address);

	return api__text(backend == SIZE_MAX ? "" : c->backends[backend].name);
}

static void set_servers_of_vip(const struct l4_config *c, size_t frontend,
			       const struct lb_vip_counters *from, struct arena *a,
			       Maglev__VPPLBVIPCounters *vip)
{
	vip->n_application_servers = from->as.n;
	vip->application_servers = arena_array_of(a, from->as.n, Maglev__VPPLBASCounters *);
	for (size_t i = 0; i < from->as.n; i++) {
		const struct lb_as_counters *counted = &from->as.items[i];
		Maglev__VPPLBASCounters *as =
			API__NEW(a, Maglev__VPPLBASCounters, maglev__vpplbascounters__init);

		as->address = api__addr(&counted->address, a);
		as->backend = api__backend_name(c, frontend, &counted->address);
		as->packets = counted->packets;
		as->bytes = counted->bytes;
		as->buckets = counted->buckets;
		as->flows = counted->flows;
		vip->application_servers[i] = as;
	}
}

static Maglev__VPPLBVIPCounters *one_vip(const struct l4_config *c,
					 const struct lb_vip_counters *from, struct arena *a)
{
	Maglev__VPPLBVIPCounters *vip =
		API__NEW(a, Maglev__VPPLBVIPCounters, maglev__vpplbvipcounters__init);
	size_t frontend = l4_frontend_of(c, &from->key);

	vip->address = api__addr(&from->key.address, a);
	vip->protocol = api__protocol(from->key.protocol, a);
	vip->port = from->key.port;
	vip->frontend = api__frontend_name(c, frontend);
	vip->next_packets = from->packets[LB_PACKETS_NEXT];
	vip->first_packets = from->packets[LB_PACKETS_FIRST];
	vip->untracked_packets = from->packets[LB_PACKETS_UNTRACKED];
	vip->no_server_packets = from->packets[LB_PACKETS_NO_SERVER];
	vip->bytes = from->bytes;
	vip->buckets = from->buckets;
	set_servers_of_vip(c, frontend, from, a, vip);
	return vip;
}

/* Backends by address, those of one address by name. */
static int backend_cmp(const void *a, const void *b)
{
	const struct l4_backend *x = *(const struct l4_backend *const *)a;
	const struct l4_backend *y = *(const struct l4_backend *const *)b;
	int order = addr_cmp(&x->address, &y->address);

	return order ? order : (x > y) - (x < y); /* they stand by name */
}

static const struct l4_backend **by_address(const struct l4_config *c, struct arena *a)
{
	const struct l4_backend **list =
		arena_array_of(a, c->n_backends, const struct l4_backend *);

	for (size_t i = 0; i < c->n_backends; i++)
		list[i] = &c->backends[i];
	if (c->n_backends)
		qsort(list, c->n_backends, sizeof(*list), backend_cmp);
	return list;
}

/* Moves *at, which goes along with the servers, behind the backends of this one. */
static Maglev__VPPLBServerCounters *one_server(const struct l4_config *c,
					       const struct lb_server_counters *from,
					       const struct l4_backend *const *backends, size_t *at,
					       struct arena *a)
{
	Maglev__VPPLBServerCounters *server =
		API__NEW(a, Maglev__VPPLBServerCounters, maglev__vpplbserver_counters__init);
	size_t i = *at, first;

	while (i < c->n_backends && addr_cmp(&backends[i]->address, &from->address) < 0)
		i++;
	for (first = i; i < c->n_backends; i++)
		if (addr_cmp(&backends[i]->address, &from->address) != 0)
			break;
	*at = i;
	server->backends = arena_array_of(a, i - first, char *);
	for (size_t k = first; k < i; k++)
		server->backends[server->n_backends++] = api__text(backends[k]->name);
	server->address = api__addr(&from->address, a);
	server->packets = from->packets;
	server->bytes = from->bytes;
	return server;
}

static void set_servers(const struct l4_config *c, const struct lb_counters *from, struct arena *a,
			Maglev__VPPLBCounters *all)
{
	const struct l4_backend **backends;
	size_t at = 0;

	if (!from->servers.n)
		return;
	backends = by_address(c, a);
	all->n_servers = from->servers.n;
	all->servers = arena_array_of(a, from->servers.n, Maglev__VPPLBServerCounters *);
	for (size_t i = 0; i < from->servers.n; i++)
		all->servers[i] = one_server(c, &from->servers.items[i], backends, &at, a);
}

static void set_events(const struct lb_counters *from, struct arena *a, Maglev__VPPLBCounters *all)
{
	all->n_events = from->events.n;
	all->events = arena_array_of(a, from->events.n, Maglev__VPPLBEventCounter *);
	for (size_t i = 0; i < from->events.n; i++) {
		all->events[i] =
			API__NEW(a, Maglev__VPPLBEventCounter, maglev__vpplbevent_counter__init);
		all->events[i]->name = api__text(from->events.items[i].name);
		all->events[i]->packets = from->events.items[i].packets;
	}
}

static bool has(const struct lb_counters *counters, enum lb_has figure)
{
	return counters->has & (unsigned)figure;
}

Maglev__VPPLBCounters *api_lb_counters(const char *dataplane, const struct l4_config *c,
				       const struct lb_counters *counters, struct arena *a)
{
	Maglev__VPPLBCounters *all =
		API__NEW(a, Maglev__VPPLBCounters, maglev__vpplbcounters__init);

	all->dataplane = api__text(dataplane);
	all->at = counters->at;
	all->has_vip_bytes = has(counters, LB_HAS_VIP_BYTES);
	all->has_as_traffic = has(counters, LB_HAS_AS_TRAFFIC);
	all->has_as_buckets = has(counters, LB_HAS_AS_BUCKETS);
	all->has_as_flows = has(counters, LB_HAS_AS_FLOWS);
	all->has_server_traffic = has(counters, LB_HAS_SERVER_TRAFFIC);
	all->n_vips = counters->vips.n;
	all->vips = arena_array_of(a, counters->vips.n, Maglev__VPPLBVIPCounters *);
	for (size_t i = 0; i < counters->vips.n; i++)
		all->vips[i] = one_vip(c, &counters->vips.items[i], a);
	set_servers(c, counters, a, all);
	set_events(counters, a, all);
	return all;
}
