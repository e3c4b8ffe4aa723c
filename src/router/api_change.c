/* SPDX-License-Identifier: Apache-2.0 */
/* What the admin API does to the configuration. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/who.h"
#include "lib/json/cursor.h"
#include "lib/log/log.h"
#include "src/router/api_private.h"
#include "wire/router_json.h"

/* ---- in common ---- */

/* Where a change came from. */
struct origin {
	char peer[ENDPOINT_STRLEN];
	struct who who;
	struct history_origin history;
};

static const struct history_origin *origin_of(struct origin *o, const struct http_request *request,
					      enum history_source source)
{
	*o = (struct origin){ .history = { source, o->peer, &o->who } };
	o->who = who_judge(&(struct who_evidence){ .certificate = request->peer_name,
						   .peer = request->peer.addr });
	if (addr_is_set(&request->peer.addr))
		endpoint_format(&request->peer, o->peer);
	return &o->history;
}

/* Takes the arena of errors. */
static void reply_mistakes(struct api *a, struct http_exchange *x,
			   const struct http_request *request, const struct errs *errors,
			   const struct l7_doc *doc)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	struct str which;
	bool all = api__parameter(request, "errors", &which) && str_eq(which, STR("all"));

	router_json_error(errors, doc, all, &body);
	api__reply(a, x, 400, &body);
	log_warn("update-refused", LOG_U("errors", errors->n + errors->dropped),
		 LOG_S("error", errors->items[0].text));
	arena_free(errors->arena);
}

/* The answer to a change that router.h did not make. */
static void reply_failure(struct api *a, struct http_exchange *x, int error, struct buf *why)
{
	static const struct {
		int error;
		unsigned status;
		const char *code;
	} rows[] = {
		{ -ESHUTDOWN, 503, "ShuttingDown" }, { -EAGAIN, 503, "UpgradeRunning" },
		{ -EBUSY, 409, "RolloutUnderWay" },  { -EXDEV, 409, "RolloutListeners" },
		{ -ENOENT, 409, "NoGeneration" },    { -EINVAL, 400, "InvalidTls" },
	};
	const char *code = "ListenFailed";
	unsigned status = 409;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].error == error) {
			code = rows[i].code;
			status = rows[i].status;
		}
	a->config.metrics->refused[METRICS_API]++;
	log_warn("update-refused", LOG_U("errors", 1), LOG_S("error", buf_cstr(why)));
	api__refuse(x, status, code, (struct str){ why->p, why->n });
}

/* ---- who was first ---- */

bool api__may_change(struct api *a, struct http_exchange *x, const struct http_request *request)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	uint64_t expected = api__generation(a);
	struct str tag;

	if (!api__number_parameter(x, request, "generation", UINT64_MAX, &expected))
		return false;
	if (api__parameter(request, "tag", &tag) && tag.n > API_TAG_MAX) {
		buf_printf(&why, "tag must have at most %d bytes", API_TAG_MAX);
		api__refuse(x, 400, "InvalidValue", (struct str){ why.p, why.n });
		return false;
	}
	if (expected == api__generation(a))
		return true;
	buf_printf(&why, "generation %" PRIu64 " is in force, not %" PRIu64, api__generation(a),
		   expected);
	api__refuse(x, 409, "OtherGeneration", (struct str){ why.p, why.n });
	return false;
}

void api__tag(struct api *a, const struct http_request *request)
{
	struct str tag;

	if (!api__parameter(request, "tag", &tag))
		return;
	memcpy(a->tag, tag.p, tag.n);
	a->tag[tag.n] = '\0';
	a->tagged = api__generation(a);
}

void api__on_current(struct http_exchange *x, const struct http_request *request, void *user)
{
	_cleanup_(buf_free) struct buf body = { 0 };
	struct api *a = user;

	buf_addc(&body, '{');
	api__number(&body, "generation", api__generation(a));
	if (a->tagged && a->tagged == api__generation(a))
		api__text(&body, "tag", str_of(a->tag));
	api__key(&body, "instance");
	buf_printf(&body, "\"%" PRIx64 "\"}", a->instance);
	api__reply(a, x, 200, &body);
}

/* ---- the whole configuration ---- */

/*
 * The settings of a body; NULL, after the answer, if it has mistakes. Warnings are appended to
 * ret_warnings, as a member of an object. *ret_listeners: it has a list of listeners, maybe empty.
 */
