/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: entries in the order in which they came, and a queue that writes them.
 *
 * An entry is one event, found by the text of all that makes it different. The same entry creates
 * its Event and later patches the series. If the server has forgotten the Event meanwhile (it keeps
 * them for an hour), it is created again.
 *
 * Budgets belong to objects and are found by UID in the entries: a new entry takes the state of the
 * budget over from the newest entry of its object. So there is no second table to bound.
 */
#include "lib/k8s/events.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "lib/k8s/rfc3339.h"
#include "lib/loop/queue.h"
#include "lib/loop/task.h"

#define WORD_MAX ((size_t)128)
#define NOTE_MAX ((size_t)1024)
#define OBJECT_MAX ((size_t)200) /* of the object, in the name of its Event */
#define TRIES_MAX 6
#define PARALLEL 4

static const struct k8s_resource resource = { "events.k8s.io", "v1", "events" };
static const struct backoff_policy retry = { .first = NSEC_PER_SEC,
					     .last = 30 * NSEC_PER_SEC,
					     .jitter = 50 };

struct entry {
	struct k8s_events *events;
	TAILQ_ENTRY(entry) next; /* newest first */
	struct queue_item item;
	struct k8s_call *call;
	char *key, *object; /* object: what the budget belongs to */
	char *namespace, *name;
	struct buf body; /* of the Event, without its name and series */
	bool exists;
	uint64_t count, written; /* how often it happened, and what the server knows */
	int64_t last;		 /* since the epoch */
	int64_t sent;		 /* monotonic ns of the last write */
	double tokens;		 /* budget of the object, in its newest entry */
	int64_t filled;
};

struct k8s_events {
	struct k8s_events_config config;
	char *controller, *instance;
	TAILQ_HEAD(entries, entry) entries;
	struct queue queue;
	struct task task;
	ev_timer tick; /* for series */
	struct k8s_events_stats stats;
	uint64_t serial;
};

/* ---- texts ---- */

static struct str cut(const char *text, size_t max)
{
	return (struct str){ text, utf8_fitting(text, strlen(text), max) };
}

static void add_member(struct buf *b, const char *key, struct str value)
{
	if (b->n && b->p[b->n - 1] != '{')
		buf_addc(b, ',');
	buf_printf(b, "\"%s\":", key);
	json_write_string(b, value.p, value.n);
}

static void write_reference(struct buf *b, const struct k8s_reference *r)
{
	buf_adds(b, ",\"regarding\":{");
	add_member(b, "apiVersion", str_of(r->api_version));
	add_member(b, "kind", str_of(r->kind));
	if (r->namespace[0])
		add_member(b, "namespace", str_of(r->namespace));
	add_member(b, "name", str_of(r->name));
	if (r->uid[0])
		add_member(b, "uid", str_of(r->uid));
	if (r->field_path)
		add_member(b, "fieldPath", str_of(r->field_path));
	buf_addc(b, '}');
}

/* All members but metadata and series; it begins with a comma. */
static void write_body(struct buf *b, const struct k8s_events *e, const struct k8s_event *event)
{
	char time[K8S_MICRO_TIME];

	buf_adds(b, ",\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\"");
	add_member(b, "eventTime", str_of(k8s_micro_time(loop_realtime(), time)));
	add_member(b, "reportingController", str_of(e->controller));
	add_member(b, "reportingInstance", cut(e->instance, WORD_MAX));
	add_member(b, "type", str_of(event->warning ? "Warning" : "Normal"));
	add_member(b, "reason", cut(event->reason, WORD_MAX));
	add_member(b, "action", cut(event->action, WORD_MAX));
	add_member(b, "note", cut(event->note, NOTE_MAX));
	write_reference(b, &event->regarding);
}

static void write_series(struct buf *b, const struct entry *n)
{
	char time[K8S_MICRO_TIME];

	buf_printf(b, "\"series\":{\"count\":%llu,\"lastObservedTime\":\"%s\"}",
		   (unsigned long long)n->count, k8s_micro_time(n->last, time));
}

/* ---- writing ---- */

static void on_done(const struct k8s_result *result, void *user);

