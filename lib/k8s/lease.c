/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease: one attempt at a time.
 *
 *	attempt: read -> (create | take | wait)
 *	leading: renew with what is known; after a conflict, read
 *
 * All writes are merge patches with the resourceVersion that was read, so that of two processes
 * that see an expired lease only one gets it. The time that counts for us is the one before the
 * request was sent; the time that counts for others is the one at which they saw it, which is
 * later.
 *
 * Times are of CLOCK_BOOTTIME: it also runs while the machine sleeps.
 */
#include "lib/k8s/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "lib/json/cursor.h"
#include "lib/json/json.h"
#include "lib/k8s/rfc3339.h"

#define DURATION_MAX (24 * 3600 * NSEC_PER_SEC)

static const struct k8s_resource leases = { "coordination.k8s.io", "v1", "leases" };

struct k8s_lease {
	struct k8s_lease_config config;
	char *namespace, *name, *identity;
	struct k8s_call *call;
	ev_timer again;	 /* the next attempt */
	ev_timer expiry; /* of our leadership */
	bool running, leading;
	int64_t asked;	    /* when the request under way was sent */
	int64_t held_until; /* we lead before that */
	/* the lease as it was seen last */
	char *holder, *version;
	int64_t duration, transitions;
	int64_t seen_at;  /* when it changed last */
	int64_t acquired; /* since the epoch, if it is ours */
	uint64_t renewals, random;
	void (*released)(void *user);
};

static int64_t boot_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static struct ev_loop *loop_of(const struct k8s_lease *l)
{
	return k8s_client_loop(l->config.client);
}

/* ---- what a Lease says ---- */

static int take_spec(const struct json_cursor *spec, struct k8s_lease_record *r)
{
	struct json_cursor holder = json_member(spec, "holderIdentity");
	struct json_cursor duration = json_member(spec, "leaseDurationSeconds");
	struct json_cursor transitions = json_member(spec, "leaseTransitions");
	int64_t seconds = 0;

	if (json_get_string(&holder, &r->holder) < 0 ||
	    json_get_i64(&duration, 0, DURATION_MAX / NSEC_PER_SEC, &seconds) < 0 ||
	    json_get_i64(&transitions, 0, INT32_MAX - 1, &r->transitions) < 0)
		return -EINVAL;
	r->duration = seconds * NSEC_PER_SEC;
	return 0;
}

int k8s_lease_parse(struct str text, struct arena *arena, struct k8s_lease_record *ret,
		    struct errs *errors)
{
	struct k8s_lease_record r = { .holder = "" };
	const struct json_node *tree;
	struct json_cursor root, metadata, version, spec;

	if (json_parse(text, NULL, arena, &tree, errors) < 0)
		return -EINVAL;
	root = json_cursor_of(tree, errors);
	metadata = json_member(&root, "metadata");
	version = json_member(&metadata, "resourceVersion");
	spec = json_member(&root, "spec");
	if (json_require(&version) < 0 || json_get_string(&version, &r.version) < 0 ||
	    take_spec(&spec, &r) < 0)
		return -EINVAL;
	*ret = r;
	return 0;
}

/* ---- leading ---- */

bool k8s_lease_is_held(const struct k8s_lease *l)
{
	return l->leading && boot_time() < l->held_until;
}

static void set_leading(struct k8s_lease *l, bool leads)
{
	if (l->leading == leads)
		return;
	l->leading = leads;
	if (!leads)
		ev_timer_stop(loop_of(l), &l->expiry);
	l->config.changed(leads, l->config.user); /* may free l if it was lost */
}

static void set_timer(struct k8s_lease *l, ev_timer *timer, int64_t ns)
{
	ev_timer_stop(loop_of(l), timer);
	ev_timer_set(timer, loop_seconds(ns > 0 ? ns : 0), 0);
	ev_timer_start(loop_of(l), timer);
}

static void on_expiry(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_lease *l = container_of(w, struct k8s_lease, expiry);

	(void)loop;
	(void)events;
	if (k8s_lease_is_held(l))
		set_timer(l, &l->expiry, l->held_until - boot_time());
	else
		set_leading(l, false);
}

/* Attempts of several processes spread. */
static void plan(struct k8s_lease *l)
{
	int64_t ns = l->config.retry;

	if (!l->running)
		return;
	if (!l->leading)
		ns += (int64_t)(random_next(&l->random) % (uint64_t)(ns / 5 + 1));
	set_timer(l, &l->again, ns);
}

