/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dashboard: everything of the program between its options and its loop.
 *
 *	maglevds, speakers, routers -> upstream (one each) -> broker -> events -> browsers
 *	browsers -> routes -> view: the last known state of the upstreams
 *	                   -> admin: acts, which are calls to an upstream
 *
 * There is one thread, and nothing blocks it: each upstream has timers of its own, and a slow
 * browser is only a position in the broker's ring, which does not wait for it.
 *
 * Without credentials there are no routes for /admin/, so that its paths answer like any path that
 * does not exist (NFR-4.3).
 */
#include "src/frontend/dashboard.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/admin/admin.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "lib/page/files.h"
#include "lib/page/login.h"
#include "lib/page/reply.h"
#include "src/frontend/broker.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/events.h"
#include "src/frontend/upstream.h"
#include "src/frontend/users.h"

#define CONNECTIONS_MAX 4096
#define LOGIN_DELAY NSEC_PER_SEC /* until a wrong password is answered */

struct upstream *dashboard__find(const struct dashboard__set *set, struct str name)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(str_of(upstream_view(set->items[i])->name), name))
			return set->items[i];
	return NULL;
}

/* ---- what upstreams say ---- */

static void log_server(const struct upstream_view *v)
{
	if (v->connected)
		log_info("server-connected", LOG_S("server", v->name), LOG_S("addr", v->address));
	else
		log_warn("server-lost", LOG_S("server", v->name), LOG_S("addr", v->address),
			 LOG_S("error", v->error));
}

static void log_speaker(const struct upstream_view *v)
{
	if (v->connected)
		log_info("speaker-connected", LOG_S("speaker", v->name), LOG_S("addr", v->address));
	else
		log_warn("speaker-lost", LOG_S("speaker", v->name), LOG_S("addr", v->address),
			 LOG_S("error", v->error));
}

static void log_router(const struct upstream_view *v)
{
	if (v->connected)
		log_info("router-connected", LOG_S("router", v->name), LOG_S("addr", v->address));
	else
		log_warn("router-lost", LOG_S("router", v->name), LOG_S("addr", v->address),
			 LOG_S("error", v->error));
}

/* Called by upstreams for every change. This is the only place that publishes. */
static void on_changed(const struct upstream_view *v, const char *type, int64_t at,
		       struct str payload, void *user)
{
	struct dashboard *d = user;
	const struct broker_event event = { v->kind, str_of(v->name), str_of(type), at, payload };

	if (strcmp(type, "server") == 0)
		log_server(v);
	else if (strcmp(type, "speaker") == 0)
		log_speaker(v);
	else if (strcmp(type, "router") == 0)
		log_router(v);
	broker_publish(d->broker, &event, loop_monotonic());
	events_wake(d->events);
}

static void start_set(struct dashboard *d, struct dashboard__set *set,
		      const struct upstream_kind *kind, const struct targets *targets)
{
	set->n = targets->items.n;
	set->items = mem_zalloc(set->n * sizeof(*set->items));
	set->states = mem_zalloc(set->n * sizeof(*set->states));
	for (size_t i = 0; i < set->n; i++) {
		const struct upstream_config config = {
			.kind = kind,
			.name = targets->items.items[i].name,
			.address = targets->items.items[i].address,
			.tls = d->grpc_tls,
			.events_level = log_level_word(d->options->events_level),
			.changed = on_changed,
			.user = d,
		};

		set->items[i] = upstream_new(d->loop, &config);
	}
}

static void free_set(struct dashboard__set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		upstream_free(set->items[i]);
		blob_unref(set->states[i].blob);
	}
	free(set->items);
	free(set->states);
}

/* ---- what browsers ask for ---- */

static void redirect(struct http_exchange *x, struct str to)
{
	http_reply_header(x, "Location", to);
	http_reply_status(x, 308);
}

static void on_root(struct http_exchange *x, const struct http_request *request, void *user)
{
	redirect(x, STR("/view/"));
}

static void on_admin_root(struct http_exchange *x, const struct http_request *request, void *user)
{
	redirect(x, STR("/admin/"));
}

