/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine owns the model, and the snapshot that holds the model's configuration. Observers
 * (prober, reconciler, metrics, event hub of the API) are a short fixed list. They are added before
 * the start and notified in that order, so that the order of effects is the same in every run.
 *
 * Every change of a backend's state passes through tell(): history, frontends that use the backend,
 * log line, observers. Frontends that change with the backend are named in the same log line, so
 * that one incident is one line. The worst of these changes decides its level: an error if a
 * frontend has lost its last server, a warning if a later pool had to take over.
 *
 * A reload, or a command on many backends, changes the model at once and may change ten thousand
 * backends. The transitions that it causes are kept in a list (pending) and reported by a task. A
 * later transition of one of these backends is reported after the pending ones of the same backend.
 *
 * Overrides that begin or end by themselves share one timer, which is set to the first of them. It
 * follows the wall clock, because the operator gave a time of day. The timer wakes a task, because
 * an operator may have set ten thousand overrides with the same end.
 *
 * The weight of a backend that returns grows in steps (core/l4/slow.h). One timer serves all of
 * them.
 *
 * The guard depends on the last result of every probed backend. It is evaluated again only when a
 * backend's part in it changed, and the evaluation stops at the first backend that contradicts it.
 */
#include "src/maglevd/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "core/l4/guard.h"
#include "core/l4/override.h"
#include "core/l4/slow.h"
#include "lib/log/log.h"
#include "lib/log/who.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "src/maglevd/snapshot.h"

/* A reload with at most this many transitions reports them before engine_reload() returns. */
#define TOLD_AT_ONCE 200
/*
 * Transitions reported in one step at least, also when urgent tasks leave no time; some
 * microseconds each.
 */
#define TOLD_OF_PART 16

/* Why a state changed: for people, and whose command it was. */
struct cause {
	const char *reason;
	const struct who *who; /* NULL: nobody's */
};

/* A transition that waits to be reported. */
struct transition {
	/* NULL: reported already, ahead of its place in the list */
	struct l4_backend_state *backend;
	struct health_change change;
	struct cause cause; /* a constant, or that of the command below */
};

struct engine {
	struct ev_loop *loop;
	ev_periodic expiry; /* active while an override ends by itself */
	ev_timer slow;	    /* active while a weight grows (core/l4/slow.h) */
	struct task expire; /* ends the overrides whose time is over */
	struct snapshot *snapshot;
	struct l4_model model;
	const struct engine_observer *observers[ENGINE_OBSERVERS_MAX];
	size_t n_observers;
	bool guard;
	uint64_t generation;
	/* of the last reload or command on many; owns the backends that a reload removed */
	VEC(struct transition) pending;
	struct arena *pending_texts; /* causes of that command; NULL: none */
	size_t next_pending;	     /* the first one that was not reported yet */
	struct task announce;	     /* reports them */
	/* frontends that change with what is being reported, for its log line */
	struct effects {
		struct buf up, down; /* names */
		struct buf moved;    /* "www: primary -> backup" */
		enum log_level level;
	} effects;
};

static void on_expiry(struct ev_loop *loop, ev_periodic *w, int events);
static bool expire_step(struct task *t);
static bool announce_step(struct task *t);
static void on_slow(struct ev_loop *loop, ev_timer *w, int events);

struct engine *engine_new(struct ev_loop *loop, struct snapshot *first)
{
	struct engine *e = mem_zalloc(sizeof(*e));

	e->loop = loop;
	ev_periodic_init(&e->expiry, on_expiry, 0., 0., NULL);
	e->expiry.data = e;
	ev_init(&e->slow, on_slow);
	e->slow.data = e;
	task_init(&e->expire, loop, TASK_ORDINARY, expire_step);
	task_init(&e->announce, loop, TASK_ORDINARY, announce_step);
	e->snapshot = first;
	e->generation = 1;
	l4_model_init(&e->model, &first->config, loop_realtime());
	return e;
}

/* A backend that a reload removed is no longer part of the model, which would free it otherwise. */
static void free_if_removed(struct l4_backend_state *b)
{
	if (b && b->index == SIZE_MAX)
		l4_backend_state_free(b);
}

