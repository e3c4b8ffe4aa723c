/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admin: carries out the acts of /admin/api/. An act is passed on to its maglevd, speaker or
 * router, and the answer is returned as JSON. An act is not cancelled if the browser goes away
 * before the answer. When it is over, it is logged with its user, whatever the result.
 *
 * The user is that of the environment, or one of the file of --users. The password of the latter
 * may have to be checked in a child process first (users.c). Until it is, a copy of the request
 * waits.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "lib/page/files.h"
#include "lib/page/login.h"
#include "lib/page/reply.h"
#include "lib/pb/pb.h"
#include "src/frontend/acts.h"
#include "src/frontend/auth.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/upstream.h"
#include "src/frontend/users.h"

/* Who sends a request. */
struct sender {
	const char *name;
	bool admin; /* may act; else only look */
	struct addr client;
};

/* An act that is under way. It outlives the exchange if the browser goes away. */
struct doing {
	struct dashboard *dashboard;
	struct http_exchange *x; /* NULL: the browser has gone away */
	char *user;
	struct addr client;
	struct buf path, body; /* as received, for the log: bounded by the HTTP server */
	struct buf answer;     /* JSON; empty until the maglevd has answered */
};

/*
 * gRPC status to HTTP status. UNAUTHENTICATED is 403 and not 401: it is our own certificate that
 * the maglevd refuses, and a 401 would make the browser ask for a password.
 */
static const struct {
	enum grpc_status status;
	unsigned http;
} statuses[] = {
	{ GRPC_INVALID_ARGUMENT, 400 },
	{ GRPC_NOT_FOUND, 404 },
	{ GRPC_FAILED_PRECONDITION, 409 },
	{ GRPC_ALREADY_EXISTS, 409 },
	{ GRPC_ABORTED, 409 },
	{ GRPC_PERMISSION_DENIED, 403 },
	{ GRPC_UNAUTHENTICATED, 403 },
	{ GRPC_DEADLINE_EXCEEDED, 504 },
	{ GRPC_UNAVAILABLE, 502 },
	{ GRPC_RESOURCE_EXHAUSTED, 503 },
};

static unsigned http_status_of(enum grpc_status status)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].http;
	return 502;
}

/*
 * The address for the log and the login limits, which may be that of a client of a trusted
 * proxy.
 */
static struct addr client_of(const struct dashboard *d, const struct http_request *request)
{
	return proxies_client(&d->options->proxies, &request->peer.addr, request->head->headers,
			      request->head->n_headers);
}

static struct doing *begin(struct dashboard *dashboard, struct http_exchange *x,
			   const struct http_request *request, const struct sender *by)
{
	struct doing *d = mem_zalloc(sizeof(*d));

	d->dashboard = dashboard;
	d->x = x;
	d->user = mem_strdup(by->name);
	d->client = by->client;
	buf_add(&d->path, request->path.p, request->path.n);
	buf_add(&d->body, request->body.p, request->body.n);
	return d;
}

static void log_act(const struct doing *d, unsigned status, const char *error)
{
	char peer[ADDR_STRLEN];

	log_info("admin-act", LOG_S("user", d->user), LOG_S("peer", addr_format(&d->client, peer)),
		 LOG_SN("path", d->path.p, d->path.n), LOG_SN("body", d->body.p, d->body.n),
		 LOG_U("status", status), LOG_S("error", error));
}

/* Logs the act, replies if the browser is still there, and frees d. error is NULL on success. */
static void end(struct doing *d, unsigned status, const char *error)
{
	log_act(d, status, error);
	if (d->x && error)
		page_error(d->x, status, error);
	else if (d->x)
		page_json(d->x, status, (struct str){ d->answer.p, d->answer.n });
	buf_free(&d->path);
	buf_free(&d->body);
	buf_free(&d->answer);
	free(d->user);
	free(d);
}

static void on_answer(const ProtobufCMessage *message, void *user)
{
	struct doing *d = user;

	pb_json_write(message, PB_JSON_SHOWN, &d->answer);
	buf_addc(&d->answer, '\n');
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	if (status == GRPC_OK)
		end(user, 200, NULL);
	else
		end(user, http_status_of(status), *text ? text : grpc_status_name(status));
}

/* The call goes on; only the reply is dropped. */
static void on_gone(void *user)
{
	((struct doing *)user)->x = NULL;
}

