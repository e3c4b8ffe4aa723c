/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ports that are probed, against the ports that are served. Packets reach a server with the
 * port of the VIP, so what serves a frontend listens on the frontend's port. A check of another
 * port may pass while that is dead, or fail while it is well.
 */
#include <netinet/in.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/l4/validate_build.h"

/* Datagrams are not answered by a port of TCP. */
static uint8_t protocol_of(const struct l4_check *c)
{
	return c->type == L4_CHECK_UDP || c->type == L4_CHECK_DNS ? IPPROTO_UDP : IPPROTO_TCP;
}

static int by_number(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Sorts the ports and drops those that occur twice: several VIPs may have the same one. */
static size_t make_unique(uint16_t *ports, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(ports, n, sizeof(*ports), by_number);
	for (size_t i = 0; i < n; i++)
		if (!kept || ports[kept - 1] != ports[i])
			ports[kept++] = ports[i];
	return kept;
}

static void find_ports(struct l4__build *b, size_t backend)
{
	struct l4_backend *to = &b->backends[backend];
	struct rule_spot spot = { .in = &l4__backends_spot, .name = to->name };
	const struct doc_backend *d = b->backend_entries[backend].doc;
	uint16_t *ports = arena_array_of(b->arena, to->n_frontends, uint16_t);
	uint8_t protocol = protocol_of(to->check);
	size_t n = 0;

	for (size_t i = 0; i < to->n_frontends; i++) {
		const struct l4_frontend *f = &b->frontends[to->frontends[i]];

		if (f->protocol == protocol)
			ports[n++] = f->port;
	}
	n = make_unique(ports, n);
	if (!n)
		rule_fail(&b->sink, &spot, "healthcheck", d->healthcheck.at,
			  "%s probes the ports of frontends, but no frontend with a port of %s has "
			  "this backend",
			  rule_quote(&b->sink, to->check->name), l4_protocol_name(protocol));
	if (n > L4_PORTS_MAX)
		rule_fail(&b->sink, &spot, "healthcheck", d->healthcheck.at,
			  "%s would probe %zu ports; at most %d are possible",
			  rule_quote(&b->sink, to->check->name), n, L4_PORTS_MAX);
	to->ports = ports;
	to->n_ports = n;
}

void l4__find_ports(struct l4__build *b)
{
	for (size_t i = 0; i < b->config->n_backends; i++)
		if (b->backends[i].check && b->backends[i].check->ports == L4_PORTS_VIP)
			find_ports(b, i);
}

/* A frontend without a port serves all of them; a backend without frontends none. */
static bool is_served(const struct l4__build *b, const struct l4_backend *backend)
{
	for (size_t i = 0; i < backend->n_frontends; i++) {
		uint16_t port = b->frontends[backend->frontends[i]].port;

		if (!port || port == backend->check->port)
			return true;
	}
	return !backend->n_frontends;
}

/* One warning for each check, about the first of its backends. */
void l4__doubt_ports(struct l4__build *b)
{
	bool *told = arena_array_of(b->sink.scratch, b->config->n_checks, bool);

	for (size_t i = 0; i < b->config->n_backends; i++) {
		const struct l4_backend *backend = &b->backends[i];
		const struct l4_check *c = backend->check;
		struct rule_spot spot = { .in = &l4__checks_spot, .name = c ? c->name : NULL };
		const struct doc_check *d;

		if (!c || !c->port || told[c - b->checks] || is_served(b, backend))
			continue;
		told[c - b->checks] = true;
		d = b->check_entries[c - b->checks].doc;
		rule_doubt(&b->sink, &spot, "port", d->port.set ? d->port.at : d->at,
			   "%u is not the port of a frontend with backend %s: what serves its "
			   "clients is not probed; `ports: vip` would",
			   c->port, rule_quote(&b->sink, backend->name));
	}
}
