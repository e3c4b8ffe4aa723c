/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_lease: the Lease of this speaker, those of the others, and what dead nodes have left.
 *
 * The Lease is written with server-side apply, so the first renewal creates it and there is nothing
 * to read first. It is not an election: nobody else writes it.
 *
 * Objects about a node are written by its speaker alone. If that is gone for a minute, that is four
 * times the duration of a Lease, the first living speaker by name removes them, and then the Lease:
 * as long as something may be left, the Lease says so. A speaker that comes back writes everything
 * again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/tree.h"
#include "lib/k8s/rfc3339.h"
#include "lib/log/log.h"
#include "src/speaker/kube_state.h"
#include "wire/metal.h"

#define LEASE_PREFIX "maglev-speaker-"
#define KEY_SECRET "maglev-speaker-heartbeat"
#define KEY_BYTES 32
#define KEY_MAX 4096
#define RETRY 1.	 /* s after a renewal that failed */
#define GARBAGE_LEASES 4 /* durations of a Lease without a sign of life */
#define SWEEP_LIMIT "500"

static const struct k8s_resource leases = { "coordination.k8s.io", "v1", "leases" };
static const struct k8s_resource secrets = { "", "v1", "secrets" };

/* The label with the node, by kind, and whether all namespaces may have such objects. */
static const struct {
	const char *label;
	bool everywhere;
} left[KUBE_STATUS_KINDS] = {
	[KUBE_SERVICE_BGP - KUBE_STATUS_FIRST] = { KUBE_LABEL_NODE, true },
	[KUBE_SERVICE_L2 - KUBE_STATUS_FIRST] = { KUBE_LABEL_NODE, true },
	[KUBE_SESSION_STATUS - KUBE_STATUS_FIRST] = { KUBE_LABEL_NODE, false },
	[KUBE_SESSION_STATE - KUBE_STATUS_FIRST] = { KUBE_LABEL_FRR_NODE, false },
	[KUBE_CONFIGURATION - KUBE_STATUS_FIRST] = { KUBE_LABEL_NODE_NAME, false },
};

static void add_lease_name(struct buf *out, const char *label)
{
	buf_printf(out, LEASE_PREFIX "%s", label);
}

/* ---- the own Lease ---- */

static void renew_after(struct kube *k, double seconds)
{
	ev_timer_stop(k->loop, &k->renew);
	ev_timer_set(&k->renew, seconds, 0.);
	ev_timer_start(k->loop, &k->renew);
}

static void on_renewed(const struct k8s_result *result, void *user)
{
	struct kube *k = user;

	k->lease_call = NULL;
	if (result->code == K8S_OK) {
		renew_after(k, loop_seconds(k->options->lease_duration / 3));
		return;
	}
	log_warn("lease-not-renewed", LOG_S("code", k8s_code_name(result->code)),
		 LOG_S("error", result->message));
	renew_after(k, RETRY);
}

/* Without a holder it is given back. */
static int write_lease(struct kube *k, const char *holder,
		       void (*done)(const struct k8s_result *, void *))
{
	_cleanup_(buf_free) struct buf name = { 0 }, body = { 0 };
	char now[K8S_MICRO_TIME];

	add_lease_name(&name, k->label);
	buf_printf(&body,
		   "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
		   "\"name\":\"%s\",\"labels\":{\"" KUBE_LABEL_NODE "\":\"%s\"}},\"spec\":{",
		   buf_cstr(&name), k->label);
	if (holder)
		buf_printf(&body, "\"holderIdentity\":\"%s\",", holder);
	buf_printf(&body, "\"leaseDurationSeconds\":%" PRIi64 ",\"renewTime\":\"",
		   k->options->lease_duration / NSEC_PER_SEC);
	buf_printf(&body, "%s\"}}", k8s_micro_time(loop_realtime(), now));
	return operator_call(k->op,
			     &(struct k8s_call_config){ .verb = K8S_VERB_APPLY,
							.resource = &leases,
							.namespace = operator_namespace(k->op),
							.name = name.p,
							.body = { body.p, body.n },
							.force = true,
							.urgent = true,
							.timeout = k->options->lease_duration,
							.done = done,
							.user = k },
			     &k->lease_call);
}

static void on_renew(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct kube *k = container_of(timer, struct kube, renew);

	if (write_lease(k, k->holder, on_renewed) < 0)
		renew_after(k, RETRY);
}