static int send_entry(struct entry *n)
{
	struct buf body = { 0 };
	struct k8s_call_config config = { .resource = &resource,
					  .namespace = n->namespace,
					  .name = n->name,
					  .manager = n->events->controller,
					  .ungated = true,
					  .done = on_done,
					  .user = n };
	int r;

	if (n->exists) {
		config.verb = K8S_VERB_MERGE_PATCH;
		buf_addc(&body, '{');
		write_series(&body, n);
	} else {
		config.verb = K8S_VERB_CREATE;
		buf_adds(&body, "{\"metadata\":{");
		add_member(&body, "name", str_of(n->name));
		buf_addc(&body, '}');
		buf_add(&body, n->body.p, n->body.n);
		if (n->count > 1) {
			buf_addc(&body, ',');
			write_series(&body, n);
		}
	}
	buf_addc(&body, '}');
	n->written = n->count;
	n->sent = loop_monotonic();
	config.body = (struct str){ body.p, body.n };
	r = k8s_call(n->events->config.client, &config, &n->call);
	buf_free(&body);
	return r;
}

static enum queue_result on_step(struct queue_item *item, void *user)
{
	struct entry *n = container_of(item, struct entry, item);

	(void)user;
	return send_entry(n) < 0 ? QUEUE_FAILED : QUEUE_PENDING;
}

static void give_up(struct entry *n, const struct k8s_result *result)
{
	struct k8s_events *e = n->events;

	e->stats.dropped++;
	if (e->config.trouble)
		e->config.trouble(result->code, result->message, e->config.user);
	queue_done(&e->queue, &n->item, QUEUE_DONE);
}

/* An Event that is there already is ours, from a try whose answer was lost. */
static void on_done(const struct k8s_result *result, void *user)
{
	struct entry *n = user;
	struct k8s_events *e = n->events;

	n->call = NULL;
	task_wake(&e->task); /* another one may have waited for its turn */
	if (result->code == K8S_OK || (result->code == K8S_EXISTS && !n->exists)) {
		e->stats.created += !n->exists;
		e->stats.counted += n->exists;
		n->exists = true;
		queue_done(&e->queue, &n->item, QUEUE_DONE);
	} else if (result->code == K8S_NOT_FOUND && n->exists) {
		n->exists = false;
		queue_done(&e->queue, &n->item, QUEUE_AGAIN);
	} else if (k8s_code_is_passing(result->code) && n->item.failures < TRIES_MAX) {
		queue_done(&e->queue, &n->item, QUEUE_FAILED);
	} else {
		give_up(n, result);
	}
}

static bool on_task(struct task *t)
{
	struct k8s_events *e = container_of(t, struct k8s_events, task);

	return queue_run(&e->queue);
}

static void on_wake(void *user)
{
	task_wake(&((struct k8s_events *)user)->task);
}

/* Counts of series that have waited long enough. */
static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	struct k8s_events *e = container_of(w, struct k8s_events, tick);
	int64_t now = loop_monotonic();
	struct entry *n;

	(void)loop;
	(void)events;
	for (n = TAILQ_FIRST(&e->entries); n; n = TAILQ_NEXT(n, next))
		if (n->count > n->written && n->item.state == QUEUE_IDLE &&
		    now - n->sent >= e->config.series)
			queue_add(&e->queue, &n->item, 0);
}

/* ---- entries ---- */

static void entry_free(struct entry *n)
{
	struct k8s_events *e = n->events;

	k8s_call_cancel(n->call);
	queue_forget(&e->queue, &n->item);
	TAILQ_REMOVE(&e->entries, n, next);
	e->stats.kept--;
	buf_free(&n->body);
	free(n->key);
	free(n->object);
	free(n->namespace);
	free(n->name);
	free(n);
}

static char *text_of(struct buf *b)
{
	char *text = mem_strdup(buf_cstr(b));

	buf_free(b);
	return text;
}

static char *key_of(const struct k8s_event *event)
{
	const struct k8s_reference *r = &event->regarding;
	struct buf b = { 0 };

	buf_printf(&b, "%s\n%s\n%s\n%s\n%s\n%s\n%d\n%s\n%s\n%s", r->api_version, r->kind,
		   r->namespace, r->name, r->uid, r->field_path ? r->field_path : "",
		   event->warning, event->reason, event->action, event->note);
	return text_of(&b);
}

static char *object_of(const struct k8s_reference *r)
{
	struct buf b = { 0 };

	buf_printf(&b, "%s\n%s\n%s\n%s", r->kind, r->namespace, r->name, r->uid);
	return text_of(&b);
}

static struct entry *find(struct k8s_events *e, const char *key)
{
	struct entry *n;

