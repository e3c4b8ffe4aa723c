/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: what is large and seldom looked at is not part of the state: a request to the dashboard
 * becomes a call to the server. That is what a generation of a router has changed, and the past of
 * frontends and backends. Everybody may read it, so only a few such calls are under way at the same
 * time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/page/reply.h"
#include "lib/pb/pb.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/upstream.h"
#include "wire/api_methods.h"
#include "wire/router_methods.h"

#define TIMEOUT (5 * NSEC_PER_SEC)
#define AT_ONCE 16
#define NAMES_MAX 64 /* of each parameter of a query */

struct asking {
	struct dashboard *dashboard;
	struct http_exchange *x; /* NULL: the browser has gone away */
	const char *otherwise;	 /* the reply if the server does not have the method; NULL: none */
	struct buf answer;
};

static void on_answer(const ProtobufCMessage *message, void *user)
{
	struct asking *a = user;

	pb_json_write(message, PB_JSON_SHOWN, &a->answer);
	buf_addc(&a->answer, '\n');
}

static unsigned http_status(enum grpc_status status)
{
	return status == GRPC_NOT_FOUND ? 404 : status == GRPC_INVALID_ARGUMENT ? 400 : 502;
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct asking *a = user;

	a->dashboard->asked--;
	if (status == GRPC_UNIMPLEMENTED && a->otherwise) {
		status = GRPC_OK;
		buf_adds(&a->answer, a->otherwise);
	}
	if (a->x && status == GRPC_OK)
		page_json(a->x, 200, (struct str){ a->answer.p, a->answer.n });
	else if (a->x)
		page_error(a->x, http_status(status), text);
	buf_free(&a->answer);
	free(a);
}

static void on_gone(void *user)
{
	((struct asking *)user)->x = NULL;
}

/* Replies with the answer of the server as JSON. */
static void ask(struct dashboard *d, struct http_exchange *x, struct upstream *u,
		const struct grpc_method *method, const ProtobufCMessage *request,
		const char *otherwise)
{
	struct asking *a;
	struct grpc_client_events events = { .message = on_answer, .done = on_done };

	if (d->asked >= AT_ONCE) {
		page_error(x, 503, "too many such requests are under way; try again");
		return;
	}
	a = mem_zalloc(sizeof(*a));
	events.user = a;
	a->dashboard = d;
	a->x = x;
	a->otherwise = otherwise;
	if (!upstream_call(u, method, request, TIMEOUT, &events)) {
		free(a);
		page_error(x, 502, "it cannot be reached right now");
		return;
	}
	d->asked++;
	http_reply_later(x, on_gone, a);
}

void dashboard__reply_difference(struct dashboard *d, struct http_exchange *x, struct upstream *u,
				 struct str number)
{
	Maglev__GetGenerationDiffRequest request;

	maglev__get_generation_diff_request__init(&request);
	if (str_to_u64(number, UINT64_MAX, &request.number) < 0 || !request.number)
		page_error(x, 404, "generations have numbers from 1 on");
	else
		ask(d, x, u, &router_methods[ROUTER_GET_GENERATION_DIFF], &request.base, NULL);
}

/* ---- history ---- */

/* The answer of an older maglevd, which records nothing. */
#define NO_HISTORY                                                                                 \
	"{\"span\":\"\",\"step\":\"0\",\"newest\":\"0\",\"frontends\":[],\"backends\":[]}\n"

/* The values of a parameter that may be repeated. */
struct names {
	char *items[NAMES_MAX];
	size_t n;
};

static int take_name(struct names *list, struct str value, struct arena *arena)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	if (list->n == NAMES_MAX || page_decode(value, &text) < 0)
		return -EINVAL;
	list->items[list->n++] = arena_strdup(arena, buf_cstr(&text));
	return 0;
}

/* The parameters of a query: frontend, backend and line may be repeated. */
struct history_query {
	struct names frontends, backends, lines, span;
	uint64_t points;
};

static int take_parameter(struct history_query *q, struct str key, struct str value,
			  struct arena *arena)
{
	const struct {
		struct str key;
		struct names *list;
	} lists[] = { { STR("frontend"), &q->frontends },
		      { STR("backend"), &q->backends },
		      { STR("line"), &q->lines },
		      { STR("span"), &q->span } };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (str_eq(key, lists[i].key))
			return take_name(lists[i].list, value, arena);
	return str_eq(key, STR("points")) ? str_to_u64(value, UINT32_MAX, &q->points) : -EINVAL;
}

static int read_query(struct str query, struct history_query *q, struct arena *arena)
{
	int r = 0;

	while (r == 0 && query.n) {
		struct str part, key;

		str_cut(&query, '&', &part);
		str_cut(&part, '=', &key);
		r = take_parameter(q, key, part, arena);
	}
	return q->span.n > 1 ? -EINVAL : r;
}

void dashboard__reply_history(struct dashboard *d, struct http_exchange *x, struct upstream *u,
			      struct str query)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct history_query q = { 0 };
	Maglev__GetHistoryRequest request;

	if (read_query(query, &q, arena) < 0) {
		page_error(x, 400, "the parameters are frontend, backend, line, span and points");
		return;
	}
	maglev__get_history_request__init(&request);
	request.frontends = q.frontends.items;
	request.n_frontends = q.frontends.n;
	request.backends = q.backends.items;
	request.n_backends = q.backends.n;
	request.lines = q.lines.items;
	request.n_lines = q.lines.n;
	request.points = (uint32_t)q.points;
	request.leave_out = true;
	if (q.span.n)
		request.span = q.span.items[0];
	ask(d, x, u, &api_methods[API_GET_HISTORY], &request.base, NO_HISTORY);
}
