/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/testing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/k8s/feed.h"

__attribute__((noreturn, format(printf, 1, 2))) static void wrong(const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s\n", buf_cstr(&text));
	abort();
}

/* ---- calls ---- */

/* Nothing needs to be compiled, unless a bracket is missing. */
static const struct l7_regex *compile(const char *pattern, char *reason, size_t size, void *user)
{
	(void)user;
	if (!strchr(pattern, '(') || strchr(pattern, ')'))
		return (const void *)pattern;
	snprintf(reason, size, "missing )");
	return NULL;
}

static const char *check_pair(const char *certificate, const char *key, void *user)
{
	(void)user;
	return strstr(certificate, "BAD") || strstr(key, "BAD") ? "malformed" : NULL;
}

static const char *check_ca(const char *text, void *user)
{
	(void)user;
	return strstr(text, "BAD") ? "malformed" : NULL;
}

static void on_wanted(enum gw_kind kind, const char *namespace, const char *name, bool wanted,
		      void *user)
{
	struct world *w = user;

	buf_printf(&w->wanted, "%c%s %s/%s\n", wanted ? '+' : '-', gw_kinds[kind].kind, namespace,
		   name);
}

static struct gw *make(struct world *w, bool tells)
{
	const struct gw_settings settings = {
		.calls = { .regex = { compile, NULL },
			   .check_pair = check_pair,
			   .check_ca = check_ca,
			   .wanted = tells ? on_wanted : NULL,
			   .user = w },
	};

	return gw_new(&settings);
}

void world_make(struct world *w)
{
	*w = (struct world){ .names = k8s_names_new() };
	for (size_t i = 0; i < GW_KINDS; i++)
		w->kinds[i] = k8s_kind_new(gw_kinds[i].layout, w->names);
	w->gw = make(w, true);
}

static void held_free(struct world *w, struct held *h)
{
	k8s_object_unref(w->kinds[h->kind], h->object);
	free(h->key);
	free(h->body);
	free(h->created);
}

void world_free(struct world *w)
{
	gw_free(w->gw);
	for (size_t i = 0; i < w->n_held; i++)
		held_free(w, &w->held[i]);
	free(w->held);
	for (size_t i = 0; i < GW_KINDS; i++)
		k8s_kind_free(w->kinds[i]);
	k8s_names_free(w->names);
	buf_free(&w->wanted);
}

static int by_key(const void *a, const void *b)
{
	const struct held *x = *(struct held *const *)a, *y = *(struct held *const *)b;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->key, y->key);
}

struct gw *world_again(struct world *w)
{
	struct gw *g = make(w, false);
	struct held **list = mem_zalloc((w->n_held + 1) * sizeof(*list));

	for (size_t i = 0; i < w->n_held; i++)
		list[i] = &w->held[i];
	qsort(list, w->n_held, sizeof(*list), by_key);
	for (size_t i = 0; i < w->n_held; i++)
		gw_changed(g, list[i]->kind, NULL, list[i]->object);
	free(list);
	return g;
}

/* ---- objects ---- */

