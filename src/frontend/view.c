/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view: the read-only JSON API.
 *
 * The state, of all servers and of each, is assembled from texts that exist already, at most once
 * per event, and is shared by all requests meanwhile: a thousand browsers that start over at once
 * cost one text. Slow clients keep older texts; their total size is bounded (blob.h).
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/cli/cli.h"
#include "lib/json/json.h"
#include "lib/page/reply.h"
#include "src/frontend/broker.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/events.h"
#include "src/frontend/upstream.h"

#define STATE_AGE_MAX NSEC_PER_SEC /* refreshed_at_ns changes without an event */

static void add_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

static void add_json(struct buf *out, const char *key, const struct buf *json)
{
	buf_printf(out, ",\"%s\":", key);
	if (json->n)
		buf_add(out, json->p, json->n);
	else
		buf_add_lit(out, "null");
}

/* Writes the beginning that the short and the long form share. The brace stays open. */
static void open_server(struct buf *out, const struct upstream_view *v)
{
	buf_addc(out, '{');
	add_text(out, "name", v->name);
	buf_addc(out, ',');
	add_text(out, "address", v->address);
	buf_printf(out, ",\"connected\":%s,", v->connected ? "true" : "false");
	add_text(out, "error", v->error);
	buf_printf(out, ",\"since_ns\":%" PRId64, v->since);
}

static void add_list(struct buf *out, const char *key, const struct listing *list)
{
	buf_printf(out, ",\"%s\":", key);
	listing_write(list, out);
}

static void add_maglevd(struct buf *out, const struct upstream_view *v)
{
	add_list(out, "frontends", &v->lists[UPSTREAM_FRONTENDS]);
	add_list(out, "backends", &v->lists[UPSTREAM_BACKENDS]);
	add_list(out, "healthchecks", &v->lists[UPSTREAM_HEALTHCHECKS]);
	add_json(out, "vpp", &v->vpp);
	add_json(out, "lb", &v->lb);
	buf_add_lit(out, ",\"lb_error\":");
	json_write_string(out, v->lb_error.p, v->lb_error.n);
	add_json(out, "counters", &v->counters);
}

static void add_speaker(struct buf *out, const struct upstream_view *v)
{
	add_json(out, "info", &v->info);
	add_list(out, "announcements", &v->lists[UPSTREAM_ANNOUNCEMENTS]);
	add_list(out, "sessions", &v->lists[UPSTREAM_SESSIONS]);
}

static void add_router(struct buf *out, const struct upstream_view *v)
{
	add_json(out, "info", &v->info);
	add_list(out, "listeners", &v->lists[UPSTREAM_LISTENERS]);
	add_list(out, "routes", &v->lists[UPSTREAM_ROUTES]);
	add_list(out, "pools", &v->lists[UPSTREAM_POOLS]);
	add_json(out, "generations", &v->generations);
}

static void add_server(struct buf *out, const struct upstream_view *v)
{
	open_server(out, v);
	buf_printf(out, ",\"refreshed_at_ns\":%" PRId64, v->refreshed);
	if (strcmp(v->kind, "speaker") == 0)
		add_speaker(out, v);
	else if (strcmp(v->kind, "router") == 0)
		add_router(out, v);
	else
		add_maglevd(out, v);
	buf_addc(out, '}');
}

static void add_set(struct buf *out, const struct dashboard__set *set)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < set->n; i++) {
		if (i)
			buf_addc(out, ',');
		add_server(out, upstream_view(set->items[i]));
	}
	buf_addc(out, ']');
}

/*
 * epoch and seq name the newest event that the state contains, so that a browser can ask for the
 * events after it without missing one.
 */
static void write_state(const struct dashboard *d, struct buf *out)
{
	buf_printf(out, "{\"epoch\":\"%" PRId64 "\",\"seq\":%" PRIu64 ",\"servers\":",
		   broker_epoch(d->broker), broker_newest(d->broker));
	add_set(out, &d->servers);
	buf_add_lit(out, ",\"speakers\":");
	add_set(out, &d->speakers);
	buf_add_lit(out, ",\"routers\":");
	add_set(out, &d->routers);
	buf_addc(out, '}');
}

/*
 * Returns the current text of the state of u, or of all of them if u is NULL. The blob belongs
 * to t; the caller takes a reference if it keeps it.
 */
