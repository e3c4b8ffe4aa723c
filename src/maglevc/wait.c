/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the data plane is asked for once a second, for this backend alone. The server
 * decides what is drained; here it is only waited for. A signal ends the wait, not the pause.
 */
#include "src/maglevc/wait.h"

#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/client.h"
#include "src/maglevc/drain.h"
#include "src/maglevc/text.h"
#include "wire/api_methods.h"

#define ASK_EVERY 1. /* s */
#define SIGNALS 2

struct wait {
	struct session *session;
	const char *backend;
	int64_t begin;		       /* monotonic ns */
	struct grpc_client_call *call; /* NULL: none is under way */
	struct drain drain;	       /* as last answered */
	ev_timer again, late;
	ev_signal signals[SIGNALS];
	enum status status;
};

static void finish(struct wait *w, enum status status)
{
	if (w->call)
		grpc_client_cancel(TAKE_PTR(w->call));
	w->status = status;
	ev_break(w->session->loop, EVBREAK_ONE);
}

/* The line is overwritten by the next one; an empty text only removes it. */
static void show_progress(const struct wait *w, const char *text)
{
	_cleanup_(buf_free) struct buf line = { 0 };
	char age[DURATION_STRLEN];
	int64_t spent = (loop_monotonic() - w->begin) / NSEC_PER_SEC * NSEC_PER_SEC;

	if (!isatty(fileno(w->session->err)))
		return;
	buf_adds(&line, "\r\033[K");
	if (*text) {
		text_add_clean(&line, str_of(w->backend));
		buf_printf(&line, ": %s, %s", text, duration_format(spent, age));
	}
	fputs(buf_cstr(&line), w->session->err);
	fflush(w->session->err);
}

static void on_message(const ProtobufCMessage *message, void *user)
{
	struct wait *w = user;

	w->drain = drain_of((const Maglev__VPPLBState *)message);
}

static void on_answer(struct wait *w)
{
	_cleanup_(buf_free) struct buf left = { 0 };

	if (w->drain.state == DRAIN_OVER) {
		finish(w, STATUS_DONE);
		return;
	}
	if (w->drain.state == DRAIN_UNKNOWN) {
		show_progress(w, "");
		session_complain(w->session,
				 "the data plane does not count flows, so it cannot be known "
				 "when backend %s is drained",
				 w->backend);
		finish(w, STATUS_REFUSED);
		return;
	}
	drain_describe(&w->drain, &left);
	show_progress(w, buf_cstr(&left));
	ev_timer_set(&w->again, ASK_EVERY, 0.);
	ev_timer_start(w->session->loop, &w->again);
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct wait *w = user;

	w->call = NULL;
	if (status == GRPC_OK) {
		on_answer(w);
		return;
	}
	show_progress(w, "");
	finish(w, session_refuse(w->session, status, text));
}

static void ask(struct wait *w)
{
	const struct session *s = w->session;
	const struct grpc_client_events events = { .message = on_message,
						   .done = on_done,
						   .user = w };
	Maglev__GetVPPLBStateRequest request;

	maglev__get_vpplbstate_request__init(&request);
	request.backend = (char *)(uintptr_t)w->backend; /* only read */
	w->call = grpc_client_call(s->client, &api_methods[API_GET_LB_STATE], &request.base,
				   s->options->timeout, &events);
}

static void on_again(struct ev_loop *loop, ev_timer *t, int events)
{
	ask(t->data);
}

static void on_late(struct ev_loop *loop, ev_timer *t, int events)
{
	struct wait *w = t->data;
	_cleanup_(buf_free) struct buf left = { 0 };

	drain_describe(&w->drain, &left);
	show_progress(w, "");
	session_complain(w->session, "backend %s is not drained, and the time is over: %s",
			 w->backend, buf_cstr(&left));
	finish(w, STATUS_TIME_OVER);
}

static void on_signal(struct ev_loop *loop, ev_signal *t, int events)
{
	struct wait *w = t->data;

	if (t->signum != SIGINT || !w->session->keys)
		w->session->ended = true;
	show_progress(w, "");
	session_complain(w->session, "interrupted; backend %s stays as it is", w->backend);
	finish(w, STATUS_REFUSED);
}

static void start_watchers(struct wait *w, int64_t limit)
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM };
	struct ev_loop *loop = w->session->loop;

	ev_init(&w->again, on_again);
	ev_now_update(loop);
	ev_timer_init(&w->late, on_late, loop_seconds(limit), 0.);
	w->again.data = w->late.data = w;
	ev_timer_start(loop, &w->late);
	for (size_t i = 0; i < SIGNALS; i++) {
		ev_signal_init(&w->signals[i], on_signal, numbers[i]);
		w->signals[i].data = w;
		ev_signal_start(loop, &w->signals[i]);
	}
}

static void stop_watchers(struct wait *w)
{
	ev_timer_stop(w->session->loop, &w->again);
	ev_timer_stop(w->session->loop, &w->late);
	for (size_t i = 0; i < SIGNALS; i++)
		ev_signal_stop(w->session->loop, &w->signals[i]);
}

/* With JSON the answer to the command is the whole output; the exit code says the rest. */
static enum status tell_drained(const struct wait *w)
{
	_cleanup_(buf_free) struct buf line = { 0 };
	char age[DURATION_STRLEN];
	int64_t spent = (loop_monotonic() - w->begin) / NSEC_PER_SEC * NSEC_PER_SEC;

	show_progress(w, "");
	if (w->session->options->json)
		return STATUS_DONE;
	buf_adds(&line, "backend ");
	text_add_clean(&line, str_of(w->backend));
	buf_printf(&line, ": drained after %s\n", duration_format(spent, age));
	return session_print(w->session, &line);
}

enum status wait_drained(struct session *s, const struct command *c)
{
	struct wait w = { .session = s,
			  .backend = c->args[SLOT_BACKEND],
			  .begin = loop_monotonic(),
			  .drain = { .state = DRAIN_RUNNING } };
	int64_t limit = WAIT_DEFAULT * NSEC_PER_SEC;

	if (c->args[SLOT_WAIT_TIME])
		duration_parse(c->args[SLOT_WAIT_TIME], &limit); /* the walk has checked it */
	start_watchers(&w, limit);
	ask(&w);
	ev_run(s->loop, 0);
	stop_watchers(&w);
	return w.status == STATUS_DONE ? tell_drained(&w) : w.status;
}
