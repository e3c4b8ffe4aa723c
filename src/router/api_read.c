/* SPDX-License-Identifier: Apache-2.0 */
/* What the admin API shows of configurations. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "src/router/api_private.h"
#include "src/router/care.h"
#include "wire/router_json.h"

#define JSON_TYPE "application/json"
#define PLAIN_TEXT "text/plain; charset=utf-8"

/* ---- the configuration in force ---- */

/* A part of a list; the whole without parameters. */
struct page {
	uint64_t from, limit;
	bool asked;
};

static bool read_page(struct http_exchange *x, const struct http_request *request, struct page *p)
{
	*p = (struct page){ .limit = UINT64_MAX };
	if (!api__number_parameter(x, request, "from", UINT32_MAX, &p->from) ||
	    !api__number_parameter(x, request, "limit", UINT32_MAX, &p->limit))
		return false;
	p->asked = p->from || p->limit != UINT64_MAX;
	return true;
}

static size_t page_length(const struct page *p, size_t n)
{
	size_t left = p->from < n ? n - p->from : 0;

	return p->limit < left ? p->limit : left;
}

/* A part says how many there are in all. */
static void add_total(struct buf *body, const struct page *p, size_t n)
{
	if (!p->asked)
		return;
	body->n--;
	api__number(body, "total", n);
	buf_addc(body, '}');
}

void api__on_routes(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	struct l7_config part = *api__config(user);
	size_t n = part.n_routes;
	struct page page;

	if (!read_page(x, request, &page))
		return;
	part.n_routes = page_length(&page, n);
	if (part.n_routes)
		part.routes += page.from;
	router_json_routes(&part, api__generation(user), &body);
	add_total(&body, &page, n);
	api__reply(user, x, 200, &body);
}

/* Which pools of a generation are shown. */
struct shown {
	const struct generation *generation;
	size_t from;
};

static void on_server(size_t pool, size_t server, struct buf *out, const void *user)
{
	const struct shown *s = user;

	care_describe(s->generation->pools[s->from + pool].servers[server], out);
}

void api__on_pools(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct api *a = user;
	struct shown shown = { .generation = router_current(a->config.router) };
	const struct router_json_state state = { on_server, &shown };
	_cleanup_(buf_free) struct buf body = { 0 };
	struct l7_config part = *api__config(user);
	size_t n = part.n_pools;
	struct page page;

	if (!read_page(x, request, &page))
		return;
	part.n_pools = page_length(&page, n);
	if (part.n_pools)
		part.pools += page.from;
	shown.from = page.from;
	router_json_pools(&part, api__generation(user), &state, &body);
	add_total(&body, &page, n);
	api__reply(user, x, 200, &body);
}

void api__on_config(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	router_json_config(api__config(user), &body);
	api__reply(user, x, 200, &body);
}

/* ---- generations ---- */

static void add_names(struct buf *out, const char *key, const struct l7_names *names)
{
	api__key(out, key);
	buf_addc(out, '[');
	for (size_t i = 0; i < l7_names_listed(names); i++) {
		if (i)
			buf_addc(out, ',');
		json_write_string(out, names->names[i], strlen(names->names[i]));
	}
	buf_addc(out, ']');
}

static void add_change(struct buf *out, const char *key, const struct l7_change *c)
{
	size_t n = c->added.n + c->removed.n + c->changed.n;

	if (!n && !c->moved)
		return;
	api__key(out, key);
	buf_addc(out, '{');
	add_names(out, "added", &c->added);
	add_names(out, "removed", &c->removed);
	add_names(out, "changed", &c->changed);
	api__flag(out, "moved", c->moved);
	api__number(out, "total", n);
	buf_addc(out, '}');
}

static void add_changes(struct buf *out, const struct l7_change *changes)
{
	static const char *const keys[ROUTER_ENTRIES] = { [ROUTER_LISTENERS] = "listeners",
							  [ROUTER_ROUTES] = "routes",
							  [ROUTER_STREAMS] = "streams",
							  [ROUTER_POOLS] = "pools",
							  [ROUTER_REST] = "document" };

	api__key(out, "changes");
	if (!changes) {
		buf_adds(out, "null");
		return;
	}
	buf_addc(out, '{');
	for (size_t i = 0; i < ROUTER_ENTRIES; i++)
		add_change(out, keys[i], &changes[i]);
	buf_addc(out, '}');
}

static void add_record(struct buf *out, const struct api *a, const struct history_record *r)
{
	const struct l7_config *c = &r->plan->config;
	char at[TIME_STRLEN];

	api__number(out, "generation", r->number);
	api__text(out, "time", str_of(time_format(r->at, at)));
	api__text(out, "source", str_of(history_source_name(r->source)));
	api__text(out, "peer", str_of(r->peer));
	if (*r->operator)
		api__text(out, "operator", str_of(r->operator));
	api__flag(out, "in_force", r->number == api__generation(a));
	api__flag(out, "held", router_holds(a->config.router, r->number));
	if (r->before)
		api__number(out, "before", r->before);
	if (r->of)
		api__number(out, "of", r->of);
	if (r->returned)
		api__flag(out, "returned", true);
	api__number(out, "listeners", c->n_listeners);
	api__number(out, "routes", c->n_routes);
	api__number(out, "pools", c->n_pools);
}

/* One record for each slice: to compare large configurations takes milliseconds. */
struct listing {
	struct api *api;
	uint64_t next;	/* the number below which the next record is; 0: none was written yet */
	size_t written; /* bytes */
};

