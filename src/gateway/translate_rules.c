/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of HTTPRoutes and GRPCRoutes as rules of a router.
 *
 * A rule with a filter that nobody here knows is not left out, since its requests would then meet
 * another rule: it answers with 500. A rule that the router would refuse is left out, and the route
 * says so. Of two rules for the same requests the first one is meant, also if it has no valid
 * backend.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/gateway/kinds.h"
#include "src/gateway/model.h"

/* What is made for one Gateway, or for all that show no certificate to servers. */
struct making {
	struct gw *g;
	struct gw__consumer consumer;
	VEC(const char *) pools; /* that are used */
	const char *unsupported; /* of the present rule; NULL: nothing */
	bool extension;		 /* the present rule has a filter that must not be skipped */
};

static struct doc_text word(const char *text)
{
	return (struct doc_text){ .set = true, .v = text };
}

static struct doc_text word_or_none(const char *text)
{
	return text ? word(text) : (struct doc_text){ 0 };
}

static struct doc_int number(int64_t v)
{
	return v < 0 ? (struct doc_int){ 0 } : (struct doc_int){ .set = true, .v = v };
}

static struct doc_words words(struct gw *g, const struct k8s_list *list)
{
	struct doc_text *items = arena_array_of(g->scratch, list->n, struct doc_text);

	for (size_t i = 0; i < list->n; i++)
		items[i] = word(k8s_string_at(list, i));
	return (struct doc_words){ .set = list->n, .items = items, .n = list->n };
}

/* ---- matches ---- */

struct word_pair {
	const char *from, *to;
};

/*
 * The router's word for one of the Gateway API; itself if there is none, so that rules refuse it.
 */
static struct doc_text translated(const char *text, const struct word_pair *pairs)
{
	for (; text && pairs->from; pairs++)
		if (strcmp(text, pairs->from) == 0)
			return word(pairs->to);
	return word_or_none(text);
}

static const struct word_pair path_types[] = { { "Exact", "exact" },
					       { "PathPrefix", "prefix" },
					       { "RegularExpression", "regex" },
					       { NULL, NULL } };
static const struct word_pair condition_types[] = { { "Exact", "exact" },
						    { "RegularExpression", "regex" },
						    { NULL, NULL } };

static const struct l7_doc_condition *make_conditions(struct gw *g, const struct k8s_list *list)
{
	const struct gw_condition_on *from = list->items;
	struct l7_doc_condition *to = arena_array_of(g->scratch, list->n, struct l7_doc_condition);

	for (size_t i = 0; i < list->n; i++)
		to[i] = (struct l7_doc_condition){ .name = word(gw__text(from[i].name)),
						   .type = translated(from[i].type,
								      condition_types),
						   .value = word(gw__text(from[i].value)) };
	return to;
}

static void make_match(struct gw *g, const struct gw_match *m, struct l7_doc_match *d)
{
	d->method = word_or_none(m->method);
	if (m->path || m->path_type)
		d->path = (struct l7_doc_path){ .set = true,
						.type = translated(m->path_type, path_types),
						.value = word(gw__or(m->path, "/")) };
	if (m->has_grpc == K8S_YES)
		d->grpc = (struct l7_doc_grpc){ .set = true,
						.type = translated(m->grpc_type, condition_types),
						.service = word_or_none(m->service),
						.method = word_or_none(m->grpc_method) };
	d->headers = make_conditions(g, &m->headers);
	d->n_headers = m->headers.n;
	d->queries = make_conditions(g, &m->queries);
	d->n_queries = m->queries.n;
}

static void make_matches(struct making *mk, const struct gw_rule *r, struct l7_doc_rule *d)
{
	const struct gw_match *from = r->matches.items;
	struct l7_doc_match *list =
		arena_array_of(mk->g->scratch, r->matches.n, struct l7_doc_match);

	for (size_t i = 0; i < r->matches.n; i++)
		make_match(mk->g, &from[i], &list[i]);
	if (r->matches.n)
		d->matches = list;
	d->n_matches = r->matches.n;
}

/* ---- filters ---- */

static struct doc_pairs make_pairs(struct gw *g, const struct k8s_list *list)
{
	const struct gw_header *from = list->items;
	struct doc_pair *items = arena_array_of(g->scratch, list->n, struct doc_pair);

	for (size_t i = 0; i < list->n; i++)
		items[i] = (struct doc_pair){ word(gw__text(from[i].name)),
					      word(gw__text(from[i].value)) };
	return (struct doc_pairs){ .set = list->n, .items = items, .n = list->n };
}

