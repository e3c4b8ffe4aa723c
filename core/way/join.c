/* SPDX-License-Identifier: Apache-2.0 */
/* Which facts of different programs are about the same thing; the rules are in way.h. */
#include <string.h>

#include "base/sorted.h"
#include "core/way/way_private.h"

bool way__same_address(const char *a, const char *b)
{
	struct addr one, other;

	if (addr_parse(a, &one) < 0 || addr_parse(b, &other) < 0)
		return false;
	return addr_cmp(&one, &other) == 0;
}

struct str way__host(const char *address)
{
	const char *colon = strrchr(address, ':');
	struct str host = { address, colon ? (size_t)(colon - address) : strlen(address) };

	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = (struct str){ host.p + 1, host.n - 2 };
	return host;
}

const struct way_backend *way__backend(const struct way_maglevd *m, const char *name)
{
	size_t at = sorted_place(m->n_backends, i, strcmp(m->backends[i].name, name) < 0);

	return at < m->n_backends && strcmp(m->backends[at].name, name) == 0 ? &m->backends[at]
									     : NULL;
}

/* ---- speakers ---- */

static bool follows(const struct way_speaker *s, const struct way_maglevd *m)
{
	for (size_t i = 0; i < s->n_maglevds; i++)
		if (strcmp(s->maglevds[i], m->source.address) == 0)
			return true;
	return false;
}

/* How sure it is that a speaker is on the balancer of a maglevd; 0: it is not. */
static unsigned nearness(const struct way_speaker *s, const struct way_maglevd *m)
{
	unsigned near = 0;

	near += str_ieq(str_of(s->source.name), str_of(m->source.name)) ? 4 : 0;
	near += str_ieq(way__host(s->source.address), way__host(m->source.address)) ? 2 : 0;
	near += follows(s, m) ? 1 : 0;
	return near;
}

const struct way_maglevd *way__maglevd_of(const struct way_facts *f, const struct way_speaker *s)
{
	const struct way_maglevd *best = NULL;
	unsigned nearest = 0;

	for (size_t i = 0; i < f->n_maglevds; i++) {
		unsigned near = nearness(s, &f->maglevds[i]);

		if (near <= nearest)
			continue;
		nearest = near;
		best = &f->maglevds[i];
	}
	return best;
}

/* ---- routers ---- */

static bool host_is(const char *api, const char *address)
{
	struct str host = way__host(api);
	char text[ADDR_STRLEN];

	if (host.n >= sizeof(text))
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	return way__same_address(text, address);
}

static bool listener_has(const struct way_listener *l, const char *address)
{
	struct endpoint at;
	struct addr wanted;

	return endpoint_parse(l->address, &at) == 0 && addr_parse(address, &wanted) == 0 &&
	       addr_cmp(&at.addr, &wanted) == 0;
}

bool way_router_is_at(const struct way_router *r, const char *backend, const char *address)
{
	if (strcmp(r->source.name, backend) == 0 || host_is(r->source.address, address))
		return true;
	for (size_t i = 0; i < r->n_listeners; i++)
		if (listener_has(&r->listeners[i], address))
			return true;
	return false;
}

static bool has_protocol(const struct way_frontend *f, const struct way_listener *l)
{
	bool udp = strcmp(l->protocol, "udp") == 0;

	return strcmp(f->protocol, "any") == 0 || (strcmp(f->protocol, "udp") == 0) == udp;
}

bool way__leads_to(const struct way_frontend *f, const char *backend, const char *address,
		   const struct way_router *r, const struct way_listener *l)
{
	struct endpoint at;

	if (!way_router_is_at(r, backend, address) || endpoint_parse(l->address, &at) < 0)
		return false;
	if (!has_protocol(f, l) || (f->port && f->port != at.port))
		return false;
	return !addr_is_set(&at.addr) || listener_has(l, address) || listener_has(l, f->address);
}