	for (n = TAILQ_FIRST(&e->entries); n; n = TAILQ_NEXT(n, next))
		if (strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

/* Takes one from the budget of an object. False if there is none. */
static bool spend(struct k8s_events *e, const char *object, double *ret_tokens)
{
	int64_t now = loop_monotonic();
	double tokens = e->config.burst;
	struct entry *n;

	for (n = TAILQ_FIRST(&e->entries); n; n = TAILQ_NEXT(n, next)) {
		if (strcmp(n->object, object) != 0)
			continue;
		tokens = n->tokens + (double)(now - n->filled) / (double)e->config.refill;
		if (tokens > e->config.burst)
			tokens = e->config.burst;
		break;
	}
	*ret_tokens = tokens - 1;
	return tokens >= 1;
}

/* "name.1794916801000000000-1" */
static char *name_of(struct k8s_events *e, const char *object)
{
	struct str start = cut(object, OBJECT_MAX);
	struct buf b = { 0 };

	buf_printf(&b, "%.*s.%llx-%llu", (int)start.n, start.p, (unsigned long long)loop_realtime(),
		   (unsigned long long)e->serial++);
	return text_of(&b);
}

static void make_room(struct k8s_events *e)
{
	while (e->stats.kept >= e->config.max_kept) {
		struct entry *last = TAILQ_LAST(&e->entries, entries);

		e->stats.dropped += last->written < last->count || last->call;
		entry_free(last);
	}
}

static void add_entry(struct k8s_events *e, const struct k8s_event *event, char *key)
{
	const struct k8s_reference *r = &event->regarding;
	char *object = object_of(r);
	struct entry *n;
	double tokens;

	if (!spend(e, object, &tokens)) {
		e->stats.dropped++;
		free(object);
		free(key);
		return;
	}
	make_room(e);
	n = mem_zalloc(sizeof(*n));
	n->events = e;
	n->key = key;
	n->object = object;
	n->namespace = mem_strdup(r->namespace[0] ? r->namespace : "default");
	n->name = name_of(e, r->name);
	n->count = 1;
	n->last = loop_realtime();
	n->tokens = tokens;
	n->filled = loop_monotonic();
	write_body(&n->body, e, event);
	TAILQ_INSERT_HEAD(&e->entries, n, next);
	e->stats.kept++;
	queue_add(&e->queue, &n->item, 0);
}

void k8s_events_emit(struct k8s_events *e, const struct k8s_event *event)
{
	char *key = key_of(event);
	struct entry *n = find(e, key);

	if (!n) {
		add_entry(e, event, key);
		return;
	}
	free(key);
	n->count++;
	n->last = loop_realtime();
	e->stats.repeated++;
}

/* ---- public ---- */

struct k8s_events *k8s_events_new(const struct k8s_events_config *config)
{
	struct k8s_events *e = mem_zalloc(sizeof(*e));
	struct k8s_events_config *c = &e->config;
	struct ev_loop *loop = k8s_client_loop(config->client);
	double period;

	assert(config->client && config->controller && config->instance);
	*c = *config;
	c->max_kept = c->max_kept ? c->max_kept : 1024;
	c->burst = c->burst ? c->burst : 25;
	c->refill = c->refill ? c->refill : 60 * NSEC_PER_SEC;
	c->series = c->series ? c->series : 60 * NSEC_PER_SEC;
	e->controller = mem_strdup(config->controller);
	e->instance = mem_strdup(config->instance);
	TAILQ_INIT(&e->entries);
	task_init(&e->task, loop, TASK_ORDINARY, on_task);
	queue_init(&e->queue, loop,
		   &(struct queue_spec){ .step = on_step,
					 .wake = on_wake,
					 .user = e,
					 .parallel = PARALLEL,
					 .retry = retry });
	period = loop_seconds(c->series / 4 + 1);
	ev_timer_init(&e->tick, on_tick, period, period);
	ev_timer_start(loop, &e->tick);
	return e;
}

void k8s_events_free(struct k8s_events *e)
{
	struct entry *n;

	if (!e)
		return;
	while ((n = TAILQ_FIRST(&e->entries)))
		entry_free(n);
	queue_stop(&e->queue);
	task_cancel(&e->task);
	ev_timer_stop(k8s_client_loop(e->config.client), &e->tick);
	free(e->controller);
	free(e->instance);
	free(e);
}

const struct k8s_events_stats *k8s_events_stats(const struct k8s_events *e)
{
	return &e->stats;
}