/* d belongs to the call from here on: on_done() is called exactly once, see upstream_call(). */
static void carry_out(struct doing *d, struct upstream *u, const struct act *act,
		      const ProtobufCMessage *request)
{
	const struct grpc_client_events events = { .message = on_answer,
						   .done = on_done,
						   .user = d };
	char address[ADDR_STRLEN];
	const struct upstream_user by = { d->user, addr_format(&d->client, address) };

	if (!upstream_call_for(u, &by, act_method(act), request, act_timeout(act), &events)) {
		end(d, 502, "this server cannot be reached right now");
		return;
	}
	d->dashboard->acts++;
	http_reply_later(d->x, on_gone, d);
}

static void act_on(struct dashboard *d, struct http_exchange *x, const struct http_request *request,
		   const struct sender *by, const struct acts_words *words)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf reason = { 0 };
	const struct act *act = acts_find(words);
	const struct {
		const struct dashboard__set *set;
		const char *missing;
	} kinds[] = {
		[ACTS_SERVER] = { &d->servers, "there is no server of that name" },
		[ACTS_SPEAKER] = { &d->speakers, "there is no speaker of that name" },
		[ACTS_ROUTER] = { &d->routers, "there is no router of that name" },
	};
	const char *name;
	enum acts_whose whose = act_whose(act, words, &name);
	struct upstream *u = dashboard__find(kinds[whose].set, str_of(name));
	ProtobufCMessage *message;

	if (!u) {
		page_error(x, 404, kinds[whose].missing);
	} else if (act_request(act, words, request->body, arena, &message, &reason) < 0) {
		page_error(x, 400, buf_cstr(&reason));
	} else {
		carry_out(begin(d, x, request, by), u, act, message);
	}
}

static void reply_user(struct http_exchange *x, const struct sender *by)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	buf_add_lit(&out, "{\"user\":");
	json_write_string(&out, by->name, strlen(by->name));
	buf_printf(&out, ",\"role\":\"%s\"}\n", by->admin ? "admin" : "read-only");
	page_json(x, 200, (struct str){ out.p, out.n });
}

/* One who may only look; it is logged like an act, because it was meant as one. */
static void refuse_reader(struct dashboard *d, struct http_exchange *x,
			  const struct http_request *request, const struct sender *by)
{
	struct doing *doing = begin(d, x, request, by);

	end(doing, 403, "this user may look, but not act");
}

/*
 * A forged request of another site (CSRF) is logged, because it needs the attention of an
 * operator.
 */
static void refuse_foreign(struct http_exchange *x, const struct http_request *request,
			   const char *why)
{
	log_warn("act-refused", LOG_S("reason", why),
		 LOG_SN("path", request->path.p, request->path.n));
	page_error(x, 403, why);
}

/*
 * The order matters: a path that does not exist is 404 for every method, and only a POST with
 * the marks of our own pages (auth_foreign()) may act.
 */
static void reply_api(struct dashboard *d, struct http_exchange *x,
		      const struct http_request *request, struct str path, const struct sender *by)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	bool post = str_eq(request->head->method, STR("POST"));
	const char *foreign = post ? auth_foreign(request->head) : NULL;
	struct acts_words words = { 0 };

	if (!post && str_eq(path, STR("whoami"))) {
		reply_user(x, by);
	} else if (acts_split(path, arena, &words) < 0 || !acts_find(&words)) {
		page_error(x, 404, "there is no such action");
	} else if (!post) {
		http_reply_header(x, "Allow", STR("POST"));
		page_error(x, 405, "actions are sent with POST");
	} else if (foreign) {
		refuse_foreign(x, request, foreign);
	} else if (!by->admin) {
		refuse_reader(d, x, request, by);
	} else {
		act_on(d, x, request, by, &words);
	}
}

static bool cut_start(struct str *s, struct str start)
{
	if (!str_starts(*s, start))
		return false;
	s->p += start.n;
	s->n -= start.n;
	return true;
}

/* A request whose sender is known. */
static void serve(struct dashboard *d, struct http_exchange *x, const struct http_request *request,
		  const struct sender *by)
{
	struct str path = request->path;

	cut_start(&path, STR("/admin/"));
	if (cut_start(&path, STR("api/"))) {
		page_login_give_pass(d->login, x,
				     request->head); /* not for files, which may be cached */
		reply_api(d, x, request, path, by);
	} else if (str_eq(request->head->method, STR("POST"))) {
		http_reply_header(x, "Allow", STR("GET, HEAD"));
		page_status(x, 405);
	} else {
		page_file(x, request, &page_files, path);
	}
}

