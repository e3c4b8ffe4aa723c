/* SPDX-License-Identifier: Apache-2.0 */
/* testkit: see testkit.h. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/vec.h"
#include "lib/k8s/feed.h"
#include "lib/tls/digest.h"
#include "src/mux/names.h"
#include "src/mux/testkit.h"

#define MUX "svc-mux/mux"

struct test_cluster {
	struct mux_settings settings;
	struct mux_kinds *layouts;
	struct k8s_names *names;
	struct k8s_kind *kinds[TEST_KINDS];
	struct k8s_cache *caches[TEST_KINDS];
	json_t *objects[TEST_KINDS]; /* "ns/name" -> object */
	uint64_t version;
	int64_t now;
	struct mux_view *view;
	struct arena *arena; /* of the last pass */
	struct mux_plan plan;
	struct buf log, text;
	VEC(const struct mux_slice *) slices, written;
};

static const struct k8s_layout *layout_of(const struct mux_kinds *k, enum test_kind kind)
{
	const struct k8s_layout *const all[] = { &k->service, &k->slice, &k->endpoints,
						 &k->config_map, &k->namespace };

	return all[kind];
}

struct test_cluster *test_cluster_new(void)
{
	struct test_cluster *c = mem_zalloc(sizeof(*c));

	c->settings = (struct mux_settings){ "svc-mux.nowake.ai", "svc-mux", tls_sha256 };
	c->layouts = mux_kinds_new(c->settings.prefix);
	c->names = k8s_names_new();
	c->now = 1700000000 * (int64_t)1000000000;
	c->arena = arena_new();
	for (size_t i = 0; i < TEST_KINDS; i++) {
		c->kinds[i] = k8s_kind_new(layout_of(c->layouts, (enum test_kind)i), c->names);
		c->caches[i] = k8s_cache_new(c->kinds[i]);
		c->objects[i] = json_object();
	}
	return c;
}

void test_cluster_free(struct test_cluster *c)
{
	mux_view_free(c->view);
	arena_free(c->arena);
	for (size_t i = 0; i < TEST_KINDS; i++) {
		k8s_cache_free(c->caches[i]);
		k8s_kind_free(c->kinds[i]);
		json_decref(c->objects[i]);
	}
	k8s_names_free(c->names);
	mux_kinds_free(c->layouts);
	vec_free(&c->slices);
	vec_free(&c->written);
	buf_free(&c->log);
	buf_free(&c->text);
	free(c);
}

/* "ns/name", or "name" for an object of the cluster. */
static void split(const char *where, char ns[64], char name[256])
{
	const char *slash = strchr(where, '/');

	snprintf(ns, 64, "%.*s", slash ? (int)(slash - where) : 0, where);
	snprintf(name, 256, "%s", slash ? slash + 1 : where);
}

struct decoding {
	struct k8s_kind *kind;
	struct k8s_object *object;
};

static bool on_object(const struct k8s_feed_event *e, void *user)
{
	struct decoding *d = user;

	d->object = k8s_object_keep(d->kind, e->object);
	return true;
}

/* Stores the object under a new version, and decodes it into the cache. */
static void store(struct test_cluster *c, enum test_kind kind, const char *where, json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");
	struct decoding d = { .kind = c->kinds[kind] };
	char ns[64], name[256], text[32];
	struct k8s_feed *feed;
	char *bytes;

	if (!meta)
		json_object_set_new(object, "metadata", meta = json_object());
	split(where, ns, name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)++c->version);
	json_object_set_new(meta, "resourceVersion", json_string(text));
	if (*ns)
		json_object_set_new(meta, "namespace", json_string(ns));
	json_object_set_new(meta, "name", json_string(name));
	if (!json_object_get(meta, "uid")) {
		snprintf(text, sizeof(text), "uid-%llu", (unsigned long long)c->version);
		json_object_set_new(meta, "uid", json_string(text));
	}
	bytes = json_dumps(object, JSON_COMPACT);
	feed = k8s_feed_new(d.kind, K8S_FEED_OBJECT, on_object, &d);
	assert_int_equal(k8s_feed_take(feed, bytes, strlen(bytes)), 0);
	assert_int_equal(k8s_feed_end(feed), 0);
	k8s_feed_free(feed);
	free(bytes);
	assert_false(d.object->odd);
	k8s_object_unref(d.kind, k8s_cache_put(c->caches[kind], d.object));
	if (json_object_get(c->objects[kind], where) != object)
		json_object_set(c->objects[kind], where, object);
}

