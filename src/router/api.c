/* SPDX-License-Identifier: Apache-2.0 */
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
#include "src/router/api_private.h"

#define JSON_TYPE "application/json"
#define PLAIN_TEXT "text/plain; charset=utf-8"
#define TIMEOUT (5 * NSEC_PER_SEC)

/* ---- answers ---- */

void api__key(struct buf *out, const char *key)
{
	char last = out->n ? out->p[out->n - 1] : '{';

	buf_printf(out, "%s\"%s\":", last == '{' || last == '[' ? "" : ",", key);
}

void api__text(struct buf *out, const char *key, struct str text)
{
	api__key(out, key);
	json_write_string(out, text.p, text.n);
}

void api__number(struct buf *out, const char *key, uint64_t number)
{
	api__key(out, key);
	buf_addu(out, number);
}

void api__flag(struct buf *out, const char *key, bool flag)
{
	api__key(out, key);
	buf_adds(out, flag ? "true" : "false");
}

void api__refuse(struct http_exchange *x, unsigned status, const char *code, struct str message)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_addc(&body, '{');
	api__text(&body, "status", STR("error"));
	api__text(&body, "error", str_of(code));
	api__text(&body, "message", message);
	buf_add_lit(&body, "}\n");
	http_reply(x, status, JSON_TYPE, (struct str){ body.p, body.n });
}

void api__too_large(struct http_exchange *x, size_t n, size_t max)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text,
		   "the answer would have %zu bytes, and %zu are allowed: ask for a part of a list "
		   "with ?from=0&limit=100, or raise --admin-max-answer",
		   n, max);
	api__refuse(x, 400, "AnswerTooLarge", (struct str){ text.p, text.n });
}

void api__reply(struct api *a, struct http_exchange *x, unsigned status, struct buf *body)
{
	buf_addc(body, '\n');
	if (body->n > a->config.max_answer)
		api__too_large(x, body->n, a->config.max_answer);
	else
		http_reply(x, status, JSON_TYPE, (struct str){ body->p, body->n });
}

/* What the server refuses itself. */
static void on_error(struct http_exchange *x, unsigned status, void *user)
{
	static const struct {
		unsigned status;
		const char *code, *message;
	} rows[] = {
		{ 404, "UnknownPath", "there is no such path" },
		{ 405, "WrongMethod", "the path has another method" },
		{ 408, "RequestTimeout", "the request took too long" },
		{ 413, "BodyTooLarge", "the body is larger than --admin-max-body allows" },
		{ 431, "HeadTooLarge", "the head is too large" },
		{ 503, "TooBusy", "there are too many connections" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status) {
			api__refuse(x, status, rows[i].code, str_of(rows[i].message));
			return;
		}
	api__refuse(x, status, "MalformedRequest", str_of(http_status_reason(status)));
}

void api__unknown_path(struct http_exchange *x)
{
	on_error(x, 404, NULL);
}

/* ---- requests ---- */

bool api__parameter(const struct http_request *request, const char *key, struct str *ret)
{
	struct str rest = request->query, part, name;

	while (str_cut(&rest, '&', &part))
		if (str_cut(&part, '=', &name) && str_eq(name, str_of(key))) {
			*ret = part;
			return true;
		}
	return false;
}

bool api__number_parameter(struct http_exchange *x, const struct http_request *request,
			   const char *key, uint64_t max, uint64_t *ret)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct str text;

	if (!api__parameter(request, key, &text) || str_to_u64(text, max, ret) == 0)
		return true;
	buf_printf(&why, "%s must be a whole number, at most %" PRIu64, key, max);
	api__refuse(x, 400, "InvalidValue", (struct str){ why.p, why.n });
	return false;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int api__decode(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		int high, low;

		if (text.p[i] != '%') {
			buf_addc(out, text.p[i]);
			continue;
		}
		high = i + 3 <= text.n ? digit(text.p[i + 1]) : -1;
		low = i + 3 <= text.n ? digit(text.p[i + 2]) : -1;
		if (high < 0 || low < 0 || !(high | low))
			return -EINVAL;
		buf_addc(out, (char)(high << 4 | low));
		i += 2;
	}
	return 0;
}

