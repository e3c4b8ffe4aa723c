/* SPDX-License-Identifier: Apache-2.0 */
/*
 * none: the data plane of "dataplane: none". Nothing is written anywhere. The state is kept in
 * memory, so that every operation is planned, shown and counted once, as with a real data plane.
 */
#include "base/mem.h"
#include "src/maglevd/dataplane/dataplane.h"
#include "src/maglevd/dataplane/drivers.h"

struct dataplane {
	struct ev_loop *loop;
	struct dataplane_events events;
	struct lb_state state;
	/* of 0 s: completions must not be called from within a verb */
	ev_timer hello, answer;
	dataplane_observed_fn observed;
	dataplane_applied_fn applied;
	void *user;
	const struct lb_op *ops;
	size_t n_ops;
};

static void on_hello(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;

	dp->events.up(dp->events.user);
}

/* observed decides which request it is: none_apply() clears it. */
static void on_answer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct dataplane *dp = w->data;

	if (dp->observed) {
		dp->observed(dp->user, 0, &dp->state);
		return;
	}
	for (size_t i = 0; i < dp->n_ops; i++)
		lb_state_apply(&dp->state, &dp->ops[i]);
	dp->applied(dp->user, 0, dp->n_ops);
}

static struct dataplane *none_start(struct ev_loop *loop, const struct l4_config *config,
				    const struct dataplane_events *events)
{
	struct dataplane *dp = mem_zalloc(sizeof(*dp));

	dp->loop = loop;
	dp->events = *events;
	ev_timer_init(&dp->hello, on_hello, 0., 0.);
	ev_timer_init(&dp->answer, on_answer, 0., 0.);
	dp->hello.data = dp->answer.data = dp;
	ev_timer_start(loop, &dp->hello);
	return dp;
}

static void none_reconfigure(struct dataplane *dp, const struct l4_config *config)
{
}

static void none_observe(struct dataplane *dp, dataplane_observed_fn done, void *user)
{
	dp->observed = done;
	dp->user = user;
	ev_timer_start(dp->loop, &dp->answer);
}

static void none_apply(struct dataplane *dp, const struct lb_op *ops, size_t n,
		       dataplane_applied_fn done, void *user)
{
	dp->observed = NULL;
	dp->applied = done;
	dp->user = user;
	dp->ops = ops;
	dp->n_ops = n;
	ev_timer_start(dp->loop, &dp->answer);
}

static void none_stop(struct dataplane *dp)
{
	ev_timer_stop(dp->loop, &dp->hello);
	ev_timer_stop(dp->loop, &dp->answer);
	lb_state_free(&dp->state);
	free(dp);
}

const struct dataplane_driver dataplane_none = {
	.name = "none",
	.start = none_start,
	.reconfigure = none_reconfigure,
	.observe = none_observe,
	.apply = none_apply,
	.stop = none_stop,
};
