/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions of the operator (FR-3): permissions and values are checked here, the engine does the
 * rest. Each that was carried out is one line in the log, with its operator.
 *
 * With --override-file an action is answered when the file has it. The answer is encoded before,
 * so that it shows the state right after the action. If the file cannot be written, the call fails
 * and says that the action is in force all the same: an operator who takes a server out at night
 * must not be stopped by a full disk, but has to know of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "lib/loop/loop.h"
#include "lib/pb/pb.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/overrides.h"
#include "wire/api.h"

/* ---- answers that wait for the file ---- */

struct waiting {
	struct overrides *overrides;
	struct grpc_call *call;
	struct buf answer;
};

static void waiting_free(struct waiting *w)
{
	buf_free(&w->answer);
	free(w);
}

static void on_kept(int err, void *user)
{
	struct waiting *w = user;

	if (err < 0)
		grpc_fail(w->call, GRPC_INTERNAL,
			  "it is done, but does not survive a restart: %s cannot be written: %s",
			  overrides_path(w->overrides), strerror(-err));
	else
		grpc_reply_encoded(w->call, (struct str){ w->answer.p, w->answer.n });
	waiting_free(w);
}

static void on_cancelled(void *user)
{
	struct waiting *w = user;

	store_forget(overrides_store(w->overrides), w);
	waiting_free(w);
}

void api__reply_act(struct api *a, struct grpc_call *call, const ProtobufCMessage *answer)
{
	struct overrides *o = a->setup.overrides;
	struct waiting *w;

	if (!o) {
		grpc_reply(call, answer);
		return;
	}
	w = mem_zalloc(sizeof(*w));
	w->overrides = o;
	w->call = call;
	pb_encode(answer, &w->answer);
	if (store_wait(overrides_store(o), on_kept, w) == 0) {
		grpc_on_cancel(call, on_cancelled, w);
		return;
	}
	grpc_fail(call, GRPC_RESOURCE_EXHAUSTED,
		  "it is done, but %d calls wait for the file of overrides already",
		  STORE_WAITING_MAX);
	waiting_free(w);
}

/* ---- one backend ---- */

bool api__note(struct grpc_call *call, const struct l4_note *note, enum l4_command c)
{
	int64_t now = loop_realtime();

	if (note->until && note->until <= now)
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "until lies in the past: it is unix time in nanoseconds, or 0");
	else if (note->from && c != L4_PAUSE)
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "from: only a pause can be scheduled");
	else if (note->from < 0 || (note->from && note->from <= now))
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "from lies in the past: it is unix time in nanoseconds, or 0 for now");
	else if (note->from && note->until && note->until <= note->from)
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "until lies before from");
	else
		return true;
	return false;
}

typedef int (*act_fn)(struct engine *e, const char *backend, const struct l4_note *note);

static const act_fn fns[] = {
	[L4_PAUSE] = engine_pause,
	[L4_RESUME] = engine_resume,
	[L4_ENABLE] = engine_enable,
	[L4_DISABLE] = engine_disable,
};

/* A time of a note; NULL for 0. */
static const char *time_of(int64_t at, char text[static TIME_STRLEN])
{
	return at ? time_format(at, text) : NULL;
}

void api__log_command(const struct l4_note *note, enum l4_command c, const char *backend, size_t n)
{
	char from[TIME_STRLEN], until[TIME_STRLEN];

	service_log_act(note->who, l4_command_name(c), LOG_S("backend", backend),
			LOG_U("backends", n), LOG_S("reason", *note->reason ? note->reason : NULL),
			LOG_S("from", time_of(note->from, from)),
			LOG_S("until", time_of(note->until, until)));
}

/* The answer is the backend after the action, so that a client need not read it again. */
static void act(struct grpc_call *call, const ProtobufCMessage *message, struct api *a,
		enum l4_command c)
{
	const Maglev__BackendRequest *request = (const Maglev__BackendRequest *)message;
	struct l4_note note = { .reason = request->reason,
				.until = request->until,
				.from = request->from };
	struct who who;
	size_t i;

	if (!api__may_change(a, call) || !api__note(call, &note, c))
		return;
	i = api__backend(a, call, request->name);
	if (i == SIZE_MAX)
		return;
	who = service_who(a->service, call);
	note.who = &who;
	if (fns[c](a->setup.engine, request->name, &note) == -EPERM) {
		grpc_fail(call, GRPC_FAILED_PRECONDITION,
			  "backend \"%s\" is disabled: enable it first", request->name);
		return;
	}
	api__log_command(&note, c, request->name, 1);
	api__reply_act(a, call,
		       &wire_backend(engine_model(a->setup.engine), i, api__scratch(a))->base);
}

API_HANDLER(pause_backend)
{
	act(call, request, user, L4_PAUSE);
}

API_HANDLER(resume_backend)
{
	act(call, request, user, L4_RESUME);
}

API_HANDLER(enable_backend)
{
	act(call, request, user, L4_ENABLE);
}

API_HANDLER(disable_backend)
{
	act(call, request, user, L4_DISABLE);
}

/* ---- weights ---- */

static void log_weight(const struct who *who, const Maglev__SetWeightRequest *w)
{
	service_log_act(who, "weight", LOG_S("frontend", w->frontend), LOG_S("pool", w->pool),
			LOG_S("backend", w->backend), LOG_U("weight", w->weight),
			LOG_B("flush", w->flush), LOG_S("reason", *w->reason ? w->reason : NULL));
}

/* The answer is the frontend after the change. */
API_HANDLER(set_weight)
{
	struct api *a = user;
	const Maglev__SetWeightRequest *w = (const Maglev__SetWeightRequest *)request;
	struct who who = service_who(a->service, call);
	const struct l4_note note = { .reason = w->reason, .who = &who };
	const struct engine_weight weight = { w->frontend, w->pool,  w->backend,
					      w->weight,   w->flush, &note };
	size_t i;
	int r;

	if (!api__may_change(a, call))
		return;
	i = api__frontend(a, call, w->frontend);
	if (i == SIZE_MAX)
		return;
	r = engine_set_weight(a->setup.engine, &weight);
	if (r == -ERANGE) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "weight is %u: 0 to 100", w->weight);
	} else if (r < 0) {
		grpc_fail(call, GRPC_NOT_FOUND,
			  "frontend \"%s\" has no backend \"%s\" in a pool \"%s\"", w->frontend,
			  w->backend, w->pool);
	} else {
		log_weight(&who, w);
		api__reply_act(
			a, call,
			&wire_frontend(engine_model(a->setup.engine), i, api__scratch(a))->base);
	}
}