__attribute__((format(printf, 1, 0))) static json_t *parse(const char *fmt, va_list ap)
{
	char *text = NULL;
	json_error_t e;
	json_t *v;

	assert_true(vasprintf(&text, fmt, ap) >= 0);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	v = json_loads(text, JSON_REJECT_DUPLICATES, &e);
	if (!v)
		fail_msg("%s: %s", e.text, text);
	free(text);
	return v;
}

void test_put(struct test_cluster *c, enum test_kind kind, const char *where, const char *fmt, ...)
{
	json_t *v;
	va_list ap;

	va_start(ap, fmt);
	v = parse(fmt, ap);
	va_end(ap);
	store(c, kind, where, v);
	json_decref(v);
}

/* RFC 7396. */
static void merge(json_t *to, json_t *patch)
{
	const char *key;
	json_t *value, *old;

	json_object_foreach(patch, key, value)
	{
		old = json_object_get(to, key);
		if (json_is_null(value)) {
			json_object_del(to, key);
		} else if (json_is_object(value)) {
			if (!json_is_object(old))
				json_object_set_new(to, key, old = json_object());
			merge(old, value);
		} else {
			json_object_set(to, key, value);
		}
	}
}

static json_t *find(const struct test_cluster *c, enum test_kind kind, const char *where)
{
	return json_object_get(c->objects[kind], where);
}

void test_patch(struct test_cluster *c, enum test_kind kind, const char *where, const char *fmt,
		...)
{
	json_t *patch, *object = find(c, kind, where);
	va_list ap;

	assert_non_null(object);
	va_start(ap, fmt);
	patch = parse(fmt, ap);
	va_end(ap);
	merge(object, patch);
	json_decref(patch);
	store(c, kind, where, object);
}

void test_delete(struct test_cluster *c, enum test_kind kind, const char *where)
{
	char ns[64], name[256];

	split(where, ns, name);
	assert_int_equal(json_object_del(c->objects[kind], where), 0);
	k8s_object_unref(c->kinds[kind], k8s_cache_remove(c->caches[kind], ns, name));
}

bool test_exists(const struct test_cluster *c, enum test_kind kind, const char *where)
{
	return find(c, kind, where) != NULL;
}

size_t test_count(const struct test_cluster *c, enum test_kind kind)
{
	return json_object_size(c->objects[kind]);
}

/* Annotations without the prefix, as a JSON object. */
static void add_notes(json_t *object, const char *prefix, const char *notes)
{
	json_t *meta = json_object(), *to = json_object(), *value;
	char text[4096], key[256];
	const char *name;
	json_t *from;

	snprintf(text, sizeof(text), "{%s}", notes ? notes : "");
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	from = json_loads(text, 0, NULL);
	assert_non_null(from);
	json_object_foreach(from, name, value)
	{
		snprintf(key, sizeof(key), "%s/%s", prefix, name);
		json_object_set(to, strchr(name, '/') ? name : key, value);
	}
	json_object_set_new(meta, "annotations", to);
	json_object_set_new(object, "metadata", meta);
	json_decref(from);
}

void test_mux(struct test_cluster *c, const char *where, const char *notes)
{
	json_t *v = json_loads("{\"spec\":{\"type\":\"LoadBalancer\",\"ipFamilies\":[\"IPv4\"],"
			       "\"ports\":[{\"name\":\"placeholder\",\"port\":101,"
			       "\"protocol\":\"TCP\"}]}}",
			       0, NULL);

	add_notes(v, c->settings.prefix, notes);
	json_object_set_new(json_object_get(json_object_get(v, "metadata"), "annotations"),
			    "svc-mux.nowake.ai/multiplexer", json_string("true"));
	store(c, TEST_SERVICE, where, v);
	json_decref(v);
}