/* Pending transitions are dropped; the backends that they own are freed here. */
void engine_free(struct engine *e)
{
	if (!e)
		return;
	ev_periodic_stop(e->loop, &e->expiry);
	ev_timer_stop(e->loop, &e->slow);
	task_cancel(&e->expire);
	task_cancel(&e->announce);
	for (; e->next_pending < e->pending.n; e->next_pending++)
		free_if_removed(e->pending.items[e->next_pending].backend);
	vec_free(&e->pending);
	arena_free(e->pending_texts);
	l4_model_free(&e->model);
	snapshot_free(e->snapshot);
	buf_free(&e->effects.up);
	buf_free(&e->effects.down);
	buf_free(&e->effects.moved);
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

/* Calls one callback of every observer that has it. */
#define TELL(e, callback, ...)                                                                     \
	for (size_t i_ = 0; i_ < (e)->n_observers; i_++)                                           \
		if ((e)->observers[i_]->callback)                                                  \
	(e)->observers[i_]->callback((e)->observers[i_]->user, __VA_ARGS__)

#define NAMES_SHOWN ((size_t)512) /* bytes in a log line; events name all frontends */

static void begin_effects(struct effects *f)
{
	f->up.n = f->down.n = f->moved.n = 0;
	f->level = LOG_INFO;
}

static void raise_level(struct effects *f, enum log_level level)
{
	if (level > f->level)
		f->level = level;
}

/* Room for one more item in a list of a log line. False: the list is cut here. */
static bool begin_item(struct buf *list)
{
	if (list->n > NAMES_SHOWN)
		return false;
	if (list->n)
		buf_addc(list, ',');
	return true;
}

/* A frontend that is down, or that has ceased to be up, has no server. */
static void note_health(struct effects *f, const char *name, enum l4_frontend_health from,
			enum l4_frontend_health to)
{
	struct buf *list = to == L4_FRONTEND_UP ? &f->up : &f->down;

	if (begin_item(list))
		buf_adds(list, name);
	if (to == L4_FRONTEND_DOWN || from == L4_FRONTEND_UP)
		raise_level(f, LOG_ERROR);
}

/* A return to an earlier pool is good news. */
static void note_pool(struct effects *f, const struct l4_frontend *frontend, size_t from, size_t to)
{
	if (begin_item(&f->moved))
		buf_printf(&f->moved, "%s: %s -> %s", frontend->name, frontend->pools[from].name,
			   frontend->pools[to].name);
	if (to > from)
		raise_level(f, LOG_WARN);
}

/*
 * Computes the state and the active pool of a frontend again, and notifies the observers if the
 * state changed.
 */
static void judge_frontend(struct engine *e, size_t i, int64_t now)
{
	const struct l4_frontend *frontend = &e->model.config->frontends[i];
	enum l4_frontend_health from, to;
	size_t from_pool, to_pool;

	if (l4_model_judge_pool(&e->model, i, &from_pool, &to_pool))
		note_pool(&e->effects, frontend, from_pool, to_pool);
	if (!l4_model_judge_frontend(&e->model, i, now, &from))
		return;
	to = e->model.frontends[i].health;
	note_health(&e->effects, frontend->name, from, to);
	log_debug("frontend-transition", LOG_S("frontend", frontend->name),
		  LOG_S("from", l4_frontend_health_name(from)),
		  LOG_S("to", l4_frontend_health_name(to)));
	TELL(e, frontend, i, from, to, now);
}

/* A change of a backend can change the state of every frontend that references it. */
static void judge_frontends_of(struct engine *e, const struct l4_backend_state *b, int64_t now)
{
	const struct l4_backend *config = l4_backend_config(&e->model, b);

	for (size_t i = 0; i < config->n_frontends; i++)
		judge_frontend(e, config->frontends[i], now);
}

/* A field of a log line, which the logger leaves out if the list is empty. */
#define LOG_LIST(key, list) LOG_SN(key, (list).n ? (list).p : NULL, (list).n)

/* One line for the whole incident: the backend, why, and the frontends that changed with it. */
static void log_transition(struct engine *e, const struct l4_backend_state *b,
			   const struct health_change *change, const struct cause *cause)
{
	const struct effects *f = &e->effects;
	char address[ADDR_STRLEN];

	log_at(f->level, "backend-transition", LOG_S("backend", b->name),
	       LOG_S("from", health_state_name(change->from)),
	       LOG_S("to", health_state_name(change->to)),
	       LOG_S("code", health_code_name(change->why)),
	       LOG_S("reason", *cause->reason ? cause->reason : NULL), LOG_WHO(cause->who, address),
	       LOG_U("counter", b->health.counter), LOG_LIST("frontends_up", f->up),
	       LOG_LIST("frontends_down", f->down), LOG_LIST("failovers", f->moved));
}

/*
 * Sets the timer to the next time that a weight grows, not too soon: growths that are close to each
 * other are one step.
 */
static void watch_slow(struct engine *e)
{
	int64_t next = l4_model_slow_next(&e->model), wait = next - loop_realtime();

	ev_timer_stop(e->loop, &e->slow);
	if (next == INT64_MAX)
		return;
	if (wait < L4_SLOW_STEP_MIN)
		wait = L4_SLOW_STEP_MIN;
	ev_timer_set(&e->slow, loop_seconds(wait), 0.);
	ev_timer_start(e->loop, &e->slow);
}

/* A weight that grows is a weight that was set, for all observers. */
static void on_slow(struct ev_loop *loop, ev_timer *w, int events)
{
	struct engine *e = w->data;
	struct l4_slow_growths grown = { 0 };

	l4_model_slow_step(&e->model, loop_realtime(), &grown);
	for (size_t i = 0; i < grown.list.n; i++)
		TELL(e, weight, grown.list.items[i].frontend, grown.list.items[i].backend, false);
	vec_free(&grown.list);
	watch_slow(e);
}

/* Every change of a backend's state passes here, and only here. */
static void tell(struct engine *e, struct l4_backend_state *b, const struct health_change *change,
		 const struct cause *cause)
{
	l4_backend_remember(b, change, cause->reason);
	l4_backend_credit(b, cause->who);
	begin_effects(&e->effects);
	if (b->index != SIZE_MAX)
		judge_frontends_of(e, b, change->at);
	log_transition(e, b, change, cause);
	TELL(e, backend, b, change);
	if (b->returned && !ev_is_active(&e->slow))
		watch_slow(e);
}

/*
 * The same for a change that is not pending. Pending changes of the backend are reported first,
 * so that observers see its changes in order.
 */
static void tell_backend(struct engine *e, struct l4_backend_state *b,
			 const struct health_change *change, const struct cause *cause)
{
	for (size_t i = e->next_pending; i < e->pending.n; i++) {
		struct transition *t = &e->pending.items[i];

		if (t->backend == b)
			tell(e, TAKE_PTR(t->backend), &t->change, &t->cause);
	}
	tell(e, b, change, cause);
}

static const struct cause no_cause = { .reason = "" };

/* FR-1.7: a backend without a check is up as long as no operator's state is in force. */
static bool passes_as_static(struct engine *e, struct l4_backend_state *b,
			     struct health_change *ret)
{
	return !l4_backend_config(&e->model, b)->check &&
	       l4_backend_record(&e->model, b, CODE_STATIC, false, loop_realtime(), ret);
}

/* The same for a transition that is reported now. */
static void pass_if_static(struct engine *e, struct l4_backend_state *b)
{
	struct health_change change;

	if (passes_as_static(e, b, &change))
		tell_backend(e, b, &change, &no_cause);
}

/* Must run after every change of a result that counts for the guard (core/l4/guard.h). */
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
					: "a probe was able to leave this machine again"));
	TELL(e, guard, active);
}

