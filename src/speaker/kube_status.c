/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/kube_status.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/json/json.h"
#include "lib/json/tree.h"
#include "lib/log/log.h"

#define RANK 1 /* statuses go after everything else */
#define NAME_MAX_BYTES 253
#define HASH_BYTES 9		       /* with its dash */
#define TAKE_EVERY (10 * NSEC_PER_SEC) /* two that both believe to be the owner */

static const struct row {
	struct k8s_resource resource;
	const char *kind;
	bool shared; /* one name in all speakers */
} rows[KUBE_STATUS_KINDS] = {
	[KUBE_SERVICE_BGP -
	 KUBE_STATUS_FIRST] = { { "metallb.io", "v1beta1", "servicebgpstatuses" },
				"ServiceBGPStatus",
				false },
	[KUBE_SERVICE_L2 - KUBE_STATUS_FIRST] = { { "metallb.io", "v1beta1", "servicel2statuses" },
						  "ServiceL2Status",
						  true },
	[KUBE_SESSION_STATUS -
		KUBE_STATUS_FIRST] = { { "metallb.io", "v1beta1", "bgpsessionstatuses" },
				       "BGPSessionStatus",
				       false },
	[KUBE_SESSION_STATE -
		KUBE_STATUS_FIRST] = { { "frrk8s.metallb.io", "v1beta1", "bgpsessionstates" },
				       "BGPSessionState",
				       false },
	[KUBE_CONFIGURATION -
		KUBE_STATUS_FIRST] = { { "metallb.io", "v1beta1", "configurationstates" },
				       "ConfigurationState",
				       false },
};

struct item {
	struct queue_item queued;
	struct kube_status_set *of;
	enum kube_kind kind;
	char *key;
	char *namespace, *name, *labels, *owner, *status; /* status NULL: it should not exist */
	bool repeated;					  /* since kube_status_begin() */
	bool other_name; /* the usual one belongs to something else */
	bool take_over;	 /* an object of another node has the name */
	int64_t take_at; /* monotonic ns; not before */
	char *before;	 /* the status that an update replaces; NULL: none */
	struct operator_mark mark;
	struct k8s_call *call;
};

struct kube_status_set {
	struct kube_status_config config;
	VEC(struct item *) items;
	struct map by_key[KUBE_STATUS_KINDS];
	bool complete[KUBE_STATUS_KINDS]; /* nothing of a kind is written before */
	struct kube_status_stats stats;
};

const struct k8s_resource *kube_status_resource(enum kube_kind kind)
{
	return &rows[kind - KUBE_STATUS_FIRST].resource;
}

static const struct row *row_of(const struct item *i)
{
	return &rows[i->kind - KUBE_STATUS_FIRST];
}

/* ---- comparison ---- */

static bool same_node(const struct json_node *a, const struct json_node *b);

static size_t count_members(const struct json_node *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += strcmp(o->members[i].key, "lastTransitionTime") != 0;
	return n;
}

static bool same_members(const struct json_node *a, const struct json_node *b)
{
	if (count_members(a) != count_members(b))
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct json_node *other = json_find(b, a->members[i].key);

		if (strcmp(a->members[i].key, "lastTransitionTime") == 0)
			continue;
		if (!other || !same_node(&a->members[i].value, other))
			return false;
	}
	return true;
}

static bool same_items(const struct json_node *a, const struct json_node *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (!same_node(&a->items[i], &b->items[i]))
			return false;
	return true;
}

static bool same_node(const struct json_node *a, const struct json_node *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case JSON_KIND_NULL:
		return true;
	case JSON_KIND_BOOL:
		return a->truth == b->truth;
	case JSON_KIND_NUMBER:
	case JSON_KIND_STRING:
		return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
	case JSON_KIND_ARRAY:
		return a->n == b->n && same_items(a, b);
	case JSON_KIND_OBJECT:
		return same_members(a, b);
	}
	return false;
}

bool kube_status_same(const char *a, const char *b)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *x, *y;

	return json_parse(str_of(a), NULL, arena, &x, &errors) == 0 &&
	       json_parse(str_of(b), NULL, arena, &y, &errors) == 0 && same_node(x, y);
}

void kube_status_patch(const char *before, const char *wanted, struct buf *out)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *old, *new;

	buf_adds(out, "{\"status\":{");
	if (before && json_parse(str_of(before), NULL, arena, &old, &errors) == 0 &&
	    old->kind == JSON_KIND_OBJECT &&
	    json_parse(str_of(wanted), NULL, arena, &new, &errors) == 0)
		for (size_t i = 0; i < old->n; i++)
			if (!json_find(new, old->members[i].key)) {
				json_write_string(out, old->members[i].key,
						  strlen(old->members[i].key));
				buf_adds(out, ":null,");
			}
	buf_adds(out, wanted + 1);
	buf_adds(out, "}");
}

