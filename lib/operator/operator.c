/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator: what is wired to what.
 *
 *	flags -> config -> client <- lease (gate)
 *	                     |
 *	            informers, events
 *	                     |
 *	        changed() -> queue -> task -> step()
 *
 * One function (review()) decides whether the operator is active; everything that it depends on
 * calls it. The task asks the lease once more before each turn, since leadership can have ended
 * before a callback tells so.
 */
#include "lib/operator/operator.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/units.h"
#include "lib/k8s/feed.h"
#include "lib/operator/private.h"

static const struct backoff_policy retry = { .first = 100 * NSEC_PER_MSEC,
					     .last = 30 * NSEC_PER_SEC,
					     .jitter = 20 };

static const struct k8s_layout bare = { .size = sizeof(struct k8s_object) };

/* ---- active or not ---- */

static bool leads(const struct operator_frame *op)
{
	return !op->lease || k8s_lease_is_held(op->lease);
}

static void review(struct operator_frame *op)
{
	bool active = op->synced && leads(op) && !op->draining;

	if (active == op->active)
		return;
	op->active = active;
	if (op->config.active)
		op->config.active(active, op->config.user);
	if (active)
		task_wake(&op->task);
}

static bool may_write(void *user)
{
	const struct operator_frame *op = user;

	return !op->config.options->dry_run && leads(op);
}

/* ---- callbacks ---- */

static void tell(struct operator_frame *op, const struct operator_trouble *t)
{
	if (op->config.trouble)
		op->config.trouble(t, op->config.user);
}

static size_t index_of(const struct operator__follow *f)
{
	return (size_t)(f - f->op->follows);
}

static void on_changed(enum k8s_change change, const struct k8s_object *old,
		       const struct k8s_object *new, void *user)
{
	struct operator__follow *f = user;
	const struct operator_kind *kind = &f->op->config.kinds[index_of(f)];

	if (kind->changed)
		kind->changed(change, old, new, kind->user ? kind->user : f->op->config.user);
}

static void on_kind_trouble(const struct k8s_trouble *trouble, void *user)
{
	struct operator__follow *f = user;

	tell(f->op,
	     &(struct operator_trouble){ .doing = trouble->doing,
					 .what = f->op->config.kinds[index_of(f)].resource.plural,
					 .code = trouble->code,
					 .message = trouble->message,
					 .delay = trouble->delay });
}

/* Whether the kind of a row, or of one before it that it is an alternative to, is installed. */
static bool is_present(const struct operator_frame *op, size_t i)
{
	const struct k8s_informer *informer = op->follows[i].informer;

	if (k8s_informer_is_synced(informer) && k8s_informer_state(informer) != K8S_ABSENT)
		return true;
	return op->config.kinds[i].alternative && is_present(op, i - 1);
}

/* An alternative is needed only if what it is an alternative to is absent. */
static bool is_settled(struct operator_frame *op, size_t i)
{
	if (k8s_informer_is_synced(op->follows[i].informer))
		return true;
	if (!op->config.kinds[i].alternative || !is_settled(op, i - 1))
		return false;
	if (is_present(op, i - 1))
		return true;
	k8s_informer_start(op->follows[i].informer);
	return false;
}

static void look_for_sync(struct operator_frame *op)
{
	bool settled = true;

	for (size_t i = 0; i < op->config.n_kinds; i++)
		settled &= is_settled(op, i);
	if (!settled)
		return;
	op->synced = true;
	if (op->config.synced)
		op->config.synced(op->config.user);
	review(op);
}

/* Looks from the task: the state of the informer is known after this callback. */
static void on_kind_synced(void *user)
{
	task_wake(&((struct operator__follow *)user)->op->task);
}

static void on_lease(bool held, void *user)
{
	review(user);
}

static void on_holder(const char *holder, void *user)
{
	struct operator_frame *op = user;

	if (op->config.holder)
		op->config.holder(holder, op->config.user);
}

static void on_lease_trouble(enum k8s_code code, const char *message, void *user)
{
	struct operator_frame *op = user;

	tell(op, &(struct operator_trouble){ .doing = "lease",
					     .what = op->config.options->lease_name,
					     .code = code,
					     .message = message });
}

static void on_event_trouble(enum k8s_code code, const char *message, void *user)
{
	tell(user, &(struct operator_trouble){
			   .doing = "event", .what = "", .code = code, .message = message });
}

/* ---- the queue ---- */

static void on_wake(void *user)
{
	task_wake(&((struct operator_frame *)user)->task);
}

static bool on_task(struct task *t)
{
	struct operator_frame *op = container_of(t, struct operator_frame, task);

	if (!op->synced)
		look_for_sync(op);
	do {
		if (!op->active || !leads(op) || !queue_run(&op->queue))
			return false;
	} while (task_has_time(op->config.loop));
	return true;
}

/* ---- the end ---- */

static void on_released(void *user)
{
	struct operator_frame *op = user;

	op->drained(op->drained_user);
}

