/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevd: what is read of a maglevd, and what its events mean.
 *
 * The state is its lists, which its events keep current, and that of the data plane, which is
 * polled. maglevd has the information about VPP in memory, so that query is also the check of
 * liveness. The data plane may fail to answer, which is shown as such.
 */
#include "base/cleanup.h"
#include "base/units.h"
#include "lib/json/json.h"
#include "src/frontend/upstream_private.h"
#include "wire/api_methods.h"

/*
 * Rate limit for log lines. All servers share the ring of the broker, and no server may fill it
 * with its log.
 */
#define LINE_EVERY (5 * NSEC_PER_MSEC)
#define LINES_AHEAD (2 * NSEC_PER_SEC) /* burst: 400 lines at once */

/* ---- the data plane ---- */

static void keep_vpp(struct upstream *u, struct buf *text, const char *error)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!upstream__replace(&u->view.vpp, text))
		return;
	buf_add_lit(&out, "{\"vpp\":");
	upstream__add_or_null(&out, &u->view.vpp);
	buf_addc(&out, '}');
	upstream__tell(u, "update", loop_realtime(), (struct str){ out.p, out.n });
}

static void tell_lb(struct upstream *u)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_add_lit(&out, "{\"lb\":");
	upstream__add_or_null(&out, &u->view.lb);
	buf_add_lit(&out, ",\"lb_error\":");
	json_write_string(&out, u->view.lb_error.p, u->view.lb_error.n);
	buf_addc(&out, '}');
	upstream__tell(u, "lb", loop_realtime(), (struct str){ out.p, out.n });
}

static void keep_lb(struct upstream *u, struct buf *text, const char *error)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	bool changed = upstream__replace(&u->view.lb, text);

	buf_adds(&why, error);
	changed |= upstream__replace(&u->view.lb_error, &why);
	if (changed)
		tell_lb(u);
}

static void keep_counters(struct upstream *u, struct buf *text, const char *error)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!upstream__replace(&u->view.counters, text))
		return;
	upstream__add_or_null(&out, &u->view.counters);
	upstream__tell(u, "counters", loop_realtime(), (struct str){ out.p, out.n });
}

/* ---- events ---- */

static void tell_event(struct upstream *u, const char *type, int64_t at,
		       const ProtobufCMessage *payload)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	pb_json_write(payload, PB_JSON_SHOWN, &out);
	upstream__tell(u, type, at, (struct str){ out.p, out.n });
}

/*
 * A token bucket kept as a time: each line moves lines_until by LINE_EVERY, and it may be at
 * most LINES_AHEAD in the future.
 */
static bool may_say_line(struct upstream *u)
{
	int64_t now = loop_monotonic();

	if (u->lines_until > now + LINES_AHEAD)
		return false;
	u->lines_until = (u->lines_until > now ? u->lines_until : now) + LINE_EVERY;
	return true;
}

static void on_line(struct upstream *u, int64_t at, const Maglev__LogEvent *line)
{
	if (may_say_line(u))
		tell_event(u, "log", at, &line->base);
	else
		u->stats.lines_left_out++;
}

/*
 * Pending changes of items are older than this event, so they are published first. The state of
 * the data plane is read again: while the data plane is not connected, its state shows what
 * should be there, and only this event says that it has changed.
 */
static void on_state_event(struct upstream *u, const char *type, int64_t at,
			   const ProtobufCMessage *event)
{
	upstream__tell_items(u);
	tell_event(u, type, at, event);
	u->told = true;
	upstream__want(u, UPSTREAM__LB);
}

/* Replayed events describe the time before the subscription and are not news. */
static void on_config(struct upstream *u, int64_t at, const Maglev__ConfigEvent *event)
{
	if (event->replay)
		return;
	tell_event(u, "config", at, &event->base);
	if (event->ok)
		upstream__want_all(u);
}

