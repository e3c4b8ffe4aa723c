/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is encoded once and sent to all who want it; only its number in the stream is each
 * subscriber's own, and protobuf lets that field follow the rest.
 *
 * The replay of current states may be long (ten thousand backends in a thousand frontends), so it
 * is sent in slices, as far as the subscriber's queue takes it, by name: frontends first, then
 * backends. Who came first is served first, so that nobody's replay is put off by later ones. What
 * happens meanwhile to a backend or frontend whose turn has come already is sent like any event; of
 * one whose turn is still to come nothing is sent, since the replay will tell its state as it is
 * then. So nothing is missing and nothing comes twice.
 *
 * Queues are bounded by the server (max_queued); who does not keep up is dropped with a status that
 * says so, and nobody else waits. That happens in the next turn: the end of a call is a log line,
 * and so perhaps an event, which may not come in the middle of sending another one. What is logged
 * while a log line is being sent goes to standard output and does not become an event: lib/log does
 * not call a sink from within a sink.
 */
#include "src/maglevd/api/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/server.h"
#include "lib/log/log.h"
#include "lib/pb/pb.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"

#define REPLAY_SLICE (2 * NSEC_PER_MSEC)  /* a turn, for all subscribers */
#define REPLAY_QUEUED ((size_t)32 * 1024) /* more is not put into a queue by the replay */
#define ATTRS_MAX 32			  /* of a log line */

enum replay { REPLAY_FRONTENDS, REPLAY_BACKENDS, REPLAY_DONE };

struct subscriber {
	struct subscriber *next, **back;
	struct watch *watch;
	struct grpc_call *call;
	uint64_t seq;
	bool log, backend, frontend;
	bool lagging; /* to be dropped; is sent nothing any more */
	enum log_level level;
	enum replay replay;
	char *cursor; /* name of the last one replayed of the current kind; NULL before the first */
};

struct watch {
	struct ev_loop *loop;
	struct engine *engine;
	struct engine_observer observer;
	struct subscriber *subscribers, **end; /* who came first stands first */
	struct watch_stats stats;
	struct buf encoded;	    /* the event being sent */
	struct arena *arena, *line; /* of the event being made; a log line may come in between */
	ev_timer soon; /* the next turn: replays go on, the log is listened to as needed */
	int sink;      /* of the log; -1 while nobody wants it */
};

/* ---- sending ---- */

static void unsubscribe(struct subscriber *s)
{
	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	else
		s->watch->end = s->back;
	s->watch->stats.subscribers--;
	ev_timer_start(s->watch->loop, &s->watch->soon); /* perhaps nobody wants the log any more */
	free(s->cursor);
	free(s);
}

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

/* False when the subscriber does not take it any more. */
static bool send_encoded(struct subscriber *s)
{
	const struct buf *shared = &s->watch->encoded;
	uint8_t seq[11];
	size_t n = encode_seq(s->seq + 1, seq);

	if (s->lagging)
		return false;
	if (grpc_send_encoded(s->call, (struct str){ shared->p, shared->n },
			      (struct str){ (const char *)seq, n }) < 0) {
		s->lagging = true;
		ev_timer_start(s->watch->loop, &s->watch->soon);
		return false;
	}
	s->seq++;
	s->watch->stats.events++;
	return true;
}

static void encode(struct watch *w, const Maglev__Event *event)
{
	w->encoded.n = 0;
	pb_encode(&event->base, &w->encoded);
}

static char *text(const char *s)
{
	return (char *)(uintptr_t)s; /* what is only encoded is not written to */
}

/* Whether the replay has told of this name already, so that news of it belong into the stream. */
static bool was_told(const struct subscriber *s, enum replay kind, const char *name)
{
	if (s->replay != kind)
		return s->replay > kind;
	return s->cursor && strcmp(name, s->cursor) <= 0;
}

/* ---- what happens ---- */

static void on_frontend(void *user, size_t frontend, enum l4_frontend_health from,
			enum l4_frontend_health to, int64_t at)
{
	struct watch *w = user;
	const struct l4_model *m = engine_model(w->engine);
	const char *name = m->config->frontends[frontend].name;