static void make_edits(struct gw *g, const struct gw_edits *e, struct l7_doc_edits *d)
{
	d->set = true;
	d->edits.set = make_pairs(g, &e->set);
	d->edits.add = make_pairs(g, &e->add);
	d->edits.remove = words(g, &e->remove);
}

static void make_path(const struct gw_path_edit *e, struct l7_doc_path *d)
{
	bool prefix = e->type && strcmp(e->type, "ReplacePrefixMatch") == 0;

	if (!e->type)
		return;
	/* an empty prefix is "/": what follows it stays */
	*d = (struct l7_doc_path){ .set = true,
				   .type = word(prefix ? "prefix" : "full"),
				   .value = word(gw__or(prefix ? e->prefix : e->full, "/")) };
	if (!*d->value.v)
		d->value.v = "/";
}

static void make_redirect(const struct gw_filter *f, struct l7_doc_filters *d)
{
	d->redirect = (struct l7_doc_redirect){ .set = true,
						.scheme = word_or_none(f->redirect.scheme),
						.host = word_or_none(f->redirect.hostname),
						.port = number(f->redirect.port),
						.status = number(f->redirect.status) };
	make_path(&f->redirect.path, &d->redirect.path);
}

static void make_rewrite(const struct gw_filter *f, struct l7_doc_filters *d)
{
	d->rewrite.set = true;
	d->rewrite.host = word_or_none(f->rewrite.hostname);
	make_path(&f->rewrite.path, &d->rewrite.path);
}

static void use_pool(struct making *mk, const char *pool)
{
	for (size_t i = 0; i < mk->pools.n; i++)
		if (strcmp(mk->pools.items[i], pool) == 0)
			return;
	vec_push(&mk->pools, pool);
}

/* A mirror without a valid backend is left out. */
static void make_mirror(struct making *mk, const struct gw_filter *f, struct l7_doc_filters *d)
{
	const char *pool = gw__resolve(mk->g, &mk->consumer, &f->mirror.backend);
	struct l7_doc_mirror *list;

	if (!pool)
		return;
	use_pool(mk, pool);
	list = arena_array_of(mk->g->scratch, d->n_mirrors + 1, struct l7_doc_mirror);
	if (d->n_mirrors)
		memcpy(list, d->mirrors, d->n_mirrors * sizeof(*list));
	list[d->n_mirrors] =
		(struct l7_doc_mirror){ .pool = word(pool), .percent = number(f->mirror.percent) };
	if (f->mirror.numerator >= 0)
		list[d->n_mirrors].fraction =
			(struct l7_doc_fraction){ .set = true,
						  .numerator = number(f->mirror.numerator),
						  .denominator = number(f->mirror.denominator) };
	d->mirrors = list;
	d->n_mirrors++;
}

static void make_cors(struct gw *g, const struct gw_filter *f, struct l7_doc_filters *d)
{
	d->cors = (struct l7_doc_cors){ .set = true,
					.origins = words(g, &f->cors.origins),
					.methods = words(g, &f->cors.methods),
					.headers = words(g, &f->cors.headers),
					.expose = words(g, &f->cors.expose) };
	d->cors.credentials = (struct doc_bool){ .set = f->cors.credentials != K8S_UNSET,
						 .v = f->cors.credentials == K8S_YES };
	if (f->cors.max_age >= 0)
		d->cors.max_age =
			(struct doc_duration){ .set = true, .v = f->cors.max_age * NSEC_PER_SEC };
}

static void make_request_headers(struct making *mk, const struct gw_filter *f,
				 struct l7_doc_filters *d)
{
	make_edits(mk->g, &f->request, &d->request);
}

static void make_response_headers(struct making *mk, const struct gw_filter *f,
				  struct l7_doc_filters *d)
{
	make_edits(mk->g, &f->response, &d->response);
}

static void make_redirect_filter(struct making *mk, const struct gw_filter *f,
				 struct l7_doc_filters *d)
{
	(void)mk;
	make_redirect(f, d);
}

static void make_rewrite_filter(struct making *mk, const struct gw_filter *f,
				struct l7_doc_filters *d)
{
	(void)mk;
	make_rewrite(f, d);
}

static void make_cors_filter(struct making *mk, const struct gw_filter *f, struct l7_doc_filters *d)
{
	make_cors(mk->g, f, d);
}

static const struct {
	const char *type;
	void (*make)(struct making *mk, const struct gw_filter *f, struct l7_doc_filters *d);
} filters[] = {
	{ "RequestHeaderModifier", make_request_headers },
	{ "ResponseHeaderModifier", make_response_headers },
	{ "RequestRedirect", make_redirect_filter },
	{ "URLRewrite", make_rewrite_filter },
	{ "RequestMirror", make_mirror },
	{ "CORS", make_cors_filter },
};

