/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/testing_server.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "src/maglevc/action.h"
#include "src/maglevc/testing.h"

/* One case of answer_to(). */
#define ANSWER(act, answer)                                                                        \
	case act:                                                                                  \
		message = &answer()->base;                                                         \
		break;

/* Without default:, so that the compiler names an act that has no answer. */
static const ProtobufCMessage *answer_to(enum act act)
{
	const ProtobufCMessage *message = NULL;

	switch (act) {
		ANSWER(ACT_FRONTENDS, testing_frontends)
	case ACT_FRONTEND:
		ANSWER(ACT_WEIGHT, testing_frontend)
		ANSWER(ACT_BACKENDS, testing_backends)
	case ACT_BACKEND:
	case ACT_RESUME:
		ANSWER(ACT_ENABLE, testing_backend)
	case ACT_PAUSE:
		ANSWER(ACT_DISABLE, testing_disabled)
		ANSWER(ACT_HEALTHCHECKS, testing_healthchecks)
		ANSWER(ACT_HEALTHCHECK, testing_healthcheck)
		ANSWER(ACT_VPP_INFO, testing_vpp_info)
		ANSWER(ACT_LB_STATE, testing_lb_state)
		ANSWER(ACT_LB_COUNTERS, testing_lb_counters)
		ANSWER(ACT_HISTORY, testing_history)
		ANSWER(ACT_SYNC, testing_sync)
		ANSWER(ACT_CONFIG_CHECK, testing_check)
		ANSWER(ACT_CONFIG_RELOAD, testing_reload)
		ANSWER(ACT_SPEAKER, testing_speaker)
		ANSWER(ACT_ANNOUNCEMENTS, testing_announcements)
	case ACT_ANNOUNCEMENT:
	case ACT_DRAIN:
		ANSWER(ACT_UNDRAIN, testing_announcement)
		ANSWER(ACT_SESSIONS, testing_sessions)
	case ACT_ROUTER:
		ANSWER(ACT_ROLLBACK, testing_router)
		ANSWER(ACT_MANY, testing_many)
		ANSWER(ACT_OVERRIDES, testing_overrides)
		ANSWER(ACT_VERSION, testing_version)
		ANSWER(ACT_CONFIG, testing_config)
		ANSWER(ACT_LISTENERS, testing_listeners)
		ANSWER(ACT_ROUTES, testing_routes)
		ANSWER(ACT_ROUTE, testing_route)
		ANSWER(ACT_STREAMS, testing_streams)
		ANSWER(ACT_POOLS, testing_pools)
		ANSWER(ACT_ROUTER_POOL, testing_pool)
		ANSWER(ACT_GENERATIONS, testing_generations)
		ANSWER(ACT_GENERATION, testing_generation)
		ANSWER(ACT_ROUTE_FOR, testing_route_for)
	case ACT_WATCH_ROUTER:
	case ACT_WATCH_SPEAKER:
	case ACT_WATCH:
	case ACT_NONE:
	case ACT_EXPLAIN:
	case ACT_HELP:
	case ACT_EXIT:
	case ACTS:
		break;
	}
	assert(message);
	return message;
}

static void on_cancelled(void *user)
{
	struct testing_server *t = user;

	t->cancelled = true;
}

static void send_events(struct testing_server *t, struct grpc_call *call)
{
	Maglev__FrontendEvent frontend;
	Maglev__Event event;

	maglev__frontend_event__init(&frontend);
	maglev__event__init(&event);
	event.event_case = MAGLEV__EVENT__EVENT_FRONTEND;
	event.frontend = &frontend;
	for (event.seq = 1; event.seq <= 3; event.seq++)
		assert(grpc_send(call, &event.base) == 0);
	if (t->mood == MOOD_ENDING || t->mood == MOOD_LATE)
		grpc_finish(call);
	else
		grpc_on_cancel(call, on_cancelled, t);
	if (t->mood == MOOD_INTERRUPTED)
		raise(SIGINT);
}

static void on_later(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct testing_server *t = w->data;

	if (t->mood == MOOD_GONE)
		grpc_server_free(TAKE_PTR(t->server));
	else
		send_events(t, t->late);
}

