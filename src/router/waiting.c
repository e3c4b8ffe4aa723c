/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting: requests that wait until a server of their pool has a connection to spare.
 *
 * A request waits in the queue of its thread, of the quota of the pool (quota.h). When its turn
 * comes it takes a link and goes on like any other.
 */
#include "base/cleanup.h"
#include "src/router/internal.h"

void exchange__overflow(struct exchange *x, enum worker_limit limit)
{
	count(&exchange__worker(x)->counters.overflows[limit], 1);
	stats_count(x->pool, STATS_OVERFLOW, 1);
	x->why = "overflow";
	exchange__answer(x, 503);
}

void exchange__wait(struct exchange *x)
{
	const struct l7_limits *limits =
		&x->era->generation->pools[x->backend->pool].config->limits;

	x->place.since = loop_monotonic();
	x->place.bound = x->session && !x->tries;
	if (!limits->wait || !quota_enter(x->side, &x->place, limits->waiting)) {
		exchange__overflow(x, WORKER_CONNECTIONS);
		return;
	}
	stats_count(x->pool, STATS_WAITED, 1);
	stats_count(x->pool, STATS_WAITING, 1);
	x->wait_due = x->place.since + limits->wait;
	exchange__arm(x);
}

void exchange__stop_waiting(struct exchange *x)
{
	quota_leave(&x->place);
	stats_count(x->pool, STATS_WAITING, (uint64_t)-1);
	x->wait_due = 0;
}

/* What else the exchange has to be done by may still be there. */
static void go_on(struct exchange *x)
{
	exchange__stop_waiting(x);
	if (x->due)
		exchange__arm(x);
	else
		stream_set_deadline(&x->client->stream, 0);
}

static enum quota_result serve(struct quota_place *p, void *user)
{
	struct exchange *x = container_of(p, struct exchange, place);
	enum exchange__seat seat;
	bool open = false;

	if (p->relay)
		return relay_serve(p);
	seat = exchange__take_link(x, false, &open);
	if (seat == SEAT_FULL)
		return QUOTA_FULL;
	go_on(x);
	if (seat == SEAT_TAKEN)
		exchange__begin_try(x, false, open);
	else
		x->why = "no-server", exchange__answer(x, 503);
	return QUOTA_SERVED;
}

static bool yield(struct quota_side *side, void *user)
{
	return link_yield(side);
}

void exchange_turn(struct quota_side *side)
{
	static const struct quota_users users = { .serve = serve, .yield = yield };

	quota_turn(side, &users);
}
