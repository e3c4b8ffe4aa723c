/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router: what is read of a maglev-router, and what its events mean.
 *
 * As with a speaker, an event has the whole item that changed, so the lists are read only at the
 * start, with a new stream and after a new configuration, which may have changed the names. Replays
 * are skipped: the lists have them. Rates come as events, once a second. The router itself and its
 * last generations are asked for at the pace of that query.
 */
#include "base/cleanup.h"
#include "src/frontend/members.h"
#include "src/frontend/upstream_private.h"
#include "wire/router_methods.h"

/* Publishes a text that has changed, as a member of an update. */
static void tell_text(struct upstream *u, const char *key, const struct buf *text)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_printf(&out, "{\"%s\":", key);
	upstream__add_or_null(&out, text);
	buf_addc(&out, '}');
	upstream__tell(u, "update", loop_realtime(), (struct str){ out.p, out.n });
}

/* text has the old one afterwards. */
static void keep_info(struct upstream *u, struct buf *text, const char *error)
{
	if (!upstream__replace(&u->view.info, text))
		return;
	tell_text(u, "info", &u->view.info);
	if (!str_eq(members_generation(text), members_generation(&u->view.info)))
		upstream__want(u, UPSTREAM__LISTS);
}

static void keep_generations(struct upstream *u, struct buf *text, const char *error)
{
	if (upstream__replace(&u->view.generations, text))
		tell_text(u, "generations", &u->view.generations);
}

static void on_event(struct upstream *u, const ProtobufCMessage *message)
{
	const Maglev__RouterEvent *e = (const Maglev__RouterEvent *)message;

	if (e->replay)
		return;
	switch (e->event_case) {
	case MAGLEV__ROUTER_EVENT__EVENT_LISTENER:
		upstream__take_item(u, UPSTREAM_LISTENERS, &e->listener->base, true);
		break;
	case MAGLEV__ROUTER_EVENT__EVENT_ROUTE:
		upstream__take_item(u, UPSTREAM_ROUTES, &e->route->base, true);
		break;
	case MAGLEV__ROUTER_EVENT__EVENT_POOL:
		upstream__take_item(u, UPSTREAM_POOLS, &e->pool->base, true);
		break;
	case MAGLEV__ROUTER_EVENT__EVENT_ROUTER: /* it is asked for once a second */
	case MAGLEV__ROUTER_EVENT__EVENT__NOT_SET:
	case _MAGLEV__ROUTER_EVENT__EVENT__CASE_IS_INT_SIZE:
		break;
	}
}

static void fill_watch(const struct upstream *u, ProtobufCMessage *request)
{
	((Maglev__WatchRouterRequest *)request)->rates = true;
}

static const struct upstream__query queries[] = {
	{ UPSTREAM__LISTS, &router_methods[ROUTER_LIST_LISTENERS], UPSTREAM_LISTENERS, NULL },
	{ UPSTREAM__LISTS, &router_methods[ROUTER_LIST_ROUTES], UPSTREAM_ROUTES, NULL },
	{ UPSTREAM__LISTS, &router_methods[ROUTER_LIST_POOLS], UPSTREAM_POOLS, NULL },
	{ UPSTREAM__LIVE, &router_methods[ROUTER_GET_ROUTER], UPSTREAM_LISTS, keep_info },
	{ UPSTREAM__LIVE, &router_methods[ROUTER_LIST_GENERATIONS], UPSTREAM_LISTS,
	  keep_generations },
};

const struct upstream_kind upstream_router = {
	.word = "router",
	.queries = queries,
	.n_queries = ARRAY_SIZE(queries),
	.rounds = UPSTREAM__LIVE + 1,
	.watch = &router_methods[ROUTER_WATCH_ROUTER],
	.fill_watch = fill_watch,
	.event = on_event,
};