/* A write of ours was accepted. An answer that comes too late makes no leader. */
static void win(struct k8s_lease *l)
{
	l->held_until = l->asked + l->config.renew;
	l->renewals++;
	plan(l);
	if (boot_time() >= l->held_until)
		return;
	set_timer(l, &l->expiry, l->held_until - boot_time());
	set_leading(l, true);
}

/* ---- observing ---- */

static void set_text(char **to, const char *text)
{
	char *copy = mem_strdup(text);

	free(*to);
	*to = copy;
}

static int observe(struct k8s_lease *l, struct str body)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	struct k8s_lease_record r;
	bool other;

	if (k8s_lease_parse(body, arena, &r, &errors) < 0)
		return -EINVAL;
	other = strcmp(l->holder, r.holder) != 0;
	if (strcmp(l->version, r.version) != 0)
		l->seen_at = boot_time();
	set_text(&l->holder, r.holder);
	set_text(&l->version, r.version);
	l->duration = r.duration;
	l->transitions = r.transitions;
	if (other && l->config.observed)
		l->config.observed(l->holder, l->config.user);
	return 0;
}

static bool is_ours(const struct k8s_lease *l)
{
	return strcmp(l->holder, l->identity) == 0;
}

static bool may_take(const struct k8s_lease *l)
{
	return !l->holder[0] || is_ours(l) || boot_time() - l->seen_at >= l->duration;
}

static void trouble(struct k8s_lease *l, enum k8s_code code, const char *message)
{
	if (l->config.trouble)
		l->config.trouble(code, message, l->config.user);
}

/* ---- requests ---- */

static int call(struct k8s_lease *l, enum k8s_verb verb, struct str body,
		void (*done)(const struct k8s_result *result, void *user))
{
	const struct k8s_call_config config = { .verb = verb,
						.resource = &leases,
						.namespace = l->namespace,
						.name = l->name,
						.manager = "maglev-lease",
						.body = body,
						.timeout = l->config.renew / 2,
						.urgent = true,
						.ungated = true,
						.done = done,
						.user = l };

	l->asked = boot_time();
	return k8s_call(l->config.client, &config, &l->call);
}

static void add_string(struct buf *b, const char *key, const char *value)
{
	buf_printf(b, "\"%s\":", key);
	json_write_string(b, value, strlen(value));
}

