/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long answers, made part by part: a list of ten thousand items would hold the loop too long.
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
#include "lib/service/internal.h"

/* Starts from the beginning: parts that were made for an older configuration are discarded. */
static void begin(struct service_answer *w)
{
	const struct service_config *c = &w->service->config;

	if (w->restart)
		w->restart(w);
	w->bytes.n = 0;
	w->at = 0;
	w->generation = c->generation(c->user);
}

static void forget(struct service_answer *w)
{
	TAILQ_REMOVE(&w->service->answers, w, queue);
	buf_free(&w->bytes);
	w->release(w);
}

/* The client cancelled the call, or its connection ended. */
static void on_cancelled(void *user)
{
	forget(user);
}

/* Sends the collected parts, unless the last part has failed the call. */
static void finish(struct service_answer *w)
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
static void advance(struct service_answer *w)
{
	const struct service_config *c = &w->service->config;
	const ProtobufCMessage *part;

	if (w->generation != c->generation(c->user))
		begin(w);
	part = w->part(w, service_scratch(w->service));
	if (part)
		pb_encode(part, &w->bytes);
	else
		finish(w);
}

static bool answers_step(struct task *t)
{
	struct service *s = container_of(t, struct service, work);

	while (!TAILQ_EMPTY(&s->answers)) {
		advance(TAILQ_FIRST(&s->answers));
		if (!task_has_time(s->loop))
			break;
	}
	return !TAILQ_EMPTY(&s->answers);
}

void service__answers_init(struct service *s)
{
	TAILQ_INIT(&s->answers);
	task_init(&s->work, s->loop, TASK_ORDINARY, answers_step);
}

void service__answers_stop(struct service *s)
{
	assert(TAILQ_EMPTY(&s->answers));
	task_cancel(&s->work);
}

void service_answer(struct service *s, struct grpc_call *call, struct service_answer *w)
{
	assert(w->part && w->release);
	w->service = s;
	w->call = call;
	begin(w);
	TAILQ_INSERT_TAIL(&s->answers, w, queue);
	grpc_on_cancel(call, on_cancelled, w);
	task_wake(&s->work);
}

static void release(struct service_answer *w)
{
	free(w);
}

void service_answer_in_parts(struct service *s, struct grpc_call *call, service_part_fn part,
			     void *user)
{
	struct service_answer *w = mem_zalloc(sizeof(*w));

	w->part = part;
	w->user = user;
	w->release = release;
	service_answer(s, call, w);
}