static void on_end(struct ev_loop *loop, ev_timer *w, int events)
{
	struct operator_frame *op = container_of(w, struct operator_frame, end);

	if (op->lease)
		k8s_lease_release(op->lease, on_released);
	else
		on_released(op);
}

static void end_if_idle(struct operator_frame *op)
{
	if (op->draining && op->queue.running == 0 && !ev_is_active(&op->end))
		ev_timer_start(op->config.loop, &op->end);
}

void operator_drain(struct operator_frame *op, void (*done)(void *user), void *user)
{
	assert(op && done && !op->draining);
	op->draining = true;
	op->drained = done;
	op->drained_user = user;
	review(op);
	end_if_idle(op);
}

/* ---- keys ---- */

void operator_add(struct operator_frame *op, struct queue_item *item, uint64_t rank)
{
	queue_add(&op->queue, item, rank);
}

int64_t operator_done(struct operator_frame *op, struct queue_item *item, enum queue_result result)
{
	int64_t delay = queue_done(&op->queue, item, result);

	task_wake(&op->task); /* another key may have its turn */
	end_if_idle(op);
	return delay;
}

void operator_forget(struct operator_frame *op, struct queue_item *item)
{
	queue_forget(&op->queue, item);
	task_wake(&op->task);
	end_if_idle(op);
}

/* ---- construction ---- */

static enum queue_result on_step(struct queue_item *item, void *user)
{
	const struct operator_frame *op = user;

	return op->config.step(item, op->config.user);
}

static void start_queue(struct operator_frame *op)
{
	const struct operator_config *c = &op->config;

	queue_init(&op->queue, c->loop,
		   &(struct queue_spec){ .step = on_step,
					 .wake = on_wake,
					 .user = op,
					 .parallel = c->parallel ? c->parallel : 1,
					 .retry = c->retry.first ? c->retry : retry });
	task_init(&op->task, c->loop, TASK_ORDINARY, on_task);
}

static void follow(struct operator_frame *op, size_t i)
{
	const struct operator_kind *row = &op->config.kinds[i];
	struct operator__follow *f = &op->follows[i];
	bool own = row->namespace && !*row->namespace;
	struct k8s_cache *cache;

	f->op = op;
	f->kind = k8s_kind_new(row->layout, op->names);
	f->informer = k8s_informer_new(
		&(struct k8s_informer_config){ .client = op->client,
					       .kind = f->kind,
					       .resource = row->resource,
					       .namespace = own ? op->namespace : row->namespace,
					       .label_selector = row->label_selector,
					       .field_selector = row->field_selector,
					       .optional = row->optional,
					       .changed = on_changed,
					       .synced = on_kind_synced,
					       .trouble = on_kind_trouble,
					       .user = f });
	cache = k8s_informer_cache(f->informer);
	for (size_t n = 0; n < K8S_INDEXES_MAX && row->indexes[n]; n++)
		k8s_cache_index(cache, row->indexes[n], op->config.user);
}

/* Different for each process, also for two that have the same host name. */
static void name_process(struct operator_frame *op)
{
	uint64_t random = (uint64_t)loop_realtime() ^ ((uint64_t)getpid() << 32);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	op->host = mem_strdup(host[0] ? host : op->config.name);
	if (asprintf(&op->identity, "%s_%08x", op->host, (unsigned)random_next(&random)) < 0)
		abort();
}

static void start_client(struct operator_frame *op)
{
	const struct operator_options *o = op->config.options;

	op->client =
		k8s_client_new(op->config.loop, op->cluster,
			       &(struct k8s_client_options){ .user_agent = op->config.name,
							     .rate = (unsigned)o->api_rate,
							     .burst = 2 * (unsigned)o->api_rate,
							     .may_write = may_write,
							     .user = op });
	op->events = k8s_events_new(&(struct k8s_events_config){
		.client = op->client,
		.controller = op->config.controller,
		.instance = op->config.instance ? op->config.instance : op->host,
		.trouble = on_event_trouble,
		.user = op });
}

/* The proportions are those of client-go: 15 s, 10 s, 2 s. */
static void make_lease(struct operator_frame *op)
{
	const struct operator_options *o = op->config.options;

	if (!o->leader_elect || o->dry_run)
		return;
	op->lease = k8s_lease_new(&(struct k8s_lease_config){ .client = op->client,
							      .namespace = op->namespace,
							      .name = o->lease_name,
							      .identity = op->identity,
							      .duration = o->lease_duration,
							      .renew = o->lease_duration / 3 * 2,
							      .retry = o->lease_duration / 15 * 2,
							      .changed = on_lease,
							      .observed = on_holder,
							      .trouble = on_lease_trouble,
							      .user = op });
}

static const char *given(const char *text)
{
	return text && text[0] ? text : NULL;
}

int operator_new(const struct operator_config *config, struct operator_frame **ret,
		 struct errs *errors)
{
	const struct operator_options *o = config->options;
	struct k8s_config *cluster;
	struct operator_frame *op;
	int r;