/* The newest that is older than the last; records may have been added since. */
static struct history_record *next_record(const struct listing *l, struct history *h)
{
	for (size_t i = 0; i < history_count(h); i++) {
		struct history_record *r = history_at(h, i);

		if (!l->next || r->number < l->next)
			return r;
	}
	return NULL;
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	struct listing *l = user;
	struct history *h = router_history(l->api->config.router);
	struct history_record *r = next_record(l, h);
	_cleanup_(buf_free) struct buf changes = { 0 };
	size_t start = out->n;

	if (!l->next)
		buf_printf(out, "{\"generation\":%" PRIu64 ",\"generations\":[",
			   api__generation(l->api));
	if (!r) {
		buf_add_lit(out, "]}\n");
		return HTTP_STREAM_END;
	}
	buf_adds(out, l->next ? ",{" : "{");
	add_record(out, l->api, r);
	buf_addc(&changes, '{');
	add_changes(&changes, history_change(h, r));
	/* within the limit of an answer; GET /generations/N/diff has them in any case */
	if (l->written + changes.n < l->api->config.max_answer)
		buf_printf(out, ",%.*s", (int)changes.n - 1, changes.p + 1);
	buf_addc(out, '}');
	l->next = r->number;
	l->written += out->n - start;
	return HTTP_STREAM_MORE;
}

static void on_closed(bool whole, void *user)
{
	free(user);
}

void api__on_generations(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct listing *l = mem_zalloc(sizeof(*l));
	const struct http_stream stream = { .produce = produce, .closed = on_closed, .user = l };

	l->api = user;
	http_reply_stream(x, 200, JSON_TYPE, &stream);
}

/* ---- one generation ---- */

/* A line for each entry: "-" as it was, "+" as it is. */
static void add_line(struct buf *out, char sign, const struct l7_config *c, enum router_entry kind,
		     const char *name)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t i = 0; i < router_json_entries(c, kind); i++) {
		if (strcmp(router_json_entry_name(c, kind, i), name) != 0)
			continue;
		router_json_entry(c, kind, i, &text);
		buf_addc(out, sign);
		buf_add(out, text.p, text.n);
		buf_addc(out, '\n');
		return;
	}
}

static void add_difference(struct buf *out, const struct l7_config *old,
			   const struct l7_config *new, enum router_entry kind,
			   const struct l7_change *c)
{
	for (size_t i = 0; i < l7_names_listed(&c->removed); i++)
		add_line(out, '-', old, kind, c->removed.names[i]);
	for (size_t i = 0; i < l7_names_listed(&c->changed); i++) {
		add_line(out, '-', old, kind, c->changed.names[i]);
		add_line(out, '+', new, kind, c->changed.names[i]);
	}
	for (size_t i = 0; i < l7_names_listed(&c->added); i++)
		add_line(out, '+', new, kind, c->added.names[i]);
}

static void show_diff(struct api *a, struct http_exchange *x, struct history_record *r)
{
	static const char *const titles[ROUTER_ENTRIES] = { [ROUTER_LISTENERS] = "listeners",
							    [ROUTER_ROUTES] = "routes",
							    [ROUTER_STREAMS] = "streams",
							    [ROUTER_POOLS] = "pools",
							    [ROUTER_REST] = "document" };
	static const struct l7_config none;
	struct history *h = router_history(a->config.router);
	const struct l7_change *changes = history_change(h, r);
	const struct history_record *before = history_before(h, r);
	const struct l7_config *old = before ? &before->plan->config : &none;
	_cleanup_(buf_free) struct buf text = { 0 };

	if (!changes || (r->before && !before)) {
		api__refuse(x, 404, "UnknownGeneration",
			    STR("the generation before that one is not kept any more"));
		return;
	}
	for (unsigned kind = 0; kind < ROUTER_ENTRIES; kind++) {
		const struct l7_change *c = &changes[kind];
		size_t n = c->added.n + c->removed.n + c->changed.n;

		if (!n && !c->moved)
			continue;
		buf_printf(&text, "@@ %s: %zu added, %zu removed, %zu changed%s @@\n", titles[kind],
			   c->added.n, c->removed.n, c->changed.n,
			   c->moved ? ", another order" : "");
		add_difference(&text, old, &r->plan->config, kind, c);
	}
	if (text.n > a->config.max_answer)
		api__too_large(x, text.n, a->config.max_answer);
	else
		http_reply(x, 200, PLAIN_TEXT, (struct str){ text.p, text.n });
}

/* GET /generations/N/config and /generations/N/diff */
void api__on_generation(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct str rest = { request->path.p + strlen("/generations/"),
			    request->path.n - strlen("/generations/") };
	struct api *a = user;
	_cleanup_(buf_free) struct buf body = { 0 };
	struct history_record *r = NULL;
	struct str number;
	uint64_t n;

	if (str_cut(&rest, '/', &number) && str_to_u64(number, UINT64_MAX, &n) == 0)
		r = history_find(router_history(a->config.router), n);
	if (!r) {
		api__refuse(x, 404, "UnknownGeneration",
			    STR("that generation is not kept any more, or never was"));
	} else if (str_eq(rest, STR("config"))) {
		router_json_config(&r->plan->config, &body);
		api__reply(a, x, 200, &body);
	} else if (str_eq(rest, STR("diff"))) {
		show_diff(a, x, r);
	} else {
		api__unknown_path(x);
	}
}
