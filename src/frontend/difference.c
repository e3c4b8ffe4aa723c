/* SPDX-License-Identifier: Apache-2.0 */
/*
 * difference: what a generation of a router has changed. It is large and seldom looked at, so it is
 * not part of the state: a request to the dashboard becomes one to the router. Everybody may read
 * it, so only a few such calls are under way at the same time.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/pb/pb.h"
#include "src/frontend/dashboard_private.h"
#include "src/frontend/reply.h"
#include "src/frontend/upstream.h"
#include "wire/router_methods.h"

#define TIMEOUT (5 * NSEC_PER_SEC)
#define AT_ONCE 16

struct asking {
	struct dashboard *dashboard;
	struct http_exchange *x; /* NULL: the browser has gone away */
	struct buf answer;
};

static void on_answer(const ProtobufCMessage *message, void *user)
{
	struct asking *a = user;

	pb_json_write(message, PB_JSON_SHOWN, &a->answer);
	buf_addc(&a->answer, '\n');
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct asking *a = user;

	a->dashboard->differences--;
	if (a->x && status == GRPC_OK)
		reply_json(a->x, 200, (struct str){ a->answer.p, a->answer.n });
	else if (a->x)
		reply_error(a->x, status == GRPC_NOT_FOUND ? 404 : 502, text);
	buf_free(&a->answer);
	free(a);
}

static void on_gone(void *user)
{
	((struct asking *)user)->x = NULL;
}

static void ask(struct dashboard *d, struct http_exchange *x, struct upstream *u, uint64_t number)
{
	struct asking *a = mem_zalloc(sizeof(*a));
	const struct grpc_client_events events = { .message = on_answer,
						   .done = on_done,
						   .user = a };
	Maglev__GetGenerationDiffRequest request;

	maglev__get_generation_diff_request__init(&request);
	request.number = number;
	a->dashboard = d;
	a->x = x;
	if (!upstream_call(u, &router_methods[ROUTER_GET_GENERATION_DIFF], &request.base, TIMEOUT,
			   &events)) {
		free(a);
		reply_error(x, 502, "this router cannot be reached right now");
		return;
	}
	d->differences++;
	http_reply_later(x, on_gone, a);
}

void dashboard__reply_difference(struct dashboard *d, struct http_exchange *x, struct upstream *u,
				 struct str number)
{
	uint64_t n;

	if (str_to_u64(number, UINT64_MAX, &n) < 0 || !n)
		reply_error(x, 404, "generations have numbers from 1 on");
	else if (d->differences >= AT_ONCE)
		reply_error(x, 503, "too many differences are being read; try again");
	else
		ask(d, x, u, n);
}