/* "http:80 dns:53/UDP"; a port "-:80" has no name. */
static json_t *read_ports(const char *text)
{
	struct str rest = str_of(text), item, name = { 0 }, number = { 0 };
	json_t *list = json_array();

	while (str_cut(&rest, ' ', &item)) {
		json_t *port = json_object();
		uint64_t v;

		assert_true(str_cut(&item, ':', &name) && str_cut(&item, '/', &number));
		assert_int_equal(str_to_u64(number, UINT64_MAX, &v), 0);
		if (!str_eq(name, STR("-")))
			json_object_set_new(port, "name", json_stringn(name.p, name.n));
		json_object_set_new(port, "port", json_integer((json_int_t)v));
		json_object_set_new(port, "protocol",
				    item.n ? json_stringn(item.p, item.n) : json_string("TCP"));
		json_array_append_new(list, port);
	}
	return list;
}

/* A slice with a pod whose address follows from the number of objects. */
static void add_slice(struct test_cluster *c, const char *where, json_t *ports)
{
	static unsigned pods;
	char ns[64], name[256], slice[400];
	json_t *backends = json_deep_copy(ports), *port;
	size_t i;
	char *text;

	json_array_foreach(backends, i, port)
		json_object_set_new(port, "port", json_integer(8080 + (int)i));
	text = json_dumps(backends, JSON_COMPACT);
	split(where, ns, name);
	snprintf(slice, sizeof(slice), "%s/%s-x", ns, name);
	pods++;
	test_put(c, TEST_SLICE, slice,
		 "{'metadata':{'labels':{'kubernetes.io/service-name':'%s'}},'addressType':'IPv4',"
		 "'ports':%s,'endpoints':[{'addresses':['10.%u.%u.%u'],'conditions':{'ready':true},"
		 "'nodeName':'n1','targetRef':{'kind':'Pod','namespace':'%s','name':'%s-0',"
		 "'uid':'u-%u'}}]}",
		 name, text, pods >> 16 & 255, pods >> 8 & 255, pods & 255, ns, name, pods);
	free(text);
	json_decref(backends);
}

void test_channel(struct test_cluster *c, const char *where, const char *ports, const char *notes)
{
	json_t *v = json_object(), *spec = json_object(), *list = read_ports(ports);

	add_notes(v, c->settings.prefix, notes);
	json_object_set_new(spec, "type", json_string("LoadBalancer"));
	json_object_set_new(spec, "loadBalancerClass",
			    json_string("svc-mux.nowake.ai/mux.svc-mux"));
	json_object_set(spec, "ports", list);
	json_object_set_new(v, "spec", spec);
	store(c, TEST_SERVICE, where, v);
	add_slice(c, where, list);
	json_decref(list);
	json_decref(v);
}

void test_note(struct test_cluster *c, const char *where, const char *key, const char *value)
{
	json_t *object = find(c, TEST_SERVICE, where), *meta, *notes;
	char full[256];

	assert_non_null(object);
	meta = json_object_get(object, "metadata");
	notes = json_object_get(meta, "annotations");
	if (!notes)
		json_object_set_new(meta, "annotations", notes = json_object());
	snprintf(full, sizeof(full), "%s/%s", c->settings.prefix, key);
	key = strchr(key, '/') ? key : full;
	if (value)
		json_object_set_new(notes, key, json_string(value));
	else
		json_object_del(notes, key);
	store(c, TEST_SERVICE, where, object);
}

/* ---- passes ---- */

static bool is_written(const struct mux_slice *s)
{
	return cstr_eq(k8s_map_get(&s->labels, MUX_LABEL_MANAGED_BY), MUX_MANAGED_BY);
}

