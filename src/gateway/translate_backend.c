/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backends of routes: which pool a reference means.
 *
 * A pool is a port of a Service together with what is spoken to its servers. Routes that mean the
 * same share a pool. A Gateway that shows a certificate to servers has pools of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/gateway/kinds.h"
#include "src/gateway/model.h"

static bool is_one_of(const char *word, const char *const *list)
{
	for (; word && *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static const char *const http2_words[] = { "kubernetes.io/h2c", "grpc", NULL };
static const char *const tls_words[] = { "https", "kubernetes.io/wss", NULL };

static const struct gw_service_port *find_port(const struct gw_service *s, int64_t port, bool udp)
{
	const struct gw_service_port *list = s->ports.items;

	for (size_t i = 0; i < s->ports.n; i++)
		if (list[i].port == port &&
		    strcmp(gw__or(list[i].protocol, "TCP"), udp ? "UDP" : "TCP") == 0)
			return &list[i];
	return NULL;
}

/* Remembers that the route sends requests to a Service. */
static void note_service(struct gw__route *r, const char *key)
{
	for (size_t i = 0; i < r->services.n; i++)
		if (strcmp(r->services.items[i], key) == 0)
			return;
	vec_push(&r->services, mem_strdup(key));
}

static void fill_pool(struct gw *g, struct gw__node *n, const struct gw__pool *from)
{
	struct gw__pool *p = n->result;

	if (p)
		return;
	p = mem_copy(from, sizeof(*from));
	p->namespace = mem_strdup(from->namespace);
	p->service = mem_strdup(from->service);
	p->gateway = from->gateway ? mem_strdup(from->gateway) : NULL;
	n->result = p;
	gw__make_stale(g, n);
}

static const char *pool_at(struct gw *g, const struct gw__pool *p)
{
	const char *name =
		arena_printf(g->scratch, "%s/%s:%u%s%s%s%s%s", p->namespace, p->service, p->port,
			     p->udp ? "/udp" : "", p->h2 ? "+h2" : "", p->raw ? "+raw" : "",
			     p->gateway ? "@" : "", gw__text(p->gateway));
	struct gw__node *n = gw__need(g, GW__POOL, gw__short_name(g->scratch, name));

	fill_pool(g, n, p);
	return n->key;
}

/* The Service of a reference; NULL with a verdict. */
static const struct gw_service *find_service(struct gw *g, const struct gw__consumer *c,
					     const struct gw_ref *ref, const char *namespace)
{
	const struct gw__from from = { gw_kinds[c->node->kind].kind, c->node->object->namespace };
	struct gw__verdict *v = &c->result->resolved;
	const char *name = gw__text(ref->name);
	const struct gw_service *s;

	if (strcmp(gw__text(ref->group), "") != 0 ||
	    strcmp(gw__or(ref->kind, "Service"), "Service") != 0) {
		gw__fail(v, "InvalidKind", "%s %s is not supported as a backend",
			 gw__text(ref->kind), name);
		return NULL;
	}
	if (!gw__permitted(g, &from, "", "Service", namespace, name)) {
		gw__fail(v, "RefNotPermitted", "no ReferenceGrant permits Service %s/%s", namespace,
			 name);
		return NULL;
	}
	s = (const void *)gw__need_object(g, GW_SERVICE, namespace, name)->object;
	if (!s)
		gw__fail(v, "BackendNotFound", "Service %s/%s does not exist", namespace, name);
	else if (s->type && strcmp(s->type, "ExternalName") == 0)
		gw__fail(v, "UnsupportedProtocol", "Service %s/%s has the type ExternalName",
			 namespace, name);
	else
		return s;
	return NULL;
}

const char *gw__resolve(struct gw *g, const struct gw__consumer *c, const struct gw_ref *ref)
{
	const char *namespace = gw__or(ref->namespace, c->node->object->namespace);
	const struct gw_service *s = find_service(g, c, ref, namespace);
	bool http = c->node->kind <= GW_GRPC_ROUTE, udp = c->node->kind == GW_UDP_ROUTE;
	const struct gw_service_port *port;
	const char *key;

	if (!s)
		return NULL;
	port = find_port(s, ref->port, udp);
	if (!port) {
		gw__fail(&c->result->resolved, "BackendNotFound",
			 "Service %s/%s has no port %" PRId64, namespace, s->object.name,
			 ref->port);
		return NULL;
	}
	key = gw__key(g->scratch, namespace, s->object.name);
	note_service(c->result, key);
	if (http && is_one_of(port->app_protocol, tls_words) &&
	    !gw__need(g, GW__POLICIES, key)->members.n) {
		gw__fail(&c->result->resolved, "UnsupportedProtocol",
			 "appProtocol %s of Service %s needs a BackendTLSPolicy",
			 port->app_protocol, key);
		return NULL;
	}
	if (c->check)
		return key;
	return pool_at(g,
		       &(struct gw__pool){
			       .namespace = arena_strdup(g->scratch, namespace),
			       .service = arena_strdup(g->scratch, s->object.name),
			       .gateway = udp || !c->gateway ? NULL
							     : arena_strdup(g->scratch, c->gateway),
			       .port = (uint16_t)port->port,
			       .udp = udp,
			       .raw = c->raw,
			       .h2 = c->node->kind == GW_GRPC_ROUTE ||
				     (http && is_one_of(port->app_protocol, http2_words)),
		       });
}

void gw__pool_free(struct gw__pool *p)
{
	free(p->namespace);
	free(p->service);
	free(p->gateway);
	free(p);
}
