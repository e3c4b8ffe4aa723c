/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine holds the model and the snapshot that the model's configuration lives in. Observers
 * (prober, reconciler, metrics, the API's event hub) are a short fixed list, added before the
 * start and told in that order, so that the order of effects is the same in every run.
 *
 * tell_backend() is the only place where a backend's change of state becomes known: history, log
 * line, observers. The frontends that reference the backend are judged right after, and what
 * changed there is part of the same log line: one incident, one line.
 *
 * A reload changes the model at once, and may change ten thousand backends: their transitions wait
 * in a list, and some of them are told in each turn of the loop. A later transition of such a
 * backend is told after the one that waits.
 *
 * Overrides that end by themselves share one timer, set to the first of them. It counts in the time
 * of the wall clock, since that is what the operator said.
 *
 * The guard depends on the last result of every probed backend. It is judged again only when a
 * backend's part in it changed, and the judge stops at the first backend that speaks against it.
 */
#include "src/maglevd/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/l4/guard.h"
#include "core/l4/override.h"
#include "lib/log/log.h"
#include "lib/loop/loop.h"
#include "src/maglevd/snapshot.h"

#define ENDS_PER_TURN 16
#define NEWS_PER_TURN 200

struct news {
	struct l4_backend_state *backend; /* NULL: it was told before its turn */
	struct health_change change;
	const char *reason;
};

struct engine {
	struct ev_loop *loop;
	ev_periodic expiry; /* active while an override ends by itself */
	struct snapshot *snapshot;
	struct l4_model model;
	const struct engine_observer *observers[ENGINE_OBSERVERS_MAX];
	size_t n_observers;
	bool guard;
	uint64_t generation;
	VEC(struct news) news; /* of a reload; what was removed is freed when that is told */
	size_t n_told;	       /* of them */
	ev_timer teller;       /* active while there are more */
	/* names of frontends that changed with the transition being told, for its log line */
	struct buf went_up, went_down;
};

static void on_expiry(struct ev_loop *loop, ev_periodic *w, int events);
static void on_teller(struct ev_loop *loop, ev_timer *w, int events);

struct engine *engine_new(struct ev_loop *loop, struct snapshot *first)
{
	struct engine *e = mem_zalloc(sizeof(*e));

	e->loop = loop;
	ev_periodic_init(&e->expiry, on_expiry, 0., 0., NULL);
	e->expiry.data = e;
	ev_timer_init(&e->teller, on_teller, 0., 0.);
	e->teller.data = e;
	e->snapshot = first;
	e->generation = 1;
	l4_model_init(&e->model, &first->config, loop_realtime());
	return e;
}

static void free_if_removed(struct l4_backend_state *b)
{
	if (b && b->index == SIZE_MAX)
		l4_backend_state_free(b);
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	ev_periodic_stop(e->loop, &e->expiry);
	ev_timer_stop(e->loop, &e->teller);
	for (; e->n_told < e->news.n; e->n_told++)
		free_if_removed(e->news.items[e->n_told].backend);
	vec_free(&e->news);
	l4_model_free(&e->model);
	snapshot_free(e->snapshot);
	buf_free(&e->went_up);
	buf_free(&e->went_down);
	free(e);
}

void engine_observe(struct engine *e, const struct engine_observer *observer)
{
	assert(e->n_observers < ENGINE_OBSERVERS_MAX);
	e->observers[e->n_observers++] = observer;
}

const struct l4_model *engine_model(const struct engine *e)
{
	return &e->model;
}

uint64_t engine_generation(const struct engine *e)
{
	return e->generation;
}

bool engine_guard(const struct engine *e)
{
	return e->guard;
}

#define TELL(e, callback, ...)                                                                     \
	for (size_t i_ = 0; i_ < (e)->n_observers; i_++)                                           \
		if ((e)->observers[i_]->callback)                                                  \
	(e)->observers[i_]->callback((e)->observers[i_]->user, __VA_ARGS__)

#define NAMES_SHOWN ((size_t)512) /* of a log line; the events have them all */

static void add_name(struct buf *names, const char *name)
{
	if (names->n > NAMES_SHOWN)
		return;
	if (names->n)
		buf_addc(names, ',');
	buf_adds(names, name);
}

static void judge_frontend(struct engine *e, size_t i, int64_t now)
{
	enum l4_frontend_health from, to;

	if (!l4_model_judge_frontend(&e->model, i, now, &from))
		return;
	to = e->model.frontends[i].health;
	add_name(to == L4_FRONTEND_UP ? &e->went_up : &e->went_down,
		 e->model.config->frontends[i].name);
	log_debug("frontend-transition", LOG_S("frontend", e->model.config->frontends[i].name),
		  LOG_S("from", l4_frontend_health_name(from)),
		  LOG_S("to", l4_frontend_health_name(to)));
	TELL(e, frontend, i, from, to, now);
}

static void judge_frontends_of(struct engine *e, const struct l4_backend_state *b, int64_t now)
{
	const struct l4_backend *config = l4_backend_config(&e->model, b);

	for (size_t i = 0; i < config->n_frontends; i++)
		judge_frontend(e, config->frontends[i], now);
}

/* NULL: the field is left out. */
static const char *names_in(const struct buf *names)
{
	return names->n ? names->p : NULL;
}

static void log_transition(struct engine *e, const struct l4_backend_state *b,
			   const struct health_change *change, const char *reason)
{
	log_info("backend-transition", LOG_S("backend", b->name),
		 LOG_S("from", health_state_name(change->from)),
		 LOG_S("to", health_state_name(change->to)),
		 LOG_S("code", health_code_name(change->why)),
		 LOG_S("reason", *reason ? reason : NULL), LOG_U("counter", b->health.counter),
		 LOG_SN("frontends_up", names_in(&e->went_up), e->went_up.n),
		 LOG_SN("frontends_down", names_in(&e->went_down), e->went_down.n));
}

/* Every change of a backend's state passes here, and only here. */
static void tell(struct engine *e, struct l4_backend_state *b, const struct health_change *change,
		 const char *reason)
{
	l4_backend_remember(b, change);
	e->went_up.n = e->went_down.n = 0;
	if (b->index != SIZE_MAX)
		judge_frontends_of(e, b, change->at);
	log_transition(e, b, change, reason);
	TELL(e, backend, b, change);
}

/* Behind what a reload did to it, if that still waits. */
static void tell_backend(struct engine *e, struct l4_backend_state *b,
			 const struct health_change *change, const char *reason)
{
	for (size_t i = e->n_told; i < e->news.n; i++) {
		struct news *news = &e->news.items[i];

		if (news->backend == b)
			tell(e, TAKE_PTR(news->backend), &news->change, news->reason);
	}
	tell(e, b, change, reason);
}

/* A backend without a check is up as soon as nothing holds it. */
static bool passes_as_static(struct engine *e, struct l4_backend_state *b,
			     struct health_change *ret)
{
	return !l4_backend_config(&e->model, b)->check &&
	       l4_backend_record(&e->model, b, CODE_STATIC, false, loop_realtime(), ret);
}

static void pass_if_static(struct engine *e, struct l4_backend_state *b)
{
	struct health_change change;

	if (passes_as_static(e, b, &change))
		tell_backend(e, b, &change, "");
}

static void update_guard(struct engine *e)
{
	bool active = l4_guard_active(&e->model);

	if (active == e->guard)
		return;
	e->guard = active;
	if (!active)
		l4_guard_lowered(&e->model);
	log_warn(active ? "guard-active" : "guard-released",
		 LOG_S("reason", active ? "every probe fails on this machine itself; "
					  "no weight is lowered and no flow flushed"
					: "probes get out again"));
	TELL(e, guard, active);
}

void engine_start(struct engine *e)
{
	for (size_t i = 0; i < e->model.config->n_backends; i++)
		pass_if_static(e, e->model.backends[i]);
}

void engine_record(struct engine *e, struct l4_backend_state *b, const struct engine_result *result)
{
	bool was_local = b->last_local, was_unknown = b->health.state == HEALTH_UNKNOWN;
	bool was_spared = b->spared;
	struct health_change change;
	int64_t now = loop_realtime();
	bool changed = l4_backend_record(&e->model, b, result->code, result->local, now, &change);

	l4_backend_note_probe(b, result->reason, now, result->duration);
	TELL(e, probed, b);
	/* before anybody acts on the change: a guard that comes into force must hold it back */
	if (was_local != b->last_local || was_unknown)
		update_guard(e);
	if (changed)
		tell_backend(e, b, &change, result->reason);
	else if (was_spared && !b->spared)
		TELL(e, unspared, b);
}

/* Sets the timer to the first override that ends by itself. */
static void watch_expiry(struct engine *e)
{
	int64_t at = l4_model_next_expiry(&e->model);

	ev_periodic_stop(e->loop, &e->expiry);
	if (at == INT64_MAX)
		return;
	ev_periodic_set(&e->expiry, loop_seconds(at), 0., NULL);
	ev_periodic_start(e->loop, &e->expiry);
}

/* Who acts on many at once has all of them end at once: some in each turn of the loop. */
static void on_expiry(struct ev_loop *loop, ev_periodic *w, int events)
{
	struct engine *e = w->data;
	struct l4_backend_state *b;
	int64_t now = loop_realtime();

	for (int n = 0; n < ENDS_PER_TURN && (b = l4_model_expired(&e->model, now)); n++) {
		struct health_change change;

		if (!l4_backend_expire(&e->model, b, now, &change)) {
			TELL(e, annotated, b);
			continue;
		}
		tell_backend(e, b, &change, "its time is over");
		pass_if_static(e, b);
	}
	update_guard(e);
	watch_expiry(e);
}

typedef int (*act_fn)(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
		      struct health_change *ret);

static int pause_backend(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
			 struct health_change *ret)
{
	return l4_backend_pause(b, now, ret);
}

static int resume_backend(const struct l4_model *m, struct l4_backend_state *b, int64_t now,
			  struct health_change *ret)
{
	return l4_backend_resume(b, now, ret);
}

static int act(struct engine *e, const char *backend, act_fn fn, enum l4_act as,
	       const struct engine_note *note)
{
	size_t i = l4_config_backend(e->model.config, backend);
	struct l4_backend_state *b = i == SIZE_MAX ? NULL : e->model.backends[i];
	struct health_change change;
	int r = b ? fn(&e->model, b, loop_realtime(), &change) : -ENOENT;

	if (r < 0)
		return r;
	l4_backend_annotate(b, as, note ? note->reason : "", note ? note->until : 0);
	if (r) {
		tell_backend(e, b, &change, note && *note->reason ? note->reason : "operator");
		pass_if_static(e, b);
		update_guard(e);
	} else {
		TELL(e, annotated, b);
	}
	watch_expiry(e);
	return 0;
}

int engine_pause(struct engine *e, const char *backend, const struct engine_note *note)
{
	return act(e, backend, pause_backend, L4_ACT_PAUSED, note);
}

int engine_resume(struct engine *e, const char *backend, const struct engine_note *note)
{
	return act(e, backend, resume_backend, L4_ACT_PAUSED, note);
}

int engine_enable(struct engine *e, const char *backend, const struct engine_note *note)
{
	return act(e, backend, l4_backend_enable, L4_ACT_ENABLED, note);
}

int engine_disable(struct engine *e, const char *backend, const struct engine_note *note)
{
	return act(e, backend, l4_backend_disable, L4_ACT_DISABLED, note);
}

int engine_set_weight(struct engine *e, const struct engine_weight *w)
{
	int r = l4_model_set_weight(&e->model, w->frontend, w->pool, w->backend, w->weight);
	size_t frontend;

	if (r < 0)
		return r;
	frontend = l4_config_frontend(e->model.config, w->frontend);
	e->went_up.n = e->went_down.n = 0;
	judge_frontend(e, frontend, loop_realtime());
	log_info("weight-set", LOG_S("frontend", w->frontend), LOG_S("pool", w->pool),
		 LOG_S("backend", w->backend), LOG_U("weight", w->weight), LOG_B("flush", w->flush),
		 LOG_SN("frontends_up", names_in(&e->went_up), e->went_up.n),
		 LOG_SN("frontends_down", names_in(&e->went_down), e->went_down.n));
	TELL(e, weight, frontend, l4_config_backend(e->model.config, w->backend), w->flush);
	return 0;
}

static void judge_frontends(struct engine *e)
{
	int64_t now = loop_realtime();

	for (size_t i = 0; i < e->model.config->n_frontends; i++)
		judge_frontend(e, i, now);
}

/* Some of the news, and when those are all told what a reload may have done to frontends alone. */
static void tell_news(struct engine *e, size_t n)
{
	for (; n && e->n_told < e->news.n; n--, e->n_told++) {
		const struct news *news = &e->news.items[e->n_told];

		if (!news->backend)
			continue;
		tell(e, news->backend, &news->change, news->reason);
		free_if_removed(news->backend);
	}
	if (e->n_told < e->news.n) {
		ev_timer_start(e->loop, &e->teller);
		return;
	}
	ev_timer_stop(e->loop, &e->teller);
	vec_free(&e->news);
	e->n_told = 0;
	judge_frontends(e);
}

static void on_teller(struct ev_loop *loop, ev_timer *w, int events)
{
	log_hold();
	tell_news(w->data, NEWS_PER_TURN);
	log_release();
}

/* What was removed comes last. */
static void gather_news(struct engine *e, const struct l4_reload *reload)
{
	struct health_change passed;

	for (size_t i = 0; i < reload->changes.n; i++) {
		const struct l4_reload_change *c = &reload->changes.items[i];

		if (c->removed)
			continue;
		if (c->has_transition)
			vec_push(&e->news,
				 (struct news){ c->backend, c->transition, "configuration" });
		if (passes_as_static(e, c->backend, &passed))
			vec_push(&e->news, (struct news){ c->backend, passed, "" });
	}
	for (size_t i = 0; i < reload->changes.n; i++) {
		const struct l4_reload_change *c = &reload->changes.items[i];

		assert(!c->removed || c->has_transition);
		if (c->removed)
			vec_push(&e->news,
				 (struct news){ c->backend, c->transition, "configuration" });
	}
}

void engine_reload(struct engine *e, struct snapshot *next)
{
	struct snapshot *old = e->snapshot;
	struct l4_reload reload = { 0 };

	log_hold();
	if (e->news.n)
		tell_news(e, SIZE_MAX); /* a name that comes back is another */
	e->snapshot = next;
	e->generation++;
	l4_model_reload(&e->model, &next->config, loop_realtime(), &reload);
	TELL(e, reloaded, &reload); /* first: observers keep tables by index */
	gather_news(e, &reload);
	update_guard(e);
	tell_news(e, e->news.n > NEWS_PER_TURN ? 0 : SIZE_MAX); /* this turn was long enough */
	log_release();
	watch_expiry(e);
	vec_free(&reload.changes);
	snapshot_free(old);
}

void engine_refuse(struct engine *e, const struct engine_refusal *why)
{
	TELL(e, refused, why);
}

void engine_release(struct engine *e, size_t frontend)
{
	e->model.frontends[frontend].released = true;
	TELL(e, released, frontend);
}