static void on_released(const struct k8s_result *result, void *user)
{
	struct kube *k = user;

	k->lease_call = NULL;
	k->released(k->released_user);
}

void kube__lease_release(struct kube *k, void (*done)(void *user), void *user)
{
	ev_timer_stop(k->loop, &k->renew);
	k8s_call_cancel(TAKE_PTR(k->lease_call));
	k->released = done;
	k->released_user = user;
	if (!k->holder || write_lease(k, NULL, on_released) < 0)
		done(user);
}

void kube__take_part(struct kube *k)
{
	if (asprintf(&k->holder, "%s_%016" PRIx64, k->node, (uint64_t)loop_realtime()) < 0)
		abort();
	ev_init(&k->renew, on_renew);
	renew_after(k, 0.);
	kube__find_key(k);
}

void kube__lease_free(struct kube *k)
{
	ev_timer_stop(k->loop, &k->renew);
	k8s_call_cancel(k->lease_call);
	k8s_call_cancel(k->key_call);
	k8s_call_cancel(k->sweep_call);
	free(k->sweeping);
	free(k->holder);
}

/* ---- what dead nodes have left ---- */

static void sweep(struct kube *k);

static void on_lease_deleted(const struct k8s_result *result, void *user)
{
	struct kube *k = user;

	k->sweep_call = NULL;
	log_info("node-swept", LOG_S("node", k->sweeping));
	free(TAKE_PTR(k->sweeping));
}

static void delete_lease(struct kube *k)
{
	_cleanup_(buf_free) struct buf name = { 0 };
	const struct k8s_object *o;

	add_lease_name(&name, k->sweeping);
	o = k8s_cache_get(operator_cache(k->op, KUBE_LEASES), operator_namespace(k->op),
			  buf_cstr(&name));
	if (!o || operator_call(k->op,
				&(struct k8s_call_config){ .verb = K8S_VERB_DELETE,
							   .resource = &leases,
							   .namespace = o->namespace,
							   .name = o->name,
							   .uid = o->uid,
							   .version = o->version,
							   .done = on_lease_deleted,
							   .user = k },
				&k->sweep_call) < 0)
		free(TAKE_PTR(k->sweeping));
}

static void on_object_deleted(const struct k8s_result *result, void *user)
{
}

static const char *text_of(const struct json_node *o, const char *key)
{
	const struct json_node *value = json_find(json_find(o, "metadata"), key);

	return value && value->kind == JSON_KIND_STRING ? value->text : "";
}

/* Returns how many there were. */
static size_t delete_listed(struct kube *k, struct str body)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *root, *items;
	struct k8s_call *call;

	if (json_parse(body, NULL, arena, &root, &errors) < 0)
		return 1;
	items = json_find(root, "items");
	if (!items || items->kind != JSON_KIND_ARRAY)
		return 1;
	for (size_t i = 0; i < items->n; i++)
		operator_call(k->op,
			      &(struct k8s_call_config){
				      .verb = K8S_VERB_DELETE,
				      .resource = kube_status_resource(
					      (enum kube_kind)(KUBE_STATUS_FIRST + k->sweep_kind)),
				      .namespace = text_of(&items->items[i], "namespace"),
				      .name = text_of(&items->items[i], "name"),
				      .uid = text_of(&items->items[i], "uid"),
				      .done = on_object_deleted,
				      .user = k },
			      &call);
	return items->n;
}

/* What was found is deleted, and the next pass finds out whether that succeeded. */
static void on_listed(const struct k8s_result *result, void *user)
{
	struct kube *k = user;
	bool absent = result->code == K8S_NOT_FOUND;
	size_t n = absent ? 0 : result->code == K8S_OK ? delete_listed(k, result->body) : 1;

	k->sweep_call = NULL;
	if (n) {
		free(TAKE_PTR(k->sweeping));
		return;
	}
	k->sweep_kind++;
	sweep(k);
}

static void sweep(struct kube *k)
{
	_cleanup_(buf_free) struct buf query = { 0 };

	if (k->sweep_kind == KUBE_STATUS_KINDS) {
		delete_lease(k);
		return;
	}
	buf_printf(&query, "limit=" SWEEP_LIMIT "&labelSelector=%s%%3D%s",
		   left[k->sweep_kind].label, k->sweeping);
	if (operator_call(k->op,
			  &(struct k8s_call_config){
				  .verb = K8S_VERB_LIST,
				  .resource = kube_status_resource(
					  (enum kube_kind)(KUBE_STATUS_FIRST + k->sweep_kind)),
				  .namespace = left[k->sweep_kind].everywhere
						       ? NULL
						       : operator_namespace(k->op),
				  .query = buf_cstr(&query),
				  .done = on_listed,
				  .user = k },
			  &k->sweep_call) < 0)
		free(TAKE_PTR(k->sweeping));
}