static void make_filter(struct making *mk, const struct gw_filter *f, struct l7_doc_filters *d)
{
	struct gw__route *r = mk->consumer.result;

	for (size_t i = 0; f->type && i < sizeof(filters) / sizeof(filters[0]); i++) {
		if (strcmp(filters[i].type, f->type) != 0)
			continue;
		filters[i].make(mk, f, d);
		return;
	}
	mk->extension = true;
	if (f->type && strcmp(f->type, "ExtensionRef") == 0)
		gw__fail(&r->resolved, "InvalidKind", "filters by ExtensionRef are not supported");
	else
		mk->unsupported = arena_printf(mk->g->scratch, "the filter %s is not supported",
					       gw__text(f->type));
}

static void make_filters(struct making *mk, const struct k8s_list *list, struct l7_doc_filters *d)
{
	const struct gw_filter *from = list->items;

	d->set = list->n;
	for (size_t i = 0; i < list->n; i++)
		make_filter(mk, &from[i], d);
	if (d->redirect.set && d->rewrite.set)
		gw__fail(&mk->consumer.result->supported, "IncompatibleFilters",
			 "a rule has both RequestRedirect and URLRewrite");
}

/* ---- backends ---- */

static void make_backends(struct making *mk, const struct gw_rule *r, struct l7_doc_rule *d)
{
	const struct gw_backend *from = r->backends.items;
	struct l7_doc_backend *list =
		arena_array_of(mk->g->scratch, r->backends.n + 1, struct l7_doc_backend);

	for (size_t i = 0; i < r->backends.n; i++) {
		const char *pool = gw__resolve(mk->g, &mk->consumer, &from[i].ref);

		list[i].weight = number(from[i].weight);
		if (pool) {
			list[i].pool = word(pool);
			use_pool(mk, pool);
		} else {
			list[i].invalid = (struct doc_bool){ .set = true, .v = true };
		}
		make_filters(mk, &from[i].filters, &list[i].filters);
	}
	if (d->filters.redirect.set && !r->backends.n)
		return;
	d->backends = list;
	d->n_backends = r->backends.n;
}

/* ---- timeouts, retry, persistence ---- */

static struct doc_duration duration(struct making *mk, const char *key, const char *text)
{
	struct doc_duration d = { 0 };

	if (!text)
		return d;
	d.set = duration_parse(text, &d.v) == 0;
	if (!d.set)
		mk->unsupported = arena_printf(mk->g->scratch, "%s is not a duration", key);
	return d;
}

static void make_timeouts(struct making *mk, const struct gw_rule *r, struct l7_doc_rule *d)
{
	d->timeouts.set = r->request_timeout || r->backend_timeout;
	d->timeouts.request = duration(mk, "timeouts.request", r->request_timeout);
	d->timeouts.backend = duration(mk, "timeouts.backendRequest", r->backend_timeout);
}

/* The list of statuses is kept as JSON: "[500,502]". */
static struct doc_words make_codes(struct gw *g, const char *json)
{
	struct doc_text *items = arena_array_of(g->scratch, strlen(json) + 1, struct doc_text);
	struct str rest = str_of(json), part;
	size_t n = 0;

	if (rest.n >= 2)
		rest = (struct str){ rest.p + 1, rest.n - 2 };
	while (rest.n && str_cut(&rest, ',', &part))
		items[n++] = word(arena_strndup(g->scratch, part.p, part.n));
	return (struct doc_words){ .set = n, .items = items, .n = n };
}

static void make_retry(struct making *mk, const struct gw_rule *r, struct l7_doc_rule *d)
{
	if (r->has_retry != K8S_YES)
		return;
	d->retry.set = true;
	d->retry.attempts = number(r->attempts < 0 ? 1 : r->attempts);
	d->retry.backoff = duration(mk, "retry.backoff", r->backoff);
	if (r->codes)
		d->retry.codes = make_codes(mk->g, r->codes);
}

static void make_persistence(struct making *mk, const struct gw_rule *r, struct l7_doc_rule *d)
{
	const struct gw_persistence *p = &r->persistence;
	bool header = p->header_name || (p->type && strcmp(p->type, "Header") == 0);
	const char *name = header ? p->header_name : p->cookie_name;
	const char *lifetime = gw__or(p->cookie_lifetime, p->lifetime);

	if (p->given != K8S_YES)
		return;
	d->persistence.set = true;
	d->persistence.type = word(header ? "header" : "cookie");
	d->persistence.name = word_or_none(gw__or(name, p->name));
	if (header && !d->persistence.name.set)
		d->persistence.name = word("x-maglev-session");
	if (!header)
		d->persistence.path = word_or_none(p->cookie_path);
	if (!header && lifetime && strcmp(lifetime, "Permanent") == 0)
		d->persistence.lifetime =
			duration(mk, "sessionPersistence.absoluteTimeout", p->absolute);
}

