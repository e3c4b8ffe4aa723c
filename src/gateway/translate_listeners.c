/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners of a Gateway and of its ListenerSets: what each of them is, which of them exclude each
 * other, and which can be served.
 *
 * Listeners of one port share sockets, so they must be told apart by the name that clients ask for.
 * Of the listeners of one object that conflict, none is served, because nothing says which of them
 * was meant. Between objects the order decides: the Gateway, then ListenerSets by age.
 */
#include <stdlib.h>
#include <string.h>

#include "src/gateway/kinds.h"
#include "src/gateway/model.h"

/* ---- one listener ---- */

#define HTTP_KINDS (GW__ROUTE_BIT(GW_HTTP_ROUTE) | GW__ROUTE_BIT(GW_GRPC_ROUTE))

static const struct {
	const char *word;
	unsigned kinds;
} protocols[] = {
	[GW__HTTP] = { "HTTP", HTTP_KINDS },
	[GW__HTTPS] = { "HTTPS", HTTP_KINDS },
	[GW__TLS] = { "TLS", GW__ROUTE_BIT(GW_TLS_ROUTE) },
	[GW__TCP] = { "TCP", GW__ROUTE_BIT(GW_TCP_ROUTE) },
	[GW__UDP] = { "UDP", GW__ROUTE_BIT(GW_UDP_ROUTE) },
};

static enum gw__protocol protocol_of(const char *word)
{
	for (size_t i = 0; i < GW__NO_PROTOCOL; i++)
		if (word && strcmp(protocols[i].word, word) == 0)
			return (enum gw__protocol)i;
	return GW__NO_PROTOCOL;
}

/* The bit of a kind of routes; 0: it is none. */
static unsigned kind_bit(const struct gw_route_kind *k)
{
	if (strcmp(gw__or(k->group, GW_GROUP), GW_GROUP) != 0)
		return 0;
	for (unsigned i = GW_HTTP_ROUTE; i <= GW_UDP_ROUTE; i++)
		if (k->kind && strcmp(gw_kinds[i].kind, k->kind) == 0)
			return GW__ROUTE_BIT(i);
	return 0;
}

static void judge_kinds(struct gw__listener *l, const struct k8s_list *list)
{
	const struct gw_route_kind *kinds = list->items;
	unsigned possible = protocols[l->protocol].kinds, wanted = 0;

	for (size_t i = 0; i < list->n; i++) {
		unsigned bit = kind_bit(&kinds[i]) & possible;

		if (!bit)
			gw__fail(&l->resolved, "InvalidRouteKinds",
				 "kind %s is not possible with protocol %s",
				 gw__text(kinds[i].kind), protocols[l->protocol].word);
		wanted |= bit;
	}
	l->kinds = list->n ? wanted : possible;
}

static void judge_protocol(struct gw__listener *l, const struct gw_listener *from)
{
	l->protocol = protocol_of(from->protocol);
	if (l->protocol == GW__NO_PROTOCOL) {
		gw__fail(&l->accepted, "UnsupportedProtocol", "protocol %s is not supported",
			 gw__text(from->protocol));
		return;
	}
	judge_kinds(l, &from->kinds);
	l->passthrough = l->protocol == GW__TLS && from->tls_mode &&
			 strcmp(from->tls_mode, "Passthrough") == 0;
	if (l->protocol == GW__HTTPS && from->tls_mode && strcmp(from->tls_mode, "Terminate") != 0)
		gw__fail(&l->accepted, "UnsupportedValue", "HTTPS needs the TLS mode Terminate");
}

/* ---- certificates ---- */

static char *keep(struct gw__view *v, const char *text)
{
	return arena_strdup(v->arena, text);
}

static void judge_certificates(struct gw *g, struct gw__view *v, struct gw__listener *l,
			       const struct gw_listener *from, const struct gw__from *owner)
{
	const struct gw_ref *refs = from->certificates.items;
	struct gw__pair *pairs = arena_array_of(v->arena, from->certificates.n, struct gw__pair),
			pair;

	l->pairs = pairs;
	if (!from->certificates.n)
		gw__fail(&l->resolved, "InvalidCertificateRef", "there are no certificateRefs");
	for (size_t i = 0; i < from->certificates.n && i < L7_CERTIFICATES_MAX; i++)
		if (gw__pair_of(g, owner, &refs[i], "InvalidCertificateRef", &pair, &l->resolved))
			pairs[l->n_pairs++] =
				(struct gw__pair){ keep(v, pair.certificate), keep(v, pair.key) };
}

static const struct gw_validation *validation_of(const struct gw_gateway *gateway, uint16_t port)
{
	const struct gw_port_validation *list = gateway->per_port.items;

	for (size_t i = 0; i < gateway->per_port.n; i++)
		if (list[i].port == port)
			return &list[i].validation;
	return &gateway->validation;
}

/* Certificates of clients. */
static void judge_clients(struct gw *g, struct gw__view *v, struct gw__listener *l,
			  const struct gw_gateway *gateway)
{
	static const struct gw__ca_words words = { "InvalidCACertificateRef",
						   "InvalidCACertificateKind" };
	const struct gw_validation *validation = validation_of(gateway, l->port);
	const struct gw__from from = { "Gateway", gateway->object.namespace };
	const char *ca;

	if (validation->given != K8S_YES)
		return;
	l->fallback = validation->mode && strcmp(validation->mode, "AllowInsecureFallback") == 0;
	ca = gw__authorities(g, &from, &validation->ca, &words, &l->resolved);
	if (ca)
		l->ca = keep(v, ca);
	else
		gw__fail(&l->accepted, "NoValidCACertificate",
			 "none of the authorities for certificates of clients is valid");
}

