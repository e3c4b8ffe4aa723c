/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backoff: the arithmetic is a pure function, so that a queue can use it for many keys with one
 * count each; struct backoff adds a timer for the usual case of one operation.
 */
#include "lib/loop/backoff.h"

#include <assert.h>
#include <limits.h>

#include "base/random.h"
#include "base/units.h"

/* Stops at `last`, before the doubling could overflow. */
static int64_t doubled(const struct backoff_policy *p, unsigned failures)
{
	int64_t delay = p->first;

	while (failures-- > 1 && delay < p->last)
		delay = delay > p->last / 2 ? p->last : 2 * delay;
	return delay;
}

int64_t backoff_delay(const struct backoff_policy *p, unsigned failures, uint64_t *random)
{
	int64_t delay = doubled(p, failures);
	int64_t most = delay / 100 * p->jitter;

	assert(p->first > 0 && p->last >= p->first && p->jitter < 100);
	if (most == 0)
		return delay;
	return delay - (int64_t)(random_next(random) % ((uint64_t)most + 1));
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	const struct backoff *b = w->data;

	b->due(b->user);
}

void backoff_init(struct backoff *b, struct ev_loop *loop, const struct backoff_policy *policy,
		  void (*due)(void *user), void *user)
{
	assert(loop && due);
	*b = (struct backoff){ .loop = loop, .policy = *policy, .due = due, .user = user };
	b->random = (uint64_t)loop_monotonic() ^ (uintptr_t)b;
	ev_init(&b->timer, on_timer);
	b->timer.data = b;
}

int64_t backoff_start(struct backoff *b)
{
	int64_t delay;

	if (backoff_waits(b))
		return backoff_remaining(b);
	if (b->failures < UINT_MAX)
		b->failures++;
	delay = backoff_delay(&b->policy, b->failures, &b->random);
	ev_timer_set(&b->timer, loop_seconds(delay), 0.);
	ev_timer_start(b->loop, &b->timer);
	return delay;
}

void backoff_now(struct backoff *b)
{
	backoff_reset(b);
	ev_timer_set(&b->timer, 0., 0.);
	ev_timer_start(b->loop, &b->timer);
}

void backoff_stop(struct backoff *b)
{
	ev_timer_stop(b->loop, &b->timer);
}

void backoff_reset(struct backoff *b)
{
	backoff_stop(b);
	b->failures = 0;
}

bool backoff_waits(struct backoff *b)
{
	return ev_is_active(&b->timer);
}

int64_t backoff_remaining(struct backoff *b)
{
	return (int64_t)(ev_timer_remaining(b->loop, &b->timer) * (double)NSEC_PER_SEC);
}