/* holder "": gives it back. */
static void write_lease(struct k8s_lease *l, struct buf *b, const char *holder, bool create)
{
	int64_t seconds = (l->config.duration + NSEC_PER_SEC - 1) / NSEC_PER_SEC;
	int64_t transitions = l->transitions + (!create && holder[0] && !is_ours(l));
	char now[K8S_MICRO_TIME], since[K8S_MICRO_TIME];

	if (!is_ours(l) || create)
		l->acquired = loop_realtime();
	buf_adds(b, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{");
	add_string(b, create ? "name" : "resourceVersion", create ? l->name : l->version);
	buf_adds(b, "},\"spec\":{");
	add_string(b, "holderIdentity", holder);
	buf_printf(b, ",\"leaseDurationSeconds\":%lld,\"leaseTransitions\":%lld",
		   (long long)(holder[0] ? seconds : 1), (long long)transitions);
	buf_printf(b, ",\"renewTime\":\"%s\",\"acquireTime\":\"%s\"}}",
		   k8s_micro_time(loop_realtime(), now), k8s_micro_time(l->acquired, since));
}

static void read_lease(struct k8s_lease *l);

static void on_written(const struct k8s_result *result, void *user)
{
	struct k8s_lease *l = user;

	l->call = NULL;
	if (result->code == K8S_OK && observe(l, result->body) == 0) {
		win(l);
		return;
	}
	if (result->code == K8S_OK)
		trouble(l, K8S_MALFORMED, "that is not a Lease");
	else if (result->code != K8S_CONFLICT && result->code != K8S_EXISTS)
		trouble(l, result->code, result->message);
	if (result->code == K8S_CONFLICT && l->leading)
		read_lease(l); /* somebody has changed it; perhaps only an annotation */
	else
		plan(l);
}

static void write_ours(struct k8s_lease *l, bool create)
{
	struct buf b = { 0 };

	write_lease(l, &b, l->identity, create);
	if (call(l, create ? K8S_VERB_CREATE : K8S_VERB_MERGE_PATCH, (struct str){ b.p, b.n },
		 on_written) < 0)
		plan(l);
	buf_free(&b);
}

static void on_read(const struct k8s_result *result, void *user)
{
	struct k8s_lease *l = user;

	l->call = NULL;
	if (result->code == K8S_NOT_FOUND) {
		set_text(&l->holder, "");
		l->transitions = 0;
		write_ours(l, true);
		return;
	}
	if (result->code != K8S_OK || observe(l, result->body) < 0) {
		trouble(l, result->code == K8S_OK ? K8S_MALFORMED : result->code,
			result->code == K8S_OK ? "that is not a Lease" : result->message);
		plan(l);
		return;
	}
	if (may_take(l)) {
		write_ours(l, false);
		return;
	}
	plan(l);
	set_leading(l, false); /* another one has it */
}

static void read_lease(struct k8s_lease *l)
{
	if (call(l, K8S_VERB_GET, (struct str){ 0 }, on_read) < 0)
		plan(l);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_lease *l = container_of(w, struct k8s_lease, again);

	(void)loop;
	(void)events;
	if (k8s_lease_is_held(l) && is_ours(l))
		write_ours(l, false);
	else
		read_lease(l);
}

/* ---- public ---- */

struct k8s_lease *k8s_lease_new(const struct k8s_lease_config *config)
{
	struct k8s_lease *l = mem_zalloc(sizeof(*l));
	struct k8s_lease_config *c = &l->config;

	assert(config && config->client && config->changed && config->identity[0]);
	*c = *config;
	c->duration = c->duration ? c->duration : 15 * NSEC_PER_SEC;
	c->renew = c->renew ? c->renew : 10 * NSEC_PER_SEC;
	c->retry = c->retry ? c->retry : 2 * NSEC_PER_SEC;
	assert(c->duration >= NSEC_PER_SEC && c->renew < c->duration && c->retry < c->renew);
	l->namespace = mem_strdup(config->namespace);
	l->name = mem_strdup(config->name);
	l->identity = mem_strdup(config->identity);
	l->holder = mem_strdup("");
	l->version = mem_strdup("");
	l->random = (uint64_t)loop_realtime() ^ (uint64_t)(uintptr_t)l;
	ev_timer_init(&l->again, on_again, 0, 0);
	ev_timer_init(&l->expiry, on_expiry, 0, 0);
	ev_set_priority(&l->expiry, EV_MAXPRI);
	return l;
}

static void halt(struct k8s_lease *l)
{
	l->running = false;
	k8s_call_cancel(TAKE_PTR(l->call));
	ev_timer_stop(loop_of(l), &l->again);
	ev_timer_stop(loop_of(l), &l->expiry);
}

void k8s_lease_free(struct k8s_lease *l)
{
	if (!l)
		return;
	halt(l);
	free(l->namespace);
	free(l->name);
	free(l->identity);
	free(l->holder);
	free(l->version);
	free(l);
}

void k8s_lease_start(struct k8s_lease *l)
{
	if (l->running)
		return;
	l->running = true;
	set_timer(l, &l->again, 0);
}

static void on_released(const struct k8s_result *result, void *user);

static int give_back(struct k8s_lease *l)
{
	struct buf b = { 0 };
	int r;

	write_lease(l, &b, "", false);
	r = call(l, K8S_VERB_MERGE_PATCH, (struct str){ b.p, b.n }, on_released);
	buf_free(&b);
	return r;
}

static void on_read_again(const struct k8s_result *result, void *user)
{
	struct k8s_lease *l = user;

	l->call = NULL;
	if (result->code != K8S_OK || observe(l, result->body) < 0 || !is_ours(l) ||
	    give_back(l) < 0)
		l->released(l->config.user);
}

/* A conflict: the renewal that was cancelled has arrived, so there is another version. */
static void on_released(const struct k8s_result *result, void *user)
{
	struct k8s_lease *l = user;

	l->call = NULL;
	if (result->code != K8S_CONFLICT ||
	    call(l, K8S_VERB_GET, (struct str){ 0 }, on_read_again) < 0)
		l->released(l->config.user);
}

static void on_nothing(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_lease *l = container_of(w, struct k8s_lease, again);

	(void)loop;
	(void)events;
	l->released(l->config.user);
}

void k8s_lease_release(struct k8s_lease *l, void (*done)(void *user))
{
	bool held = k8s_lease_is_held(l) && is_ours(l);

	halt(l);
	l->leading = false;
	l->released = done;
	if (!held || give_back(l) < 0) {
		ev_timer_init(&l->again, on_nothing, 0, 0);
		ev_timer_start(loop_of(l), &l->again);
	}
}

const char *k8s_lease_holder(const struct k8s_lease *l)
{
	return l->holder;
}

uint64_t k8s_lease_renewals(const struct k8s_lease *l)
{
	return l->renewals;
}