static void on_dataplane(struct upstream *u, int64_t at, const Maglev__DataplaneEvent *event)
{
	if (event->replay)
		return;
	tell_event(u, "dataplane", at, &event->base);
	upstream__want(u, UPSTREAM__LIVE);
	upstream__want(u, UPSTREAM__LB);
	upstream__want(u, UPSTREAM__COUNTERS);
}

/*
 * A change of weights needs the data plane to be read again for the same reason as in
 * on_state_event().
 */
static void on_frontend_info(struct upstream *u, const Maglev__FrontendInfo *info)
{
	upstream__take_item(u, UPSTREAM_FRONTENDS, &info->base, true);
	upstream__want(u, UPSTREAM__LB);
}

static void on_probes(struct upstream *u, const Maglev__ProbesEvent *event)
{
	for (size_t i = 0; i < event->n_probes; i++)
		upstream__take_item(u, UPSTREAM_BACKENDS, &event->probes[i]->base, false);
}

/*
 * Replays, which give the states at the time of the subscription, are skipped: the lists have
 * them.
 */
static void on_event(struct upstream *u, const ProtobufCMessage *message)
{
	const Maglev__Event *e = (const Maglev__Event *)message;

	switch (e->event_case) {
	case MAGLEV__EVENT__EVENT_LOG:
		on_line(u, e->at, e->log);
		break;
	case MAGLEV__EVENT__EVENT_BACKEND:
		if (!e->backend->replay)
			on_state_event(u, "backend", e->at, &e->backend->base);
		break;
	case MAGLEV__EVENT__EVENT_FRONTEND:
		if (!e->frontend->replay)
			on_state_event(u, "frontend", e->at, &e->frontend->base);
		break;
	case MAGLEV__EVENT__EVENT_CONFIG:
		on_config(u, e->at, e->config);
		break;
	case MAGLEV__EVENT__EVENT_DATAPLANE:
		on_dataplane(u, e->at, e->dataplane);
		break;
	case MAGLEV__EVENT__EVENT_BACKEND_INFO:
		upstream__take_item(u, UPSTREAM_BACKENDS, &e->backend_info->base, true);
		break;
	case MAGLEV__EVENT__EVENT_FRONTEND_INFO:
		on_frontend_info(u, e->frontend_info);
		break;
	case MAGLEV__EVENT__EVENT_PROBES:
		on_probes(u, e->probes);
		break;
	case MAGLEV__EVENT__EVENT__NOT_SET:
	case _MAGLEV__EVENT__EVENT__CASE_IS_INT_SIZE:
		break;
	}
}

static void fill_watch(const struct upstream *u, ProtobufCMessage *message)
{
	Maglev__WatchRequest *request = (Maglev__WatchRequest *)message;

	request->log = request->backend = request->frontend = true;
	request->config = request->dataplane = request->info = request->probes = true;
	request->log_level = (char *)(uintptr_t)u->config.events_level;
}

/* ---- the tables ---- */

static const struct upstream__query queries[] = {
	{ UPSTREAM__LISTS, &api_methods[API_LIST_FRONTENDS], UPSTREAM_FRONTENDS, NULL },
	{ UPSTREAM__LISTS, &api_methods[API_LIST_BACKENDS], UPSTREAM_BACKENDS, NULL },
	{ UPSTREAM__LISTS, &api_methods[API_LIST_HEALTH_CHECKS], UPSTREAM_HEALTHCHECKS, NULL },
	{ UPSTREAM__LIVE, &api_methods[API_GET_VPP_INFO], UPSTREAM_LISTS, keep_vpp },
	{ UPSTREAM__LB, &api_methods[API_GET_LB_STATE], UPSTREAM_LISTS, keep_lb },
	{ UPSTREAM__COUNTERS, &api_methods[API_GET_LB_COUNTERS], UPSTREAM_LISTS, keep_counters },
};

const struct upstream_kind upstream_maglevd = {
	.word = "server",
	.queries = queries,
	.n_queries = ARRAY_SIZE(queries),
	.rounds = UPSTREAM__ROUNDS,
	.watch = &api_methods[API_WATCH_EVENTS],
	.fill_watch = fill_watch,
	.event = on_event,
};
