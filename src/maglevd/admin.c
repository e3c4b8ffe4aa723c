/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/admin.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/daemon/daemon.h"
#include "lib/http/server.h"
#include "lib/metrics/metrics.h"
#include "src/maglevd/metrics.h"

struct admin {
	struct http_server *server;
	struct maglevd_metrics *metrics;
};

static void on_metrics(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct admin *a = user;
	const struct http_stream stream = maglevd_metrics_stream(a->metrics);

	http_reply_stream(x, 200, METRICS_CONTENT_TYPE, &stream);
}

/* The process lives as long as its loop turns; it is ready as soon as it listens. */
static void on_health(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain; charset=utf-8", STR("ok\n"));
}

static const struct http_route routes[] = {
	{ HTTP_GET, "/metrics", on_metrics },
	{ HTTP_GET, "/healthz", on_health },
	{ HTTP_GET, "/readyz", on_health },
};

int admin_new(struct ev_loop *loop, const struct endpoint *at, struct maglevd_metrics *metrics,
	      struct admin **ret)
{
	struct admin *a = mem_zalloc(sizeof(*a));
	const struct http_server_config config = { .listen = *at,
						   .routes = routes,
						   .n_routes = ARRAY_SIZE(routes),
						   .user = a,
						   .trace = daemon_log_request };
	int r = http_server_new(loop, &config, &a->server);

	if (r < 0) {
		free(a);
		return r;
	}
	a->metrics = metrics;
	*ret = a;
	return 0;
}

void admin_free(struct admin *a)
{
	if (!a)
		return;
	http_server_free(a->server);
	free(a);
}

struct endpoint admin_endpoint(const struct admin *a)
{
	return http_server_endpoint(a->server);
}

void admin_drain(struct admin *a, void (*done)(void *user), void *user)
{
	http_server_drain(a->server, done, user);
}
