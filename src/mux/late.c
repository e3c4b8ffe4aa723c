/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late: one write beside the turns of a key.
 *
 * While it is under way, or was made and is not in the cache yet, or the pause after it lasts, a
 * plan loses its write of the Endpoints. Afterwards the mux is looked at again, and what is then
 * missing is planned again.
 */
#include "src/mux/late.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "src/mux/apply.h"
#include "src/mux/observe.h"

static bool is_endpoints(const struct mux_write *w)
{
	return w->object == MUX_ENDPOINTS && w->verb == MUX_PATCH;
}

static bool is_about_backends(const struct mux_plan *plan)
{
	for (size_t i = 0; i < plan->n_writes; i++)
		if (plan->writes[i].object != MUX_SLICE && !is_endpoints(&plan->writes[i]))
			return false;
	return true;
}

static void look_again(struct key *k, int64_t delay)
{
	ev_timer_stop(k->controller->loop, &k->late.again);
	ev_timer_set(&k->late.again, loop_seconds(delay > 0 ? delay : 0), 0.);
	ev_timer_start(k->controller->loop, &k->late.again);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int events)
{
	struct key *k = container_of(w, struct key, late.again);

	controller_touch_channel(k->controller, k->namespace, k->name, NULL);
}

/* The write has ended. */
static void leave_view(struct key *k)
{
	if (k->late.owns_view)
		mux_view_free(k->late.view);
	k->late.view = NULL;
	k->late.owns_view = false;
}

static void on_applied(struct key *k, bool succeeded)
{
	int64_t now = loop_monotonic();
	int64_t pause = LATE_FACTOR * (now - k->late.began);

	k->late.apply = NULL;
	leave_view(k);
	k->late.until = now + (pause < LATE_MAX ? pause : LATE_MAX);
	if (k->late.wanted || !succeeded)
		look_again(k, k->late.until - now);
	k->late.wanted = false;
}

/* Removes the write from the plan; its events belong to the slices that are written with it. */
static struct mux_write take(struct mux_plan *plan, struct arena *arena, size_t at)
{
	struct mux_write *writes = arena_array(arena, plan->n_writes, sizeof(*writes));
	struct mux_write taken = plan->writes[at], *last;
	size_t n = 0;

	for (size_t i = 0; i < plan->n_writes; i++)
		if (i != at)
			writes[n++] = plan->writes[i];
	last = n ? &writes[n - 1] : NULL;
	if (last && !last->n_events) {
		last->events = taken.events;
		last->n_events = taken.n_events;
		taken.n_events = 0;
	}
	plan->writes = writes;
	plan->n_writes = n;
	return taken;
}

static void begin(struct key *k, struct observation *o, const struct mux_write *w)
{
	struct mux_write *own = arena_copy(observation_arena(o), w, sizeof(*w));

	k->late.began = loop_monotonic();
	k->late.view = k->view;
	k->late.apply = apply_start(k, observation_ref(o),
				    &(struct mux_plan){ .writes = own, .n_writes = 1 }, on_applied);
}

void late_init(struct key *k)
{
	ev_timer_init(&k->late.again, on_again, 0., 0.);
}

bool late_seen(const struct key *k, bool whole)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		if ((whole || kind != KIND_ENDPOINTS) &&
		    !operator_seen(k->controller->op, kind, k->marks[kind]))
			return false;
	return true;
}

void late_split(struct key *k, struct observation *o, struct mux_plan *plan)
{
	int64_t now = loop_monotonic();
	struct mux_write w;
	size_t at = 0;

	while (at < plan->n_writes && !is_endpoints(&plan->writes[at]))
		at++;
	if (at == plan->n_writes || !is_about_backends(plan))
		return;
	w = take(plan, observation_arena(o), at);
	if (k->late.apply)
		k->late.wanted = true;
	else if (!late_seen(k, true))
		return; /* the change that comes with it is a reason for the next turn */
	else if (now < k->late.until)
		look_again(k, k->late.until - now);
	else
		begin(k, o, &w);
}

void late_set_view(struct key *k, struct mux_view *view)
{
	if (k->view && k->view == k->late.view)
		k->late.owns_view = true;
	else
		mux_view_free(k->view);
	k->view = view;
}

void late_free(struct key *k)
{
	ev_timer_stop(k->controller->loop, &k->late.again);
	apply_cancel(k->late.apply);
	leave_view(k);
	mux_view_free(k->view);
}