static void answer_later(struct testing_server *t, struct grpc_call *call, double seconds)
{
	t->late = call;
	ev_timer_set(&t->later, seconds, 0.);
	ev_timer_start(t->loop, &t->later);
}

static void reply_mistaken(struct grpc_call *call, enum act act)
{
	static char mistake[] = "maglev.yaml:3:5: port: not a number";
	Maglev__CheckConfigResponse check;
	Maglev__ReloadConfigResponse reload;

	maglev__check_config_response__init(&check);
	maglev__reload_config_response__init(&reload);
	check.parse_error = reload.parse_error = mistake;
	grpc_reply(call, act == ACT_CONFIG_CHECK ? &check.base : &reload.base);
}

static void answer(struct testing_server *t, struct grpc_call *call)
{
	switch (t->mood) {
	case MOOD_KIND:
	case MOOD_ENDING:
	case MOOD_INTERRUPTED:
		if (t->act == ACT_WATCH)
			send_events(t, call);
		else
			grpc_reply(call, answer_to(t->act));
		break;
	case MOOD_REFUSING:
		grpc_fail(call, GRPC_FAILED_PRECONDITION,
			  "backend \"web1\" is disabled: enable it first");
		break;
	case MOOD_WITHOUT_VPP:
		grpc_fail(call, GRPC_UNAVAILABLE, "not connected to VPP");
		break;
	case MOOD_MISTAKEN:
		reply_mistaken(call, t->act);
		break;
	case MOOD_LATE:
		answer_later(t, call, 0.6);
		break;
	case MOOD_GONE:
		answer_later(t, call, 0.);
		break;
	case MOOD_HANGING:
		break;
	}
}

static void serve(enum act act, struct grpc_call *call, const ProtobufCMessage *request, void *user)
{
	struct testing_server *t = user;

	t->act = act;
	t->calls++;
	t->request.n = 0;
	pb_json_write(request, PB_JSON_COMPACT, &t->request);
	answer(t, call);
}

/* A handler does not get its method as an argument, so each act has a handler of its own. */
#define HANDLER(act)                                                                               \
	static void on_##act(struct grpc_call *call, const ProtobufCMessage *request, void *user)  \
	{                                                                                          \
		serve(act, call, request, user);                                                   \
	}

HANDLER(ACT_VERSION)
HANDLER(ACT_FRONTENDS)
HANDLER(ACT_FRONTEND)
HANDLER(ACT_BACKENDS)
HANDLER(ACT_BACKEND)
HANDLER(ACT_HEALTHCHECKS)
HANDLER(ACT_HEALTHCHECK)
HANDLER(ACT_VPP_INFO)
HANDLER(ACT_LB_STATE)
HANDLER(ACT_LB_COUNTERS)
HANDLER(ACT_HISTORY)
HANDLER(ACT_SYNC)
HANDLER(ACT_PAUSE)
HANDLER(ACT_RESUME)
HANDLER(ACT_ENABLE)
HANDLER(ACT_DISABLE)
HANDLER(ACT_MANY)
HANDLER(ACT_OVERRIDES)
HANDLER(ACT_WEIGHT)
HANDLER(ACT_WATCH)
HANDLER(ACT_CONFIG)
HANDLER(ACT_CONFIG_CHECK)
HANDLER(ACT_CONFIG_RELOAD)
HANDLER(ACT_SPEAKER)
HANDLER(ACT_ANNOUNCEMENTS)
HANDLER(ACT_ANNOUNCEMENT)
HANDLER(ACT_SESSIONS)
HANDLER(ACT_DRAIN)
HANDLER(ACT_UNDRAIN)
HANDLER(ACT_ROUTER)
HANDLER(ACT_LISTENERS)
HANDLER(ACT_ROUTES)
HANDLER(ACT_ROUTE)
HANDLER(ACT_STREAMS)
HANDLER(ACT_POOLS)
HANDLER(ACT_ROUTER_POOL)
HANDLER(ACT_GENERATIONS)
HANDLER(ACT_GENERATION)
HANDLER(ACT_ROUTE_FOR)
HANDLER(ACT_ROLLBACK)