/* ---- items ---- */

static struct item *find(struct kube_status_set *s, enum kube_kind kind, const char *key)
{
	return map_get(&s->by_key[kind - KUBE_STATUS_FIRST], key);
}

static struct item *add(struct kube_status_set *s, enum kube_kind kind, const char *key)
{
	struct item *i = mem_zalloc(sizeof(*i));

	i->of = s;
	i->kind = kind;
	i->key = mem_strdup(key);
	map_put(&s->by_key[kind - KUBE_STATUS_FIRST], i->key, i);
	vec_push(&s->items, i);
	return i;
}

static void clear(struct item *i)
{
	free(TAKE_PTR(i->namespace));
	free(TAKE_PTR(i->name));
	free(TAKE_PTR(i->labels));
	free(TAKE_PTR(i->owner));
	free(TAKE_PTR(i->status));
}

static void free_item(struct item *i)
{
	k8s_call_cancel(i->call);
	operator_forget(i->of->config.op, &i->queued);
	clear(i);
	free(i->before);
	free(i->key);
	free(i);
}

/* An item whose object is gone and not wished is of no use any more. */
static void forget(struct item *i)
{
	struct kube_status_set *s = i->of;

	map_remove(&s->by_key[i->kind - KUBE_STATUS_FIRST], i->key);
	for (size_t k = 0; k < s->items.n; k++)
		if (s->items.items[k] == i) {
			s->items.items[k] = s->items.items[s->items.n - 1];
			s->items.n--;
			break;
		}
	free_item(i);
}

static void enqueue(struct item *i)
{
	operator_add(i->of->config.op, &i->queued, RANK);
}

static bool is_wished(const struct item *i, const struct kube_wish *w)
{
	return i->status && strcmp(i->status, w->status) == 0 && strcmp(i->name, w->name) == 0 &&
	       strcmp(i->labels, w->labels) == 0 && cstr_eq(i->owner, w->owner);
}

void kube_status_wish(struct kube_status_set *s, enum kube_kind kind, const char *key,
		      const struct kube_wish *wish)
{
	struct item *i = find(s, kind, key);

	if (!i)
		i = add(s, kind, key);
	i->repeated = true;
	if (is_wished(i, wish))
		return;
	clear(i);
	i->namespace = mem_strdup(wish->namespace);
	i->name = mem_strdup(wish->name);
	i->labels = mem_strdup(wish->labels);
	i->owner = wish->owner ? mem_strdup(wish->owner) : NULL;
	i->status = mem_strdup(wish->status);
	enqueue(i);
}

void kube_status_drop(struct kube_status_set *s, enum kube_kind kind, const char *key)
{
	struct item *i = find(s, kind, key);

	if (!i || !i->status)
		return;
	clear(i);
	enqueue(i);
}

void kube_status_begin(struct kube_status_set *s, enum kube_kind kind)
{
	for (size_t i = 0; i < s->items.n; i++)
		if (s->items.items[i]->kind == kind)
			s->items.items[i]->repeated = false;
}

void kube_status_end(struct kube_status_set *s, enum kube_kind kind)
{
	for (size_t i = 0; i < s->items.n; i++)
		if (s->items.items[i]->kind == kind && !s->items.items[i]->repeated)
			kube_status_drop(s, kind, s->items.items[i]->key);
}

/* ---- the caches ---- */

/* ns/name of a Service, the peer of a session, what the program is for a configuration. */
void kube_status_index(const struct k8s_object *o, k8s_index_add_fn put, void *to, void *user)
{
	const struct k8s_list *labels = &((const struct kube_status *)o)->labels;
	const char *service = k8s_map_get(labels, KUBE_LABEL_SERVICE);
	const char *peer = k8s_map_get(labels, KUBE_LABEL_PEER);
	const char *frr_peer = k8s_map_get(labels, KUBE_LABEL_FRR_PEER);
	const char *vrf = k8s_map_get(labels, KUBE_LABEL_FRR_VRF);
	const char *component = k8s_map_get(labels, KUBE_LABEL_COMPONENT);
	_cleanup_(buf_free) struct buf key = { 0 };

	if (service)
		buf_printf(&key, "%s/%s", o->namespace, service);
	else if (frr_peer)
		buf_printf(&key, "%s/%s", frr_peer, vrf ? vrf : "");
	else
		buf_adds(&key, peer ? peer : component ? component : o->name);
	put(buf_cstr(&key), to);
}

static void take_key(const char *key, void *to)
{
	free(*(char **)to);
	*(char **)to = mem_strdup(key);
}

