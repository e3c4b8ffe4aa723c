/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: the routes, the listener, and readiness.
 *
 * A program has one struct admin for as long as it runs. It owns a listener if the configuration
 * names an address, and the measurement of the loop (metrics.c). The log level belongs to the
 * process, so /loglevel has no state here (level.c).
 *
 * There are two tables of routes: one that can be mounted into other servers, and one with
 * /loglevel in addition, which only our own listener uses. The user of both is the struct admin.
 *
 * A daemon that is stopping is not ready. That is read from struct daemon, so that programs cannot
 * forget it. A load balancer that polls /readyz on a kept-alive connection gets 503 then; new
 * connections are accepted until admin_drain().
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

/* The response itself proves that the event loop runs. */
static void on_health(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, PLAIN_TEXT, STR("ok\n"));
}

/* Returns NULL if the daemon is ready. */
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

/* A macro, because both tables below begin with these routes. */
#define ROUTES_FOR_ALL                                                                             \
	{ HTTP_GET, "/healthz", on_health }, { HTTP_GET, "/readyz", on_ready },                    \
	{                                                                                          \
		HTTP_GET, "/metrics", admin__on_metrics                                            \
	}

static const struct http_route mounted[] = { ROUTES_FOR_ALL }; /* /metrics is the last */

static const struct http_route own[] = {
	ROUTES_FOR_ALL,
	{ HTTP_GET, "/loglevel", admin__on_level },
	{ HTTP_PUT, "/loglevel", admin__on_set_level },
};

static int open_listener(struct admin *a)
{
	struct http_server_config config = { .routes = own,
					     .n_routes = ARRAY_SIZE(own),
					     .user = a,
					     .mount = a->config.mount,
					     .trace = daemon_log_request };

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

struct http_mount admin_mount_probes(struct admin *a)
{
	return (struct http_mount){ mounted, ARRAY_SIZE(mounted) - 1, a };
}

void admin_serve_metrics(struct admin *a, struct http_exchange *x,
			 const struct http_request *request)
{
	admin__on_metrics(x, request, a);
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
