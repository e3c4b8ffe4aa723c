/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controller: a key for each mux, made when something refers to it and freed after the turn that
 * finds nothing of it.
 *
 * A turn takes what has changed, looks at the cluster, makes the view again if it must, plans, and
 * writes. If a write fails the whole mux is looked at again: either what the plan was made from is
 * not true any more, or the server has trouble, and both are rare.
 */
#include "src/mux/controller.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/tls/digest.h"
#include "src/mux/apply.h"
#include "src/mux/late.h"
#include "src/mux/observe.h"

static const double seconds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
				  0.25,	 0.5,	 1,	2.5,  5,     10,   30 };
static const struct metrics_bounds bounds = { seconds, ARRAY_SIZE(seconds) };

/* ---- keys ---- */

static char *join(const char *namespace, const char *name)
{
	char *id;

	if (asprintf(&id, "%s/%s", namespace, name) < 0)
		abort();
	return id;
}

static int key_cmp(const struct key *k, const char *namespace, const char *name)
{
	int order = strcmp(k->namespace, namespace);

	return order ? order : strcmp(k->name, name);
}

/* The first key that is not before (namespace, name). */
static size_t place_of(const struct controller *c, const char *namespace, const char *name)
{
	size_t low = 0, high = c->keys.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (key_cmp(c->keys.items[middle], namespace, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void on_due(struct ev_loop *loop, ev_timer *w, int events)
{
	struct key *k = container_of(w, struct key, due);

	controller_touch(k->controller, k->namespace, k->name);
}

static struct key *make_key(struct controller *c, const char *namespace, const char *name,
			    bool stray)
{
	struct key *k = mem_zalloc(sizeof(*k));
	size_t at = place_of(c, namespace, name);

	k->controller = c;
	k->id = join(namespace, name);
	k->namespace = mem_strdup(namespace);
	k->name = mem_strdup(name);
	k->stray = stray;
	ev_timer_init(&k->due, on_due, 0, 0);
	late_init(k);
	if (stray) {
		vec_push(&c->strays, k);
		map_put(&c->strays_by_id, k->id, k);
		return k;
	}
	vec_insert_at(&c->keys, at);
	c->keys.items[at] = k;
	map_put(&c->by_id, k->id, k);
	return k;
}

struct key *controller_key(const struct controller *c, const char *namespace, const char *name)
{
	_cleanup_(cleanup_free) char *id = join(namespace, name);

	return map_get(&c->by_id, id);
}

static void clear_changed(struct key *k)
{
	for (size_t i = 0; i < k->changed.cap; i++)
		free(k->changed.slots[i].value);
	map_free(&k->changed);
}

static void clear_deletions(struct key *k)
{
	for (size_t i = 0; i < k->deletions.n; i++) {
		free(k->deletions.items[i].namespace);
		free(k->deletions.items[i].name);
		free(k->deletions.items[i].uid);
	}
	vec_free(&k->deletions);
}

static void free_key(struct key *k)
{
	ev_timer_stop(k->controller->loop, &k->due);
	apply_cancel(k->apply);
	late_free(k);
	operator_forget(k->controller->op, &k->item);
	clear_changed(k);
	clear_deletions(k);
	free(k->told);
	free(k->id);
	free(k->namespace);
	free(k->name);
	free(k);
}

static void drop_key(struct key *k)
{
	struct controller *c = k->controller;

	if (k->stray) {
		map_remove(&c->strays_by_id, k->id);
		for (size_t i = 0; i < c->strays.n; i++)
			if (c->strays.items[i] == k)
				c->strays.items[i] = c->strays.items[--c->strays.n];
	} else {
		map_remove(&c->by_id, k->id);
		vec_remove_at(&c->keys, place_of(c, k->namespace, k->name));
	}
	free_key(k);
}

/* ---- what has changed ---- */

static void add(struct key *k)
{
	if (!k->since)
		k->since = loop_monotonic();
	operator_add(k->controller->op, &k->item, 0);
}

static struct key *some_key(struct controller *c, const char *namespace, const char *name)
{
	struct key *k = controller_key(c, namespace, name);

	return k ? k : make_key(c, namespace, name, false);
}

static void touch_all(struct key *k)
{
	k->stale = true;
	clear_changed(k);
}

void controller_touch(struct controller *c, const char *namespace, const char *name)
{
	struct key *k = some_key(c, namespace, name);

	touch_all(k);
	add(k);
}

void controller_touch_channel(struct controller *c, const char *namespace, const char *name,
			      const struct k8s_object *channel)
{
	struct key *k = some_key(c, namespace, name);
	char *id;

	if (channel && !k->stale) {
		id = join(channel->namespace, channel->name);
		if (map_get(&k->changed, id))
			free(id);
		else
			map_put(&k->changed, id, id);
		if (k->changed.n > KEY_CHANNELS_MAX)
			touch_all(k);
	}
	add(k);
}

void controller_touch_stray(struct controller *c, const struct k8s_object *service)
{
	_cleanup_(cleanup_free) char *id = join(service->namespace, service->name);
	struct key *k = map_get(&c->strays_by_id, id);

	add(k ? k : make_key(c, service->namespace, service->name, true));
}

/* ---- events ---- */

static void emit_one(struct controller *c, const struct mux_event *e)
{
	_cleanup_(cleanup_free) char *id = join(e->namespace, e->name);

	*(e->warning ? &c->stats.warning_events : &c->stats.normal_events) += 1;
	if (e->warning)
		log_warn("warning-event", LOG_S("service", id), LOG_S("reason", e->reason),
			 LOG_S("note", e->note));
	else
		log_info("event", LOG_S("service", id), LOG_S("reason", e->reason),
			 LOG_S("note", e->note));
	operator_emit(c->op, &(struct k8s_event){ .regarding = { .api_version = "v1",
								 .kind = "Service",
								 .namespace = e->namespace,
								 .name = e->name,
								 .uid = e->uid ? e->uid : "",
								 .field_path = e->field_path },
						  .warning = e->warning,
						  .reason = e->reason,
						  .action = "Multiplex",
						  .note = e->note });
	if (c->on_event)
		c->on_event(e, c->user);
}

void controller_emit(struct controller *c, const struct mux_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		emit_one(c, &events[i]);
}

/* ---- a turn ---- */

/* Some channels of a mux that is served are looked at alone; all else needs the whole. */
static bool is_whole(const struct key *k)
{
	return k->stale || !k->view ||
	       (k->view->condition != MUX_ACTIVE && k->view->condition != MUX_FROZEN);
}

/* Whether the caches have what the last turn wrote. */
static bool has_settled(struct key *k)
{
	struct controller *c = k->controller;

	if (!late_seen(k, k->stray || is_whole(k)))
		return false;
	for (size_t i = 0; i < k->deletions.n; i++) {
		const struct key_deletion *d = &k->deletions.items[i];
		const struct k8s_object *o =
			k8s_cache_get(operator_cache(c->op, d->kind), d->namespace, d->name);

		if (o && o->deleting != K8S_YES && strcmp(o->uid, d->uid) == 0)
			return false;
	}
	clear_deletions(k);
	return true;
}

static int name_cmp(const void *a, const void *b)
{
	const struct mux_channel_name *x = a, *y = b;
	int order = strcmp(x->namespace, y->namespace);

	return order ? order : strcmp(x->name, y->name);
}

/* Takes what has changed, in the arena. */
static struct mux_scope take_scope(struct key *k, struct arena *arena)
{
	struct mux_channel_name *names = arena_array(arena, k->changed.n, sizeof(*names));
	struct mux_scope scope = { .channels = names };

	for (size_t i = 0; i < k->changed.cap; i++) {
		const char *id = k->changed.slots[i].value;
		const char *slash = id ? strchr(id, '/') : NULL;

		if (!slash)
			continue;
		names[scope.n_channels++] =
			(struct mux_channel_name){ .namespace = arena_strndup(arena, id,
									      (size_t)(slash - id)),
						   .name = arena_strdup(arena, slash + 1) };
	}
	qsort(names, scope.n_channels, sizeof(*names), name_cmp);
	clear_changed(k);
	k->stale = false;
	k->began = k->since;
	k->since = 0;
	return scope;
}

static void tell_change(struct controller *c)
{
	if (c->on_change)
		c->on_change(c->user);
}

static void schedule(struct key *k, int64_t due, int64_t now)
{
	ev_timer_stop(k->controller->loop, &k->due);
	if (!due)
		return;
	ev_timer_set(&k->due, due > now ? loop_seconds(due - now) : 0., 0.);
	ev_timer_start(k->controller->loop, &k->due);
}

static uint64_t fingerprint(const struct buf *text)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < text->n; i++)
		hash = (hash ^ (unsigned char)text->p[i]) * 0x100000001b3u;
	return hash;
}

/* One line for each write, once for each different plan. */
static void print_plan(struct key *k, const struct mux_plan *plan)
{
	_cleanup_(buf_free) struct buf all = { 0 };
	struct str rest, line;

	for (size_t i = 0; i < plan->n_writes; i++) {
		mux_write_show(&plan->writes[i], &all);
		buf_addc(&all, '\n');
	}
	if (k->printed == fingerprint(&all))
		return;
	k->printed = fingerprint(&all);
	log_info("dry-run", LOG_S("mux", k->id), LOG_U("writes", plan->n_writes));
	rest = (struct str){ all.p, all.n };
	while (str_cut(&rest, '\n', &line))
		if (line.n)
			log_info("would-write", LOG_S("mux", k->id),
				 LOG_SN("write", line.p, line.n));
}

/* The end of a turn that had no writes to make, or has made all. */
static void settle(struct key *k)
{
	struct controller_stats *s = &k->controller->stats;

	if (k->began)
		metrics_observe(&s->settling, loop_seconds(loop_monotonic() - k->began));
	k->began = 0;
}

static void on_applied(struct key *k, bool succeeded)
{
	struct controller *c = k->controller;

	k->apply = NULL;
	if (succeeded) {
		settle(k);
	} else {
		c->stats.failed_passes++;
		touch_all(k);
		k->since = k->since ? k->since : k->began;
	}
	tell_change(c);
	operator_done(c->op, &k->item, succeeded ? QUEUE_DONE : QUEUE_FAILED);
}

static enum queue_result run_plan(struct key *k, struct observation *o, struct mux_plan *plan)
{
	struct controller *c = k->controller;

	controller_emit(c, plan->events, plan->n_events);
	schedule(k, plan->due, observation_facts(o)->now);
	if (operator_is_dry_run(c->op)) {
		print_plan(k, plan);
		plan->n_writes = 0;
	}
	late_split(k, o, plan);
	if (plan->n_writes > 0) {
		k->apply = apply_start(k, o, plan, on_applied);
		return QUEUE_PENDING;
	}
	observation_free(o);
	settle(k);
	return QUEUE_DONE;
}

/* Nothing of it exists, and nothing refers to it. */
static bool is_gone(const struct mux_facts *f)
{
	return !f->mux && f->n_channels == 0 && f->n_slices == 0;
}

static void tell_existence(struct key *k, const struct mux_facts *f)
{
	struct controller *c = k->controller;

	if (!k->existed && f->mux)
		log_info("mux-found", LOG_S("mux", k->id), LOG_U("channels", f->n_channels));
	if (k->existed && !f->mux) {
		log_info("mux-gone", LOG_S("mux", k->id), LOG_U("channels", f->n_channels));
		if (c->on_event) /* there is no object for an event */
			c->on_event(&(struct mux_event){ .namespace = k->namespace,
							 .name = k->name,
							 .reason = "MuxDeleted",
							 .note = "Mux deleted" },
				    c->user);
	}
	k->existed = f->mux;
}

static enum queue_result step_mux(struct key *k)
{
	struct controller *c = k->controller;
	int64_t began = loop_monotonic();
	bool whole = is_whole(k);
	struct observation *o = observe(c, k->namespace, k->name, whole);
	const struct mux_facts *f = observation_facts(o);
	struct mux_scope scope = take_scope(k, observation_arena(o));
	struct mux_plan plan = { 0 };

	c->stats.passes++;
	c->stats.full_passes += whole;
	if (whole) {
		tell_existence(k, f);
		late_set_view(k, mux_assign(f, k->view));
		scope.all = true;
	}
	mux_plan(k->view, f, &scope, observation_arena(o), &plan);
	metrics_observe(&c->stats.planning, loop_seconds(loop_monotonic() - began));
	log_debug("mux-pass", LOG_S("mux", k->id), LOG_B("full", whole),
		  LOG_S("condition", mux_condition_name(k->view->condition)),
		  LOG_U("channels", k->view->n_channels), LOG_U("writes", plan.n_writes),
		  LOG_T("duration", loop_monotonic() - began));
	tell_change(c);
	if (whole && is_gone(f) && plan.n_writes == 0) {
		observation_free(o);
		drop_key(k);
		tell_change(c);
		return QUEUE_PENDING;
	}
	return run_plan(k, o, &plan);
}

static enum queue_result step_stray(struct key *k)
{
	struct controller *c = k->controller;
	struct observation *o = observe(c, k->namespace, k->name, false);
	struct mux_sight sight;
	struct mux_reference mux;
	struct mux_plan plan = { 0 };
	char *about;

	observation_facts(o)->look(k->namespace, k->name, &sight, observation_facts(o)->user);
	if (!sight.service || mux_role(&c->settings, sight.service, &mux) != MUX_ROLE_STRAY) {
		observation_free(o);
		drop_key(k);
		return QUEUE_PENDING;
	}
	about = join(sight.service->object.uid, sight.service->class ? sight.service->class : "");
	mux_plan_stray(&c->settings, sight.service, cstr_eq(k->told, about), observation_arena(o),
		       &plan);
	free(k->told);
	k->told = about;
	k->since = 0;
	return run_plan(k, o, &plan);
}

static enum queue_result on_step(struct queue_item *item, void *user)
{
	struct key *k = container_of(item, struct key, item);

	if (!has_settled(k))
		return QUEUE_FAILED;
	return k->stray ? step_stray(k) : step_mux(k);
}

/* ---- the operator ---- */

static void on_synced(void *user)
{
	struct controller *c = user;

	log_info("synced", LOG_U("services", k8s_cache_count(operator_cache(c->op, KIND_SERVICE))),
		 LOG_U("slices", k8s_cache_count(operator_cache(c->op, KIND_SLICE))));
	tell_change(c);
}

static void on_active(bool active, void *user)
{
	struct controller *c = user;

	log_info(active ? "active" : "inactive", LOG_S("identity", operator_identity(c->op)));
	if (active)
		observe_all(c);
	tell_change(c);
}

static void on_holder(const char *holder, void *user)
{
	struct controller *c = user;

	log_info("leader", LOG_S("holder", holder));
	tell_change(c);
}

static void on_trouble(const struct operator_trouble *t, void *user)
{
	log_warn("kube-trouble", LOG_S("doing", t->doing), LOG_S("what", t->what),
		 LOG_S("code", k8s_code_name(t->code)), LOG_S("reason", t->message),
		 LOG_T("retry", t->delay));
}

static void on_resync(struct ev_loop *loop, ev_timer *w, int events)
{
	struct controller *c = container_of(w, struct controller, resync);

	for (size_t i = 0; i < c->keys.n; i++) {
		touch_all(c->keys.items[i]);
		operator_add(c->op, &c->keys.items[i]->item, 1);
	}
}

static int make_operator(struct controller *c)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct operator_config config = { .loop = c->loop,
						.options = &c->options->operator,
						.name = "maglev-mux",
						.controller = "maglev.dev/mux",
						.instance = c->options->pod,
						.kinds = c->rows,
						.n_kinds = KINDS,
						.step = on_step,
						.parallel = CONTROLLER_PARALLEL,
						.synced = on_synced,
						.active = on_active,
						.holder = on_holder,
						.trouble = on_trouble,
						.user = c };
	int r = operator_new(&config, &c->op, &errors);

	if (r == 0)
		return 0;
	log_error("kubeconfig-failed",
		  LOG_S("error", errors.n ? errors.items[0].text : strerror(-r)));
	return r;
}

