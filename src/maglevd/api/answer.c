/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long answers, made in slices: ten thousand backends would hold the loop for longer than anybody
 * may wait.
 *
 * Messages that are encoded one behind the other are one message with the fields of all. So a list
 * is made part by part, and its bytes are gathered until the last part, when the length of the
 * answer is known and it is sent. All that are being made stand in one queue; the first one is
 * worked on, and for one slice in a turn of the loop, however many there are. A short answer is
 * thereby made and sent before its handler returns.
 *
 * Each part shows what is so when it is made. A reload in between would make it a mixture of two
 * configurations, so it begins anew then.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "lib/pb/pb.h"
#include "src/maglevd/api/internal.h"

#define SLICE (2 * NSEC_PER_MSEC) /* in one turn, for all */

static void begin(struct api__answer *w)
{
	api_lb_walk_end(&w->walk);
	w->bytes.n = 0;
	w->at = 0;
	w->generation = engine_generation(w->api->setup.engine);
}

static void forget(struct api__answer *w)
{
	TAILQ_REMOVE(&w->api->answers, w, queue);
	api_lb_walk_end(&w->walk);
	buf_free(&w->bytes);
	free(w->name);
	free(w);
}

static void on_cancelled(void *user)
{
	forget(user);
}

/* One part more, or the end. */
static void step(struct api__answer *w)
{
	struct grpc_call *call = w->call;
	const ProtobufCMessage *part;
	struct buf bytes;
	bool refused;

	if (w->generation != engine_generation(w->api->setup.engine))
		begin(w);
	part = w->part(w, api__scratch(w->api));
	if (part) {
		pb_encode(part, &w->bytes);
		return;
	}
	bytes = w->bytes;
	w->bytes = (struct buf){ 0 };
	refused = w->refused;
	forget(w);
	if (!refused)
		grpc_reply_encoded(call, (struct str){ bytes.p, bytes.n });
	buf_free(&bytes);
}

void api__work(struct api *a)
{
	struct ev_loop *loop = a->setup.loop;

	if (a->turn != ev_now(loop)) {
		a->turn = ev_now(loop);
		a->until = loop_monotonic() + SLICE;
	}
	while (!TAILQ_EMPTY(&a->answers) && loop_monotonic() < a->until)
		step(TAILQ_FIRST(&a->answers));
	if (!TAILQ_EMPTY(&a->answers))
		ev_timer_start(loop, &a->more);
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
	api__work(a);
}
