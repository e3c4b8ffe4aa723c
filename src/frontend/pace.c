/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/pace.h"

#include <assert.h>

#include "base/cleanup.h"

/*
 * Sets the timer relative to the beginning of the last request. libev timers start from
 * ev_now(), which may be old after a long callback, so it is updated first.
 */
static void set_due(struct pace *p, int64_t after)
{
	int64_t left = p->began + after - loop_monotonic();

	ev_timer_stop(p->loop, &p->due);
	ev_now_update(p->loop);
	ev_timer_set(&p->due, left > 0 ? loop_seconds(left) : 0, 0);
	ev_timer_start(p->loop, &p->due);
}

static void on_due(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pace *p = container_of(w, struct pace, due);

	assert(p->running && !p->under_way);
	p->began = loop_monotonic();
	p->under_way = true;
	p->wanted = false;
	p->begin(p);
}

void pace_init(struct pace *p, struct ev_loop *loop, int64_t gap, int64_t period,
	       void (*begin)(struct pace *p))
{
	*p = (struct pace){ .loop = loop, .gap = gap, .period = period, .begin = begin };
	ev_init(&p->due, on_due);
}

void pace_start(struct pace *p)
{
	assert(!p->running);
	p->running = true;
	p->began = 0;
	set_due(p, 0);
}

void pace_stop(struct pace *p)
{
	p->running = p->under_way = p->wanted = false;
	ev_timer_stop(p->loop, &p->due);
}

void pace_want(struct pace *p)
{
	if (!p->running || p->wanted)
		return;
	p->wanted = true;
	if (!p->under_way)
		set_due(p, p->gap);
}

void pace_end(struct pace *p)
{
	assert(p->running && p->under_way);
	p->under_way = false;
	if (p->wanted || p->period)
		set_due(p, p->wanted ? p->gap : p->period);
}