int engine_restore(struct engine *e, const struct l4_kept *k, const char **ret_why)
{
	return l4_kept_restore(&e->model, k, loop_realtime(), ret_why);
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
	/* first: a guard that comes into force must hold back what observers do next */
	if (was_local != b->last_local || was_unknown)
		update_guard(e);
	if (changed)
		tell_backend(e, b, &change, &(struct cause){ .reason = result->reason });
	else if (was_spared && !b->spared)
		TELL(e, unspared, b);
}

/* Sets the timer to the first override that begins or ends by itself. */
static void watch_expiry(struct engine *e)
{
	int64_t at = l4_model_next_expiry(&e->model);

	ev_periodic_stop(e->loop, &e->expiry);
	if (at == INT64_MAX)
		return;
	ev_periodic_set(&e->expiry, loop_seconds(at), 0., NULL);
	ev_periodic_start(e->loop, &e->expiry);
}

/* The timer has reached the first begin or end; there may be more at the same time. */
static void on_expiry(struct ev_loop *loop, ev_periodic *w, int events)
{
	struct engine *e = w->data;

	task_wake(&e->expire);
}

/* An override begins or ends by itself. */
static void log_turn(const char *line, const struct l4_backend_state *b, enum l4_act act,
		     const struct l4_override *o)
{
	char address[ADDR_STRLEN], until[TIME_STRLEN];

	log_info(line, LOG_S("backend", b->name), LOG_S("act", l4_act_name(act)),
		 LOG_S("reason", o->reason),
		 LOG_S("until", o->until ? time_format(o->until, until) : NULL),
		 LOG_WHO(o->who, address));
}

