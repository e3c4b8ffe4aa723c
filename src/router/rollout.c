/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rollout: a timer compares the tallies of the two generations. A generation that fails every
 * request has so many failures at most: min_requests, and what it answers in one period.
 */
#include "src/router/rollout.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/log/log.h"

#define PERIOD 0.05 /* s between two looks */

struct rollout {
	struct ev_loop *loop;
	struct router *router;
	ev_timer timer;
	struct rollout_status last;
	struct l7_tally old_start; /* of the old generation when the rollout began */
	struct l7_tally new_start; /* of the new one when its share was set */
	int64_t since;		   /* monotonic ns: when its share was set */
	uint64_t counts[ROLLOUT_STATES];
};

static struct l7_tally since(struct l7_tally now, struct l7_tally start)
{
	return (struct l7_tally){ now.answers - start.answers, now.errors - start.errors };
}

const char *rollout_state_name(enum rollout_state state)
{
	static const char *const names[ROLLOUT_STATES] = { [ROLLOUT_NONE] = "none",
							   [ROLLOUT_RUNNING] = "running",
							   [ROLLOUT_FINISHED] = "finished",
							   [ROLLOUT_RETURNED] = "returned",
							   [ROLLOUT_ABORTED] = "aborted" };

	return names[state];
}

struct rollout_status rollout_status(const struct rollout *r)
{
	struct rollout_status s = r->last;

	if (s.state != ROLLOUT_RUNNING)
		return s;
	/* an update of servers gives both another number */
	s.generation = router_trial(r->router)->number;
	s.from = router_current(r->router)->number;
	s.before = since(generation_sum(router_current(r->router)), r->old_start);
	s.after = generation_sum(router_trial(r->router));
	return s;
}

uint64_t rollout_count(const struct rollout *r, enum rollout_state state)
{
	return r->counts[state];
}

/* ---- steps ---- */

static void log_step(const struct rollout *r, const char *message)
{
	const struct rollout_status s = rollout_status(r);

	log_info(message, LOG_U("generation", s.generation), LOG_U("from", s.from),
		 LOG_U("percent", s.share), LOG_U("answers", s.after.answers),
		 LOG_U("errors", s.after.errors), LOG_U("answers_before", s.before.answers),
		 LOG_U("errors_before", s.before.errors));
}

static void begin_step(struct rollout *r, unsigned share)
{
	r->last.share = share;
	r->last.at = loop_realtime();
	r->since = loop_monotonic();
	r->new_start = generation_sum(router_trial(r->router));
}

static void end(struct rollout *r, enum rollout_state state)
{
	r->last = rollout_status(r);
	r->last.state = state;
	r->last.at = loop_realtime();
	if (state == ROLLOUT_FINISHED)
		r->last.share = 100;
	r->counts[state]++;
	ev_timer_stop(r->loop, &r->timer);
	router_end_trial(r->router, state == ROLLOUT_FINISHED);
}

static void finish(struct rollout *r)
{
	log_step(r, "rollout-finished");
	end(r, ROLLOUT_FINISHED);
}

static void give_up(struct rollout *r)
{
	const struct rollout_status s = rollout_status(r);

	log_warn("rollout-returned", LOG_U("generation", s.generation), LOG_U("from", s.from),
		 LOG_U("percent", s.share), LOG_U("answers", s.after.answers),
		 LOG_U("errors", s.after.errors), LOG_U("answers_before", s.before.answers),
		 LOG_U("errors_before", s.before.errors));
	end(r, ROLLOUT_RETURNED);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct rollout *r = container_of(timer, struct rollout, timer);
	const struct rollout_status s = rollout_status(r);

	switch (l7_rollout_judge(&s.config.how, s.share, loop_monotonic() - r->since, s.before,
				 since(s.after, r->new_start))) {
	case L7_ROLLOUT_WAIT:
		break;
	case L7_ROLLOUT_STEP:
		begin_step(r, l7_rollout_next(&s.config.how, s.share));
		router_set_share(r->router, r->last.share);
		log_step(r, "rollout-step");
		break;
	case L7_ROLLOUT_FINISH:
		finish(r);
		break;
	case L7_ROLLOUT_RETURN:
		give_up(r);
		break;
	}
}

/* ---- the door ---- */

struct rollout *rollout_new(struct ev_loop *loop, struct router *router)
{
	struct rollout *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	r->router = router;
	ev_timer_init(&r->timer, on_look, PERIOD, PERIOD);
	return r;
}

void rollout_free(struct rollout *r)
{
	if (!r)
		return;
	ev_timer_stop(r->loop, &r->timer);
	free(r);
}

int rollout_start(struct rollout *r, struct settings *settings, const struct rollout_config *config,
		  const struct history_origin *origin, struct buf *why)
{
	struct worker_trial trial = { .share = config->how.share,
				      .by_connection = config->by_connection };
	int error;

	if (getrandom(&trial.seed, sizeof(trial.seed), GRND_NONBLOCK) < 0)
		trial.seed = (uint64_t)loop_realtime();
	error = router_try(r->router, settings, origin, &trial, why);
	if (error < 0)
		return error;
	r->last = (struct rollout_status){ .state = ROLLOUT_RUNNING, .config = *config };
	r->old_start = generation_sum(router_current(r->router));
	begin_step(r, config->how.share);
	ev_timer_again(r->loop, &r->timer);
	log_step(r, "rollout-started");
	return 0;
}

int rollout_promote(struct rollout *r)
{
	if (r->last.state != ROLLOUT_RUNNING)
		return -ENOENT;
	finish(r);
	return 0;
}

int rollout_abort(struct rollout *r)
{
	if (r->last.state != ROLLOUT_RUNNING)
		return -ENOENT;
	log_step(r, "rollout-aborted");
	end(r, ROLLOUT_ABORTED);
	return 0;
}