	if (!w->subscribers)
		return;
	arena_reset(w->arena);
	encode(w, api_frontend_event(m, frontend, from, w->arena));
	for (struct subscriber *s = w->subscribers; s; s = s->next)
		if (s->frontend && was_told(s, REPLAY_FRONTENDS, name))
			send_encoded(s);
}

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct watch *w = user;
	struct api_events events;

	if (!w->subscribers)
		return;
	arena_reset(w->arena);
	events = api_backend_events(engine_model(w->engine), b, change, w->arena);
	for (size_t i = 0; i < events.n; i++) {
		encode(w, events.items[i]);
		for (struct subscriber *s = w->subscribers; s; s = s->next)
			if (s->backend && was_told(s, REPLAY_BACKENDS, b->name))
				send_encoded(s);
	}
}

/* ---- log lines ---- */

/* The value of a field as text, in buf where it is not text already. */
static char *field_text(const struct log_field *f, struct arena *a)
{
	char duration[DURATION_STRLEN];

	switch (f->kind) {
	case LOG_KIND_STR:
		return arena_strndup(a, f->s.p, f->s.n);
	case LOG_KIND_INT:
		return arena_printf(a, "%lld", (long long)f->i);
	case LOG_KIND_UINT:
		return arena_printf(a, "%llu", (unsigned long long)f->u);
	case LOG_KIND_DOUBLE:
		return arena_printf(a, "%g", f->d);
	case LOG_KIND_BOOL:
		return arena_strdup(a, f->b ? "true" : "false");
	case LOG_KIND_DURATION:
		return arena_strdup(a, duration_format(f->i, duration));
	case LOG_KIND_END:
		break;
	}
	return arena_strdup(a, "");
}

static void encode_line(struct watch *w, const struct log_line *line)
{
	static const char *const levels[] = { "debug", "info", "warn", "error" };
	Maglev__LogEvent__AttrsEntry entries[ATTRS_MAX], *list[ATTRS_MAX];
	Maglev__Event event;
	Maglev__LogEvent body;

	maglev__event__init(&event);
	maglev__log_event__init(&body);
	arena_reset(w->line);
	for (const struct log_field *f = line->fields; f->kind != LOG_KIND_END; f++) {
		if (body.n_attrs == ATTRS_MAX || (f->kind == LOG_KIND_STR && !f->s.p))
			continue;
		maglev__log_event__attrs_entry__init(&entries[body.n_attrs]);
		entries[body.n_attrs].key = text(f->key);
		entries[body.n_attrs].value = field_text(f, w->line);
		list[body.n_attrs] = &entries[body.n_attrs];
		body.n_attrs++;
	}
	body.attrs = list;
	body.level = text(levels[line->level]);
	body.msg = text(line->msg);
	event.at = line->at;
	event.event_case = MAGLEV__EVENT__EVENT_LOG;
	event.log = &body;
	encode(w, &event);
}

static void on_line(const struct log_line *line, void *user)
{
	struct watch *w = user;
	bool encoded = false;

	for (struct subscriber *s = w->subscribers; s; s = s->next) {
		if (!s->log || line->level < s->level)
			continue;
		if (!encoded)
			encode_line(w, line);
		encoded = true;
		send_encoded(s);
	}
}

/* At the lowest level that anybody wants, and not at all when nobody does. */
static void listen_to_log(struct watch *w)
{
	enum log_level lowest = LOG_ERROR;
	bool wanted = false;

	for (const struct subscriber *s = w->subscribers; s; s = s->next) {
		if (!s->log)
			continue;
		wanted = true;
		lowest = s->level < lowest ? s->level : lowest;
	}
	if (!wanted && w->sink >= 0) {
		log_remove_sink(w->sink);
		w->sink = -1;
	} else if (wanted && w->sink < 0) {
		w->sink = log_add_sink(lowest, on_line, w);
	} else if (wanted) {
		log_set_sink_level(w->sink, lowest);
	}
}

/* ---- the replay ---- */

static bool replay_frontend(struct subscriber *s, size_t i)
{
	struct watch *w = s->watch;
	const struct l4_model *m = engine_model(w->engine);

	arena_reset(w->arena);
	encode(w, api_frontend_event(m, i, m->frontends[i].health, w->arena));
	return send_encoded(s);
}

