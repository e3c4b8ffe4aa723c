/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/testing_server.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "src/maglevc/action.h"
#include "src/maglevc/testing.h"

/* Without default:, so that the compiler names an act that has no answer. */
static const ProtobufCMessage *answer_to(enum act act)
{
	switch (act) {
	case ACT_FRONTENDS:
		return &testing_frontends()->base;
	case ACT_FRONTEND:
	case ACT_WEIGHT:
		return &testing_frontend()->base;
	case ACT_BACKENDS:
		return &testing_backends()->base;
	case ACT_BACKEND:
	case ACT_RESUME:
	case ACT_ENABLE:
		return &testing_backend()->base;
	case ACT_PAUSE:
	case ACT_DISABLE:
		return &testing_disabled()->base;
	case ACT_HEALTHCHECKS:
		return &testing_healthchecks()->base;
	case ACT_HEALTHCHECK:
		return &testing_healthcheck()->base;
	case ACT_VPP_INFO:
		return &testing_vpp_info()->base;
	case ACT_LB_STATE:
		return &testing_lb_state()->base;
	case ACT_LB_COUNTERS:
		return &testing_lb_counters()->base;
	case ACT_SYNC:
		return &testing_sync()->base;
	case ACT_CONFIG_CHECK:
		return &testing_check()->base;
	case ACT_CONFIG_RELOAD:
		return &testing_reload()->base;
	case ACT_SPEAKER:
		return &testing_speaker()->base;
	case ACT_ANNOUNCEMENTS:
		return &testing_announcements()->base;
	case ACT_ANNOUNCEMENT:
	case ACT_DRAIN:
	case ACT_UNDRAIN:
		return &testing_announcement()->base;
	case ACT_SESSIONS:
		return &testing_sessions()->base;
	case ACT_ROUTER:
	case ACT_ROLLBACK:
		return &testing_router()->base;
	case ACT_LISTENERS:
		return &testing_listeners()->base;
	case ACT_ROUTES:
		return &testing_routes()->base;
	case ACT_ROUTE:
		return &testing_route()->base;
	case ACT_POOLS:
		return &testing_pools()->base;
	case ACT_ROUTER_POOL:
		return &testing_pool()->base;
	case ACT_GENERATIONS:
		return &testing_generations()->base;
	case ACT_GENERATION:
		return &testing_generation()->base;
	case ACT_ROUTE_FOR:
		return &testing_route_for()->base;
	case ACT_WATCH_ROUTER:
	case ACT_WATCH_SPEAKER:
	case ACT_WATCH:
	case ACT_NONE:
	case ACT_VERSION:
	case ACT_HELP:
	case ACT_EXIT:
	case ACTS:
		break;
	}
	abort();
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

HANDLER(ACT_FRONTENDS)
HANDLER(ACT_FRONTEND)
HANDLER(ACT_BACKENDS)
HANDLER(ACT_BACKEND)
HANDLER(ACT_HEALTHCHECKS)
HANDLER(ACT_HEALTHCHECK)
HANDLER(ACT_VPP_INFO)
HANDLER(ACT_LB_STATE)
HANDLER(ACT_LB_COUNTERS)
HANDLER(ACT_SYNC)
HANDLER(ACT_PAUSE)
HANDLER(ACT_RESUME)
HANDLER(ACT_ENABLE)
HANDLER(ACT_DISABLE)
HANDLER(ACT_WEIGHT)
HANDLER(ACT_WATCH)
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
HANDLER(ACT_POOLS)
HANDLER(ACT_ROUTER_POOL)
HANDLER(ACT_GENERATIONS)
HANDLER(ACT_GENERATION)
HANDLER(ACT_ROUTE_FOR)
HANDLER(ACT_ROLLBACK)

static const grpc_handler_fn handlers[ACTS] = {
	[ACT_FRONTENDS] = on_ACT_FRONTENDS,
	[ACT_FRONTEND] = on_ACT_FRONTEND,
	[ACT_BACKENDS] = on_ACT_BACKENDS,
	[ACT_BACKEND] = on_ACT_BACKEND,
	[ACT_HEALTHCHECKS] = on_ACT_HEALTHCHECKS,
	[ACT_HEALTHCHECK] = on_ACT_HEALTHCHECK,
	[ACT_VPP_INFO] = on_ACT_VPP_INFO,
	[ACT_LB_STATE] = on_ACT_LB_STATE,
	[ACT_LB_COUNTERS] = on_ACT_LB_COUNTERS,
	[ACT_SYNC] = on_ACT_SYNC,
	[ACT_PAUSE] = on_ACT_PAUSE,
	[ACT_RESUME] = on_ACT_RESUME,
	[ACT_ENABLE] = on_ACT_ENABLE,
	[ACT_DISABLE] = on_ACT_DISABLE,
	[ACT_WEIGHT] = on_ACT_WEIGHT,
	[ACT_WATCH] = on_ACT_WATCH,
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
