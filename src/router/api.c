/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "src/router/care.h"
#include "wire/router_json.h"

#define JSON_TYPE "application/json"
#define PLAIN_TEXT "text/plain; charset=utf-8"
#define MAX_BODY ((size_t)1024 * 1024)
#define TIMEOUT (5 * NSEC_PER_SEC)

struct api {
	struct api_config config;
	struct http_server *server;
	bool is_unix;
};

static void reply(struct http_exchange *x, unsigned status, struct buf *body)
{
	buf_addc(body, '\n');
	http_reply(x, status, JSON_TYPE, (struct str){ body->p, body->n });
}

/* ---- reading ---- */

static const struct l7_config *config_of(const struct api *a)
{
	static const struct l7_config none;
	const struct generation *g = router_current(a->config.router);

	return g ? &g->config : &none;
}

static uint64_t number_of(const struct api *a)
{
	const struct generation *g = router_current(a->config.router);

	return g ? g->number : 0;
}

static void on_routes(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	router_json_routes(config_of(user), number_of(user), &body);
	reply(x, 200, &body);
}

static void on_server(size_t pool, size_t server, struct buf *out, const void *user)
{
	const struct generation *g = user;

	care_describe(g->pools[pool].servers[server], out);
}

static void on_pools(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct api *a = user;
	const struct router_json_state state = { on_server, router_current(a->config.router) };
	_cleanup_(buf_free) struct buf body = { 0 };

	router_json_pools(config_of(user), number_of(user), &state, &body);
	reply(x, 200, &body);
}

static void on_config(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	router_json_config(config_of(user), &body);
	reply(x, 200, &body);
}

/* ---- changing ---- */

/* The settings of a body; NULL, after the answer, if it has mistakes. */
static struct settings *parse(struct http_exchange *x, struct str bytes)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	_cleanup_(buf_free) struct buf body = { 0 };
	struct settings *s;
	struct l7_doc doc;

	if (settings_parse(bytes, ROUTER_JSON, &errors, &warnings, &doc, &s) == CONFIG_OK)
		return s;
	router_json_error(&errors, &doc, &body);
	reply(x, 400, &body);
	log_warn("update-refused", LOG_U("errors", errors.n + errors.dropped),
		 LOG_S("error", errors.items[0].text));
	arena_free(arena);
	return NULL;
}

static void on_check(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct settings *s = parse(x, request->body);
	_cleanup_(buf_free) struct buf body = { 0 };

	if (!s)
		return;
	settings_free(s);
	buf_adds(&body, "{\"status\":\"ok\"}");
	reply(x, 200, &body);
}

static void refuse_update(struct http_exchange *x, int error, const struct buf *why)
{
	const char *code = error == -ESHUTDOWN ? "ShuttingDown"
			   : error == -EAGAIN  ? "UpgradeRunning"
					       : "ListenFailed";
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_printf(&body, "{\"status\":\"error\",\"error\":\"%s\",\"message\":", code);
	json_write_string(&body, why->p, why->n);
	buf_addc(&body, '}');
	reply(x, error == -ESHUTDOWN || error == -EAGAIN ? 503 : 409, &body);
}

static void confirm_update(struct http_exchange *x, const struct api *a)
{
	const struct l7_config *c = config_of(a);
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_printf(&body,
		   "{\"status\":\"ok\",\"routes_updated\":%zu,\"pools_updated\":%zu,"
		   "\"generation\":%" PRIu64 "}",
		   c->n_routes, c->n_pools, number_of(a));
	reply(x, 200, &body);
}

static void on_update(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	struct metrics_state *m = a->config.metrics;
	struct settings *s = parse(x, request->body);
	_cleanup_(buf_free) struct buf why = { 0 };
	int r;

	if (!s) {
		m->refused[METRICS_API]++;
		return;
	}
	settings_keep_listeners(s, config_of(a));
	settings_listen(s, &a->config.listen);
	r = router_apply(a->config.router, s, &why);
	if (r < 0) {
		m->refused[METRICS_API]++;
		log_warn("update-refused", LOG_U("errors", 1), LOG_S("error", buf_cstr(&why)));
		refuse_update(x, r, &why);
		return;
	}
	m->applied[METRICS_API]++;
	log_debug("updated", LOG_U("generation", number_of(a)),
		  LOG_U("routes", config_of(a)->n_routes), LOG_U("pools", config_of(a)->n_pools));
	confirm_update(x, a);
}

/* ---- the server ---- */

/*
 * A web page could make the browser on this machine send a request: to a name that resolves to a
 * loopback address (then Host is that name), or a POST without asking first (then it has Origin).
 */
static bool admits(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct api *a = user;

	if (!http_header(request->head, STR("origin")).p && (a->is_unix || admin_is_local(request)))
		return true;
	http_reply(x, 403, PLAIN_TEXT, STR("only for programs on this machine\n"));
	return false;
}

static const struct http_route routes[] = {
	{ HTTP_POST, "/routes/update", on_update }, { HTTP_POST, "/config/check", on_check },
	{ HTTP_GET, "/routes", on_routes },	    { HTTP_GET, "/pools", on_pools },
	{ HTTP_GET, "/config", on_config },
};

static int parse_address(const struct api *a, struct http_server_config *config, struct buf *why)
{
	if (a->is_unix) {
		config->path = a->config.at;
		return 0;
	}
	if (endpoint_parse(a->config.at, &config->listen) < 0) {
		buf_adds(why, "must be an address with a port, or the path of a Unix socket");
		return -EINVAL;
	}
	if (!addr_is_loopback(&config->listen.addr)) {
		buf_adds(why, "must be a loopback address or the path of a Unix socket, because "
			      "there is no authentication yet");
		return -EINVAL;
	}
	return 0;
}

static void log_listening(const struct api *a)
{
	struct endpoint at = http_server_endpoint(a->server);
	char text[ENDPOINT_STRLEN];

	if (a->is_unix)
		log_info("listening", LOG_S("for", "admin"), LOG_S("path", a->config.at));
	else
		log_info("listening", LOG_S("for", "admin"),
			 LOG_S("addr", endpoint_format(&at, text)));
}

int api_new(const struct api_config *from, struct api **ret)
{
	struct api *a = mem_zalloc(sizeof(*a));
	struct http_server_config config = { .routes = routes,
					     .n_routes = ARRAY_SIZE(routes),
					     .user = a,
					     .mount = admin_mount(from->admin),
					     .inherited = from->inherited,
					     .max_body = MAX_BODY,
					     .request_timeout = TIMEOUT,
					     .write_timeout = TIMEOUT,
					     .admits = admits,
					     .trace = daemon_log_request };
	_cleanup_(buf_free) struct buf why = { 0 };
	int r;

	a->config = *from;
	a->is_unix = *from->at == '/' || *from->at == '@';
	r = parse_address(a, &config, &why);
	if (r == 0)
		r = http_server_new(from->loop, &config, &a->server);
	if (r < 0) {
		log_error("listen-failed", LOG_S("flag", "--admin-addr"), LOG_S("addr", from->at),
			  LOG_S("error", why.n ? buf_cstr(&why) : strerror(-r)));
		free(a);
		return r;
	}
	log_listening(a);
	*ret = a;
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	http_server_free(a->server);
	free(a);
}

int api_socket(const struct api *a)
{
	return http_server_socket(a->server);
}

void api_hand_over(struct api *a)
{
	http_server_hand_over(a->server);
}

void api_drain(struct api *a, void (*done)(void *user), void *user)
{
	http_server_drain(a->server, done, user);
}