static char *quoted(const char *text)
{
	char *copy = mem_strdup(text);

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

struct parsing {
	struct world *w;
	enum gw_kind kind;
	struct k8s_object *object;
};

static bool on_object(const struct k8s_feed_event *event, void *user)
{
	struct parsing *p = user;

	p->object = k8s_object_keep(p->w->kinds[p->kind], event->object);
	return true;
}

static struct k8s_object *parse(struct world *w, enum gw_kind kind, const char *json)
{
	struct parsing p = { .w = w, .kind = kind };
	struct k8s_feed *f = k8s_feed_new(w->kinds[kind], K8S_FEED_OBJECT, on_object, &p);

	if (k8s_feed_take(f, json, strlen(json)) < 0 || k8s_feed_end(f) < 0 || !p.object)
		wrong("%s: %s", json, k8s_feed_reason(f));
	if (p.object->odd)
		wrong("%s: a value has another type than expected", json);
	k8s_feed_free(f);
	return p.object;
}

static struct held *find_held(struct world *w, enum gw_kind kind, const char *key)
{
	for (size_t i = 0; i < w->n_held; i++)
		if (w->held[i].kind == kind && strcmp(w->held[i].key, key) == 0)
			return &w->held[i];
	return NULL;
}

static struct held *held_at(struct world *w, enum gw_kind kind, const char *key)
{
	struct held *h = find_held(w, kind, key);

	if (h)
		return h;
	w->held = mem_resize(w->held, w->n_held + 1, sizeof(*w->held));
	h = &w->held[w->n_held++];
	*h = (struct held){ .kind = kind, .key = mem_strdup(key) };
	h->created = mem_zalloc(32);
	snprintf(h->created, 32, "2026-01-01T%02d:%02d:%02dZ", w->age / 3600, w->age / 60 % 60,
		 w->age % 60);
	w->age++;
	return h;
}

static void store(struct world *w, struct held *h, const char *meta, const char *status)
{
	const char *slash = strchr(h->key, '/');
	_cleanup_(buf_free) struct buf json = { 0 };
	_cleanup_(cleanup_free) char *text = NULL;
	struct k8s_object *old = h->object;

	buf_printf(
		&json,
		"{'metadata':{'namespace':'%.*s','name':'%s','uid':'%s','resourceVersion':'%" PRIu64
		"','generation':%" PRId64 ",'creationTimestamp':'%s'%s}%s%s%s%s}",
		(int)(slash - h->key), h->key, slash + 1, h->created, ++w->version, h->generation,
		h->created, meta, *h->body ? "," : "", h->body, *status ? "," : "", status);
	text = quoted(buf_cstr(&json));
	h->object = parse(w, h->kind, text);
	gw_changed(w->gw, h->kind, old, h->object);
	k8s_object_unref(w->kinds[h->kind], old);
}

void put_meta(struct world *w, enum gw_kind kind, const char *key, const char *meta,
	      const char *body)
{
	struct held *h = held_at(w, kind, key);

	free(h->body);
	h->body = mem_strdup(body);
	h->generation++;
	store(w, h, meta, "");
}

void put(struct world *w, enum gw_kind kind, const char *key, const char *fmt, ...)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&body, fmt, ap);
	va_end(ap);
	put_meta(w, kind, key, "", buf_cstr(&body));
}

void drop(struct world *w, enum gw_kind kind, const char *key)
{
	struct held *h = find_held(w, kind, key);

	assert(h);
	gw_changed(w->gw, kind, h->object, NULL);
	held_free(w, h);
	*h = w->held[--w->n_held];
}

void settle(struct world *w)
{
	while (gw_work(w->gw, 3))
		continue;
}

/* ---- entries ---- */

const char *entry(struct world *w, enum gw_entry_kind kind, const char *name)
{
	static char text[65536];
	const struct gw_entry *e;
	struct buf out = { 0 };

	settle(w);
	e = gw_entry_find(w->gw, kind, name);
	if (!e)
		return NULL;
	gw_entry_json(e, &out);
	snprintf(text, sizeof(text), "%s", buf_cstr(&out));
	buf_free(&out);
	return text;
}

void assert_entry(struct world *w, enum gw_entry_kind kind, const char *name, const char *part)
{
	const char *text = entry(w, kind, name);
	_cleanup_(cleanup_free) char *wanted = quoted(part);

	if (!text)
		wrong("there is no entry %s", name);
	else if (!strstr(text, wanted))
		wrong("%s\nis not in\n%s", wanted, text);
}

void assert_no_entry(struct world *w, enum gw_entry_kind kind, const char *name)
{
	const char *text = entry(w, kind, name);

	if (text)
		wrong("%s: %s", name, text);
}

static void note_change(const struct gw_change *c, void *user)
{
	static const char *const kinds[] = { [GW_LISTENERS] = "listeners",
					     [GW_ROUTES] = "routes",
					     [GW_STREAMS] = "streams",
					     [GW_POOLS] = "pools" };

	buf_printf(user, "%c%s %s\n",
		   !c->entry	       ? '-'
		   : c->only_endpoints ? '~'
				       : '+',
		   kinds[c->kind], c->name);
}