static void on_icon(struct http_exchange *x, const struct http_request *request, void *user)
{
	page_file(x, request, &page_files, STR("favicon.svg"));
}

static void on_view(struct http_exchange *x, const struct http_request *request, void *user)
{
	static const size_t prefix = sizeof("/view/") - 1;

	page_file(x, request, &page_files,
		  (struct str){ request->path.p + prefix, request->path.n - prefix });
}

static void on_error(struct http_exchange *x, unsigned status, void *user)
{
	page_status(x, status);
}

/*
 * The first route that matches is used. Those of /admin/ are last, so that they can be left out
 * by shortening the table.
 */
static const struct http_route routes[] = {
	{ HTTP_GET, "/", on_root },
	{ HTTP_GET, "/favicon.ico", on_icon },
	{ HTTP_GET, "/view", on_root },
	{ HTTP_GET, "/view/api/version", dashboard__on_version },
	{ HTTP_GET, "/view/api/maglevds", dashboard__on_maglevds },
	{ HTTP_GET, "/view/api/state", dashboard__on_state },
	{ HTTP_GET, "/view/api/state/*", dashboard__on_state_of },
	{ HTTP_GET, "/view/api/history/*", dashboard__on_history },
	{ HTTP_GET, "/view/api/speakers", dashboard__on_speakers },
	{ HTTP_GET, "/view/api/speakers/*", dashboard__on_speaker },
	{ HTTP_GET, "/view/api/routers", dashboard__on_routers },
	{ HTTP_GET, "/view/api/routers/*", dashboard__on_router },
	{ HTTP_GET, "/view/api/way", dashboard__on_way },
	{ HTTP_GET, "/view/api/events", dashboard__on_events },
	{ HTTP_GET, "/view/*", on_view },
	{ HTTP_GET, "/admin", on_admin_root },
	{ HTTP_GET | HTTP_POST, "/admin/*", dashboard__on_admin },
};

#define N_ADMIN_ROUTES 2

#define HEADER(name, value)                                                                        \
	{                                                                                          \
		{ name, sizeof(name) - 1 },                                                        \
		{                                                                                  \
			value, sizeof(value) - 1                                                   \
		}                                                                                  \
	}

/*
 * Headers of every answer. HSTS is the last one, because it is left out if the connection is not
 * encrypted (RFC 6797, section 7.2).
 */
static const struct field headers[] = {
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
	HEADER("Strict-Transport-Security", "max-age=31536000"),
};

/*
 * Serves metrics and health twice: a part beside the dashboard, all of it on --metrics-addr for
 * operators.
 */
static int start_admin(struct dashboard *d, const struct daemon *daemon)
{
	return admin_new(&(struct admin_config){ .daemon = daemon,
						 .prefix = "maglev_dashboard",
						 .listen = d->options->metrics_addr,
						 .flag = "--metrics-addr",
						 .metrics = dashboard__metrics,
						 .user = d },
			 &d->admin);
}

static int start_server(struct dashboard *d)
{
	struct http_server_config config = {
		.routes = routes,
		.n_routes = ARRAY_SIZE(routes) - (d->login ? 0 : N_ADMIN_ROUTES),
		.user = d,
		.mount = admin_mount(d->admin),
		.tls = d->tls,
		.headers = headers,
		.n_headers = ARRAY_SIZE(headers) - !d->tls,
		.max_connections = CONNECTIONS_MAX,
		.max_per_source = d->options->max_per_client,
		.admits = dashboard__admits,
		.trace = daemon_log_request,
		.error = on_error,
	};
	bool valid = endpoint_parse(d->options->listen, &config.listen) == 0;
	int r = valid ? http_server_new(d->loop, &config, &d->server) : -EINVAL;

	if (r < 0)
		log_error("listen-failed", LOG_S("flag", "--listen"),
			  LOG_S("addr", d->options->listen),
			  LOG_S("error", valid ? strerror(-r) : "not an address"));
	return r;
}

static void on_wrong_password(const struct addr *client, void *user)
{
	char text[ADDR_STRLEN];

	log_warn("login-failed", LOG_S("peer", addr_format(client, text)));
}