/* The first living node by name, so that one speaker does it. */
static bool is_sweeper(const struct kube *k)
{
	for (size_t i = 0; i < k->alive.nodes.n; i++)
		if (k->alive.nodes.items[i].is_alive)
			return strcmp(k->alive.nodes.items[i].node, k->label) == 0;
	return false;
}

static void look_for_garbage(struct kube *k)
{
	if (k->sweeping || !operator_is_active(k->op) || !is_sweeper(k))
		return;
	for (size_t i = 0; i < k->alive.nodes.n; i++) {
		const struct alive_node *n = &k->alive.nodes.items[i];

		if (alive_gone_for(&k->alive, n) < GARBAGE_LEASES * k->options->lease_duration)
			continue;
		k->sweeping = mem_strdup(n->node);
		k->sweep_kind = 0;
		sweep(k);
		return;
	}
}

/* ---- who is alive ---- */

void kube__judge_alive(struct kube *k)
{
	int64_t now, due;

	kube_l2_look(k->l2);
	now = loop_monotonic();
	if (alive_judge(&k->alive, now, &due)) {
		k->nodes_changed = k->claim_again = true;
		for (size_t i = 0; i < k->alive.nodes.n; i++)
			log_debug("node-alive", LOG_S("node", k->alive.nodes.items[i].node),
				  LOG_U("alive", k->alive.nodes.items[i].is_alive));
		kube__refresh_soon(k);
	}
	ev_timer_stop(k->loop, &k->due);
	if (due) {
		ev_timer_set(&k->due, due > now ? loop_seconds(due - now) : 0., 0.);
		ev_timer_start(k->loop, &k->due);
	}
}

void kube__lease_changed(struct kube *k, const struct kube_lease *old, const struct kube_lease *new)
{
	const struct kube_lease *l = new ? new : old;
	const char *node = k8s_map_get(&l->labels, KUBE_LABEL_NODE);

	if (!node)
		return;
	if (new)
		alive_lease(&k->alive, node, new->holder ? new->holder : "", loop_monotonic());
	else
		alive_forget(&k->alive, node);
	kube__judge_alive(k);
	if (new &&strcmp(node, k->label) == 0)
		look_for_garbage(k);
}

/* ---- the key of the heartbeats ---- */

static void on_key_created(const struct k8s_result *result, void *user)
{
	struct kube *k = user;

	k->key_call = NULL;
	if (result->code != K8S_OK && result->code != K8S_EXISTS)
		log_warn("heartbeat-key-not-created", LOG_S("secret", KEY_SECRET),
			 LOG_S("code", k8s_code_name(result->code)),
			 LOG_S("error", result->message));
}

static void create_key(struct kube *k)
{
	_cleanup_(buf_free) struct buf body = { 0 }, text = { 0 };
	uint8_t bytes[KEY_BYTES];

	if (k->key_call || getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return;
	base64_encode(&text, (struct str){ (const char *)bytes, sizeof(bytes) });
	buf_adds(&body,
		 "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" KEY_SECRET
		 "\"},\"type\":\"Opaque\",\"stringData\":{\"password\":\"");
	buf_add(&body, text.p, text.n);
	buf_adds(&body, "\"}}");
	operator_call(k->op,
		      &(struct k8s_call_config){ .verb = K8S_VERB_CREATE,
						 .resource = &secrets,
						 .namespace = operator_namespace(k->op),
						 .body = { body.p, body.n },
						 .done = on_key_created,
						 .user = k },
		      &k->key_call);
}

void kube__find_key(struct kube *k)
{
	const struct wire_secret *s = (const struct wire_secret *)k8s_cache_get(
		operator_cache(k->op, KUBE_SECRETS), operator_namespace(k->op), KEY_SECRET);
	char key[KEY_MAX];
	ssize_t n;

	if (!s) {
		create_key(k);
		return;
	}
	if (!s->password || strlen(s->password) > sizeof(key))
		return;
	n = base64_decode(str_of(s->password), key);
	if (n > 0)
		kube_l2_set_key(k->l2, (struct str){ key, (size_t)n });
}
