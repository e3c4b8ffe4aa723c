/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain: where a route is served, and what a request would meet there, in sentences for people.
 *
 * The request is put to the document that routers get, by the rules of the router: the listener
 * with the most specific host, then core/l7/explain. So the answer is that of a router with this
 * document.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l7/explain.h"
#include "src/gateway/kinds.h"
#include "src/gateway/model.h"
#include "wire/router_doc.h"

#define CANDIDATES 100 /* that are looked at */

struct telling {
	const struct gw *g;
	const struct gw__node *node;
	const struct gw_question *question;
	struct arena *arena;
	struct buf *out;
	struct l7_config config;
};

/* ---- parents and references ---- */

static void tell_ref(struct buf *out, const struct gw_ref *ref, const char *namespace)
{
	buf_printf(out, "%s %s/%s", gw__or(ref->kind, "Gateway"), gw__or(ref->namespace, namespace),
		   gw__text(ref->name));
	if (ref->section)
		buf_printf(out, ", listener %s", ref->section);
	if (ref->port >= 0)
		buf_printf(out, ", port %" PRId64, ref->port);
}

static void tell_verdict(struct buf *out, const char *good, const struct gw__verdict *v)
{
	if (v->ok)
		buf_printf(out, "%s\n", good);
	else
		buf_printf(out, "%s: %s\n", v->reason, gw__text(v->message));
}

static void tell_parents(struct telling *t)
{
	const struct gw_route *object = (const void *)t->node->object;
	const struct gw__route *r = t->node->result;
	const struct gw_ref *refs = object->parents_wanted.items;

	for (size_t i = 0; i < r->n_parents; i++) {
		buf_adds(t->out, "parent ");
		tell_ref(t->out, &refs[i], object->object.namespace);
		buf_adds(t->out, ": ");
		if (!r->parents[i].ours)
			buf_adds(t->out, "does not exist, or belongs to another controller\n");
		else if (r->parents[i].accepted.ok)
			tell_verdict(t->out, "accepted", &r->supported);
		else
			tell_verdict(t->out, "", &r->parents[i].accepted);
	}
	buf_adds(t->out, "references: ");
	tell_verdict(t->out, "all are valid", &r->resolved);
	if (!r->partial.ok)
		buf_printf(t->out, "rules: %s\n", gw__text(r->partial.message));
}

static bool is_attached(const struct gw__route *r, const char *listener)
{
	for (size_t i = 0; i < r->listeners.n; i++)
		if (strcmp(r->listeners.items[i], listener) == 0)
			return true;
	return false;
}

static void tell_listener(struct telling *t, const struct gw__view *v, const struct gw__listener *l)
{
	char text[ENDPOINT_STRLEN];

	buf_printf(t->out, "listener %s", l->name);
	for (size_t i = 0; i < v->n_addresses; i++)
		buf_printf(t->out, "%s %s", i ? "," : "",
			   endpoint_format(&(struct endpoint){ v->addresses[i], l->port }, text));
	if (*l->hostname)
		buf_printf(t->out, " for %s", l->hostname);
	buf_adds(t->out, ": ");
	tell_verdict(t->out, "served", &l->programmed);
}

static void tell_listeners(struct telling *t)
{
	const struct gw__route *r = t->node->result;

	for (size_t i = 0; i < r->gateways.n; i++) {
		const struct gw__view *v = gw__view(r->gateways.items[i]);

		for (size_t j = 0; v && j < v->n_listeners; j++)
			if (is_attached(r, v->listeners[j].name))
				tell_listener(t, v, &v->listeners[j]);
	}
}

/* Of streams: whether the route has the listener, or another one that is older. */
static void tell_streams(struct telling *t)
{
	const struct gw__route *r = t->node->result;

	for (size_t i = 0; i < r->listeners.n; i++) {
		const char *name = gw__short_name(
			t->arena, arena_printf(t->arena, "%s/%s@%s", gw_kinds[t->node->kind].kind,
					       t->node->key, r->listeners.items[i]));
		const struct gw_entry *e = gw_entry_find(t->g, GW_STREAMS, name);

		if (e)
			buf_printf(t->out, "stream %s: %s\n", name, e->text.p);
		else
			buf_printf(
				t->out,
				"stream %s: there is none, because the listener is not served or "
				"an older route has it\n",
				name);
	}
}

/* ---- a request ---- */

static bool load_document(struct telling *t)
{
	struct errs errors = { .arena = t->arena }, warnings = { .arena = t->arena };
	_cleanup_(buf_free) struct buf text = { 0 };
	struct l7_doc doc;

	gw_document(t->g, &text);
	return router_doc_parse((struct str){ text.p, text.n }, ROUTER_JSON, t->arena, &doc,
				&errors) == 0 &&
	       l7_config_build(&doc, t->arena, &t->question->regex, &t->config, &errors,
			       &warnings) == 0;
}

/* The listener of an address that has the most specific host; SIZE_MAX: none has it. */
static size_t best_listener(const struct l7_config *c, const struct endpoint *at, struct str host)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < c->n_listeners; i++) {
		const struct l7_listener *l = &c->listeners[i];

		if (l->protocol != L7_HTTP || endpoint_cmp(&l->at, at) != 0 ||
		    (l->host.n && !l7_host_covers(l->host, l7_host_name(host))))
			continue;
		if (best == SIZE_MAX || l->host.n > c->listeners[best].host.n ||
		    (l->host.n == c->listeners[best].host.n && l->host.p[0] != '*'))
			best = i;
	}
	return best;
}

