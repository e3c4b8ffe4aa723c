/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/api.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/daemon/daemon.h"
#include "lib/http/server.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "src/speaker/plan.h"

#define JSON_TYPE "application/json"
#define PLAIN_TEXT "text/plain; charset=utf-8"
#define VIPS "/vips/"

struct api {
	struct speaker *speaker;
	struct http_server *server;
};

/* ---- /state ---- */

static void add_text(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\"%s\":", key);
	json_write_string(out, value, strlen(value));
}

static void add_bool(struct buf *out, const char *key, bool value)
{
	buf_printf(out, "\"%s\":%s", key, value ? "true" : "false");
}

/* A time that is known as monotonic. */
static void add_since(struct buf *out, const char *key, int64_t monotonic)
{
	char text[TIME_STRLEN];

	add_text(out, key,
		 monotonic ? time_format(loop_realtime() - (loop_monotonic() - monotonic), text)
			   : "");
}

static void add_maglevds(struct buf *out, const struct speaker *s)
{
	const struct bgp_config *c = speaker_config(s);

	buf_adds(out, ",\"maglevds\":[");
	for (size_t i = 0; i < c->n_maglevds; i++) {
		const struct follow *f = speaker_follow(s, i);

		buf_adds(out, i ? ",{" : "{");
		add_text(out, "name", c->maglevds[i].name);
		buf_addc(out, ',');
		add_text(out, "address", c->maglevds[i].address);
		buf_addc(out, ',');
		add_bool(out, "connected", follow_connected(f));
		buf_addc(out, ',');
		add_text(out, "error", follow_error(f));
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_sources(struct buf *out, const struct speaker *s, const struct speaker_vip *v)
{
	buf_adds(out, ",\"frontends\":[");
	for (size_t i = 0; i < v->config->n_sources; i++) {
		const struct bgp_source *from = &v->config->sources[i];
		const struct follow *f = speaker_follow(s, from->maglevd);
		struct announce_source source =
			follow_source(f, from->frontend, v->config->rule.min_servers);

		buf_adds(out, i ? ",{" : "{");
		add_text(out, "maglevd", follow_name(f));
		buf_addc(out, ',');
		add_text(out, "frontend", from->frontend);
		buf_addc(out, ',');
		add_bool(out, "reachable", source.reachable);
		buf_addc(out, ',');
		add_bool(out, "known", source.known);
		buf_addc(out, ',');
		add_bool(out, "up", source.up);
		buf_printf(out, ",\"servers\":%" PRIu32 "}", source.servers);
	}
	buf_addc(out, ']');
}

/* The source that decided, as in the configuration. */
static void add_culprit(struct buf *out, const struct speaker *s, const struct speaker_vip *v)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	size_t i = v->announce.culprit;

	if (i < v->config->n_sources)
		buf_printf(&text, "%s/%s",
			   follow_name(speaker_follow(s, v->config->sources[i].maglevd)),
			   v->config->sources[i].frontend);
	buf_addc(out, ',');
	add_text(out, "culprit", buf_cstr(&text));
}

static void add_peers(struct buf *out, const struct bgp_config *c, const struct bgp_vip *v)
{
	size_t n = 0;

	buf_adds(out, ",\"peers\":[");
	for (size_t i = 0; i < c->n_peers; i++)
		if (plan_reaches(c, v, &c->peers[i])) {
			if (n++)
				buf_addc(out, ',');
			json_write_string(out, c->peers[i].frr.name, strlen(c->peers[i].frr.name));
		}
	buf_addc(out, ']');
}

static void add_vip(struct buf *out, const struct speaker *s, const struct speaker_vip *v)
{
	const struct bgp_config *c = speaker_config(s);
	struct bgp_prefix prefix = bgp_vip_prefix(c, v->config);
	char text[BGP_PREFIX_STRLEN];

	buf_addc(out, '{');
	add_text(out, "name", v->config->name);
	buf_addc(out, ',');
	add_text(out, "prefix", bgp_prefix_format(&prefix, text));
	buf_addc(out, ',');
	add_text(out, "advertisement", c->advertisements[v->config->advertisement].name);
	buf_addc(out, ',');
	add_text(out, "state", announce_state_name(v->announce.state));
	buf_addc(out, ',');
	add_text(out, "reason", announce_reason_name(v->announce.reason));
	add_culprit(out, s, v);
	buf_addc(out, ',');
	add_since(out, "since", v->announce.since);
	buf_addc(out, ',');
	add_bool(out, "drained", v->announce.drained_at != 0);
	buf_printf(out, ",\"transitions\":%" PRIu64, v->transitions);
	add_sources(out, s, v);
	add_peers(out, c, v->config);
	buf_addc(out, '}');
}

static void add_vips(struct buf *out, const struct speaker *s)
{
	buf_adds(out, ",\"vips\":[");
	for (size_t i = 0; i < speaker_config(s)->n_vips; i++) {
		if (i)
			buf_addc(out, ',');
		add_vip(out, s, &speaker_vips(s)[i]);
	}
	buf_addc(out, ']');
}

static void add_session(struct buf *out, const struct bgp_peer *p, const struct session *one)
{
	char text[ADDR_STRLEN];

	buf_addc(out, '{');
	add_text(out, "peer", p->frr.name);
	buf_addc(out, ',');
	add_text(out, "address",
		 p->frr.interface ? p->frr.interface : addr_format(&p->frr.address, text));
	buf_addc(out, ',');
	add_text(out, "vrf", p->vrf ? p->vrf : "");
	buf_addc(out, ',');
	add_bool(out, "up", one->up);
	buf_addc(out, ',');
	add_text(out, "state", one->state);
	buf_addc(out, ',');
	add_since(out, "since", one->since);
	buf_printf(out, ",\"prefixes_sent\":%" PRIu64 ",", one->prefixes);
	add_text(out, "bfd", !p->frr.bfd ? "" : one->bfd_up ? "up" : "down");
	buf_addc(out, ',');
	add_text(out, "last_error", one->last_error);
	buf_addc(out, '}');
}

static void add_sessions(struct buf *out, const struct speaker *s)
{
	const struct bgp_config *c = speaker_config(s);
	const struct session *list = sessions_list(speaker_sessions(s));

	buf_adds(out, ",\"sessions\":[");
	for (size_t i = 0; i < c->n_peers; i++) {
		if (i)
			buf_addc(out, ',');
		add_session(out, &c->peers[i], &list[i]);
	}
	buf_addc(out, ']');
}

static void add_reload(struct buf *out, const struct speaker *s)
{
	const struct reload_stats *r = reload_stats(speaker_reload(s));

	buf_printf(out, ",\"reload\":{\"applies\":%" PRIu64 ",\"failures\":%" PRIu64 ",",
		   r->applies, r->failures);
	add_bool(out, "current", reload_is_current(speaker_reload(s)));
	buf_addc(out, ',');
	add_text(out, "last_error", r->last_error);
	buf_addc(out, '}');
}

static void reply_state(struct http_exchange *x, const struct speaker *s)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	const char *problem = speaker_problem(s);

	buf_addc(&body, '{');
	add_text(&body, "problem", problem ? problem : sessions_problem(speaker_sessions(s)));
	add_maglevds(&body, s);
	add_vips(&body, s);
	add_sessions(&body, s);
	add_reload(&body, s);
	buf_adds(&body, "}\n");
	http_reply(x, 200, JSON_TYPE, (struct str){ body.p, body.n });
}

