/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web: routes, the token, and answers.
 *
 * The server has one route for all paths, so that without the token every path answers alike; a
 * second, mounted one for /healthz, which kubelets ask without credentials.
 *
 * Documents are written while they are sent, a slice at a time (show.h). They have an ETag, so that
 * a page that asks again every second costs an empty answer as long as nothing has changed.
 */
#include "src/mux/web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "lib/page/files.h"
#include "lib/page/login.h"
#include "lib/probe/probe.h"
#include "src/mux/web_private.h"

#define CONNECTIONS_MAX 256
#define LOGIN_DELAY (2 * NSEC_PER_SEC) /* until a wrong token is answered */
#define JSON "application/json"
#define PLAIN_TEXT "text/plain; charset=utf-8"

/* ---- documents ---- */

static enum http_stream_state on_produce(struct buf *out, void *user)
{
	size_t start = out->n;

	while (out->n - start < HTTP_SLICE)
		if (!show_read(user, out))
			return HTTP_STREAM_END;
	return HTTP_STREAM_MORE;
}

static void on_closed(bool whole, void *user)
{
	free(user);
}

/* Whether the client has this version. */
static bool is_known(const struct http_request *request, struct str tag)
{
	return str_eq(str_trim(http_header(request->head, STR("If-None-Match"))), tag);
}

static void reply_document(struct web *w, struct http_exchange *x,
			   const struct http_request *request, enum show_document document)
{
	_cleanup_(buf_free) struct buf tag = { 0 };
	struct show_reader *reader;

	buf_addc(&tag, '"');
	show_version(w->show, &tag);
	buf_addc(&tag, '"');
	http_reply_header(x, "ETag", (struct str){ tag.p, tag.n });
	if (is_known(request, (struct str){ tag.p, tag.n })) {
		http_reply(x, 304, NULL, STR(""));
		return;
	}
	reader = mem_zalloc(sizeof(*reader));
	show_read_start(reader, w->show, document);
	http_reply_stream(x, 200, JSON, &(struct http_stream){ on_produce, on_closed, reader, 0 });
}

static void on_state(struct web *w, struct http_exchange *x, const struct http_request *request)
{
	reply_document(w, x, request, SHOW_STATE);
}

static void on_topology(struct web *w, struct http_exchange *x, const struct http_request *request)
{
	reply_document(w, x, request, SHOW_TOPOLOGY);
}

static void on_config(struct web *w, struct http_exchange *x, const struct http_request *request)
{
	http_reply(x, 200, JSON,
		   w->options->actions ? STR("{\"actions_enabled\":true}\n")
				       : STR("{\"actions_enabled\":false}\n"));
}

/* ---- routes ---- */

static void on_page(struct web *w, struct http_exchange *x, const struct http_request *request)
{
	page_file_fresh(x, request, &page_files, STR("mux.html"));
}

static void on_icon(struct web *w, struct http_exchange *x, const struct http_request *request)
{
	page_file_fresh(x, request, &page_files, STR("favicon.svg"));
}

static const struct {
	struct str path;
	void (*handler)(struct web *w, struct http_exchange *x, const struct http_request *request);
} routes[] = {
	{ { "/", 1 }, on_page },
	{ { "/favicon.ico", 12 }, on_icon },
	{ { "/favicon.svg", 12 }, on_icon },
	{ { "/api/state", 10 }, on_state },
	{ { "/api/topology", 13 }, on_topology },
	{ { "/api/config", 11 }, on_config },
	{ { "/api/test-tcp", 13 }, web__on_test_tcp },
};

static void on_error(struct http_exchange *x, unsigned status, void *user)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	buf_printf(&text, "{\"detail\":\"%s\"}\n", http_status_reason(status));
	http_reply(x, status, JSON, (struct str){ text.p, text.n });
}

static void on_any(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct web *w = user;
	struct str path = request->path;

	if (w->login && !page_login_let_in(w->login, x, request->head, &request->peer.addr))
		return;
	if (w->login)
		page_login_give_pass(w->login, x, request->head);
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (str_eq(routes[i].path, path)) {
			routes[i].handler(w, x, request);
			return;
		}
	}
	if (str_starts(path, STR("/assets/")))
		page_file_fresh(x, request, &page_files, (struct str){ path.p + 1, path.n - 1 });
	else
		on_error(x, 404, w);
}