/* ---- all of one object ---- */

void gw__add_listeners(struct gw *g, struct gw__view *v, const struct k8s_list *list,
		       const struct k8s_object *set)
{
	const struct gw_listener *from = list->items;
	const struct gw__from owner = { set ? "ListenerSet" : "Gateway",
					set ? set->namespace : v->namespace };

	for (size_t i = 0; i < list->n; i++) {
		struct gw__listener *l = &v->listeners[v->n_listeners++];
		const char *path = arena_printf(v->arena, "%s/%s", v->namespace, v->gateway);

		l->accepted.ok = l->resolved.ok = l->programmed.ok = l->conflicted.ok = true;
		l->section = keep(v, gw__text(from[i].name));
		if (set) {
			l->set = gw__key(v->arena, set->namespace, set->name);
			path = arena_printf(v->arena, "%s/%s", path, l->set);
		}
		l->name =
			gw__short_name(v->arena, arena_printf(v->arena, "%s/%s", path, l->section));
		l->port = (uint16_t)from[i].port;
		l->hostname = keep(v, gw__text(from[i].hostname));
		l->scope = gw__scope_of(&from[i].namespaces, "Same", v->arena);
		judge_protocol(l, &from[i]);
		if ((l->protocol == GW__HTTPS || l->protocol == GW__TLS) && !l->passthrough)
			judge_certificates(g, v, l, &from[i], &owner);
	}
}

/* ---- conflicts ---- */

/* Why two listeners cannot be on one port; NULL: they can. */
static const char *conflict(const struct gw__listener *a, const struct gw__listener *b)
{
	bool tls_a = a->protocol == GW__HTTPS || a->protocol == GW__TLS;
	bool tls_b = b->protocol == GW__HTTPS || b->protocol == GW__TLS;

	if (a->port != b->port || (a->protocol == GW__UDP) != (b->protocol == GW__UDP) ||
	    a->protocol == GW__NO_PROTOCOL || b->protocol == GW__NO_PROTOCOL)
		return NULL;
	if (a->protocol == GW__TCP || b->protocol == GW__TCP || a->protocol == GW__UDP)
		return "ProtocolConflict";
	if (tls_a != tls_b)
		return "ProtocolConflict";
	return str_ieq(str_of(a->hostname), str_of(b->hostname)) ? "HostnameConflict" : NULL;
}

static void lose(struct gw__listener *l, const struct gw__listener *to, const char *reason)
{
	gw__fail(&l->conflicted, reason, "port %u is also that of listener %s%s%s", l->port,
		 gw__text(to->set), to->set ? "/" : "", to->section);
	gw__fail(&l->accepted, reason, "port %u is also that of listener %s%s%s", l->port,
		 gw__text(to->set), to->set ? "/" : "", to->section);
}

static bool are_siblings(const struct gw__listener *a, const struct gw__listener *b)
{
	return cstr_eq(a->set, b->set);
}

/* The one of the older object wins; what it has lost itself keeps nobody from its place. */
static void compare_objects(const struct gw__listener *older, struct gw__listener *l)
{
	const char *reason = conflict(older, l);

	if (!reason || older->beaten)
		return;
	lose(l, older, reason);
	l->beaten = true;
}

/* Between two of one object nothing decides. */
static void compare_siblings(struct gw__listener *a, struct gw__listener *b)
{
	const char *reason = conflict(a, b);

	if (!reason || a->beaten || b->beaten)
		return;
	lose(a, b, reason);
	lose(b, a, reason);
}

/* A listener that lost inside its object still keeps those of younger objects from its place. */
static void judge_conflicts(struct gw__view *v)
{
	for (size_t i = 0; i < v->n_listeners; i++)
		for (size_t j = 0; j < i; j++)
			if (!are_siblings(&v->listeners[j], &v->listeners[i]))
				compare_objects(&v->listeners[j], &v->listeners[i]);
	for (size_t i = 0; i < v->n_listeners; i++)
		for (size_t j = 0; j < i; j++)
			if (are_siblings(&v->listeners[j], &v->listeners[i]))
				compare_siblings(&v->listeners[j], &v->listeners[i]);
}

static void judge_programmed(struct gw__view *v, struct gw__listener *l)
{
	bool terminates = (l->protocol == GW__HTTPS || l->protocol == GW__TLS) && !l->passthrough;

	if (!l->conflicted.ok)
		gw__fail(&l->programmed, l->conflicted.reason, "%s", l->conflicted.message);
	if (!l->accepted.ok)
		gw__fail(&l->programmed, "Invalid", "%s", l->accepted.message);
	if (terminates && !l->n_pairs)
		gw__fail(&l->programmed, "Invalid", "there is no valid certificate");
	if (!l->kinds)
		gw__fail(&l->programmed, "Invalid", "no kind of routes is possible");
	l->usable = l->programmed.ok;
	if (!v->accepted.ok)
		gw__fail(&l->programmed, "Invalid", "the Gateway is not accepted");
	if (!v->n_addresses)
		gw__fail(&l->programmed, "Pending", "the Gateway has no address");
	l->served = l->programmed.ok;
}

void gw__judge_listeners(struct gw *g, struct gw__view *v, const struct gw_gateway *gateway)
{
	judge_conflicts(v);
	for (size_t i = 0; i < v->n_listeners; i++) {
		struct gw__listener *l = &v->listeners[i];

		if (l->protocol == GW__HTTPS)
			judge_clients(g, v, l, gateway);
		judge_programmed(v, l);
		v->insecure |= l->fallback;
	}
}