void kube_status_changed(struct kube_status_set *s, enum kube_kind kind, const struct k8s_object *o)
{
	_cleanup_(cleanup_free) char *key = NULL;
	struct item *i;

	if (!s->complete[kind - KUBE_STATUS_FIRST])
		return;
	kube_status_index(o, take_key, &key, NULL);
	i = find(s, kind, key);
	enqueue(i ? i : add(s, kind, key));
}

void kube_status_complete(struct kube_status_set *s, enum kube_kind kind)
{
	const struct k8s_cache *cache = operator_cache(s->config.op, kind);

	if (s->complete[kind - KUBE_STATUS_FIRST])
		return;
	s->complete[kind - KUBE_STATUS_FIRST] = true;
	for (size_t i = 0; i < s->items.n; i++)
		if (s->items.items[i]->kind == kind)
			enqueue(s->items.items[i]);
	for (size_t i = 0; i < k8s_cache_count(cache); i++)
		kube_status_changed(s, kind, k8s_cache_at(cache, i));
}

/* ---- writes ---- */

static void count(struct kube_status_set *s, const struct k8s_result *result, uint64_t *counter)
{
	if (result->code == K8S_OK)
		(*counter)++;
	else
		s->stats.failures++;
}

static enum queue_result judge(struct item *i, const struct k8s_result *result)
{
	i->call = NULL;
	if (result->code == K8S_OK) {
		/* the change of the cache is the next turn, if it has not been already */
		i->mark = operator_mark(i->of->config.op, i->kind, result);
		return QUEUE_DONE;
	}
	if (!k8s_code_is_passing(result->code) && result->code != K8S_CONFLICT &&
	    result->code != K8S_NOT_FOUND)
		log_warn("status-not-written", LOG_S("kind", row_of(i)->kind),
			 LOG_S("name", i->name), LOG_S("code", k8s_code_name(result->code)),
			 LOG_S("error", result->message));
	return QUEUE_FAILED;
}

static void on_created(const struct k8s_result *result, void *user)
{
	struct item *i = user;
	enum queue_result r;

	if (result->code == K8S_EXISTS) {
		/* of another node, or of another pair of names */
		i->call = NULL;
		*(row_of(i)->shared ? &i->take_over : &i->other_name) = true;
		operator_done(i->of->config.op, &i->queued, QUEUE_AGAIN);
		return;
	}
	count(i->of, result, &i->of->stats.creates);
	r = judge(i, result);
	operator_done(i->of->config.op, &i->queued, r);
}

static void on_updated(const struct k8s_result *result, void *user)
{
	struct item *i = user;
	enum queue_result r;

	count(i->of, result, &i->of->stats.updates);
	r = judge(i, result);
	if (result->code == K8S_OK && i->of->config.written)
		i->of->config.written(i->kind, i->key, i->before, i->of->config.user);
	free(TAKE_PTR(i->before));
	operator_done(i->of->config.op, &i->queued, r);
}

/* It can be created now. */
static void on_taken(const struct k8s_result *result, void *user)
{
	struct item *i = user;
	bool gone = result->code == K8S_OK || result->code == K8S_NOT_FOUND;

	count(i->of, result, &i->of->stats.deletes);
	i->call = NULL;
	i->take_over = !gone;
	operator_done(i->of->config.op, &i->queued, gone ? QUEUE_AGAIN : QUEUE_FAILED);
}

static void on_deleted(const struct k8s_result *result, void *user)
{
	struct item *i = user;

	count(i->of, result, &i->of->stats.deletes);
	i->call = NULL;
	operator_done(i->of->config.op, &i->queued,
		      result->code == K8S_OK || result->code == K8S_NOT_FOUND ? QUEUE_DONE
									      : QUEUE_FAILED);
}

static enum queue_result call(struct item *i, struct k8s_call_config *config)
{
	config->resource = &row_of(i)->resource;
	config->user = i;
	return operator_call(i->of->config.op, config, &i->call) < 0 ? QUEUE_FAILED : QUEUE_PENDING;
}

/* Of what the object is about. */
static uint32_t hash_of(const struct item *i)
{
	return kube_hash(kube_hash(KUBE_HASH_BEGIN, i->key), i->of->config.node);
}

static char name_letter(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ? c : '-';
}

void kube_status_name(const char *text, bool always_hash, uint32_t hash, struct buf *out)
{
	size_t n = strlen(text), max = NAME_MAX_BYTES - HASH_BYTES;
	bool plain = !always_hash && n <= NAME_MAX_BYTES;

	for (size_t i = 0; i < n && plain; i++)
		plain = name_letter(text[i]) == text[i];
	if (plain) {
		buf_adds(out, text);
		return;
	}
	for (size_t i = 0; i < n && i < max; i++)
		buf_add(out, &(char){ name_letter(text[i]) }, 1);
	/* after a dot a part begins, which is not with a dash */
	if (out->n && out->p[out->n - 1] == '.')
		out->p[out->n - 1] = '-';
	buf_printf(out, "-%08" PRIx32, hash);
}

