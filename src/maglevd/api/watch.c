/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is encoded once and sent to all subscribers that want it. Only its sequence number
 * differs from subscriber to subscriber; protobuf allows that field to follow the rest.
 *
 * Events come from three sources: the engine and the reconciler, which are observed here, and the
 * log (watch_log.c). The replay, and the kinds of events of which only the newest counts, are
 * sent in slices (watch_turns.c), to the subscribers in the order of subscription, so that a
 * replay is not delayed by later ones.
 *
 * Queues are bounded by the server (max_queued). A subscriber that falls behind is dropped with a
 * status that says so, and no other subscriber waits. It is dropped in the next turn: the end of
 * a call is a log line, and so perhaps an event, which must not be made while another one is
 * sent.
 */
#include "src/maglevd/api/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/server.h"
#include "lib/pb/pb.h"
#include "src/maglevd/api/watch_private.h"

#define PROBES_PERIOD 1. /* s */
#define INFO_DELAY .1 /* s between a change and its info: what changes often is sent less often */

/* ---- sending ---- */

static void unsubscribe(struct subscriber *s)
{
	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	else
		s->watch->end = s->back;
	s->watch->stats.subscribers--;
	task_wake(&s->watch->soon); /* perhaps no subscriber wants the log any more */
	s->watch->n_probes -= s->probes;
	if (!s->watch->n_probes)
		ev_timer_stop(s->watch->loop, &s->watch->tick);
	stale_free(&s->infos);
	stale_free(&s->probed);
	free(s->cursor);
	free(s);
}

/* Unsubscribed first: the end of the call is a log line, which must not go to this subscriber. */
static void drop(struct subscriber *s)
{
	struct grpc_call *call = s->call;

	s->watch->stats.dropped++;
	unsubscribe(s);
	grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
		  "too slow: events are produced faster than they are read; watch again for the "
		  "current state");
}

/* Field 1, varint: the number of the event in this stream. */
static size_t encode_seq(uint64_t seq, uint8_t out[static 11])
{
	size_t n = 0;

	out[n++] = 1 << 3;
	for (; seq >= 0x80; seq >>= 7)
		out[n++] = (uint8_t)(seq | 0x80);
	out[n++] = (uint8_t)seq;
	return n;
}

bool watch__send(struct subscriber *s)
{
	const struct buf *shared = &s->watch->encoded;
	uint8_t seq[11];
	size_t n = encode_seq(s->seq + 1, seq);

	if (s->lagging)
		return false;
	if (grpc_send_encoded(s->call, (struct str){ shared->p, shared->n },
			      (struct str){ (const char *)seq, n }) < 0) {
		s->lagging = true;
		task_wake(&s->watch->soon);
		return false;
	}
	s->seq++;
	s->watch->stats.events++;
	return true;
}

void watch__encode(struct watch *w, const Maglev__Event *event)
{
	w->encoded.n = 0;
	pb_encode(&event->base, &w->encoded);
}

/* Sends an event to all subscribers that want this kind and have got its state from the replay. */
static void broadcast(struct watch *w, enum watch__replay kind, const Maglev__Event *event)
{
	watch__encode(w, event);
	for (struct subscriber *s = w->subscribers; s; s = s->next) {
		bool wanted = kind == WATCH__CONFIG ? s->config : s->dataplane;

		if (wanted && s->replay > kind)
			watch__send(s);
	}
}

/* ---- infos and probes ---- */

/* The position of a backend in the set of infos: after all frontends. */
static size_t info_of_backend(const struct watch *w, const struct l4_backend_state *b)
{
	return engine_model(w->engine)->config->n_frontends + b->index;
}

/*
 * Observers that are called earlier for the same reload may change something while the sets still
 * belong to the old configuration. Nothing is lost: clients read the lists again after a reload.
 */