/* ---- rules ---- */

/* The router wants names that differ; the Gateway API does not in all versions. */
static const char *rule_name(struct making *mk, const char *route, const char *given,
			     const struct l7_doc_rule *rules, size_t i)
{
	struct arena *arena = mk->g->scratch;
	const char *number = arena_printf(arena, "%zu", i);
	const char *name = arena_printf(arena, "%s/%s", route, gw__or(given, number));

	name = gw__short_name(arena, name);
	for (size_t k = 0; k < i; k++)
		if (strcmp(rules[k].name.v, name) == 0)
			return gw__short_name(arena, arena_printf(arena, "%s/%zu~", route, i));
	return name;
}

static void make_rule(struct making *mk, const char *route, const struct gw_rule *r, size_t i,
		      struct l7_doc_rule *rules)
{
	struct arena *arena = mk->g->scratch;
	struct l7_doc_rule *d = &rules[i];

	mk->unsupported = NULL;
	mk->extension = false;
	d->set = true;
	d->name = word(rule_name(mk, route, r->name, rules, i));
	make_matches(mk, r, d);
	make_filters(mk, &r->filters, &d->filters);
	make_backends(mk, r, d);
	make_timeouts(mk, r, d);
	make_retry(mk, r, d);
	make_persistence(mk, r, d);
	if (!mk->extension)
		return;
	d->filters = (struct l7_doc_filters){ 0 };
	d->backends = arena_new_of(arena, struct l7_doc_backend);
	d->n_backends = 0;
}

/* ---- documents of one route ---- */

/*
 * A route is checked alone. The rules ask its listeners and pools for their names only; the real
 * ones are entries of their own.
 */
static const struct l7_doc_listener *name_listeners(struct gw *g, const struct doc_words *names)
{
	struct l7_doc_listener *list = arena_array_of(g->scratch, names->n, struct l7_doc_listener);

	for (size_t i = 0; i < names->n; i++) {
		list[i].name = names->items[i];
		list[i].address = word(arena_printf(g->scratch, "127.0.0.1:%zu", i % 65535 + 1));
		list[i].host = word(arena_printf(g->scratch, "h%zu", i));
	}
	return list;
}

static const struct l7_doc_pool *name_pools(struct making *mk)
{
	static const struct l7_doc_upstream none[1];
	struct l7_doc_pool *list = arena_array_of(mk->g->scratch, mk->pools.n, struct l7_doc_pool);

	for (size_t i = 0; i < mk->pools.n; i++) {
		list[i].name = word(mk->pools.items[i]);
		list[i].upstreams = none;
	}
	return list;
}

static const char *render(struct making *mk, const struct l7_doc_route *route, struct buf *out)
{
	const struct l7_doc doc = { .listeners = name_listeners(mk->g, &route->listeners),
				    .n_listeners = route->listeners.n,
				    .routes = route,
				    .n_routes = 1,
				    .pools = name_pools(mk),
				    .n_pools = mk->pools.n };

	return gw__render(mk->g, &doc, GW_ROUTES, out);
}

/* Leaves the rules out that the router would refuse alone. */
static const char *render_rest(struct making *mk, struct l7_doc_route *route, struct buf *out)
{
	struct l7_doc_rule *good =
		arena_array_of(mk->g->scratch, route->n_rules, struct l7_doc_rule);
	size_t n = 0;

	for (size_t i = 0; i < route->n_rules; i++) {
		_cleanup_(buf_free) struct buf unused = { 0 };
		struct l7_doc_route one = *route;
		const char *why;

		one.rules = &route->rules[i];
		one.n_rules = 1;
		why = render(mk, &one, &unused);
		if (why)
			gw__fail(&mk->consumer.result->partial, "UnsupportedValue",
				 "dropped rule %zu: %s", i, why);
		else
			good[n++] = route->rules[i];
	}
	route->rules = good;
	route->n_rules = n;
	return n ? render(mk, route, out) : "no rule can be served";
}