static const char *reason_of(struct telling *t, const struct l7_candidate *c)
{
	static const char *const texts[] = {
		[L7_FOUND] = "gets the request",
		[L7_LATER] = "applies, but the one above goes first",
		[L7_PATH_DIFFERS] = "has another path",
		[L7_METHOD_DIFFERS] = "has another method",
		[L7_HEADER_MISSING] = "wants the header",
		[L7_HEADER_DIFFERS] = "wants another value of the header",
		[L7_QUERY_MISSING] = "wants the parameter",
		[L7_QUERY_DIFFERS] = "wants another value of the parameter",
	};

	if (!c->condition)
		return texts[c->verdict];
	return arena_printf(t->arena, "%s %.*s", texts[c->verdict], (int)c->condition->name.n,
			    c->condition->name.p);
}

static void tell_backends(struct telling *t, const struct l7_rule *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n_backends; i++)
		sum += r->backends[i].weight;
	if (r->filters.redirect)
		buf_printf(t->out, "  redirected with %u\n", r->filters.redirect->status);
	else if (!sum)
		buf_adds(t->out, "  answered with 500: there is no backend with a weight\n");
	for (size_t i = 0; i < r->n_backends && sum; i++) {
		const struct l7_backend *b = &r->backends[i];
		double share = 100.0 * b->weight / (double)sum;

		if (b->pool == L7_NO_POOL)
			buf_printf(t->out,
				   "  %.4g %% answered with 500: the reference is not valid\n",
				   share);
		else
			buf_printf(t->out, "  %.4g %% to pool %s (servers: %zu)%s\n", share,
				   t->config.pools[b->pool].name,
				   t->config.pools[b->pool].n_servers,
				   t->config.pools[b->pool].n_servers ? "" : ": answered with 503");
	}
}

/* Whether a router's route was made from the route that is asked about. */
static bool is_own(const struct telling *t, const struct l7_route *route)
{
	const char *name =
		arena_printf(t->arena, "%s/%s", gw_kinds[t->node->kind].kind, t->node->key);
	size_t n = strlen(name);

	return strncmp(route->name, name, n) == 0 && (!route->name[n] || route->name[n] == '@');
}

static void tell_candidates(struct telling *t, const struct l7_entries *entries,
			    const struct l7_explanation *e)
{
	bool own = false;

	for (size_t i = 0; i < e->n; i++) {
		const struct l7_candidate *c = &e->candidates[i];
		const struct l7_target *target = &entries->targets[c->entry];
		struct str host = entries->entries[c->entry].host;

		own |= is_own(t, target->route);
		if (c->verdict != L7_FOUND && !is_own(t, target->route))
			continue;
		buf_printf(t->out, "  rule %s for %.*s%.*s: %s\n", target->rule->name,
			   host.n ? (int)host.n : 1, host.n ? host.p : "*",
			   (int)target->match->path.n, target->match->path.p, reason_of(t, c));
		if (c->verdict == L7_FOUND)
			tell_backends(t, target->rule);
	}
	if (e->found == L7_NONE)
		buf_adds(t->out, "  answered with 404: no rule applies\n");
	if (!own)
		buf_adds(t->out, "  the route has no host name of this request\n");
}

/* What the request meets at an address. */
static void tell_address(struct telling *t, const struct endpoint *at)
{
	const struct l7_request *r = &t->question->request;
	size_t i = best_listener(&t->config, at, r->host);
	char text[ENDPOINT_STRLEN];
	struct l7_entries entries;
	struct l7_explanation e;

	buf_printf(t->out, "%.*s %.*s%.*s at %s:\n", (int)r->method.n, r->method.p, (int)r->host.n,
		   r->host.p, (int)r->path.n, r->path.p, endpoint_format(at, text));
	if (i == SIZE_MAX) {
		buf_adds(t->out, "  answered with 404: no listener has this host\n");
		return;
	}
	buf_printf(t->out, "  listener %s\n", t->config.listeners[i].name);
	entries = l7_config_entries(&t->config, i, t->arena);
	e = l7_explain(entries.entries, entries.n, r, t->question->matches, CANDIDATES, t->arena);
	tell_candidates(t, &entries, &e);
}

/* Each address at which the route has a listener of this port, once. */
static void tell_request(struct telling *t)
{
	const struct gw__route *r = t->node->result;
	VEC(struct endpoint) told = { 0 };

	if (!load_document(t)) {
		buf_adds(t->out, "the document is not valid\n");
		return;
	}
	for (size_t i = 0; i < t->config.n_listeners; i++) {
		const struct l7_listener *l = &t->config.listeners[i];
		size_t base = strcspn(l->name, "@");
		bool again = false;

		if (l->protocol != L7_HTTP ||
		    (t->question->port && l->at.port != t->question->port) ||
		    !is_attached(r, arena_strndup(t->arena, l->name, base)))
			continue;
		for (size_t k = 0; k < told.n; k++)
			again |= endpoint_cmp(&told.items[k], &l->at) == 0;
		if (again)
			continue;
		vec_push(&told, l->at);
		tell_address(t, &l->at);
	}
	if (!told.n)
		buf_adds(t->out, "no listener of the route is served at this port\n");
	vec_free(&told);
}

int gw_explain(const struct gw *g, enum gw_kind kind, const char *namespace, const char *name,
	       const struct gw_question *question, struct buf *out)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct telling t = { .g = g, .question = question, .arena = arena, .out = out };

	t.node = gw__find(g, kind, gw__key(arena, namespace, name));
	if (!t.node || !t.node->object || !t.node->result)
		return -ENOENT;
	buf_printf(out, "%s %s\n", gw_kinds[kind].kind, t.node->key);
	tell_parents(&t);
	tell_listeners(&t);
	if (kind >= GW_TLS_ROUTE)
		tell_streams(&t);
	else if (question)
		tell_request(&t);
	return 0;
}