static void mark_info(struct watch *w, size_t i)
{
	if (w->loaded.generation != engine_generation(w->engine))
		return;
	for (struct subscriber *s = w->subscribers; s; s = s->next) {
		if (!s->info)
			continue;
		stale_mark(&s->infos, i);
		if (ev_is_active(&w->info_delay))
			continue;
		ev_timer_set(&w->info_delay, INFO_DELAY, 0.); /* libev has changed it */
		ev_timer_start(w->loop, &w->info_delay);
	}
}

/* An item that changed several times meanwhile is sent once, as it is now. */
static void on_info_delay(struct ev_loop *loop, ev_timer *t, int events)
{
	struct watch *w = t->data;

	for (struct subscriber *s = w->subscribers; s; s = s->next)
		s->infos_due |= s->infos.waiting > 0;
	task_wake(&w->soon);
}

/* Marks the frontends too: their pools show state, weight and override of the backend. */
static void mark_backend(struct watch *w, const struct l4_backend_state *b)
{
	const struct l4_backend *config;

	if (b->index == SIZE_MAX)
		return;
	config = l4_backend_config(engine_model(w->engine), b);
	mark_info(w, info_of_backend(w, b));
	for (size_t i = 0; i < config->n_frontends; i++)
		mark_info(w, config->frontends[i]);
}

static void on_annotated(void *user, const struct l4_backend_state *b)
{
	mark_backend(user, b);
}

static void on_weight(void *user, size_t frontend, size_t backend, bool flush)
{
	mark_info(user, frontend);
}

static void on_released(void *user, size_t frontend)
{
	mark_info(user, frontend);
}

static void on_written(void *user, size_t frontend)
{
	mark_info(user, frontend);
}

/* Called for every probe: it only sets a bit, and the results are sent once a second. */
static void on_probed(void *user, const struct l4_backend_state *b)
{
	struct watch *w = user;

	if (!w->n_probes || b->index == SIZE_MAX)
		return;
	for (struct subscriber *s = w->subscribers; s; s = s->next)
		if (s->probes)
			stale_mark(&s->probed, b->index);
}

static void on_tick(struct ev_loop *loop, ev_timer *t, int events)
{
	struct watch *w = t->data;

	for (struct subscriber *s = w->subscribers; s; s = s->next)
		s->probes_due |= s->probes;
	task_wake(&w->soon);
}

/* The sets belong to the old configuration; clients read the lists again after a reload. */
static void reset_sets(const struct watch *w, struct subscriber *s)
{
	const struct l4_config *c = engine_model(w->engine)->config;

	if (s->info)
		stale_reset(&s->infos, c->n_frontends + c->n_backends);
	if (s->probes)
		stale_reset(&s->probed, c->n_backends);
}

/* ---- the configuration and the data plane ---- */

Maglev__Event *watch__config_event(struct watch *w, bool replay)
{
	struct wire_config_status status = w->loaded;

	status.config = engine_model(w->engine)->config;
	status.error = w->refusal;
	status.replay = replay;
	arena_reset(w->arena);
	return wire_config_event(&status, w->arena);
}

/* Counts backends; those that only moved to other pools are not counted. */
static void count_changes(const struct l4_reload *reload, struct wire_config_status *status)
{
	for (size_t i = 0; i < reload->changes.n; i++) {
		const struct l4_reload_change *c = &reload->changes.items[i];

		status->added += c->added;
		status->removed += c->removed;
		status->changed +=
			!c->added && !c->removed && (c->probe_changed || c->address_changed);
	}
}

static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct watch *w = user;
	int64_t now = loop_realtime();

	for (struct subscriber *s = w->subscribers; s; s = s->next)
		reset_sets(w, s);
	w->loaded = (struct wire_config_status){ .at = now,
						 .since = now,
						 .generation = engine_generation(w->engine) };
	free(TAKE_PTR(w->refusal));
	count_changes(reload, &w->loaded);
	broadcast(w, WATCH__CONFIG, watch__config_event(w, false));
}