/* ---- the state ---- */

const struct l7_config *api__config(const struct api *a)
{
	static const struct l7_config none;
	const struct generation *g = router_current(a->config.router);

	return g ? &g->config : &none;
}

uint64_t api__generation(const struct api *a)
{
	const struct generation *g = router_current(a->config.router);

	return g ? g->number : 0;
}

/* ---- the server ---- */

/*
 * A web page could make the browser on this machine send a request: to a name that resolves to a
 * loopback address (then Host is that name), or a POST without asking first (then it has Origin).
 * It does not know the token.
 */
static bool is_foreign(const struct api *a, const struct http_request *request)
{
	if (http_header(request->head, STR("origin")).p)
		return true;
	return !a->is_unix && !access_is_closed(a->access) && !admin_is_local(request);
}

static bool admits(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct api *a = user;

	if (access_has_token(a->access)) {
		if (access_allows(a->access, request->head))
			return true;
		http_reply_header(x, "www-authenticate", STR("Bearer realm=\"maglev-router\""));
		api__refuse(x, 401, "InvalidToken", STR("the token is missing or wrong"));
		return false;
	}
	if (str_eq(request->path, STR("/metrics")) || !is_foreign(a, request))
		return true;
	http_reply(x, 403, PLAIN_TEXT, STR("only for programs on this machine\n"));
	return false;
}

static void on_metrics(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct api *a = user;

	admin_serve_metrics(a->config.admin, x, request);
}

static const struct http_route routes[] = {
	{ HTTP_POST, "/routes/update", api__on_update },
	{ HTTP_POST, "/config/check", api__on_check },
	{ HTTP_POST, "/rollback", api__on_rollback },
	{ HTTP_POST, "/pools/*", api__on_servers },
	{ HTTP_POST, "/rollout/promote", api__on_promote },
	{ HTTP_POST, "/rollout/abort", api__on_abort },
	{ HTTP_GET, "/rollout", api__on_rollout },
	{ HTTP_GET, "/connections", api__on_connections },
	{ HTTP_GET, "/routes", api__on_routes },
	{ HTTP_GET, "/pools", api__on_pools },
	{ HTTP_GET, "/config", api__on_config },
	{ HTTP_GET, "/listeners", api__on_listeners },
	{ HTTP_GET, "/metrics", on_metrics },
	{ HTTP_GET, "/generation", api__on_current },
	{ HTTP_GET, "/generations", api__on_generations },
	{ HTTP_GET, "/generations/*", api__on_generation },
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
	if (!addr_is_loopback(&config->listen.addr) && !access_is_closed(a->access)) {
		buf_adds(why, "must be a loopback address or the path of a Unix socket: other "
			      "addresses need --admin-token-file or --admin-tls-client-ca");
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
					     .mount = admin_mount_probes(from->admin),
					     .inherited = from->inherited,
					     .max_body = from->max_body,
					     .request_timeout = TIMEOUT,
					     .write_timeout = TIMEOUT,
					     .admits = admits,
					     .error = on_error,
					     .trace = daemon_log_request };
	_cleanup_(buf_free) struct buf why = { 0 };
	int r;

	a->config = *from;
	a->instance = (uint64_t)loop_realtime();
	a->is_unix = *from->at == '/' || *from->at == '@';
	r = access_new(&from->access, &a->access);
	if (r < 0) {
		free(a);
		return r;
	}
	config.tls = access_tls(a->access);
	r = parse_address(a, &config, &why);
	if (r == 0)
		r = http_server_new(from->loop, &config, &a->server);
	if (r < 0) {
		access_free(a->access);
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
	access_free(a->access);
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

void api_reload(struct api *a)
{
	access_reload(a->access, a->server);
}

void api_drain(struct api *a, void (*done)(void *user), void *user)
{
	http_server_drain(a->server, done, user);
}