static void put_route(struct making *mk, const char *name, struct l7_doc_route *route)
{
	const struct gw_route *object = (const void *)mk->consumer.node->object;
	struct gw__route *r = mk->consumer.result;
	_cleanup_(buf_free) struct buf text = { 0 };
	const char *why = render(mk, route, &text);

	if (why && route->n_rules > 1)
		why = render_rest(mk, route, &text);
	if (why) {
		gw__fail(&r->supported, "UnsupportedValue", "%s", why);
		return;
	}
	vec_push(&r->entries, mem_strdup(name));
	gw__put_entry(mk->g, &(struct gw_entry){ .kind = GW_ROUTES,
						 .name = name,
						 .order = arena_printf(mk->g->scratch, "%s %s/%s",
								       gw__text(object->created),
								       object->object.namespace,
								       object->object.name),
						 .text = { text.p, text.n } });
}

/* ---- listeners ---- */

static bool is_in_group(const struct gw__attachment *a, const char *gateway)
{
	const struct gw__view *v = gw__view(a->gateway);

	return a->listener->served &&
	       (gateway ? strcmp(a->gateway->key, gateway) == 0 : !v->has_client);
}

static struct doc_words listeners_of(struct gw *g, const struct gw__attached *attached,
				     const char *gateway)
{
	size_t most = 0, n = 0;
	struct doc_text *items;

	for (size_t i = 0; i < attached->n; i++)
		most += attached->items[i].listener->n_names;
	items = arena_array_of(g->scratch, most, struct doc_text);
	for (size_t i = 0; i < attached->n; i++) {
		const struct gw__attachment *a = &attached->items[i];

		for (size_t j = 0; is_in_group(a, gateway) && j < a->listener->n_names; j++)
			items[n++] = word(a->listener->names[j]);
	}
	return (struct doc_words){ .set = true, .items = items, .n = n };
}

/* ---- the whole route ---- */

static const char *route_name(const struct making *mk)
{
	const struct gw__node *n = mk->consumer.node;
	const char *name = arena_printf(mk->g->scratch, "%s/%s", gw_kinds[n->kind].kind, n->key);

	if (mk->consumer.gateway)
		name = arena_printf(mk->g->scratch, "%s@%s", name, mk->consumer.gateway);
	return gw__short_name(mk->g->scratch, name);
}

/* The rules of a route, for the listeners of one group. Without listeners only references count. */
static void make_group(struct making *mk, const struct gw__attached *attached)
{
	const struct gw_route *object = (const void *)mk->consumer.node->object;
	const struct gw_rule *rules = object->rules.items;
	struct gw__route *r = mk->consumer.result;
	const char *name = route_name(mk);
	struct l7_doc_rule *list =
		arena_array_of(mk->g->scratch, object->rules.n, struct l7_doc_rule);
	struct l7_doc_route route = { .rule = { .name = word(name) },
				      .rules = list,
				      .n_rules = object->rules.n,
				      .hosts = words(mk->g, &object->hostnames) };

	for (size_t i = 0; i < object->rules.n; i++) {
		make_rule(mk, name, &rules[i], i, list);
		if (mk->unsupported)
			gw__fail(&r->partial, "UnsupportedValue", "rule %zu: %s", i,
				 mk->unsupported);
	}
	route.listeners = listeners_of(mk->g, attached, mk->consumer.gateway);
	if (route.n_rules && route.listeners.n && r->supported.ok)
		put_route(mk, name, &route);
}

/* References of routes that are made into streams elsewhere. */
static void judge_references(struct making *mk)
{
	const struct gw_route *object = (const void *)mk->consumer.node->object;
	const struct gw_rule *rules = object->rules.items;

	for (size_t i = 0; i < object->rules.n; i++) {
		const struct gw_backend *backends = rules[i].backends.items;

		for (size_t j = 0; j < rules[i].backends.n; j++)
			gw__resolve(mk->g, &mk->consumer, &backends[j].ref);
	}
}

static void make_for(struct gw *g, struct gw__node *n, struct gw__route *r,
		     const struct gw__attached *attached, const char *gateway)
{
	struct making mk = { .g = g, .consumer = { .node = n, .result = r, .gateway = gateway } };

	mk.consumer.check = n->kind > GW_GRPC_ROUTE;
	if (mk.consumer.check)
		judge_references(&mk);
	else
		make_group(&mk, attached);
	vec_free(&mk.pools);
}

void gw__make_rules(struct gw *g, struct gw__node *n, struct gw__route *r,
		    const struct gw__attached *attached)
{
	bool shared = !r->gateways.n;

	for (size_t i = 0; i < r->gateways.n; i++) {
		const struct gw__node *gateway = r->gateways.items[i];

		if (gw__view(gateway)->has_client)
			make_for(g, n, r, attached, gateway->key);
		else
			shared = true;
	}
	if (shared)
		make_for(g, n, r, attached, NULL);
	if (n->kind > GW_GRPC_ROUTE)
		gw__render_streams(g, n, r, attached);
}