/* The generation and time of the configuration in force stay. */
static void on_refused(void *user, const struct engine_refusal *why)
{
	struct watch *w = user;

	w->loaded = (struct wire_config_status){ .at = why->at,
						 .since = w->loaded.since,
						 .generation = w->loaded.generation,
						 .n_errors = why->n_errors };
	free(w->refusal);
	w->refusal = mem_strdup(why->error);
	broadcast(w, WATCH__CONFIG, watch__config_event(w, false));
}

Maglev__Event *watch__dataplane_event(struct watch *w, const char *change,
				      const struct reconcile_event *event)
{
	static const char *const scopes[RECONCILE_SCOPES] = {
		[RECONCILE_ALL] = "all", [RECONCILE_VIP] = "vip"
	};
	const struct wire_dataplane_status status = {
		.at = change ? loop_realtime() : w->dataplane_since,
		.dataplane = reconcile_dataplane(w->reconcile),
		.change = change,
		.reason = event ? event->reason : "",
		.problem = reconcile_problem(w->reconcile),
		.connected = reconcile_connected(w->reconcile),
		.status = reconcile_status(w->reconcile),
		.since = w->dataplane_since,
		.warmup = reconcile_phase(w->reconcile),
		.guard = engine_guard(w->engine),
		.last_full_sync = reconcile_stats(w->reconcile)->last_full_sync,
		.scope = event && event->ops ? scopes[event->scope] : NULL,
		.vips = event ? event->vips : 0,
		.ops = event ? event->ops : NULL,
	};

	arena_reset(w->arena);
	return wire_dataplane_event(&status, w->arena);
}

static void on_dataplane(const struct reconcile_event *event, void *user)
{
	static const char *const words[] = {
		[RECONCILE_CONNECTED] = "connected",
		[RECONCILE_DEGRADED] = "degraded",
		[RECONCILE_DISCONNECTED] = "disconnected",
		[RECONCILE_PROBLEM] = "problem",
		[RECONCILE_SYNCED] = "synced",
		[RECONCILE_FAILED] = "sync-failed",
		[RECONCILE_WARMUP] = "warmup",
	};
	struct watch *w = user;

	if (w->status != reconcile_status(w->reconcile))
		w->dataplane_since = loop_realtime();
	w->status = reconcile_status(w->reconcile);
	if (w->subscribers)
		broadcast(w, WATCH__DATAPLANE,
			  watch__dataplane_event(w, words[event->change], event));
}

static void on_guard(void *user, bool active)
{
	struct watch *w = user;

	if (w->subscribers)
		broadcast(w, WATCH__DATAPLANE, watch__dataplane_event(w, "guard", NULL));
}

/* ---- transitions ---- */

static void on_frontend(void *user, size_t frontend, enum l4_frontend_health from,
			enum l4_frontend_health to, int64_t at)
{
	struct watch *w = user;
	const struct l4_model *m = engine_model(w->engine);
	const char *name = m->config->frontends[frontend].name;

	if (!w->subscribers)
		return;
	mark_info(w, frontend);
	arena_reset(w->arena);
	watch__encode(w, wire_frontend_event(m, frontend, from, w->arena));
	for (struct subscriber *s = w->subscribers; s; s = s->next)
		if (s->frontend && watch__was_told(s, WATCH__FRONTENDS, name))
			watch__send(s);
}

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct watch *w = user;
	struct wire_events events;

	if (!w->subscribers)
		return;
	mark_backend(w, b);
	arena_reset(w->arena);
	events = wire_backend_events(engine_model(w->engine), b, change, w->arena);
	for (size_t i = 0; i < events.n; i++) {
		watch__encode(w, events.items[i]);
		for (struct subscriber *s = w->subscribers; s; s = s->next)
			if (s->backend && watch__was_told(s, WATCH__BACKENDS, b->name))
				watch__send(s);
	}
}