/* The wished name; a hash makes it unique where it is taken, or not a name. */
static void add_name(struct buf *out, const struct item *i)
{
	_cleanup_(buf_free) struct buf name = { 0 };

	kube_status_name(i->name, i->other_name, hash_of(i), &name);
	buf_adds(out, buf_cstr(&name));
}

static void add_metadata(struct buf *out, const struct item *i)
{
	buf_printf(out, "\"labels\":{%s}", i->labels);
	if (i->owner)
		buf_printf(out, ",\"ownerReferences\":[%s]", i->owner);
}

static enum queue_result create(struct item *i)
{
	const struct row *row = row_of(i);
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_printf(&body, "{\"apiVersion\":\"%s/%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"",
		   row->resource.group, row->resource.version, row->kind);
	add_name(&body, i);
	buf_adds(&body, "\",");
	add_metadata(&body, i);
	buf_printf(&body, "},\"status\":%s}", i->status);
	return call(i, &(struct k8s_call_config){ .verb = K8S_VERB_CREATE,
						  .namespace = i->namespace,
						  .body = { body.p, body.n },
						  .done = on_created });
}

/* The node in a status is immutable, so the object of the other one is replaced. */
static enum queue_result take_over(struct item *i)
{
	int64_t now = loop_monotonic();

	if (now < i->take_at)
		return QUEUE_FAILED;
	i->take_at = now + TAKE_EVERY;
	return call(i, &(struct k8s_call_config){ .verb = K8S_VERB_DELETE,
						  .namespace = i->namespace,
						  .name = i->name,
						  .done = on_taken });
}

static enum queue_result update(struct item *i, const struct kube_status *o)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	kube_status_patch(o->status, i->status, &body);
	free(i->before);
	i->before = o->status ? mem_strdup(o->status) : NULL;
	return call(i, &(struct k8s_call_config){ .verb = K8S_VERB_MERGE_PATCH,
						  .namespace = o->object.namespace,
						  .name = o->object.name,
						  .subresource = "status",
						  .body = { body.p, body.n },
						  .done = on_updated });
}

/* Only as it is known: another node may be about to take it over. */
static enum queue_result delete_object(struct item *i, const struct kube_status *o)
{
	return call(i, &(struct k8s_call_config){ .verb = K8S_VERB_DELETE,
						  .namespace = o->object.namespace,
						  .name = o->object.name,
						  .uid = o->object.uid,
						  .version = o->object.version,
						  .done = on_deleted });
}

static bool is_absent(const struct item *i)
{
	return k8s_informer_state(operator_informer(i->of->config.op, i->kind)) == K8S_ABSENT;
}

enum queue_result kube_status_step(struct kube_status_set *s, struct queue_item *item)
{
	struct item *i = container_of(item, struct item, queued);
	const struct k8s_cache *cache = operator_cache(s->config.op, i->kind);
	const struct kube_status *o;
	size_t first, n;

	if (!s->complete[i->kind - KUBE_STATUS_FIRST])
		return QUEUE_DONE;
	if (!operator_seen(s->config.op, i->kind, i->mark))
		return QUEUE_FAILED;
	n = k8s_cache_find(cache, 0, i->key, &first);
	if (!n && !i->status) {
		forget(i);
		return QUEUE_PENDING;
	}
	if (is_absent(i))
		return QUEUE_DONE;
	if (!n)
		return i->take_over ? take_over(i) : create(i);
	i->take_over = false;
	o = (const struct kube_status *)k8s_cache_found(cache, 0, first + n - 1);
	if (n > 1 || !i->status)
		return delete_object(i, o);
	if (!o->status || !kube_status_same(o->status, i->status))
		return update(i, o);
	return QUEUE_DONE;
}

/* ---- the door ---- */

struct kube_status_set *kube_status_new(const struct kube_status_config *config)
{
	struct kube_status_set *s = mem_zalloc(sizeof(*s));

	s->config = *config;
	return s;
}

void kube_status_free(struct kube_status_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->items.n; i++)
		free_item(s->items.items[i]);
	vec_free(&s->items);
	for (size_t i = 0; i < KUBE_STATUS_KINDS; i++)
		map_free(&s->by_key[i]);
	free(s);
}

const struct kube_status_stats *kube_status_stats(const struct kube_status_set *s)
{
	return &s->stats;
}
