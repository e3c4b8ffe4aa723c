/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/events.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/http/server.h"
#include "lib/page/reply.h"
#include "src/frontend/broker.h"

#define PING_PERIOD 15.0 /* s; shorter than the idle timeouts of common proxies */

struct subscriber {
	TAILQ_ENTRY(subscriber) all;
	struct events *events;
	struct http_exchange *x;
	uint64_t next;	  /* number of the event to send next */
	size_t at;	  /* bytes of it that were sent already */
	uint64_t lag_max; /* events that it may be behind before a resync */
	bool opened, resync, ping, lost;
};

TAILQ_HEAD(subscribers, subscriber);

struct events {
	struct ev_loop *loop;
	struct broker *broker;
	struct subscribers subscribers;
	ev_timer ping;
	struct events_stats stats;
};

/*
 * Sends a comment to every browser. It keeps proxies from closing an idle stream, and makes a
 * write fail if the browser has disappeared without closing its connection.
 */
static void on_ping(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct events *e = container_of(w, struct events, ping);
	struct subscriber *s;

	for (s = TAILQ_FIRST(&e->subscribers); s; s = TAILQ_NEXT(s, all)) {
		s->ping = true;
		http_wake(s->x);
	}
}

/* The subscriber continues after the newest event; the browser reads the state meanwhile. */
static void add_resync(struct subscriber *s, struct buf *out)
{
	struct broker *b = s->events->broker;

	broker_write_resync(b, loop_realtime(), out);
	s->next = broker_newest(b) + 1;
	s->resync = false;
	s->events->stats.resyncs++;
}

/* Adds as much of the event as there is room for, and moves on at its end. */
static void add_part(struct subscriber *s, struct str text, struct buf *out, size_t room)
{
	size_t left = text.n - s->at;
	size_t n = left < room ? left : room;

	buf_add(out, text.p + s->at, n);
	s->at += n;
	if (s->at < text.n)
		return;
	s->next++;
	s->at = 0;
}

/*
 * Adds the next event or part of one. False if there is nothing to add, or if the event left the
 * ring while partly sent (s->lost). A resync is only possible between two events.
 */
static bool add_next(struct subscriber *s, struct buf *out, size_t room)
{
	struct broker *b = s->events->broker;
	uint64_t newest = broker_newest(b);
	struct str text = broker_event(b, s->next);

	if (s->next > newest && !s->resync) {
		s->lag_max =
			EVENTS_LAG_MAX; /* the allowance for a replay ends once it has caught up */
		return false;
	}
	s->lost = s->at && !text.p;
	if (s->lost)
		return false;
	if (s->resync || !text.p || (!s->at && newest - s->next >= s->lag_max))
		add_resync(s, out);
	else
		add_part(s, text, out, room);
	return true;
}

/* Fills one slice. A ping is sent only if there is nothing else to send. */
static enum http_stream_state produce(struct buf *out, void *user)
{
	struct subscriber *s = user;
	size_t start = out->n;

	if (!s->opened)
		buf_add_lit(out, "retry: 2000\n\n");
	s->opened = true;
	while (out->n < start + HTTP_SLICE && add_next(s, out, start + HTTP_SLICE - out->n))
		;
	s->events->stats.lost += s->lost;
	if (s->lost)
		return HTTP_STREAM_LOST;
	if (s->ping && out->n == start)
		buf_add_lit(out, ": ping\n\n");
	s->ping = false;
	return s->next <= broker_newest(s->events->broker) ? HTTP_STREAM_MORE : HTTP_STREAM_WAIT;
}

static void on_closed(bool whole, void *user)
{
	struct subscriber *s = user;

	TAILQ_REMOVE(&s->events->subscribers, s, all);
	s->events->stats.subscribers--;
	free(s);
}

struct events *events_new(struct ev_loop *loop, struct broker *broker)
{
	struct events *e = mem_zalloc(sizeof(*e));

	e->loop = loop;
	e->broker = broker;
	TAILQ_INIT(&e->subscribers);
	ev_timer_init(&e->ping, on_ping, PING_PERIOD, PING_PERIOD);
	ev_timer_start(loop, &e->ping);
	return e;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	assert(TAILQ_EMPTY(&e->subscribers));
	ev_timer_stop(e->loop, &e->ping);
	free(e);
}

/*
 * Where the stream starts: after the event that the browser has seen last (Last-Event-ID, or
 * "after" in the query for the first connection), or with the next event. A replay may be longer
 * than the usual limit, so the limit is raised by its length.
 */
static void set_start(struct subscriber *s, const struct http_request *request)
{
	struct broker *b = s->events->broker;
	struct str last = http_header(request->head, STR("Last-Event-ID"));

	if (!last.n)
		last = page_query(request->query, STR("after"));
	s->next = broker_newest(b) + 1;
	s->lag_max = EVENTS_LAG_MAX;
	if (!last.n)
		return;
	s->resync = !broker_resume(b, last, loop_monotonic(), &s->next);
	s->events->stats.resumed += !s->resync;
	s->lag_max += broker_newest(b) + 1 - s->next;
}

/* X-Accel-Buffering tells nginx not to buffer the stream. */
void events_subscribe(struct events *e, struct http_exchange *x, const struct http_request *request)
{
	struct subscriber *s;
	struct http_stream stream = { .produce = produce, .closed = on_closed };

	if (e->stats.subscribers >= EVENTS_SUBSCRIBERS_MAX) {
		e->stats.refused++;
		http_reply_header(x, "Retry-After", STR("10"));
		page_error(x, 503, "too many browsers");
		return;
	}
	s = mem_zalloc(sizeof(*s));
	s->events = e;
	s->x = x;
	set_start(s, request);
	TAILQ_INSERT_TAIL(&e->subscribers, s, all);
	e->stats.subscribers++;
	e->stats.subscribed++;
	stream.user = s;
	http_reply_header(x, "Cache-Control", STR("no-store"));
	http_reply_header(x, "X-Accel-Buffering", STR("no"));
	http_reply_stream(x, 200, "text/event-stream", &stream);
}

void events_wake(struct events *e)
{
	struct subscriber *s;

	for (s = TAILQ_FIRST(&e->subscribers); s; s = TAILQ_NEXT(s, all))
		http_wake(s->x);
}

const struct events_stats *events_stats(const struct events *e)
{
	return &e->stats;
}
