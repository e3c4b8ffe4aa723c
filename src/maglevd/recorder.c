/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is recorded by a task, because there may be tens of thousands of counters. It first adds
 * up a reading of the data plane's counters. When a newer reading arrives meanwhile, it starts
 * again with that one, so that all counters are of the same moment. A reload starts it again, too.
 * Then every frontend and every backend gets its values.
 *
 * Steps are numbered by the monotonic clock: setting the time of day neither makes a gap nor hides
 * one. A step that the loop was too late for is a gap.
 */
#include "src/maglevd/recorder.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/loop/task.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"

#define ITEMS_AT_ONCE 16 /* between two looks at the clock; a VIP may have many servers */

/* What the task does next; `at` is the index of the next item. */
enum phase { IDLE, VIPS, SERVERS, FRONTENDS, BACKENDS };

struct recorder {
	struct ev_loop *loop;
	struct engine *engine;
	const struct reconcile *reconcile;
	struct engine_observer observer;
	struct l4_history history;
	ev_timer tick;
	struct task task;
	enum phase phase;
	size_t at;
	int64_t step, step_at;	   /* that is being recorded, and when it ended (unix ns) */
	int64_t newest, newest_at; /* the last one that was recorded; -1: none */
};

static const struct l4_model *model(const struct recorder *r)
{
	return engine_model(r->engine);
}

/* ---- a step ---- */

static void enter(struct recorder *r, enum phase phase)
{
	r->phase = phase;
	r->at = 0;
}

static void begin(struct recorder *r)
{
	l4_history_begin(&r->history, reconcile_counters(r->reconcile));
	enter(r, VIPS);
}

/* The counters that are being added up; NULL: there are none. Begins again with newer ones. */
static const struct lb_counters *reading(struct recorder *r)
{
	const struct lb_counters *c = reconcile_counters(r->reconcile);

	if ((c ? c->at : 0) != r->history.reading)
		begin(r);
	return c;
}

/* Each of these does the next item of its phase. False: there is none. */
static bool do_vip(struct recorder *r)
{
	const struct lb_counters *c = reading(r);

	if (!c || r->at >= c->vips.n)
		return false;
	l4_history_add_vip(&r->history, model(r)->config, &c->vips.items[r->at++]);
	return true;
}

static bool do_server(struct recorder *r)
{
	const struct lb_counters *c = reading(r);

	if (r->phase != SERVERS) /* it has begun again */
		return true;
	if (!c || r->at >= c->servers.n)
		return false;
	l4_history_add_server(&r->history, model(r)->config, &c->servers.items[r->at++]);
	return true;
}

static bool do_frontend(struct recorder *r)
{
	if (r->at >= model(r)->config->n_frontends)
		return false;
	l4_history_put_frontend(&r->history, r->at++, r->step);
	return true;
}

static bool do_backend(struct recorder *r)
{
	if (r->at >= model(r)->config->n_backends)
		return false;
	l4_history_put_backend(&r->history, r->at, r->step,
			       model(r)->backends[r->at]->health.state);
	r->at++;
	return true;
}

static void do_next(struct recorder *r)
{
	static bool (*const phases[])(struct recorder * r) = {
		[VIPS] = do_vip,
		[SERVERS] = do_server,
		[FRONTENDS] = do_frontend,
		[BACKENDS] = do_backend,
	};

	if (phases[r->phase](r))
		return;
	if (r->phase != BACKENDS) {
		enter(r, r->phase + 1);
		return;
	}
	enter(r, IDLE);
	r->newest = r->step;
	r->newest_at = r->step_at;
}

static bool on_step(struct task *t)
{
	struct recorder *r = container_of(t, struct recorder, task);

	do
		for (unsigned i = 0; r->phase != IDLE && i < ITEMS_AT_ONCE; i++)
			do_next(r);
	while (r->phase != IDLE && task_has_time(r->loop));
	return r->phase != IDLE;
}

/* The step that ends at about this time: libev's timers may be early by a moment. */
static int64_t step_at(int64_t now)
{
	return (now + HISTORY_STEP / 2) / HISTORY_STEP;
}

/* For the end of the next step. */
static void arm(struct recorder *r)
{
	int64_t now = loop_monotonic();

	ev_timer_set(&r->tick, loop_seconds((step_at(now) + 1) * HISTORY_STEP - now), 0);
	ev_timer_start(r->loop, &r->tick);
}

/* A step that was not finished in time is given up: the next one is due. */
static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	struct recorder *r = w->data;

	r->step = step_at(loop_monotonic());
	r->step_at = loop_realtime();
	begin(r);
	task_wake(&r->task);
	arm(r);
}

/* ---- what the engine says ---- */

static void on_probed(void *user, const struct l4_backend_state *b)
{
	struct recorder *r = user;

	if (health_code_is_pass(b->last_code) && !health_is_operator(b->health.state))
		l4_history_note_probe(&r->history, b->index, b->last_duration);
}

static void on_backend(void *user, struct l4_backend_state *b, const struct health_change *change)
{
	struct recorder *r = user;

	if (b->index == SIZE_MAX)
		return;
	l4_history_note_state(&r->history, b->index, change->from);
	l4_history_note_state(&r->history, b->index, change->to);
}

/* The step under way begins again, with the frontends and backends that there are now. */
static void on_reloaded(void *user, const struct l4_reload *reload)
{
	struct recorder *r = user;

	l4_history_reload(&r->history, model(r)->config);
	if (r->phase != IDLE)
		begin(r);
}

struct recorder *recorder_new(struct ev_loop *loop, struct engine *engine,
			      const struct reconcile *reconcile)
{
	struct recorder *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	r->engine = engine;
	r->reconcile = reconcile;
	r->newest = -1;
	r->observer = (struct engine_observer){
		.backend = on_backend, .reloaded = on_reloaded, .probed = on_probed, .user = r
	};
	engine_observe(engine, &r->observer);
	l4_history_reload(&r->history, model(r)->config);
	task_init(&r->task, loop, TASK_ORDINARY, on_step);
	ev_timer_init(&r->tick, on_tick, 0, 0);
	r->tick.data = r;
	arm(r);
	return r;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	ev_timer_stop(r->loop, &r->tick);
	task_cancel(&r->task);
	l4_history_free(&r->history);
	free(r);
}

const struct l4_history *recorder_history(const struct recorder *r)
{
	return &r->history;
}

int64_t recorder_newest(const struct recorder *r)
{
	return r->newest;
}

int64_t recorder_time(const struct recorder *r, int64_t step)
{
	return r->newest_at - (r->newest - step) * HISTORY_STEP;
}