static bool replay_backend(struct subscriber *s, size_t i)
{
	struct watch *w = s->watch;
	const struct l4_model *m = engine_model(w->engine);
	struct api_events events;

	arena_reset(w->arena);
	events = api_backend_events(m, m->backends[i], NULL, w->arena);
	for (size_t e = 0; e < events.n; e++) {
		encode(w, events.items[e]);
		if (!send_encoded(s))
			return false;
	}
	return true;
}

static void next_kind(struct subscriber *s)
{
	free(TAKE_PTR(s->cursor));
	s->replay++;
}

/* One frontend or backend, or the step to the next kind. False when the subscriber lags behind. */
static bool replay_one(struct subscriber *s)
{
	const struct l4_config *c = engine_model(s->watch->engine)->config;
	bool frontends = s->replay == REPLAY_FRONTENDS;
	bool wanted = frontends ? s->frontend : s->backend;
	size_t i = frontends ? l4_config_frontend_behind(c, s->cursor)
			     : l4_config_backend_behind(c, s->cursor);
	size_t n = !wanted ? 0 : frontends ? c->n_frontends : c->n_backends;
	const char *name;

	if (i >= n) {
		next_kind(s);
		return true;
	}
	if (!(frontends ? replay_frontend : replay_backend)(s, i))
		return false;
	name = frontends ? c->frontends[i].name : c->backends[i].name;
	free(s->cursor);
	s->cursor = mem_strdup(name);
	return true;
}

static void on_drained(void *user)
{
	struct subscriber *s = user;

	ev_timer_start(s->watch->loop, &s->watch->soon);
}

static void replay_until(struct subscriber *s, int64_t until)
{
	while (s->replay != REPLAY_DONE && loop_monotonic() < until) {
		if (grpc_queued(s->call) > REPLAY_QUEUED) {
			grpc_on_drained(s->call, on_drained, s);
			return;
		}
		if (!replay_one(s))
			return;
	}
	if (s->replay != REPLAY_DONE)
		ev_timer_start(s->watch->loop, &s->watch->soon);
}

static void on_soon(struct ev_loop *loop, ev_timer *t, int events)
{
	struct watch *w = t->data;
	int64_t until = loop_monotonic() + REPLAY_SLICE;

	listen_to_log(w);
	for (struct subscriber *s = w->subscribers, *next; s; s = next) {
		next = s->next;
		replay_until(s, until);
		if (s->lagging)
			drop(s);
	}
}

/* ---- subscribers ---- */

static void on_cancelled(void *user)
{
	unsubscribe(user);
}

/* No family set means all; the level is that of log lines, whoever else is wanted. */
static int read_filter(struct subscriber *s, const Maglev__WatchRequest *request)
{
	bool all = !request->log && !request->backend && !request->frontend;

	s->level = LOG_INFO;
	if (*request->log_level && log_level_parse(request->log_level, &s->level) < 0)
		return -EINVAL;
	s->log = all || request->log;
	s->backend = all || request->backend;
	s->frontend = all || request->frontend;
	return 0;
}

void watch_subscribe(struct watch *w, struct grpc_call *call, const Maglev__WatchRequest *request)
{
	struct subscriber *s;

	if (w->stats.subscribers >= WATCH_SUBSCRIBERS_MAX) {
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "%d watch already; try again later",
			  WATCH_SUBSCRIBERS_MAX);
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
	grpc_on_cancel(call, on_cancelled, s);
	ev_timer_start(w->loop, &w->soon);
}

struct watch *watch_new(struct ev_loop *loop, struct engine *engine)
{
	struct watch *w = mem_zalloc(sizeof(*w));

	w->loop = loop;
	w->engine = engine;
	w->sink = -1;
	w->end = &w->subscribers;
	w->arena = arena_new();
	w->line = arena_new();
	ev_timer_init(&w->soon, on_soon, 0., 0.);
	w->soon.data = w;
	w->observer = (struct engine_observer){ .backend = on_backend,
						.frontend = on_frontend,
						.user = w };
	engine_observe(engine, &w->observer);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	assert(!w->subscribers);
	if (w->sink >= 0)
		log_remove_sink(w->sink);
	ev_timer_stop(w->loop, &w->soon);
	buf_free(&w->encoded);
	arena_free(w->arena);
	arena_free(w->line);
	free(w);
}

const struct watch_stats *watch_stats(const struct watch *w)
{
	return &w->stats;
}