static void on_health(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, JSON, STR("{\"status\":\"ok\"}\n"));
}

static const struct http_route everything[] = { { HTTP_GET, "/*", on_any } };
static const struct http_route open_to_all[] = { { HTTP_GET, "/healthz", on_health } };

#define HEADER(name, value)                                                                        \
	{                                                                                          \
		{ name, sizeof(name) - 1 },                                                        \
		{                                                                                  \
			value, sizeof(value) - 1                                                   \
		}                                                                                  \
	}

static const struct field headers[] = {
	HEADER("Cache-Control", "no-store"),
	HEADER("Content-Security-Policy",
	       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	       "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
	       "frame-ancestors 'none'"),
	HEADER("X-Content-Type-Options", "nosniff"),
	HEADER("X-Frame-Options", "DENY"),
	HEADER("Referrer-Policy", "no-referrer"),
	HEADER("Cross-Origin-Opener-Policy", "same-origin"),
	HEADER("Cross-Origin-Resource-Policy", "same-origin"),
	HEADER("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
};

/* ---- the token ---- */

static void reply_text(struct http_exchange *x, unsigned status, const char *text)
{
	http_reply(x, status, PLAIN_TEXT, str_of(text));
}

static void on_wrong_token(const struct addr *client, void *user)
{
	char text[ADDR_STRLEN];

	log_warn("login-failed", LOG_S("peer", addr_format(client, text)));
}

static struct page_login *new_login(const struct web *w)
{
	return page_login_new(&(struct page_login_config){
		.loop = w->loop,
		.credentials = { NULL, w->options->token },
		.realm = "Service LoadBalancer Multiplexer Debug UI",
		.missing = "Unauthorized - authentication required",
		.path = "/",
		.cookie = "maglev-mux-pass",
		.delay = LOGIN_DELAY,
		.reply = reply_text,
		.failed = on_wrong_token,
	});
}

/* ---- the whole ---- */

static int start_server(struct web *w)
{
	struct http_server_config config = {
		.routes = everything,
		.n_routes = ARRAY_SIZE(everything),
		.user = w,
		.mount = { open_to_all, ARRAY_SIZE(open_to_all), w },
		.headers = headers,
		.n_headers = ARRAY_SIZE(headers),
		.max_connections = CONNECTIONS_MAX,
		.trace = daemon_log_request,
		.error = on_error,
	};
	char text[ENDPOINT_STRLEN];
	struct endpoint at;
	int r = endpoint_parse(w->options->listen, &config.listen);

	if (r == 0)
		r = http_server_new(w->loop, &config, &w->server);
	if (r < 0) {
		log_error("listen-failed", LOG_S("flag", "--debug-web-listen"),
			  LOG_S("addr", w->options->listen), LOG_S("error", strerror(-r)));
		return r;
	}
	at = http_server_endpoint(w->server);
	log_info("listening", LOG_S("for", "debug-web"), LOG_S("addr", endpoint_format(&at, text)),
		 LOG_B("actions", w->options->actions), LOG_B("token", w->login));
	return 0;
}

int web_new(const struct daemon *daemon, struct show *show, const struct web_options *o,
	    struct web **ret)
{
	struct web *w;
	int r;

	*ret = NULL;
	if (!o->enabled)
		return 0;
	w = mem_zalloc(sizeof(*w));
	w->loop = daemon->loop;
	w->show = show;
	w->options = o;
	w->probes = probe_env_new(w->loop, NULL);
	if (*o->token)
		w->login = new_login(w);
	r = start_server(w);
	if (r < 0) {
		web_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

/* The server first: its exchanges end the tests that are under way. */
void web_free(struct web *w)
{
	if (!w)
		return;
	http_server_free(w->server);
	page_login_free(w->login);
	probe_env_free(w->probes);
	free(w);
}

void web_drain(struct web *w, void (*done)(void *user), void *user)
{
	if (w)
		http_server_drain(w->server, done, user);
	else
		done(user);
}