const char *changes(struct world *w)
{
	static char text[65536];
	struct buf out = { 0 };

	settle(w);
	gw_take(w->gw, note_change, &out);
	assert(!gw_has_changes(w->gw));
	snprintf(text, sizeof(text), "%s", buf_cstr(&out));
	buf_free(&out);
	return text;
}

/* ---- status ---- */

/* The members of a status, between its braces. */
static char *inner(const char *patch)
{
	const char *start = strstr(patch, "\"status\":{");
	char *copy = mem_strdup(start);

	copy[strlen(copy) - 1] = '\0';
	return copy;
}

void write_statuses(struct world *w)
{
	_cleanup_(buf_free) struct buf patch = { 0 };
	struct gw_status s;

	settle(w);
	while (gw_take_status(w->gw, NOW, &s, &patch)) {
		_cleanup_(buf_free) struct buf key = { 0 };
		_cleanup_(cleanup_free) char *status = inner(buf_cstr(&patch));
		struct held *h;

		buf_printf(&key, "%s/%s", s.namespace, s.name);
		h = find_held(w, s.kind, buf_cstr(&key));
		store(w, h, "", status);
		patch.n = 0;
	}
}

const char *status_of(struct world *w, enum gw_kind kind, const char *key)
{
	static char text[65536];
	_cleanup_(buf_free) struct buf patch = { 0 };
	struct gw_status s;

	settle(w);
	text[0] = '\0';
	for (size_t i = 0; i < w->n_held; i++)
		gw_again(w->gw, w->held[i].kind, w->held[i].object->namespace,
			 w->held[i].object->name);
	while (gw_take_status(w->gw, NOW, &s, &patch)) {
		_cleanup_(buf_free) struct buf own = { 0 };

		buf_printf(&own, "%s/%s", s.namespace, s.name);
		if (s.kind == kind && strcmp(buf_cstr(&own), key) == 0)
			snprintf(text, sizeof(text), "%s", buf_cstr(&patch));
		patch.n = 0;
	}
	return text;
}

void assert_status(struct world *w, enum gw_kind kind, const char *key, const char *part)
{
	const char *text = status_of(w, kind, key);
	_cleanup_(cleanup_free) char *wanted = quoted(part);

	if (!strstr(text, wanted))
		wrong("%s\nis not in\n%s", wanted, text);
}

void assert_condition(struct world *w, enum gw_kind kind, const char *key, const char *condition)
{
	char type[64], status[16], reason[64], part[256];

	if (sscanf(condition, "%63s %15s %63s", type, status, reason) != 3)
		wrong("%s", condition);
	snprintf(part, sizeof(part), "'type':'%s','status':'%s','reason':'%s'", type, status,
		 reason);
	assert_status(w, kind, key, part);
}

/* ---- the usual ---- */

void usual(struct world *w)
{
	struct addr address;

	addr_parse("192.0.2.1", &address);
	put(w, GW_GATEWAY_CLASS, "/maglev", "'spec':{'controllerName':'" GW_CONTROLLER "'}");
	put(w, GW_GATEWAY, "default/gw",
	    "'spec':{'gatewayClassName':'maglev','listeners':[{'name':'http','port':80,"
	    "'protocol':'HTTP'}]}");
	gw_set_addresses(w->gw, "default", "gw",
			 &(struct gw_addresses){ &address, 1, GW_ADDRESS_OK, NULL });
	put(w, GW_SERVICE, "default/web", "'spec':{'ports':[{'name':'http','port':80}]}");
	put_meta(w, GW_ENDPOINT_SLICE, "default/web-1",
		 ",'labels':{'kubernetes.io/service-name':'web'}",
		 "'addressType':'IPv4','ports':[{'name':'http','port':8080,'protocol':'TCP'}],"
		 "'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':true}}]");
}