	assert(config->loop && config->name && config->controller && config->n_kinds &&
	       config->n_kinds <= OPERATOR_KINDS_MAX);
	r = k8s_config_load(given(o->kubeconfig), given(o->context), &cluster, errors);
	if (r < 0)
		return r;
	op = mem_zalloc(sizeof(*op));
	op->config = *config;
	op->cluster = cluster;
	op->namespace = mem_strdup(given(o->namespace) ? o->namespace : cluster->namespace);
	op->names = k8s_names_new();
	op->bare = k8s_kind_new(&bare, op->names);
	name_process(op);
	start_client(op);
	start_queue(op);
	make_lease(op);
	for (size_t i = 0; i < config->n_kinds; i++)
		follow(op, i);
	ev_timer_init(&op->end, on_end, 0, 0);
	*ret = op;
	return 0;
}

void operator_free(struct operator_frame *op)
{
	if (!op)
		return;
	ev_timer_stop(op->config.loop, &op->end);
	task_cancel(&op->task);
	queue_stop(&op->queue);
	for (size_t i = 0; i < op->config.n_kinds; i++) {
		k8s_informer_free(op->follows[i].informer);
		k8s_kind_free(op->follows[i].kind);
	}
	k8s_kind_free(op->bare);
	k8s_events_free(op->events);
	k8s_lease_free(op->lease);
	k8s_client_free(op->client);
	k8s_config_free(op->cluster);
	k8s_names_free(op->names);
	free(op->namespace);
	free(op->identity);
	free(op->host);
	free(op);
}

void operator_start(struct operator_frame *op)
{
	for (size_t i = 0; i < op->config.n_kinds; i++)
		if (!op->config.kinds[i].alternative)
			k8s_informer_start(op->follows[i].informer);
	if (op->lease)
		k8s_lease_start(op->lease);
}

/* ---- the cluster ---- */

bool operator_is_synced(const struct operator_frame *op)
{
	return op->synced;
}

bool operator_is_active(const struct operator_frame *op)
{
	return op->active && leads(op);
}

bool operator_is_dry_run(const struct operator_frame *op)
{
	return op->config.options->dry_run;
}

const char *operator_unready(const struct operator_frame *op)
{
	return op->synced ? NULL : "the objects of the cluster are not listed yet";
}

struct k8s_client *operator_client(struct operator_frame *op)
{
	return op->client;
}

struct k8s_informer *operator_informer(struct operator_frame *op, size_t kind)
{
	assert(kind < op->config.n_kinds);
	return op->follows[kind].informer;
}

const struct k8s_cache *operator_cache(const struct operator_frame *op, size_t kind)
{
	assert(kind < op->config.n_kinds);
	return k8s_informer_cache(op->follows[kind].informer);
}

void operator_unref(const struct operator_frame *op, size_t kind, const struct k8s_object *o)
{
	assert(kind < op->config.n_kinds);
	k8s_object_unref(op->follows[kind].kind, o);
}

static bool take_version(const struct k8s_feed_event *event, void *user)
{
	*(uint64_t *)user = event->object->version;
	return true;
}

/* The answer can be large; the kind without fields skips all but the metadata. */
static uint64_t version_of(const struct operator_frame *op, struct str body)
{
	uint64_t version = 0;
	struct k8s_feed *feed = k8s_feed_new(op->bare, K8S_FEED_OBJECT, take_version, &version);

	k8s_feed_take(feed, body.p, body.n);
	k8s_feed_free(feed);
	return version;
}

struct operator_mark operator_mark(const struct operator_frame *op, size_t kind,
				   const struct k8s_result *result)
{
	const struct k8s_informer *i = op->follows[kind].informer;

	return (struct operator_mark){ .version = version_of(op, result->body),
				       .reversed = k8s_informer_stats(i)->reversed };
}

bool operator_seen(const struct operator_frame *op, size_t kind, struct operator_mark mark)
{
	const struct k8s_informer_stats *s = k8s_informer_stats(op->follows[kind].informer);

	return s->version >= mark.version || s->reversed != mark.reversed;
}

const char *operator_namespace(const struct operator_frame *op)
{
	return op->namespace;
}

const char *operator_identity(const struct operator_frame *op)
{
	return op->identity;
}

const char *operator_holder(const struct operator_frame *op)
{
	return op->lease ? k8s_lease_holder(op->lease) : "";
}

const char *operator_server(const struct operator_frame *op)
{
	return op->cluster->server;
}

int operator_call(struct operator_frame *op, const struct k8s_call_config *config,
		  struct k8s_call **ret)
{
	struct k8s_call_config c = *config;

	c.manager = c.manager ? c.manager : op->config.name;
	return k8s_call(op->client, &c, ret);
}

void operator_emit(struct operator_frame *op, const struct k8s_event *event)
{
	if (operator_is_active(op) && !operator_is_dry_run(op))
		k8s_events_emit(op->events, event);
}