static void on_state(struct http_exchange *x, const struct http_request *request, void *user)
{
	reply_state(x, ((struct api *)user)->speaker);
}

static void on_mounted_state(struct http_exchange *x, const struct http_request *request,
			     void *user)
{
	reply_state(x, user);
}

/* ---- drains ---- */

/* Splits "/vips/NAME/drain"; false if the path is another one. */
static bool parse_path(struct str path, struct str *ret_name, bool *ret_drain)
{
	struct str rest = { path.p + strlen(VIPS), path.n - strlen(VIPS) };
	const char *slash = memrchr(rest.p, '/', rest.n);
	struct str act;

	if (!slash)
		return false;
	act = (struct str){ slash + 1, (size_t)(rest.p + rest.n - slash - 1) };
	*ret_name = (struct str){ rest.p, (size_t)(slash - rest.p) };
	*ret_drain = str_eq(act, STR("drain"));
	return *ret_drain || str_eq(act, STR("undrain"));
}

static void on_vip(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(cleanup_free) char *name = NULL;
	struct api *a = user;
	struct str part;
	bool drain;

	if (!parse_path(request->path, &part, &drain)) {
		http_reply_status(x, 404);
		return;
	}
	name = mem_alloc(part.n + 1);
	memcpy(name, part.p, part.n);
	name[part.n] = '\0';
	if (speaker_drain(a->speaker, name, drain) < 0) {
		http_reply(x, 404, PLAIN_TEXT, STR("there is no such VIP\n"));
		return;
	}
	reply_state(x, a->speaker);
}

/* ---- the server ---- */

static const struct http_route routes[] = {
	{ HTTP_GET, "/state", on_state },
	{ HTTP_POST, VIPS "*", on_vip },
};

static const struct http_route mounted[] = { { HTTP_GET, "/state", on_mounted_state } };

struct http_mount api_state_mount(struct speaker *speaker)
{
	return (struct http_mount){ mounted, ARRAY_SIZE(mounted), speaker };
}

int api_new(struct ev_loop *loop, struct speaker *speaker, struct admin *admin, const char *path,
	    struct api **ret)
{
	struct api *a = mem_zalloc(sizeof(*a));
	const struct http_server_config config = { .path = path,
						   .routes = routes,
						   .n_routes = ARRAY_SIZE(routes),
						   .user = a,
						   .mount = admin_mount(admin),
						   .trace = daemon_log_request };
	int r;

	a->speaker = speaker;
	r = http_server_new(loop, &config, &a->server);
	if (r < 0) {
		log_error("listen-failed", LOG_S("flag", "--socket"), LOG_S("path", path),
			  LOG_S("error", strerror(-r)));
		free(a);
		return r;
	}
	log_info("listening", LOG_S("for", "api"), LOG_S("path", path));
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

void api_drain(struct api *a, void (*done)(void *user), void *user)
{
	http_server_drain(a->server, done, user);
}