static bool on_soon(struct task *t)
{
	struct watch *w = container_of(t, struct watch, soon);

	watch__listen(w);
	for (struct subscriber *s = w->subscribers, *next; s; s = next) {
		next = s->next;
		watch__serve(s);
		if (s->lagging)
			drop(s);
	}
	return false; /* watch__serve() has woken the task if there is more to send */
}

/* ---- subscribers ---- */

static void on_cancelled(void *user)
{
	unsubscribe(user);
}

/* If no kind is set, all are sent except infos and probes, which are many. */
static int read_filter(struct subscriber *s, const Maglev__WatchRequest *request)
{
	bool all = !request->log && !request->backend && !request->frontend && !request->config &&
		   !request->dataplane && !request->info && !request->probes;

	s->level = LOG_INFO;
	if (*request->log_level && log_level_parse(request->log_level, &s->level) < 0)
		return -EINVAL;
	s->log = all || request->log;
	s->backend = all || request->backend;
	s->frontend = all || request->frontend;
	s->config = all || request->config;
	s->dataplane = all || request->dataplane;
	s->info = request->info;
	s->probes = request->probes;
	return 0;
}

void watch_subscribe(struct watch *w, struct grpc_call *call, const Maglev__WatchRequest *request)
{
	struct subscriber *s;

	if (w->stats.subscribers >= WATCH_SUBSCRIBERS_MAX) {
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
			  "%d clients watch already; try again later", WATCH_SUBSCRIBERS_MAX);
		return;
	}
	s = mem_zalloc(sizeof(*s));
	if (read_filter(s, request) < 0) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "log_level is \"%s\": debug, info, warn or error", request->log_level);
		free(s);
		return;
	}
	s->watch = w;
	s->call = call;
	s->back = w->end;
	*w->end = s;
	w->end = &s->next;
	w->stats.subscribers++;
	w->n_probes += s->probes;
	if (s->probes && !ev_is_active(&w->tick))
		ev_timer_again(w->loop, &w->tick);
	reset_sets(w, s);
	grpc_on_cancel(call, on_cancelled, s);
	task_wake(&w->soon);
}

struct watch *watch_new(struct ev_loop *loop, struct engine *engine, struct reconcile *reconcile)
{
	struct watch *w = mem_zalloc(sizeof(*w));

	w->loop = loop;
	w->engine = engine;
	w->reconcile = reconcile;
	w->loaded.at = w->loaded.since = w->dataplane_since = loop_realtime();
	w->status = reconcile_status(w->reconcile);
	w->loaded.generation = engine_generation(engine);
	w->sink = -1;
	w->end = &w->subscribers;
	w->arena = arena_new();
	w->line = arena_new();
	task_init(&w->soon, loop, TASK_ORDINARY, on_soon);
	ev_timer_init(&w->tick, on_tick, PROBES_PERIOD, PROBES_PERIOD);
	w->tick.data = w;
	ev_timer_init(&w->info_delay, on_info_delay, INFO_DELAY, 0.);
	w->info_delay.data = w;
	w->observer = (struct engine_observer){ .backend = on_backend,
						.frontend = on_frontend,
						.weight = on_weight,
						.reloaded = on_reloaded,
						.guard = on_guard,
						.annotated = on_annotated,
						.probed = on_probed,
						.released = on_released,
						.written = on_written,
						.refused = on_refused,
						.user = w };
	engine_observe(engine, &w->observer);
	reconcile_observe(reconcile, on_dataplane, w);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	assert(!w->subscribers);
	if (w->sink >= 0)
		log_remove_sink(w->sink);
	reconcile_observe(w->reconcile, NULL, NULL);
	task_cancel(&w->soon);
	ev_timer_stop(w->loop, &w->tick);
	ev_timer_stop(w->loop, &w->info_delay);
	free(w->refusal);
	buf_free(&w->encoded);
	arena_free(w->arena);
	arena_free(w->line);
	free(w);
}

const struct watch_stats *watch_stats(const struct watch *w)
{
	return &w->stats;
}