static void look(const char *namespace, const char *name, struct mux_sight *ret, void *user)
{
	struct test_cluster *c = user;
	const struct k8s_cache *slices = c->caches[TEST_SLICE];
	char channel[400];

	c->slices.n = c->written.n = 0;
	snprintf(channel, sizeof(channel), "%s/%s", namespace, name);
	for (size_t i = 0; i < k8s_cache_count(slices); i++) {
		const struct mux_slice *s = (const struct mux_slice *)k8s_cache_at(slices, i);

		if (strcmp(s->object.namespace, namespace) == 0 &&
		    cstr_eq(k8s_map_get(&s->labels, MUX_LABEL_SERVICE), name))
			vec_push(&c->slices, s);
		if (is_written(s) &&
		    cstr_eq(mux_note(&c->settings, &s->annotations, "channel"), channel))
			vec_push(&c->written, s);
	}
	*ret = (struct mux_sight){
		.service = (const struct mux_service *)k8s_cache_get(c->caches[TEST_SERVICE],
								     namespace, name),
		.slices = c->slices.items,
		.n_slices = c->slices.n,
		.endpoints = (const struct mux_endpoints *)k8s_cache_get(c->caches[TEST_ENDPOINTS],
									 namespace, name),
		.written = c->written.items,
		.n_written = c->written.n,
	};
}

static void *list_of(struct test_cluster *c, enum test_kind kind, size_t *ret_n)
{
	size_t n = k8s_cache_count(c->caches[kind]);
	const struct k8s_object **list = arena_array_of(c->arena, n + 1, const struct k8s_object *);

	for (size_t i = 0; i < n; i++)
		list[i] = k8s_cache_at(c->caches[kind], i);
	*ret_n = n;
	return list;
}

static void find_channels(struct test_cluster *c, struct mux_facts *f)
{
	const struct k8s_cache *all = c->caches[TEST_SERVICE];
	const struct mux_service **list =
		arena_array_of(c->arena, k8s_cache_count(all) + 1, const struct mux_service *);
	struct mux_reference ref;

	for (size_t i = 0; i < k8s_cache_count(all); i++) {
		const struct mux_service *s = (const struct mux_service *)k8s_cache_at(all, i);

		if (mux_role(&c->settings, s, &ref) == MUX_ROLE_CHANNEL &&
		    strcmp(ref.namespace, f->namespace) == 0 && strcmp(ref.name, f->name) == 0)
			list[f->n_channels++] = s;
	}
	f->channels = list;
}

static void find_slices(struct test_cluster *c, struct mux_facts *f)
{
	size_t n;
	const struct mux_slice **all = list_of(c, TEST_SLICE, &n), **mine = all;

	for (size_t i = 0; i < n; i++)
		if (is_written(all[i]) && strcmp(all[i]->object.namespace, f->namespace) == 0 &&
		    cstr_eq(k8s_map_get(&all[i]->labels, MUX_LABEL_SERVICE), f->name))
			mine[f->n_slices++] = all[i];
	f->slices = mine;
}

static void find_state(struct test_cluster *c, struct mux_facts *f)
{
	struct mux_state *s = arena_new_of(c->arena, struct mux_state);
	const char *name = f->mux ? mux_state_name(&c->settings, f->mux, c->arena) : NULL;

	if (name)
		f->config_map = (const struct mux_config_map *)k8s_cache_get(
			c->caches[TEST_CONFIG_MAP], f->namespace, name);
	if (!f->config_map || mux_state_parse(k8s_map_get(&f->config_map->data, MUX_STATE_KEY),
					      c->arena, s, &f->state_error) == 0)
		f->state = s;
}

static struct mux_facts gather(struct test_cluster *c, const char *where)
{
	struct mux_facts f = { .settings = &c->settings, .now = c->now, .look = look, .user = c };
	char ns[64], name[256];

	split(where, ns, name);
	f.namespace = arena_strdup(c->arena, ns);
	f.name = arena_strdup(c->arena, name);
	f.mux = (const struct mux_service *)k8s_cache_get(c->caches[TEST_SERVICE], ns, name);
	f.endpoints =
		(const struct mux_endpoints *)k8s_cache_get(c->caches[TEST_ENDPOINTS], ns, name);
	f.namespaces = list_of(c, TEST_NAMESPACE, &f.n_namespaces);
	find_channels(c, &f);
	find_slices(c, &f);
	find_state(c, &f);
	return f;
}

