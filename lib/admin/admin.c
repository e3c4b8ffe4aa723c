/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: the routes, the listener, and readiness.
 *
 * One struct admin belongs to the program and lives from its start to its end. It owns a listener
 * of its own if the configuration names an address, and the stopwatch of the loop (metrics.c). The
 * level of the log is the process's, so /loglevel has no state here (level.c).
 *
 * Two tables of routes: those for everybody, which can be mounted elsewhere, and those with
 * /loglevel, which only our own listener has. Both are routed with the struct admin as user.
 *
 * A daemon is not ready while it stops. That is read from struct daemon and not told by the
 * program, so no program can forget it. A load balancer in front that asks /readyz over a kept
 * connection then sees 503; new connections are accepted until admin_drain().
 */
#include "lib/admin/admin.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/admin/internal.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"

#define PLAIN_TEXT "text/plain; charset=utf-8"

/* That this is answered at all is the proof that the loop turns. */
static void on_health(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, PLAIN_TEXT, STR("ok\n"));
}

/* NULL: ready. */
static const char *reason_not_ready(const struct admin *a)
{
	if (a->config.daemon->stopping)
		return "stopping";
	return a->config.unready ? a->config.unready(a->config.user) : NULL;
}

static void on_ready(struct http_exchange *x, const struct http_request *request, void *user)
{
	const char *reason = reason_not_ready(user);
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text, "%s\n", reason ? reason : "ok");
	http_reply(x, reason ? 503 : 200, PLAIN_TEXT, (struct str){ text.p, text.n });
}

#define ROUTES_FOR_ALL                                                                             \
	{ HTTP_GET, "/healthz", on_health }, { HTTP_GET, "/readyz", on_ready },                    \
	{                                                                                          \
		HTTP_GET, "/metrics", admin__on_metrics                                            \
	}

static const struct http_route mounted[] = { ROUTES_FOR_ALL };

static const struct http_route own[] = {
	ROUTES_FOR_ALL,
	{ HTTP_GET, "/loglevel", admin__on_level },
	{ HTTP_PUT, "/loglevel", admin__on_set_level },
};

static int open_listener(struct admin *a)
{
	struct http_server_config config = {
		.routes = own, .n_routes = ARRAY_SIZE(own), .user = a, .trace = daemon_log_request
	};

	if (endpoint_parse(a->config.listen, &config.listen) < 0)
		return -EINVAL;
	return http_server_new(a->config.daemon->loop, &config, &a->server);
}

static int listen_and_log(struct admin *a)
{
	char text[ENDPOINT_STRLEN];
	struct endpoint at;
	int r = open_listener(a);

	if (r < 0) {
		log_error("listen-failed", LOG_S("flag", a->config.flag),
			  LOG_S("addr", a->config.listen), LOG_S("error", strerror(-r)));
		return r;
	}
	at = http_server_endpoint(a->server);
	log_info("listening", LOG_S("for", "metrics"), LOG_S("addr", endpoint_format(&at, text)));
	return 0;
}

int admin_new(const struct admin_config *config, struct admin **ret)
{
	struct admin *a;
	int r = 0;

	assert(config && config->daemon && config->daemon->loop && config->prefix && ret);

	a = mem_zalloc(sizeof(*a));
	a->config = *config;
	admin__metrics_start(a);
	if (config->listen && *config->listen)
		r = listen_and_log(a);
	if (r < 0) {
		admin_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void admin_free(struct admin *a)
{
	if (!a)
		return;
	http_server_free(a->server);
	admin__metrics_stop(a);
	free(a);
}

struct http_mount admin_mount(struct admin *a)
{
	return (struct http_mount){ mounted, ARRAY_SIZE(mounted), a };
}

struct endpoint admin_endpoint(const struct admin *a)
{
	return a->server ? http_server_endpoint(a->server) : (struct endpoint){ 0 };
}

void admin_drain(struct admin *a, void (*done)(void *user), void *user)
{
	if (a->server)
		http_server_drain(a->server, done, user);
	else
		done(user);
}
