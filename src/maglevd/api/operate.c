/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions of the operator (FR-3): permissions and values are checked here, the engine does the
 * rest.
 */
#include <errno.h>

#include "lib/loop/loop.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"

typedef int (*act_fn)(struct engine *e, const char *backend, const struct engine_note *note);

/* False if the end lies in the past; the call has failed then. */
static bool note_of(struct grpc_call *call, const Maglev__BackendRequest *request,
		    struct engine_note *ret)
{
	if (request->until && request->until <= loop_realtime()) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "until lies in the past: it is unix time in nanoseconds, or 0");
		return false;
	}
	*ret = (struct engine_note){ request->reason, request->until };
	return true;
}

/* The answer is the backend after the action, so that a client need not read it again. */
static void act(struct grpc_call *call, const ProtobufCMessage *message, struct api *a, act_fn fn)
{
	const Maglev__BackendRequest *request = (const Maglev__BackendRequest *)message;
	struct engine_note note;
	size_t i;

	if (!api__may_change(a, call) || !note_of(call, request, &note))
		return;
	i = api__backend(a, call, request->name);
	if (i == SIZE_MAX)
		return;
	if (fn(a->setup.engine, request->name, &note) == -EPERM)
		grpc_fail(call, GRPC_FAILED_PRECONDITION,
			  "backend \"%s\" is disabled: enable it first", request->name);
	else
		grpc_reply(call,
			   &wire_backend(engine_model(a->setup.engine), i, api__scratch(a))->base);
}

API_HANDLER(pause_backend)
{
	act(call, request, user, engine_pause);
}

API_HANDLER(resume_backend)
{
	act(call, request, user, engine_resume);
}

API_HANDLER(enable_backend)
{
	act(call, request, user, engine_enable);
}

API_HANDLER(disable_backend)
{
	act(call, request, user, engine_disable);
}

/* The answer is the frontend after the change. */
API_HANDLER(set_weight)
{
	struct api *a = user;
	const Maglev__SetWeightRequest *w = (const Maglev__SetWeightRequest *)request;
	const struct engine_weight weight = { w->frontend, w->pool, w->backend, w->weight,
					      w->flush };
	size_t i;
	int r;

	if (!api__may_change(a, call))
		return;
	i = api__frontend(a, call, w->frontend);
	if (i == SIZE_MAX)
		return;
	r = engine_set_weight(a->setup.engine, &weight);
	if (r == -ERANGE)
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "weight is %u: 0 to 100", w->weight);
	else if (r < 0)
		grpc_fail(call, GRPC_NOT_FOUND,
			  "frontend \"%s\" has no backend \"%s\" in a pool \"%s\"", w->frontend,
			  w->backend, w->pool);
	else
		grpc_reply(call,
			   &wire_frontend(engine_model(a->setup.engine), i, api__scratch(a))->base);
}