static struct page_login *new_login(const struct dashboard *d)
{
	return page_login_new(&(struct page_login_config){
		.loop = d->loop,
		.credentials = d->options->auth,
		.realm = "maglev",
		.missing = "a user and a password are needed",
		.path = "/admin/",
		.cookie = "maglev-pass",
		.encrypted = d->options->tls.certificate,
		.delay = LOGIN_DELAY,
		.reply = page_error,
		.failed = on_wrong_password,
	});
}

/* ---- the whole ---- */

static int check_users(const struct options *options, struct buf *why)
{
	_cleanup_(buf_free) struct buf problem = { 0 };
	struct users_list list;
	int r = *options->users ? users_read(options->users, &list, &problem) : 0;

	if (r < 0)
		buf_printf(why, "--users: %s: %s", options->users, buf_cstr(&problem));
	else if (*options->users)
		users_list_free(&list);
	return r;
}

int dashboard_check(const struct options *options, struct buf *why)
{
	struct endpoint at;
	int r = endpoint_parse(options->listen, &at);

	if (r < 0) {
		buf_printf(why, "--listen: %s is not an address", options->listen);
		return r;
	}
	if (*options->metrics_addr && endpoint_parse(options->metrics_addr, &at) < 0) {
		buf_printf(why, "--metrics-addr: %s is not an address", options->metrics_addr);
		return -EINVAL;
	}
	r = check_users(options, why);
	return r < 0 ? r : dashboard__check_certificates(options, why);
}

static int read_users(struct dashboard *d)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	const char *path = d->options->users;
	int r = *path ? users_new(d->loop, path, &d->users, &why) : 0;

	if (r < 0)
		log_error("users-not-read", LOG_S("file", path), LOG_S("error", buf_cstr(&why)),
			  LOG_S("reason", "without its users the dashboard does not start"));
	return r;
}

int dashboard_new(const struct daemon *daemon, const struct options *options,
		  struct dashboard **ret)
{
	struct dashboard *d = mem_zalloc(sizeof(*d));
	int r;

	d->loop = daemon->loop;
	d->options = options;
	blobs_init(&d->texts);
	d->broker = broker_new(loop_realtime());
	d->events = events_new(d->loop, d->broker);
	if (options_have_users(options))
		d->login = new_login(d);
	r = read_users(d);
	if (r == 0)
		r = dashboard__read_certificates(d, false);
	if (r == 0)
		r = start_admin(d, daemon);
	if (r == 0)
		r = start_server(d);
	if (r < 0) {
		dashboard_free(d);
		return r;
	}
	dashboard__start_hosts(d);
	start_set(d, &d->servers, &upstream_maglevd, &options->targets);
	start_set(d, &d->speakers, &upstream_speaker, &options->speaker_targets);
	start_set(d, &d->routers, &upstream_router, &options->router_targets);
	*ret = d;
	return 0;
}

/* The HTTP server is freed first: its exchanges refer to upstreams, events and texts. */
void dashboard_free(struct dashboard *d)
{
	if (!d)
		return;
	http_server_free(d->server);
	dashboard__stop_hosts(d);
	admin_free(d->admin);
	free_set(&d->servers);
	free_set(&d->speakers);
	free_set(&d->routers);
	blob_unref(d->state.blob);
	page_login_free(d->login);
	users_free(d->users);
	events_free(d->events);
	broker_free(d->broker);
	dashboard__free_certificates(d);
	free(d);
}

struct endpoint dashboard_endpoint(const struct dashboard *d)
{
	return http_server_endpoint(d->server);
}

void dashboard_reload(struct dashboard *d)
{
	dashboard__read_certificates(d, true);
	if (d->users)
		users_reload(d->users);
}

static void on_browsers_gone(void *user)
{
	struct dashboard *d = user;

	admin_drain(d->admin, d->drained, d->drained_user);
}

/* The listener for operators is drained last, so that /readyz can be asked until the end. */
void dashboard_drain(struct dashboard *d, void (*done)(void *user), void *user)
{
	d->drained = done;
	d->drained_user = user;
	http_server_drain(d->server, on_browsers_gone, d);
}