static struct settings *parse(struct api *a, struct http_exchange *x,
			      const struct http_request *request, struct buf *ret_warnings,
			      bool *ret_listeners)
{
	struct arena *arena = arena_new();
	struct errs errors = { .arena = arena }, warnings = { .arena = arena };
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };
	struct settings *s;

	if (settings_parse(request->body, ROUTER_JSON, &doc, &errors, &warnings, &s) == CONFIG_OK) {
		router_json_warnings(&warnings, &doc.doc, ret_warnings);
		*ret_listeners = doc.doc.listeners;
		return s;
	}
	reply_mistakes(a, x, request, &errors, &doc.doc);
	return NULL;
}

/* The rest of an answer: warnings, and the end of the object. */
static void end_answer(struct api *a, struct http_exchange *x, struct buf *body,
		       const struct buf *warnings)
{
	if (warnings->n) {
		buf_addc(body, ',');
		buf_add(body, warnings->p, warnings->n);
	}
	buf_addc(body, '}');
	api__reply(a, x, 200, body);
}

void api__on_check(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	_cleanup_(buf_free) struct buf body = { 0 }, warnings = { 0 }, why = { 0 };
	bool listeners;
	struct settings *s = parse(a, x, request, &warnings, &listeners);
	int r;

	if (!s)
		return;
	r = router_check(a->config.router, &s->config, &why);
	settings_release(s);
	if (r < 0) {
		reply_failure(a, x, r, &why);
		return;
	}
	buf_adds(&body, "{\"status\":\"ok\"");
	end_answer(a, x, &body, &warnings);
}

/* rollout: only a part of the requests uses it. */
static void confirm(struct api *a, struct http_exchange *x, const struct generation *g,
		    const struct rollout_config *rollout, const struct buf *warnings)
{
	const struct l7_config *c = &g->config;
	_cleanup_(buf_free) struct buf body = { 0 };

	a->config.metrics->applied[METRICS_API]++;
	log_debug("updated", LOG_U("generation", g->number), LOG_U("routes", c->n_routes),
		  LOG_U("pools", c->n_pools));
	buf_printf(&body, "{\"status\":\"ok\",\"routes_updated\":%zu,\"pools_updated\":%zu",
		   c->n_routes, c->n_pools);
	api__number(&body, "generation", g->number);
	if (rollout)
		api__number(&body, "rollout", rollout->how.share);
	end_answer(a, x, &body, warnings);
}

/* Takes s. */
static void roll_out(struct api *a, struct http_exchange *x, const struct http_request *request,
		     struct settings *s, const struct buf *warnings)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct rollout_config config;
	struct origin origin;
	int r;

	if (!api__read_rollout(x, request, &config)) {
		a->config.metrics->refused[METRICS_API]++;
		settings_release(s);
		return;
	}
	r = rollout_start(a->config.rollout, s, &config,
			  origin_of(&origin, request, HISTORY_ROLLOUT), &why);
	if (r < 0)
		reply_failure(a, x, r, &why);
	else
		confirm(a, x, router_trial(a->config.router), &config, warnings);
}

void api__on_update(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	_cleanup_(buf_free) struct buf why = { 0 }, warnings = { 0 };
	struct settings *s;
	struct origin origin;
	struct str share;
	bool listeners;
	int r;

	if (!api__may_change(a, x, request))
		return;
	s = parse(a, x, request, &warnings, &listeners);
	if (!s) {
		a->config.metrics->refused[METRICS_API]++;
		return;
	}
	settings_keep_clients(s, api__config(a));
	if (!listeners) {
		settings_keep_listeners(s, api__config(a));
		settings_listen(s, &a->config.listen);
	}
	if (api__parameter(request, "rollout", &share)) {
		roll_out(a, x, request, s, &warnings);
		return;
	}
	r = router_apply(a->config.router, s, origin_of(&origin, request, HISTORY_API), &why);
	if (r < 0) {
		reply_failure(a, x, r, &why);
		return;
	}
	api__tag(a, request);
	confirm(a, x, router_current(a->config.router), NULL, &warnings);
}

/* ---- the servers of one pool ---- */

/* The name in /pools/NAME/endpoints; -EINVAL if the path is another. */
static int read_name(struct str path, struct buf *name)
{
	const struct str start = STR("/pools/"), end = STR("/endpoints");
	size_t n = path.n - start.n;

	if (n <= end.n || !str_eq((struct str){ path.p + path.n - end.n, end.n }, end))
		return -EINVAL;
	return api__decode((struct str){ path.p + start.n, n - end.n }, name);
}