/* The planned pause of a backend begins, unless the backend was disabled until its end. */
static void begin_planned(struct engine *e, struct l4_backend_state *b, int64_t now)
{
	bool missed = b->planned.until && b->planned.until <= now;
	struct health_change change;

	log_turn(missed ? "override-missed" : "override-began", b, L4_ACT_PAUSED, &b->planned);
	if (l4_backend_begin_planned(b, now, &change) > 0)
		tell_backend(e, b, &change,
			     &(struct cause){ b->pause.reason ? b->pause.reason : "scheduled",
					      b->pause.who });
	else
		TELL(e, annotated, b);
}

static void end_override(struct engine *e, struct l4_backend_state *b, int64_t now)
{
	bool pause = b->pause.until && b->pause.until <= now; /* it ends first */
	enum l4_act forced = b->enable == L4_ENABLE_FORCED_ON ? L4_ACT_ENABLED : L4_ACT_DISABLED;
	struct health_change change;

	log_turn("override-ended", b, pause ? L4_ACT_PAUSED : forced,
		 pause ? &b->pause : &b->enabling);
	if (l4_backend_expire(&e->model, b, now, &change)) {
		tell_backend(e, b, &change,
			     &(struct cause){ .reason = "the override has expired" });
		pass_if_static(e, b);
	} else {
		TELL(e, annotated, b);
	}
}

/* Begins or ends one override whose time has come. False: there is none. */
static bool expire_one(struct engine *e, int64_t now)
{
	struct l4_backend_state *b = l4_model_expired(&e->model, now);

	if (!b)
		return false;
	if (l4_backend_plan_is_due(b, now))
		begin_planned(e, b, now);
	else
		end_override(e, b, now);
	return true;
}

/* Calls the observers of overrides. */
static void tell_overridden(struct engine *e)
{
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i]->overridden)
			e->observers[i]->overridden(e->observers[i]->user);
}

/* Begins and ends overrides while there is time. The timer is set again when none is left. */
static bool expire_step(struct task *t)
{
	struct engine *e = container_of(t, struct engine, expire);
	int64_t now = loop_realtime();
	bool more;

	log_hold();
	do {
		more = expire_one(e, now);
	} while (more && task_has_time(e->loop));
	log_release();
	update_guard(e);
	if (!more)
		watch_expiry(e);
	tell_overridden(e);
	return more;
}

