/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the data plane is asked for once a second, for this backend alone; of a VIP, its
 * announcement. The server decides what is drained; here it is only waited for. A signal ends the
 * wait, not the pause or drain.
 */
#include "src/maglevc/wait.h"

#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/client.h"
#include "src/maglevc/action.h"
#include "src/maglevc/drain.h"
#include "src/maglevc/text.h"

#define ASK_EVERY 1. /* s */
#define SIGNALS 2

/* What can be waited for. */
static const struct waited {
	const char *noun;
	enum slot slot; /* of its name */
	enum act act;	/* that shows its state */
	enum drain_state (*judge)(const ProtobufCMessage *state, struct buf *left);
} backend_drained = { "backend", SLOT_BACKEND, ACT_LB_STATE, drain_judge_backend },
  vip_withdrawn = { "vip", SLOT_VIP, ACT_ANNOUNCEMENT, drain_judge_vip };

struct wait {
	struct session *session;
	const struct session_client *client; /* whose data plane or announcement it is */
	bool many;			     /* there are several servers: say which */
	const struct command *command;
	const struct waited *what;
	const char *name;
	int64_t begin;		       /* monotonic ns */
	struct grpc_client_call *call; /* NULL: none is under way */
	enum drain_state state;	       /* as last answered */
	struct buf left;	       /* what is left, in words */
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

/* "backend web1", and on which server if there are several. */
static const char *subject(const struct wait *w, struct buf *out)
{
	buf_printf(out, "%s ", w->what->noun);
	text_add_clean(out, str_of(w->name));
	if (w->many)
		buf_printf(out, " on %s", w->client->name);
	return buf_cstr(out);
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
		text_add_clean(&line, str_of(w->name));
		buf_printf(&line, ": %s, %s", text, duration_format(spent, age));
	}
	fputs(buf_cstr(&line), w->session->err);
	fflush(w->session->err);
}

static void on_message(const ProtobufCMessage *message, void *user)
{
	struct wait *w = user;

	w->left.n = 0;
	w->state = w->what->judge(message, &w->left);
}

static void on_answer(struct wait *w)
{
	if (w->state == DRAIN_OVER) {
		finish(w, STATUS_DONE);
		return;
	}
	if (w->state == DRAIN_UNKNOWN) {
		_cleanup_(buf_free) struct buf who = { 0 };

		show_progress(w, "");
		session_complain(w->session, "%s, so it cannot be known when %s is drained",
				 buf_cstr(&w->left), subject(w, &who));
		finish(w, STATUS_REFUSED);
		return;
	}
	show_progress(w, buf_cstr(&w->left));
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
	finish(w, session_refuse(w->session, w->client, status, text));
}

static void ask(struct wait *w)
{
	const struct session *s = w->session;
	const struct action *a = action_of(w->what->act);
	const struct action_input in = { 0 };
	_cleanup_(cleanup_free) ProtobufCMessage *request = action_request(a, w->command, &in);
	const struct grpc_client_events events = { .message = on_message,
						   .done = on_done,
						   .user = w };

	w->call = grpc_client_call(w->client->client, a->method, request, s->options->timeout,
				   &events);
}

static void on_again(struct ev_loop *loop, ev_timer *t, int events)
{
	ask(t->data);
}

static void on_late(struct ev_loop *loop, ev_timer *t, int events)
{
	struct wait *w = t->data;
	_cleanup_(buf_free) struct buf who = { 0 };

	show_progress(w, "");
	session_complain(w->session, "%s is not drained, and the time is over: %s",
			 subject(w, &who),
			 w->left.n ? buf_cstr(&w->left) : "there was no answer yet");
	finish(w, STATUS_TIME_OVER);
}

static void on_signal(struct ev_loop *loop, ev_signal *t, int events)
{
	struct wait *w = t->data;
	_cleanup_(buf_free) struct buf who = { 0 };

	if (t->signum != SIGINT || !w->session->keys)
		w->session->ended = true;
	show_progress(w, "");
	session_complain(w->session, "interrupted; %s stays as it is", subject(w, &who));
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
	subject(w, &line);
	buf_printf(&line, ": drained after %s\n", duration_format(spent, age));
	return session_print(w->session, &line);
}

static enum status wait_for(struct wait *w, int64_t limit)
{
	start_watchers(w, limit);
	ask(w);
	ev_run(w->session->loop, 0);
	stop_watchers(w);
	buf_free(&w->left);
	return w->status == STATUS_DONE ? tell_drained(w) : w->status;
}

/* One server after the other: the time is that of all. */
enum status wait_drained(struct session *s, const struct command *c)
{
	const struct waited *what = c->args[SLOT_VIP] ? &vip_withdrawn : &backend_drained;
	const struct session_servers *servers = &s->servers[action_of(what->act)->server];
	int64_t begin = loop_monotonic(), limit = WAIT_DEFAULT * NSEC_PER_SEC;
	enum status status = STATUS_DONE;

	if (c->args[SLOT_WAIT_TIME])
		duration_parse(c->args[SLOT_WAIT_TIME], &limit); /* the walk has checked it */
	for (size_t i = 0; i < servers->n && status == STATUS_DONE; i++) {
		struct wait w = { .session = s,
				  .client = &servers->items[i],
				  .many = servers->n > 1,
				  .command = c,
				  .what = what,
				  .name = c->args[what->slot],
				  .begin = begin,
				  .state = DRAIN_RUNNING };
		int64_t spent = loop_monotonic() - begin;

		status = wait_for(&w, spent < limit ? limit - spent : 0);
	}
	return status;
}