/* ---- who sends it ---- */

/* A request that waits until the password of its sender is checked. */
struct waiting {
	struct dashboard *dashboard;
	struct http_exchange *x; /* NULL: the client has gone away */
	struct arena *arena;	 /* of the copies */
	struct http_head head;
	struct http_request request;
	struct addr client;
};

static struct str copy(struct arena *a, struct str s)
{
	return (struct str){ arena_strndup(a, s.n ? s.p : "", s.n), s.n };
}

/* The original is gone when its handler returns. */
static void copy_request(struct waiting *w, const struct http_request *from)
{
	w->head = *from->head;
	w->head.method = copy(w->arena, from->head->method);
	w->head.target = copy(w->arena, from->head->target);
	for (size_t i = 0; i < w->head.n_headers; i++) {
		const struct field *f = &from->head->headers[i];

		w->head.headers[i] =
			(struct field){ copy(w->arena, f->name), copy(w->arena, f->value) };
	}
	w->request = (struct http_request){
		.head = &w->head,
		.path = copy(w->arena, from->path),
		.query = copy(w->arena, from->query),
		.body = copy(w->arena, from->body),
		.peer = from->peer,
	};
}

static void on_waiting_gone(void *user)
{
	((struct waiting *)user)->x = NULL;
}

static void on_checked(const struct user *found, void *user)
{
	struct waiting *w = user;
	struct dashboard *d = w->dashboard;
	enum page_verdict verdict = found ? PAGE_AUTH_OK : PAGE_AUTH_WRONG;
	struct sender by;

	if (w->x && page_login_judge(d->login, w->x, &w->head, &w->client, verdict) && found) {
		by = (struct sender){ found->name, found->admin, w->client };
		serve(d, w->x, &w->request, &by);
	}
	arena_free(w->arena);
	free(w);
}

static struct waiting *wait_with(struct dashboard *d, struct http_exchange *x,
				 const struct http_request *request, const struct addr *client)
{
	struct waiting *w = mem_zalloc(sizeof(*w));

	w->dashboard = d;
	w->x = x;
	w->client = *client;
	w->arena = arena_new();
	copy_request(w, request);
	return w;
}

/* A user of the file: at once if the password was right a moment ago. */
static void ask_users(struct dashboard *d, struct http_exchange *x,
		      const struct http_request *request, const struct addr *client,
		      const char *const given[static 2])
{
	struct waiting *w;
	const struct user *is;

	if (page_login_is_closed(d->login, x, request->head, client))
		return;
	w = wait_with(d, x, request, client);
	switch (users_check(d->users, given[0], given[1], &is, on_checked, w)) {
	case USERS_PENDING:
		http_reply_later(x, on_waiting_gone, w);
		return;
	case USERS_KNOWN:
		on_checked(is, w);
		return;
	case USERS_BUSY:
		http_reply_header(x, "Retry-After", STR("1"));
		page_error(x, 503, "too many passwords are being checked");
		arena_free(w->arena);
		free(w);
		return;
	}
}

static bool is_of_environment(const struct options *o, const struct http_head *head)
{
	return *o->auth.user && *o->auth.password &&
	       page_basic_check(&o->auth, head) == PAGE_AUTH_OK;
}

void dashboard__on_admin(struct http_exchange *x, const struct http_request *request, void *user)
{
	struct dashboard *d = user;
	_cleanup_(buf_free) struct buf text = { 0 };
	const char *given[2];
	bool missing = !page_basic_read(request->head, &text, &given[0], &given[1]);
	bool right = !missing && is_of_environment(d->options, request->head);
	const struct sender by = { d->options->auth.user, true, client_of(d, request) };

	if (!missing && !right && d->users)
		ask_users(d, x, request, &by.client, given);
	else if (page_login_judge(d->login, x, request->head, &by.client,
				  missing ? PAGE_AUTH_MISSING
				  : right ? PAGE_AUTH_OK
					  : PAGE_AUTH_WRONG))
		serve(d, x, request, &by);
	if (text.n)
		explicit_bzero(text.p, text.n);
}