static void check_service(json_t *object)
{
	json_t *ports = json_object_get(json_object_get(object, "spec"), "ports"), *a, *b;
	size_t i, j;

	assert_true(json_array_size(ports) > 0);
	json_array_foreach(ports, i, a)
	{
		for (j = 0; j < i; j++) {
			b = json_array_get(ports, j);
			assert_false(
				json_equal(json_object_get(a, "name"), json_object_get(b, "name")));
			assert_false(json_equal(json_object_get(a, "port"),
						json_object_get(b, "port")) &&
				     json_equal(json_object_get(a, "protocol"),
						json_object_get(b, "protocol")));
		}
	}
}

static void log_event(struct test_cluster *c, const struct mux_event *e)
{
	buf_printf(&c->log, "%s %s/%s: %s%s%s\n", e->reason, e->namespace, e->name, e->note,
		   e->field_path ? " @" : "", e->field_path ? e->field_path : "");
}

/* A write whose texts do not depend on the caches any more. */
struct ready {
	enum mux_verb verb;
	enum test_kind kind;
	const char *where, *body;
};

static struct ready prepare(struct test_cluster *c, const struct mux_write *w)
{
	static const enum test_kind kinds[] = { TEST_CONFIG_MAP, TEST_SLICE, TEST_ENDPOINTS,
						TEST_SERVICE, TEST_SERVICE };
	struct ready r = { .verb = w->verb, .kind = kinds[w->object] };
	struct buf text = { 0 };

	mux_write_show(w, &text);
	assert_true(text.n > 0);
	text.n = 0;
	mux_write_body(w, &text);
	r.where = arena_printf(c->arena, "%s/%s", w->namespace, w->name);
	r.body = arena_strndup(c->arena, text.p, text.n);
	buf_free(&text);
	return r;
}

static void check_version(json_t *object, json_t *body)
{
	json_t *want = json_object_get(json_object_get(body, "metadata"), "resourceVersion");
	json_t *have = json_object_get(json_object_get(object, "metadata"), "resourceVersion");

	if (want)
		assert_true(json_equal(want, have));
}