/* ---- public ---- */

int controller_new(struct controller *c, struct ev_loop *loop, const struct options *options)
{
	int r;

	c->loop = loop;
	c->options = options;
	c->settings.prefix = options->prefix;
	c->settings.sha256 = tls_sha256;
	c->kinds = mux_kinds_new(options->prefix);
	metrics_histogram_init(&c->stats.planning, &bounds);
	metrics_histogram_init(&c->stats.settling, &bounds);
	ev_timer_init(&c->resync, on_resync, loop_seconds(options->resync),
		      loop_seconds(options->resync));
	observe_kinds(c);
	r = make_operator(c);
	if (r < 0)
		return r;
	c->settings.default_namespace = options->default_namespace[0] ? options->default_namespace
								      : operator_namespace(c->op);
	return 0;
}

void controller_start(struct controller *c)
{
	log_info("started", LOG_S("server", operator_server(c->op)),
		 LOG_S("prefix", c->settings.prefix),
		 LOG_S("default_mux_namespace", c->settings.default_namespace),
		 LOG_B("dry_run", operator_is_dry_run(c->op)));
	ev_timer_start(c->loop, &c->resync);
	operator_start(c->op);
}

void controller_drain(struct controller *c, void (*done)(void *user), void *user)
{
	ev_timer_stop(c->loop, &c->resync);
	for (size_t i = 0; i < c->keys.n; i++)
		apply_stop(c->keys.items[i]->apply);
	operator_drain(c->op, done, user);
}

void controller_free(struct controller *c)
{
	ev_timer_stop(c->loop, &c->resync);
	while (c->keys.n)
		drop_key(c->keys.items[c->keys.n - 1]);
	while (c->strays.n)
		drop_key(c->strays.items[c->strays.n - 1]);
	vec_free(&c->keys);
	vec_free(&c->strays);
	map_free(&c->by_id);
	map_free(&c->strays_by_id);
	operator_free(c->op);
	mux_kinds_free(c->kinds);
}

const struct mux_view *controller_next(const struct controller *c, const char *namespace,
				       const char *name)
{
	size_t i = place_of(c, namespace, name);

	if (i < c->keys.n && key_cmp(c->keys.items[i], namespace, name) == 0)
		i++;
	while (i < c->keys.n && !c->keys.items[i]->view)
		i++;
	return i < c->keys.n ? c->keys.items[i]->view : NULL;
}