/* Numbers of its servers begin after those of the pools before it. It may not exist. */
static struct settings_pool pool_of(const struct l7_config *c, const char *name)
{
	struct settings_pool p = { .name = name };

	for (size_t i = 0; i < c->n_pools; i++) {
		p.tls = c->pools[i].tls.given;
		if (strcmp(c->pools[i].name, name) == 0)
			return p;
		p.first += (uint32_t)c->pools[i].n_servers;
	}
	return (struct settings_pool){ .name = name };
}

static void confirm_servers(struct api *a, struct http_exchange *x, struct buf *name, size_t n)
{
	_cleanup_(buf_free) struct buf body = { 0 };

	a->config.metrics->applied[METRICS_API]++;
	log_debug("endpoints-updated", LOG_U("generation", api__generation(a)),
		  LOG_S("pool", buf_cstr(name)), LOG_U("servers", n));
	buf_addc(&body, '{');
	api__text(&body, "status", STR("ok"));
	api__text(&body, "pool", (struct str){ name->p, name->n });
	api__number(&body, "servers", n);
	api__number(&body, "generation", api__generation(a));
	buf_addc(&body, '}');
	api__reply(a, x, 200, &body);
}

void api__on_servers(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	struct errs errors = { 0 };
	_cleanup_(buf_free) struct buf name = { 0 }, why = { 0 };
	struct origin origin;
	_cleanup_(settings_doc_free) struct settings_doc doc = { 0 };
	struct settings_pool pool;
	struct settings *s;
	size_t n;
	int r;

	if (read_name(request->path, &name) < 0) {
		api__unknown_path(x);
		return;
	}
	if (!api__may_change(a, x, request))
		return;
	errors.arena = arena_new();
	pool = pool_of(api__config(a), buf_cstr(&name));
	if (settings_parse_servers(request->body, &pool, &doc, &errors, &s) != CONFIG_OK) {
		a->config.metrics->refused[METRICS_API]++;
		reply_mistakes(a, x, request, &errors, &doc.doc);
		return;
	}
	n = s->config.pools[0].n_servers;
	r = router_set_servers(a->config.router, s, origin_of(&origin, request, HISTORY_ENDPOINTS),
			       &why);
	if (r == -ENOENT) {
		api__refuse(x, 404, "UnknownPool", (struct str){ why.p, why.n });
	} else if (r < 0) {
		reply_failure(a, x, r, &why);
	} else {
		api__tag(a, request);
		confirm_servers(a, x, &name, n);
	}
}

/* ---- back ---- */

/* {"generation": 5}; an empty body or none of it is 0. False after the answer. */
static bool read_generation(struct http_exchange *x, struct str body, uint64_t *ret)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct errs errors = { .arena = arena };
	const struct json_node *root;
	struct json_cursor top, member;

	*ret = 0;
	if (!str_trim(body).n)
		return true;
	if (json_parse(body, NULL, arena, &root, &errors) == 0) {
		top = json_cursor_of(root, &errors);
		member = json_member(&top, "generation");
		json_get_kind(&top, JSON_KIND_OBJECT);
		json_get_u64(&member, 1, UINT64_MAX, ret);
		for (size_t i = 0; root->kind == JSON_KIND_OBJECT && i < root->n; i++) {
			member = json_member_at(&top, i);
			if (strcmp(member.key, "generation") != 0)
				json_complain(&member, "is not a key of this request");
		}
	}
	if (!errors.n)
		return true;
	api__refuse(x, 400, "InvalidValue", str_of(errors.items[0].text));
	return false;
}

void api__on_rollback(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct api *a = user;
	_cleanup_(buf_free) struct buf why = { 0 };
	const struct buf none = { 0 };
	struct origin origin;
	uint64_t number;
	int r;

	if (!read_generation(x, request->body, &number))
		return;
	r = router_rollback(a->config.router, number, origin_of(&origin, request, HISTORY_ROLLBACK),
			    &why);
	if (r == -ENOENT) {
		api__refuse(x, 404, "UnknownGeneration", (struct str){ why.p, why.n });
	} else if (r < 0) {
		reply_failure(a, x, r, &why);
	} else {
		log_info("rolled-back", LOG_U("generation", api__generation(a)),
			 LOG_U("of", history_at(router_history(a->config.router), 0)->of));
		confirm(a, x, router_current(a->config.router), NULL, &none);
	}
}
