/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent to a subscriber in slices, as far as its queue has room.
 *
 * The replay of current states may be long (ten thousand backends in a thousand frontends). It
 * proceeds by name: frontends first, then backends. A change of a backend or frontend that was
 * replayed already is sent like any event. A change of one that was not is not sent, because the
 * replay will send its state as it is then. So nothing is missing and nothing is sent twice.
 *
 * Infos and results of probes are not queued when they happen. A subscriber has a set of those
 * that it has not got yet (stale.h), and each is encoded when it is sent. A slow subscriber gets
 * fewer of them and is not dropped for it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/grpc/server.h"
#include "src/maglevd/api/watch_private.h"

/* Bytes; with more in the queue, slices wait until it has drained. */
#define QUEUED ((size_t)32 * 1024)
#define PROBES_AT_ONCE 256 /* in one event */

bool watch__was_told(const struct subscriber *s, enum watch__replay kind, const char *name)
{
	if (s->replay != kind)
		return s->replay > kind;
	return s->cursor && strcmp(name, s->cursor) <= 0;
}

/* ---- the replay ---- */

static bool replay_frontend(struct subscriber *s, size_t i)
{
	struct watch *w = s->watch;
	const struct l4_model *m = engine_model(w->engine);

	arena_reset(w->arena);
	watch__encode(w, wire_frontend_event(m, i, m->frontends[i].health, w->arena));
	return watch__send(s);
}

static bool replay_backend(struct subscriber *s, size_t i)
{
	struct watch *w = s->watch;
	const struct l4_model *m = engine_model(w->engine);
	struct wire_events events;

	arena_reset(w->arena);
	events = wire_backend_events(m, m->backends[i], NULL, w->arena);
	for (size_t e = 0; e < events.n; e++) {
		watch__encode(w, events.items[e]);
		if (!watch__send(s))
			return false;
	}
	return true;
}

static void next_kind(struct subscriber *s)
{
	free(TAKE_PTR(s->cursor));
	s->replay++;
}

/*
 * Replays one frontend or backend, or moves to the next kind. The cursor is a name, so a reload
 * between two slices neither skips nor repeats an item that stays.
 */
static bool replay_named(struct subscriber *s)
{
	const struct l4_config *c = engine_model(s->watch->engine)->config;
	bool frontends = s->replay == WATCH__FRONTENDS;
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

/* The next kind comes first: from now on events of this kind are sent as they happen. */
static bool replay_config(struct subscriber *s)
{
	struct watch *w = s->watch;

	next_kind(s);
	if (!s->config)
		return true;
	watch__encode(w, watch__config_event(w, true));
	return watch__send(s);
}

static bool replay_dataplane(struct subscriber *s)
{
	struct watch *w = s->watch;

	next_kind(s);
	if (!s->dataplane)
		return true;
	watch__encode(w, watch__dataplane_event(w, NULL, NULL));
	return watch__send(s);
}

/* False when the subscriber is dropped. */
static bool replay_one(struct subscriber *s)
{
	switch (s->replay) {
	case WATCH__CONFIG:
		return replay_config(s);
	case WATCH__DATAPLANE:
		return replay_dataplane(s);
	case WATCH__FRONTENDS:
	case WATCH__BACKENDS:
		return replay_named(s);
	case WATCH__DONE:
		break;
	}
	return true;
}

/* ---- infos and probes ---- */

static bool send_info(struct subscriber *s)
{
	struct watch *w = s->watch;
	const struct l4_model *m = engine_model(w->engine);
	size_t i = stale_take(&s->infos), n = m->config->n_frontends;
	int64_t now = loop_realtime();

	s->infos_due = s->infos.waiting > 0;
	arena_reset(w->arena);
	watch__encode(w, i < n ? wire_frontend_info_event(m, i, now, w->arena)
			       : wire_backend_info_event(m, i - n, now, w->arena));
	return watch__send(s);
}

/* Due until none is waiting: then the next tick allows more. */
static bool send_probes(struct subscriber *s)
{
	struct watch *w = s->watch;
	size_t backends[PROBES_AT_ONCE], n = 0;

	while (n < PROBES_AT_ONCE && s->probed.waiting)
		backends[n++] = stale_take(&s->probed);
	s->probes_due = s->probed.waiting > 0;
	arena_reset(w->arena);
	watch__encode(w, wire_probes_event(engine_model(w->engine), backends, n, loop_realtime(),
					   w->arena));
	return watch__send(s);
}

/* ---- in turns ---- */

static bool has_more(const struct subscriber *s)
{
	return s->replay != WATCH__DONE || (s->infos_due && s->infos.waiting) ||
	       (s->probes_due && s->probed.waiting);
}

/* Infos come before probes. False when the subscriber is dropped. */
static bool serve_one(struct subscriber *s)
{
	if (s->replay != WATCH__DONE)
		return replay_one(s);
	return s->infos_due && s->infos.waiting ? send_info(s) : send_probes(s);
}

static void on_drained(void *user)
{
	struct subscriber *s = user;

	task_wake(&s->watch->soon);
}

void watch__serve(struct subscriber *s)
{
	while (has_more(s) && task_has_time(s->watch->loop)) {
		if (grpc_queued(s->call) > QUEUED) {
			grpc_on_drained(s->call, on_drained, s);
			return;
		}
		if (!serve_one(s))
			return;
	}
	if (has_more(s))
		task_wake(&s->watch->soon);
}
