/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warm-up of the reconciler: until core/l4/warmup releases a frontend, nothing is written for
 * it, and until the warm-up is over, nothing is removed.
 */
#include "base/units.h"
#include "lib/log/log.h"
#include "src/maglevd/reconcile_private.h"

/* bytes of names in one log line */
#define NAMES_SHOWN ((size_t)512)

/* The frontends released at one moment, for one log line. */
struct released {
	struct buf names;
	size_t n;
};

/*
 * While frontends are being released, only those whose backends all have a result are ready. When
 * the warm-up is over, all of them are.
 */
static void release_if_ready(struct reconcile *r, size_t frontend, struct released *out)
{
	const struct l4_frontend *config = &reconcile__model(r)->config->frontends[frontend];

	if (reconcile__model(r)->frontends[frontend].released || r->phase == WARMUP_HANDS_OFF)
		return;
	if (r->phase == WARMUP_RELEASING && !warmup_vip_ready(reconcile__model(r), frontend))
		return;
	engine_release(r->engine, frontend);
	reconcile__mark(r, frontend);
	out->n++;
	if (out->names.n < NAMES_SHOWN)
		buf_printf(&out->names, "%s%s", out->names.n ? "," : "", config->name);
}

static void log_released(struct released *released)
{
	if (released->n)
		log_info("warmup-released", LOG_U("frontends", released->n),
			 LOG_SN("names", released->names.p, released->names.n));
	buf_free(&released->names);
}

/* The end of the warm-up releases all that is left; that has a log line of its own. */
void reconcile__release_all_ready(struct reconcile *r)
{
	struct released released = { 0 };

	for (size_t i = 0; i < reconcile__model(r)->config->n_frontends; i++)
		release_if_ready(r, i, &released);
	if (r->phase == WARMUP_RELEASING)
		log_released(&released);
	else
		buf_free(&released.names);
}

/* Never returns to an earlier phase, even if a reload changed the delays. */
void reconcile__advance_phase(struct reconcile *r)
{
	const struct l4_lb *lb = &reconcile__model(r)->config->lb;
	int64_t now = loop_monotonic(), next = warmup_next(lb, r->started, now);
	enum warmup_phase phase = warmup_phase(lb, r->started, now);

	ev_timer_stop(r->loop, &r->warmup);
	if (next != INT64_MAX) {
		ev_timer_set(&r->warmup, loop_seconds(next - now), 0.);
		ev_timer_start(r->loop, &r->warmup);
	}
	if (phase <= r->phase)
		return;
	if (r->phase == WARMUP_HANDS_OFF)
		reconcile__distrust(r); /* what was read before may be old by now */
	r->phase = phase;
	reconcile__notify(r, RECONCILE_WARMUP, "");
	reconcile__release_all_ready(r);
	if (phase != WARMUP_DONE)
		return;
	log_info("warmup-done", LOG_T("after", now - r->started));
	reconcile__want_walk(r);
}

void reconcile__backend_changed(struct reconcile *r, const struct l4_backend *b)
{
	struct released released = { 0 };

	for (size_t i = 0; i < b->n_frontends; i++) {
		reconcile__mark(r, b->frontends[i]);
		release_if_ready(r, b->frontends[i], &released);
	}
	log_released(&released);
}
