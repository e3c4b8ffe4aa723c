/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of the data plane, with the names of the configuration. A VIP or server that the
 * configuration does not have gets an empty name, because a data plane may hold foreign ones.
 */
#include <stdlib.h>

#include "core/l4/names.h"
#include "wire/api.h"
#include "wire/api_private.h"

char *wire__frontend_name(const struct l4_config *c, size_t frontend)
{
	return wire__text(frontend == SIZE_MAX ? "" : c->frontends[frontend].name);
}

char *wire__backend_name(const struct l4_config *c, size_t frontend, const struct addr *address)
{
	size_t backend = frontend == SIZE_MAX ? SIZE_MAX : l4_backend_of(c, frontend, address);

	return wire__text(backend == SIZE_MAX ? "" : c->backends[backend].name);
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

		as->address = wire__addr(&counted->address, a);
		as->backend = wire__backend_name(c, frontend, &counted->address);
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

	vip->address = wire__addr(&from->key.address, a);
	vip->protocol = wire__protocol(from->key.protocol, a);
	vip->port = from->key.port;
	vip->frontend = wire__frontend_name(c, frontend);
	vip->next_packets = from->packets[LB_PACKETS_NEXT];
	vip->first_packets = from->packets[LB_PACKETS_FIRST];
	vip->untracked_packets = from->packets[LB_PACKETS_UNTRACKED];
	vip->no_server_packets = from->packets[LB_PACKETS_NO_SERVER];
	vip->bytes = from->bytes;
	vip->buckets = from->buckets;
	set_servers_of_vip(c, frontend, from, a, vip);
	return vip;
}

/* Several backends may share an address; the server is counted once for all of them. */
static Maglev__VPPLBServerCounters *
one_server(const struct l4_config *c, const struct lb_server_counters *from, struct arena *a)
{
	Maglev__VPPLBServerCounters *server =
		API__NEW(a, Maglev__VPPLBServerCounters, maglev__vpplbserver_counters__init);
	size_t first, n = l4_backends_at(c, &from->address, &first);

	server->n_backends = n;
	server->backends = arena_array_of(a, n, char *);
	for (size_t i = 0; i < n; i++)
		server->backends[i] = wire__text(c->backends[c->by_address[first + i]].name);
	server->address = wire__addr(&from->address, a);
	server->packets = from->packets;
	server->bytes = from->bytes;
	return server;
}

/* n servers, from index first on. */
static void set_servers(const struct wire_counted *from, size_t first, size_t n, struct arena *a,
			Maglev__VPPLBCounters *all)
{
	const struct lb_server_counters *servers = &from->counters->servers.items[first];

	all->n_servers = n;
	all->servers = arena_array_of(a, n, Maglev__VPPLBServerCounters *);
	for (size_t i = 0; i < n; i++)
		all->servers[i] = one_server(from->config, &servers[i], a);
}

static void set_vips(const struct wire_counted *from, size_t first, size_t n, struct arena *a,
		     Maglev__VPPLBCounters *all)
{
	all->n_vips = n;
	all->vips = arena_array_of(a, n, Maglev__VPPLBVIPCounters *);
	for (size_t i = 0; i < n; i++)
		all->vips[i] = one_vip(from->config, &from->counters->vips.items[first + i], a);
}

static void set_events(const struct lb_counters *from, struct arena *a, Maglev__VPPLBCounters *all)
{
	all->n_events = from->events.n;
	all->events = arena_array_of(a, from->events.n, Maglev__VPPLBEventCounter *);
	for (size_t i = 0; i < from->events.n; i++) {
		all->events[i] =
			API__NEW(a, Maglev__VPPLBEventCounter, maglev__vpplbevent_counter__init);
		all->events[i]->name = wire__text(from->events.items[i].name);
		all->events[i]->packets = from->events.items[i].packets;
	}
}

static bool has(const struct lb_counters *counters, enum lb_has figure)
{
	return counters->has & (unsigned)figure;
}

/*
 * The fields that occur once, and the events. They belong to the first part only, because a
 * decoder would append the events again.
 */
static void set_head(const struct wire_counted *from, struct arena *a, Maglev__VPPLBCounters *all)
{
	const struct lb_counters *counters = from->counters;

	all->dataplane = wire__text(from->dataplane);
	all->at = counters->at;
	all->has_vip_bytes = has(counters, LB_HAS_VIP_BYTES);
	all->has_as_traffic = has(counters, LB_HAS_AS_TRAFFIC);
	all->has_as_buckets = has(counters, LB_HAS_AS_BUCKETS);
	all->has_as_flows = has(counters, LB_HAS_AS_FLOWS);
	all->has_server_traffic = has(counters, LB_HAS_SERVER_TRAFFIC);
	set_events(counters, a, all);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

Maglev__VPPLBCounters *wire_lb_counters(const struct wire_counted *from, size_t first, size_t max,
					struct arena *a)
{
	size_t vips = from->counters->vips.n, servers = from->counters->servers.n, n;
	Maglev__VPPLBCounters *all;

	if (first && first >= vips + servers)
		return NULL;
	all = API__NEW(a, Maglev__VPPLBCounters, maglev__vpplbcounters__init);
	if (!first)
		set_head(from, a, all);
	n = first < vips ? smaller(vips - first, max) : 0;
	set_vips(from, first, n, a, all);
	first = first + n - vips; /* index of the server; wraps to a huge number before the first */
	if (n < max && first < servers)
		set_servers(from, first, smaller(servers - first, max - n), a, all);
	return all;
}
