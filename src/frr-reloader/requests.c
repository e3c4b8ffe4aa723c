/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frr-reloader/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"
#include "lib/http/server.h"
#include "lib/json/cursor.h"
#include "lib/json/json.h"
#include "lib/log/log.h"

#define BODY_MAX ((size_t)64 * 1024)
#define JSON_TYPE "application/json"

struct requests {
	struct reloader *reloader;
	struct http_server *server;
};

/* A request that waits for its run. */
struct asker {
	struct requests *requests;
	struct http_exchange *exchange;
	int64_t id;
};

/* ---- the body ---- */

int requests_parse(struct str body, int64_t *ret_id, struct buf *why)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *node;
	struct json_cursor root, member;
	const char *action = "";
	int64_t id = 0; /* what a client that sends none expects back */

	if (json_parse(body, NULL, arena, &node, &errors) == 0) {
		root = json_cursor_of(node, &errors);
		json_get_kind(&root, JSON_KIND_OBJECT);
		member = json_member(&root, "action");
		if (json_get_string(&member, &action) >= 0 && strcmp(action, "reload") != 0)
			json_complain(&member, "the only action is \"reload\"");
		member = json_member(&root, "id");
		json_get_i64(&member, INT64_MIN, INT64_MAX, &id);
	}
	if (errors.n) {
		errs_print(&errors, "request", why);
		return -EINVAL;
	}
	*ret_id = id;
	return 0;
}

/* ---- requests ---- */

static void reply(struct http_exchange *x, int64_t id, bool success, const char *error)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	buf_printf(&body, "{\"id\":%" PRId64 ",\"result\":%s", id, success ? "true" : "false");
	if (!success) {
		buf_adds(&body, ",\"error\":");
		json_write_string(&body, error, strlen(error));
	}
	buf_adds(&body, "}\n");
	http_reply(x, 200, JSON_TYPE, (struct str){ body.p, body.n });
}

static void on_done(bool success, const char *error, void *user)
{
	_cleanup_(cleanup_free) struct asker *a = user;

	log_debug("request-answered", LOG_I("id", a->id), LOG_B("result", success));
	reply(a->exchange, a->id, success, error);
}

static void on_gone(void *user)
{
	struct asker *a = user;

	log_debug("request-abandoned", LOG_I("id", a->id));
	reloader_forget(a->requests->reloader, a);
	free(a);
}

static void refuse(struct http_exchange *x, unsigned status, struct buf *why)
{
	http_reply(x, status, "text/plain; charset=utf-8", (struct str){ why->p, why->n });
}

static void on_reload(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct requests *q = user;
	struct asker *a;
	int64_t id;

	if (requests_parse(request->body, &id, &why) < 0) {
		log_warn("request-refused", LOG_SN("reason", why.p, why.n - 1)); /* no newline */
		refuse(x, 400, &why);
		return;
	}
	a = mem_zalloc(sizeof(*a));
	*a = (struct asker){ q, x, id };
	if (reloader_request(q->reloader, on_done, a) < 0) {
		free(a);
		buf_adds(&why, "too many requests wait, or the reloader is stopping\n");
		refuse(x, 503, &why);
		return;
	}
	log_debug("request", LOG_I("id", id));
	http_reply_later(x, on_gone, a);
}

/* ---- health ---- */

static void add_string(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, ",\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

/* Healthy means that requests are answered; whether the last one succeeded is in the body. */
static void on_health(struct http_exchange *x, const struct http_request *request, void *user)
{
	const struct requests *q = user;
	const struct reloader_stats *s = reloader_stats(q->reloader);
	_cleanup_(buf_free) struct buf body = { 0 };
	char time[TIME_STRLEN];

	buf_printf(&body, "{\"status\":\"ok\",\"busy\":%s,\"waiting\":%zu,\"reloads\":%" PRIu64,
		   reloader_is_busy(q->reloader) ? "true" : "false", reloader_queue(q->reloader),
		   s->reloads);
	if (s->last_at) {
		buf_printf(&body, ",\"last_result\":%s", s->succeeded ? "true" : "false");
		add_string(&body, "last_time", time_format(s->last_at, time));
		add_string(&body, "last_error", s->last_error);
		add_string(&body, "last_fallback", s->last_fallback);
	}
	buf_adds(&body, "}\n");
	http_reply(x, 200, JSON_TYPE, (struct str){ body.p, body.n });
}

static const struct http_route routes[] = {
	{ HTTP_GET, "/health", on_health },
	{ HTTP_POST, "/*", on_reload },
};

int requests_new(struct ev_loop *loop, struct reloader *r, struct admin *admin, const char *socket,
		 struct requests **ret)
{
	struct requests *q = mem_zalloc(sizeof(*q));
	const struct http_server_config config = { .path = socket,
						   .routes = routes,
						   .n_routes = ARRAY_SIZE(routes),
						   .user = q,
						   .mount = admin_mount(admin),
						   .max_body = BODY_MAX,
						   .trace = daemon_log_request };
	int error;

	q->reloader = r;
	error = http_server_new(loop, &config, &q->server);
	if (error < 0) {
		log_error("listen-failed", LOG_S("flag", "--socket"), LOG_S("path", socket),
			  LOG_S("error", strerror(-error)));
		free(q);
		return error;
	}
	*ret = q;
	return 0;
}

void requests_free(struct requests *q)
{
	if (!q)
		return;
	http_server_free(q->server);
	free(q);
}

void requests_drain(struct requests *q, void (*done)(void *user), void *user)
{
	http_server_drain(q->server, done, user);
}