static const grpc_handler_fn handlers[ACTS] = {
	[ACT_VERSION] = on_ACT_VERSION,
	[ACT_FRONTENDS] = on_ACT_FRONTENDS,
	[ACT_FRONTEND] = on_ACT_FRONTEND,
	[ACT_BACKENDS] = on_ACT_BACKENDS,
	[ACT_BACKEND] = on_ACT_BACKEND,
	[ACT_HEALTHCHECKS] = on_ACT_HEALTHCHECKS,
	[ACT_HEALTHCHECK] = on_ACT_HEALTHCHECK,
	[ACT_VPP_INFO] = on_ACT_VPP_INFO,
	[ACT_LB_STATE] = on_ACT_LB_STATE,
	[ACT_LB_COUNTERS] = on_ACT_LB_COUNTERS,
	[ACT_HISTORY] = on_ACT_HISTORY,
	[ACT_SYNC] = on_ACT_SYNC,
	[ACT_PAUSE] = on_ACT_PAUSE,
	[ACT_RESUME] = on_ACT_RESUME,
	[ACT_ENABLE] = on_ACT_ENABLE,
	[ACT_DISABLE] = on_ACT_DISABLE,
	[ACT_MANY] = on_ACT_MANY,
	[ACT_OVERRIDES] = on_ACT_OVERRIDES,
	[ACT_WEIGHT] = on_ACT_WEIGHT,
	[ACT_WATCH] = on_ACT_WATCH,
	[ACT_CONFIG] = on_ACT_CONFIG,
	[ACT_CONFIG_CHECK] = on_ACT_CONFIG_CHECK,
	[ACT_CONFIG_RELOAD] = on_ACT_CONFIG_RELOAD,
	[ACT_SPEAKER] = on_ACT_SPEAKER,
	[ACT_ANNOUNCEMENTS] = on_ACT_ANNOUNCEMENTS,
	[ACT_ANNOUNCEMENT] = on_ACT_ANNOUNCEMENT,
	[ACT_SESSIONS] = on_ACT_SESSIONS,
	[ACT_DRAIN] = on_ACT_DRAIN,
	[ACT_UNDRAIN] = on_ACT_UNDRAIN,
	[ACT_ROUTER] = on_ACT_ROUTER,
	[ACT_LISTENERS] = on_ACT_LISTENERS,
	[ACT_ROUTES] = on_ACT_ROUTES,
	[ACT_ROUTE] = on_ACT_ROUTE,
	[ACT_STREAMS] = on_ACT_STREAMS,
	[ACT_POOLS] = on_ACT_POOLS,
	[ACT_ROUTER_POOL] = on_ACT_ROUTER_POOL,
	[ACT_GENERATIONS] = on_ACT_GENERATIONS,
	[ACT_GENERATION] = on_ACT_GENERATION,
	[ACT_ROUTE_FOR] = on_ACT_ROUTE_FOR,
	[ACT_ROLLBACK] = on_ACT_ROLLBACK,
};

void testing_server_start(struct testing_server *t, struct ev_loop *loop, struct tls_context *tls)
{
	static struct grpc_route routes[ACTS];
	struct grpc_server_config config = { .routes = routes, .user = t, .tls = tls };
	struct endpoint at;

	*t = (struct testing_server){ .loop = loop };
	for (size_t i = 0; i < ACTS; i++)
		if (handlers[i])
			routes[config.n_routes++] =
				(struct grpc_route){ .method = *action_of(i)->method,
						     .handler = handlers[i] };
	assert(endpoint_parse("127.0.0.1:0", &config.listen) == 0);
	assert(grpc_server_new(loop, &config, &t->server) == 0);
	at = grpc_server_endpoint(t->server);
	endpoint_format(&at, t->address);
	ev_timer_init(&t->later, on_later, 0., 0.);
	t->later.data = t;
}

void testing_server_stop(struct testing_server *t)
{
	ev_timer_stop(t->loop, &t->later);
	grpc_server_free(t->server);
	buf_free(&t->request);
}