void engine_start(struct engine *e)
{
	for (size_t i = 0; i < e->model.config->n_backends; i++)
		pass_if_static(e, e->model.backends[i]);
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

/* The four commands; as is the override that the command begins, or that it would end. */
static const struct {
	act_fn fn;
	enum l4_act as;
} commands[] = {
	[L4_PAUSE] = { pause_backend, L4_ACT_PAUSED },
	[L4_RESUME] = { resume_backend, L4_ACT_PAUSED },
	[L4_ENABLE] = { l4_backend_enable, L4_ACT_ENABLED },
	[L4_DISABLE] = { l4_backend_disable, L4_ACT_DISABLED },
};

static struct cause cause_of(const struct l4_note *note)
{
	return (struct cause){ *note->reason ? note->reason : "operator", note->who };
}

/* Carries out a command in the model. As the functions of core/l4: 1 if the state changed. */
static int command(struct engine *e, struct l4_backend_state *b, enum l4_command c,
		   const struct l4_note *note, struct health_change *ret)
{
	int64_t now = loop_realtime();
	int r;

	if (c == L4_PAUSE && note->from) {
		l4_backend_plan(b, note, now);
		return 0;
	}
	r = commands[c].fn(&e->model, b, now, ret);
	if (r >= 0)
		l4_backend_annotate(b, commands[c].as, note);
	return r;
}

static int act(struct engine *e, const char *backend, enum l4_command c,
	       const struct l4_note *given)
{
	static const struct l4_note nothing = { .reason = "" };
	const struct l4_note *note = given ? given : &nothing;
	size_t i = l4_config_backend(e->model.config, backend);
	struct l4_backend_state *b = i == SIZE_MAX ? NULL : e->model.backends[i];
	const struct cause cause = cause_of(note);
	struct health_change change;
	int r = b ? command(e, b, c, note, &change) : -ENOENT;

	if (r < 0)
		return r;
	if (r) {
		tell_backend(e, b, &change, &cause);
		pass_if_static(e, b);
		update_guard(e);
	} else {
		TELL(e, annotated, b);
	}
	watch_expiry(e);
	tell_overridden(e);
	return 0;
}

int engine_pause(struct engine *e, const char *backend, const struct l4_note *note)
{
	return act(e, backend, L4_PAUSE, note);
}

int engine_resume(struct engine *e, const char *backend, const struct l4_note *note)
{
	return act(e, backend, L4_RESUME, note);
}

int engine_enable(struct engine *e, const char *backend, const struct l4_note *note)
{
	return act(e, backend, L4_ENABLE, note);
}

int engine_disable(struct engine *e, const char *backend, const struct l4_note *note)
{
	return act(e, backend, L4_DISABLE, note);
}

/* The weight is notified even if it did not change, because the flush may be what was asked for. */
int engine_set_weight(struct engine *e, const struct engine_weight *w)
{
	int r = l4_model_set_weight(&e->model, w->frontend, w->pool, w->backend, w->weight);
	const struct effects *f = &e->effects;
	const struct who *who = w->note ? w->note->who : NULL;
	char address[ADDR_STRLEN];
	size_t frontend;

	if (r < 0)
		return r;
	if (w->note)
		l4_weight_annotate(l4_model_weight(&e->model, w->frontend, w->pool, w->backend),
				   w->note, loop_realtime());
	frontend = l4_config_frontend(e->model.config, w->frontend);
	begin_effects(&e->effects);
	judge_frontend(e, frontend, loop_realtime());
	log_at(f->level, "weight-set", LOG_S("frontend", w->frontend), LOG_S("pool", w->pool),
	       LOG_S("backend", w->backend), LOG_U("weight", w->weight), LOG_B("flush", w->flush),
	       LOG_S("reason", w->note && *w->note->reason ? w->note->reason : NULL),
	       LOG_WHO(who, address), LOG_LIST("frontends_up", f->up),
	       LOG_LIST("frontends_down", f->down), LOG_LIST("failovers", f->moved));
	TELL(e, weight, frontend, l4_config_backend(e->model.config, w->backend), w->flush);
	tell_overridden(e);
	return 0;
}

/* Frontends may have changed with the configuration alone: other pools, other weights. */
static void judge_frontends(struct engine *e)
{
	const struct effects *f = &e->effects;
	int64_t now = loop_realtime();

	begin_effects(&e->effects);
	for (size_t i = 0; i < e->model.config->n_frontends; i++)
		judge_frontend(e, i, now);
	if (f->up.n || f->down.n || f->moved.n)
		log_at(f->level, "frontends-changed", LOG_LIST("frontends_up", f->up),
		       LOG_LIST("frontends_down", f->down), LOG_LIST("failovers", f->moved));
}

/* Reports the next pending transition, unless it was reported ahead of its place. */
static void tell_next(struct engine *e)
{
	const struct transition *t = &e->pending.items[e->next_pending++];

	if (!t->backend)
		return;
	tell(e, t->backend, &t->change, &t->cause);
	free_if_removed(t->backend);
}

static bool has_pending(const struct engine *e)
{
	return e->next_pending < e->pending.n;
}

/*
 * All were reported. Frontends are judged at the very end too: a reload may change one without
 * changing the state of any of its backends.
 */
static void end_pending(struct engine *e)
{
	task_cancel(&e->announce);
	vec_free(&e->pending);
	arena_free(TAKE_PTR(e->pending_texts));
	e->next_pending = 0;
	judge_frontends(e);
}

static void tell_all_pending(struct engine *e)
{
	while (has_pending(e))
		tell_next(e);
	end_pending(e);
}

/* Reports pending transitions while there is time; log lines of one step are written together. */
static bool announce_step(struct task *t)
{
	struct engine *e = container_of(t, struct engine, announce);

	log_hold();
	do {
		for (int n = 0; n < TOLD_OF_PART && has_pending(e); n++)
			tell_next(e);
	} while (has_pending(e) && task_has_time(e->loop));
	if (!has_pending(e))
		end_pending(e);
	log_release();
	return has_pending(e);
}

/* Removed backends come last, so that frontends are judged by the backends that replace them. */
static void collect_pending(struct engine *e, const struct l4_reload *reload)
{
	const struct cause from_file = { .reason = "configuration" };
	struct health_change passed;

	for (size_t i = 0; i < reload->changes.n; i++) {
		const struct l4_reload_change *c = &reload->changes.items[i];

		if (c->removed)
			continue;
		if (c->has_transition)
			vec_push(&e->pending,
				 (struct transition){ c->backend, c->transition, from_file });
		if (passes_as_static(e, c->backend, &passed))
			vec_push(&e->pending, (struct transition){ c->backend, passed, no_cause });
	}
	for (size_t i = 0; i < reload->changes.n; i++) {
		const struct l4_reload_change *c = &reload->changes.items[i];

		assert(!c->removed || c->has_transition);
		if (c->removed)
			vec_push(&e->pending,
				 (struct transition){ c->backend, c->transition, from_file });
	}
}

/* The model has changed: reports the transitions now, or in later turns if they are many. */
static void tell_pending(struct engine *e)
{
	update_guard(e);
	if (e->pending.n > TOLD_AT_ONCE)
		task_wake(&e->announce);
	else
		tell_all_pending(e);
	watch_expiry(e);
}

/*
 * The model changes at once, so that all decisions from now on use the new configuration. Only
 * the notifications may take several turns.
 */
void engine_reload(struct engine *e, struct snapshot *next)
{
	struct snapshot *old = e->snapshot;
	struct l4_reload reload = { 0 };

	log_hold();
	if (has_pending(e))
		tell_all_pending(e); /* a backend that comes back by name is another backend */
	e->snapshot = next;
	e->generation++;
	l4_model_reload(&e->model, &next->config, loop_realtime(), &reload);
	TELL(e, reloaded, &reload); /* first: observers keep tables by index */
	collect_pending(e, &reload);
	tell_pending(e);
	log_release();
	tell_overridden(e);
	watch_slow(e);
	vec_free(&reload.changes);
	snapshot_free(old);
}

/* The reason and the operator of a command that is reported later. */
static struct cause keep_cause(struct engine *e, const struct l4_note *note)
{
	struct cause cause = cause_of(note);

	e->pending_texts = arena_new();
	cause.reason = arena_strdup(e->pending_texts, cause.reason);
	if (cause.who)
		cause.who = arena_copy(e->pending_texts, cause.who, sizeof(*cause.who));
	return cause;
}

void engine_act_on(struct engine *e, const struct l4_selection *s, enum l4_command c,
		   const struct l4_note *note)
{
	struct health_change change, passed;
	struct cause cause;

	log_hold();
	if (has_pending(e))
		tell_all_pending(e);
	cause = keep_cause(e, note);
	for (size_t i = 0; i < s->n; i++) {
		struct l4_backend_state *b = e->model.backends[s->backends[i]];
		int r = command(e, b, c, note, &change);

		assert(r >= 0);
		if (r == 0) {
			TELL(e, annotated, b);
			continue;
		}
		vec_push(&e->pending, (struct transition){ b, change, cause });
		if (passes_as_static(e, b, &passed))
			vec_push(&e->pending, (struct transition){ b, passed, no_cause });
	}
	tell_pending(e);
	log_release();
	tell_overridden(e);
}

void engine_keeps_overrides(struct engine *e)
{
	e->model.overrides_kept = true;
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

void engine_note_written(struct engine *e, size_t frontend)
{
	if (e->model.frontends[frontend].written)
		return;
	e->model.frontends[frontend].written = true;
	TELL(e, written, frontend);
}
