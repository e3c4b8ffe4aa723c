/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long answers, made part by part: a list of ten thousand backends would hold the loop too long.
 *
 * Encoded protobuf messages that are concatenated are one message with the fields of all. So a list
 * is encoded part by part, and the bytes are collected until the last part. Then the length of the
 * answer is known and it is sent. All answers being made are in one queue, and one task makes them,
 * in the order in which they were asked for. A short answer is sent in the turn of its request.
 *
 * Each part shows the state at the time when it is made. After a reload the answer would be a
 * mixture of two configurations, so it is started again from the beginning.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/pb/pb.h"
#include "src/maglevd/api/internal.h"

/* Starts from the beginning: parts that were made for an older configuration are discarded. */
static void begin(struct api__answer *w)
{
	wire_lb_walk_end(&w->walk);
	w->bytes.n = 0;
	w->at = 0;
	w->generation = engine_generation(w->api->setup.engine);
}

static void forget(struct api__answer *w)
{
	TAILQ_REMOVE(&w->api->answers, w, queue);
	wire_lb_walk_end(&w->walk);
	buf_free(&w->bytes);
	free(w->name);
	free(w);
}

/* The client cancelled the call, or its connection ended. */
static void on_cancelled(void *user)
{
	forget(user);
}

/* Sends the collected parts, unless the last part has failed the call. */
static void finish(struct api__answer *w)
{
	struct grpc_call *call = w->call;
	_cleanup_(buf_free) struct buf bytes = w->bytes;
	bool refused = w->refused;

	w->bytes = (struct buf){ 0 };
	forget(w); /* first: the reply ends the call */
	if (!refused)
		grpc_reply_encoded(call, (struct str){ bytes.p, bytes.n });
}

/* Makes one more part, or sends the answer when there is none. */
static void advance(struct api__answer *w)
{
	const ProtobufCMessage *part;

	if (w->generation != engine_generation(w->api->setup.engine))
		begin(w);
	part = w->part(w, api__scratch(w->api));
	if (part)
		pb_encode(part, &w->bytes);
	else
		finish(w);
}

static bool answers_step(struct task *t)
{
	struct api *a = container_of(t, struct api, work);

	while (!TAILQ_EMPTY(&a->answers)) {
		advance(TAILQ_FIRST(&a->answers));
		if (!task_has_time(a->setup.loop))
			break;
	}
	return !TAILQ_EMPTY(&a->answers);
}

void api__answers_init(struct api *a)
{
	TAILQ_INIT(&a->answers);
	task_init(&a->work, a->setup.loop, TASK_ORDINARY, answers_step);
}

void api__answers_stop(struct api *a)
{
	assert(TAILQ_EMPTY(&a->answers));
	task_cancel(&a->work);
}

void api__answer(struct api *a, struct grpc_call *call, api__part_fn part, int err, char *name)
{
	struct api__answer *w = mem_zalloc(sizeof(*w));

	w->api = a;
	w->call = call;
	w->part = part;
	w->err = err;
	w->name = name;
	begin(w);
	TAILQ_INSERT_TAIL(&a->answers, w, queue);
	grpc_on_cancel(call, on_cancelled, w);
	task_wake(&a->work);
}