static void apply(struct test_cluster *c, const struct ready *r)
{
	json_t *object = find(c, r->kind, r->where), *body;

	assert_int_equal(object == NULL, r->verb == MUX_CREATE);
	if (r->verb == MUX_DELETE) {
		test_delete(c, r->kind, r->where);
		return;
	}
	body = json_loads(r->body, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(body);
	if (!object)
		object = json_incref(body);
	else {
		check_version(object, body);
		merge(json_incref(object), body);
	}
	json_decref(body);
	if (r->kind == TEST_SERVICE)
		check_service(object);
	store(c, r->kind, r->where, object);
	json_decref(object);
}

static size_t run(struct test_cluster *c, size_t writes)
{
	struct ready *ready;

	for (size_t i = 0; i < c->plan.n_events; i++)
		log_event(c, &c->plan.events[i]);
	ready = arena_array_of(c->arena, c->plan.n_writes + 1, struct ready);
	for (size_t i = 0; i < c->plan.n_writes && i < writes; i++) {
		const struct mux_write *w = &c->plan.writes[i];

		if (i)
			assert_true(w->stage >= c->plan.writes[i - 1].stage);
		for (size_t j = 0; j < w->n_events; j++)
			log_event(c, &w->events[j]);
		ready[i] = prepare(c, w);
	}
	for (size_t i = 0; i < c->plan.n_writes && i < writes; i++)
		apply(c, &ready[i]);
	return c->plan.n_writes;
}

size_t test_pass(struct test_cluster *c, const char *where, size_t writes)
{
	static const struct mux_scope all = { .all = true };
	struct mux_view *old = c->view;
	struct mux_facts f;

	arena_reset(c->arena);
	f = gather(c, where);
	c->view = mux_assign(&f, old);
	mux_view_free(old);
	mux_plan(c->view, &f, &all, c->arena, &c->plan);
	return run(c, writes);
}

size_t test_scoped_pass(struct test_cluster *c, const char *where, const char *channels)
{
	struct mux_channel_name names[16];
	struct mux_scope scope = { .channels = names };
	struct str rest = str_of(channels), item, ns;
	struct mux_facts f;

	arena_reset(c->arena);
	f = gather(c, where);
	while (str_cut(&rest, ' ', &item) && item.n) {
		assert_true(str_cut(&item, '/', &ns) && scope.n_channels < 16);
		names[scope.n_channels++] =
			(struct mux_channel_name){ arena_strndup(c->arena, ns.p, ns.n),
						   arena_strndup(c->arena, item.p, item.n) };
	}
	mux_plan(c->view, &f, &scope, c->arena, &c->plan);
	return run(c, SIZE_MAX);
}

void test_settle(struct test_cluster *c)
{
	test_pass(c, MUX, SIZE_MAX);
	if (test_pass(c, MUX, SIZE_MAX)) {
		struct buf text = { 0 };

		for (size_t i = 0; i < c->plan.n_writes; i++) {
			mux_write_show(&c->plan.writes[i], &text);
			buf_addc(&text, '\n');
		}
		fail_msg("a second pass writes:\n%s", buf_cstr(&text));
	}
}

void test_restart(struct test_cluster *c)
{
	mux_view_free(c->view);
	c->view = NULL;
}

void test_set_time(struct test_cluster *c, int64_t now)
{
	c->now = now;
}

const struct mux_settings *test_settings(const struct test_cluster *c)
{
	return &c->settings;
}

const struct mux_view *test_view(const struct test_cluster *c)
{
	return c->view;
}

const struct mux_plan *test_plan(const struct test_cluster *c)
{
	return &c->plan;
}

const struct k8s_cache *test_cache(const struct test_cluster *c, enum test_kind kind)
{
	return c->caches[kind];
}

/* ---- what there is ---- */

const char *test_ports(struct test_cluster *c, const char *mux)
{
	json_t *spec = json_object_get(find(c, TEST_SERVICE, mux), "spec"), *p;
	size_t i;

	c->text.n = 0;
	json_array_foreach(json_object_get(spec, "ports"), i, p)
		buf_printf(&c->text, "%s%lld/%s=%s", i ? " " : "",
			   (long long)json_integer_value(json_object_get(p, "port")),
			   json_string_value(json_object_get(p, "protocol")),
			   json_string_value(json_object_get(p, "name")));
	return buf_cstr(&c->text);
}

const char *test_get(struct test_cluster *c, enum test_kind kind, const char *where,
		     const char *path)
{
	json_t *v = find(c, kind, where);
	struct str rest = str_of(path), part;
	char key[256];

	while (v && str_cut(&rest, strchr(path, '|') ? '|' : '.', &part)) {
		snprintf(key, sizeof(key), "%.*s", (int)part.n, part.p);
		v = json_is_array(v) ? json_array_get(v, strtoul(key, NULL, 10))
				     : json_object_get(v, key);
	}
	c->text.n = 0;
	if (json_is_string(v))
		buf_adds(&c->text, json_string_value(v));
	else if (v) {
		char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

		buf_adds(&c->text, text);
		free(text);
	}
	return buf_cstr(&c->text);
}

const char *test_value(struct test_cluster *c, const char *where, const char *key)
{
	char path[300];

	snprintf(path, sizeof(path),
		 strchr(key, '/') ? "metadata|annotations|%s%s" : "metadata|annotations|%s/%s",
		 strchr(key, '/') ? "" : c->settings.prefix, key);
	return test_get(c, TEST_SERVICE, where, path);
}

bool test_logged(const struct test_cluster *c, const char *start)
{
	struct str rest = { c->log.p, c->log.n }, line;

	while (c->log.n && str_cut(&rest, '\n', &line))
		if (str_starts(line, str_of(start)))
			return true;
	return false;
}

void test_forget_log(struct test_cluster *c)
{
	c->log.n = 0;
}

const char *test_log(struct test_cluster *c)
{
	return buf_cstr(&c->log);
}