static struct blob *current(struct dashboard *d, struct dashboard__text *t,
			    const struct upstream *u)
{
	struct buf text = { 0 };
	uint64_t newest = broker_newest(d->broker);
	int64_t now = loop_monotonic();

	if (t->blob && t->blob->bytes && t->seq == newest && now - t->at < STATE_AGE_MAX)
		return t->blob;
	if (u)
		add_server(&text, upstream_view(u));
	else
		write_state(d, &text);
	buf_addc(&text, '\n');
	blob_unref(t->blob);
	t->blob = blob_new(&d->texts, &text);
	t->seq = newest;
	t->at = now;
	return t->blob;
}

void dashboard__on_version(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_addc(&out, '{');
	add_text(&out, "version", cli_version.version);
	buf_addc(&out, ',');
	add_text(&out, "commit", cli_version.commit);
	buf_addc(&out, ',');
	add_text(&out, "date", cli_version.date);
	buf_add_lit(&out, "}\n");
	page_json(x, 200, (struct str){ out.p, out.n });
}

/* The short form of all. */
static void reply_set(struct http_exchange *x, const struct dashboard__set *set)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_addc(&out, '[');
	for (size_t i = 0; i < set->n; i++) {
		if (i)
			buf_addc(&out, ',');
		open_server(&out, upstream_view(set->items[i]));
		buf_addc(&out, '}');
	}
	buf_add_lit(&out, "]\n");
	page_json(x, 200, (struct str){ out.p, out.n });
}

void dashboard__on_maglevds(struct http_exchange *x, const struct http_request *request, void *user)
{
	reply_set(x, &((const struct dashboard *)user)->servers);
}

void dashboard__on_speakers(struct http_exchange *x, const struct http_request *request, void *user)
{
	reply_set(x, &((const struct dashboard *)user)->speakers);
}

void dashboard__on_routers(struct http_exchange *x, const struct http_request *request, void *user)
{
	reply_set(x, &((const struct dashboard *)user)->routers);
}

void dashboard__on_state(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;

	blob_reply(x, current(d, &d->state, NULL));
}

/* The one that a part of a path names; NULL, after the answer, if there is none. */
static struct upstream *find(const struct dashboard *d, struct http_exchange *x, struct str part,
			     const struct dashboard__set *set)
{
	_cleanup_(buf_free) struct buf name = { 0 };
	struct upstream *u = NULL;

	if (page_decode(part, &name) == 0)
		u = dashboard__find(set, (struct str){ name.p, name.n });
	if (!u)
		page_error(x, 404,
			   set == &d->speakers	? "there is no speaker of that name"
			   : set == &d->routers ? "there is no router of that name"
						: "there is no server of that name");
	return u;
}

/* The whole state of the one that the path names after the prefix. */
static void reply_one(struct dashboard *d, struct http_exchange *x, struct str part,
		      const struct dashboard__set *set)
{
	const struct upstream *u = find(d, x, part, set);
	size_t i = 0;

	if (!u)
		return;
	while (set->items[i] != u)
		i++;
	blob_reply(x, current(d, &set->states[i], u));
}

static struct str after(struct str path, size_t prefix)
{
	return (struct str){ path.p + prefix, path.n - prefix };
}

void dashboard__on_state_of(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;

	reply_one(d, x, after(request->path, sizeof("/view/api/state/") - 1), &d->servers);
}

/* The past of what the query names, of the server that the path names. */
void dashboard__on_history(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;
	struct upstream *u =
		find(d, x, after(request->path, sizeof("/view/api/history/") - 1), &d->servers);

	if (u)
		dashboard__reply_history(d, x, u, request->query);
}

void dashboard__on_speaker(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;

	reply_one(d, x, after(request->path, sizeof("/view/api/speakers/") - 1), &d->speakers);
}

/* NAME, or NAME/generations/NUMBER. */
void dashboard__on_router(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;
	struct str rest = after(request->path, sizeof("/view/api/routers/") - 1), name, word;
	struct upstream *u;

	if (!memchr(rest.p, '/', rest.n)) {
		reply_one(d, x, rest, &d->routers);
		return;
	}
	str_cut(&rest, '/', &name);
	str_cut(&rest, '/', &word);
	if (!str_eq(word, STR("generations"))) {
		page_status(x, 404);
		return;
	}
	u = find(d, x, name, &d->routers);
	if (u)
		dashboard__reply_difference(d, x, u, rest);
}

void dashboard__on_events(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct dashboard *d = user;

	events_subscribe(d->events, x, request);
}
