/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: a struct run for each server, and a struct calls for all of them, which counts those that
 * are still open. The loop is left when none is.
 *
 * Errors are shown without gRPC status names. UNAVAILABLE comes from the server if we are connected
 * (for example, maglevd has no VPP); if we are not, it means that there is no server.
 */
#include "src/maglevc/calls.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/grpc/client.h"
#include "lib/json/json.h"
#include "lib/pb/pb.h"
#include "src/maglevc/filter.h"
#include "src/maglevc/keys.h"
#include "src/maglevc/render.h"
#include "src/maglevc/text.h"

struct calls;

/* One call that is under way, or over. */
struct run {
	struct calls *calls;
	struct answer *answer;
	struct grpc_client_call *call; /* NULL once it is over */
};

/* Lives on the stack of the command. */
struct calls {
	struct session *session;
	const struct command *command;
	const struct action *action;
	void *sum;
	struct answers *answers;
	struct run *runs;
	size_t open;
	uint64_t left; /* events still to show; 0: no limit */
};

static bool is_stream(const struct calls *k)
{
	return k->action->method->server_streaming;
}

/* ---- what a server says ---- */

static void finish(struct run *r, enum status status)
{
	struct calls *k = r->calls;

	r->call = NULL;
	r->answer->status = status;
	if (--k->open == 0)
		ev_break(k->session->loop, EVBREAK_ONE);
}

static size_t widest_name(const struct answers *a)
{
	size_t widest = 0;

	for (size_t i = 0; i < a->n; i++)
		if (strlen(a->items[i].from->name) > widest)
			widest = strlen(a->items[i].from->name);
	return widest;
}

/* Writes a message as text, or as JSON without a newline at its end. */
static void write_message(const struct run *r, const ProtobufCMessage *message,
			  enum pb_json_style style, struct buf *out)
{
	const struct calls *k = r->calls;
	const struct render render = {
		.color = k->session->options->color,
		.now = loop_realtime(),
		.command = k->command,
		.server = r->answer->from->name,
		.server_width = k->answers->n > 1 ? widest_name(k->answers) : 0,
		.sum = k->sum,
		.out = out,
		.err = &r->answer->err,
	};

	if (!k->session->options->json)
		k->action->render(message, &render);
	else if (k->action->json)
		k->action->json(message, &render);
	else
		pb_json_write(message, style, out);
	while (k->session->options->json && out->n && out->p[out->n - 1] == '\n')
		out->n--;
}

static void keep_answer(struct run *r, const ProtobufCMessage *message)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	const struct calls *k = r->calls;

	write_message(r, filter_answer(message, k->command, arena), PB_JSON_PRETTY,
		      &r->answer->out);
	if (k->action->accepted && !k->action->accepted(message))
		r->answer->status = STATUS_REFUSED;
}

static void cancel_all(struct calls *k, enum status status)
{
	for (size_t i = 0; i < k->answers->n; i++)
		if (k->runs[i].call) {
			grpc_client_cancel(k->runs[i].call);
			finish(&k->runs[i], status);
		}
}

/* Ends the watch after the last event that was asked for, or when one could not be printed. */
static void show_event(struct run *r, const ProtobufCMessage *message)
{
	struct calls *k = r->calls;
	_cleanup_(buf_free) struct buf line = { 0 }, event = { 0 };
	bool json = k->session->options->json, many = k->answers->n > 1;
	enum status status;

	write_message(r, message, PB_JSON_COMPACT, &event);
	if (json && many) {
		buf_adds(&line, "{\"server\":");
		json_write_string(&line, r->answer->from->name, strlen(r->answer->from->name));
		buf_adds(&line, ",\"event\":");
	}
	buf_add(&line, event.p, event.n);
	buf_adds(&line, json && many ? "}\n" : json ? "\n" : "");
	status = session_print(k->session, &line);
	if (status != STATUS_DONE || (k->left && --k->left == 0))
		cancel_all(k, status);
}

static void on_message(const ProtobufCMessage *message, void *user)
{
	struct run *r = user;

	if (!r->call)
		return; /* cancelled: events that were already received are dropped */
	if (is_stream(r->calls))
		show_event(r, message);
	else
		keep_answer(r, message);
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct run *r = user;
	struct calls *k = r->calls;
	enum status over = r->answer->status;

	if (status != GRPC_OK)
		over = session_refusal(k->session, r->answer->from, status, text,
				       &r->answer->failure);
	/* the others go on; the failure of a watch is told at once */
	if (status != GRPC_OK && is_stream(k))
		session_complain(k->session, "%s", buf_cstr(&r->answer->failure));
	finish(r, over);
}

/* ---- all calls ---- */

/*
 * A watch has no natural end, so cancelling it is a success. Cancelling any other call leaves
 * open whether the server has carried it out, and says so.
 */
static void cancel(struct calls *k)
{
	if (!k->open)
		return;
	k->answers->interrupted = true;
	if (!is_stream(k))
		session_complain(k->session, "interrupted; it may have been done all the same");
	cancel_all(k, is_stream(k) ? STATUS_DONE : STATUS_REFUSED);
}

/*
 * Ctrl-C in an interactive shell ends only the command. Any other signal, and Ctrl-C in a
 * script, ends the session.
 */
static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct calls *k = w->data;

	if (w->signum != SIGINT || !k->session->keys)
		k->session->ended = true;
	cancel(k);
}

static void on_key(void *user)
{
	cancel(user);
}

#define SIGNALS 3

/*
 * Signals end a watch, and in the shell any command. Outside of these the default action
 * applies. SIGHUP is watched only on a terminal: elsewhere it should end the process, or be
 * ignored under nohup.
 */
static size_t watch_signals(struct calls *k, ev_signal signals[SIGNALS])
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM, SIGHUP };
	size_t n = k->session->keys ? SIGNALS : SIGNALS - 1;

	if (!is_stream(k) && !k->session->shell)
		return 0;
	for (size_t i = 0; i < n; i++) {
		ev_signal_init(&signals[i], on_signal, numbers[i]);
		signals[i].data = k;
		ev_signal_start(k->session->loop, &signals[i]);
	}
	return n;
}

/* Runs the loop until no call is open. */
static void wait_for_end(struct calls *k)
{
	struct ev_loop *loop = k->session->loop;
	ev_signal signals[SIGNALS];
	size_t n = watch_signals(k, signals);
	struct keys keys;

	keys_start(&keys, loop, k->session->keys && is_stream(k) ? STDIN_FILENO : -1, on_key, k);
	/* other code may break the loop as well */
	while (k->open)
		ev_run(loop, 0);
	keys_stop(&keys);
	/* a single key only ends the watch; a key with more after it is pasted input and kept */
	if (keys.more)
		buf_add(&k->session->typed, keys.key, keys.n);
	while (n)
		ev_signal_stop(loop, &signals[--n]);
}

/* A stream has no deadline. Other calls fail after the timeout. */
static void start(struct run *r, const ProtobufCMessage *request)
{
	const struct calls *k = r->calls;
	const struct grpc_client_events events = { .message = on_message,
						   .done = on_done,
						   .user = r };

	r->call = grpc_client_call(r->answer->from->client, k->action->method, request,
				   is_stream(k) ? 0 : k->session->options->timeout, &events);
}

void calls_ask(struct session *s, const struct command *c, const struct action *a,
	       const struct calls_extra *extra, struct answers *ret)
{
	const struct session_servers *servers = &s->servers[a->server];
	const struct action_input in = { .now = loop_realtime(),
					 .json = s->options->json,
					 .dry_run = extra && extra->dry_run };
	_cleanup_(cleanup_free) ProtobufCMessage *request = action_request(a, c, &in);
	_cleanup_(cleanup_free) struct run *runs = mem_zalloc(servers->n * sizeof(*runs));
	struct calls k = { .session = s,
			   .command = c,
			   .action = a,
			   .sum = extra ? extra->sum : NULL,
			   .answers = ret,
			   .runs = runs,
			   .open = servers->n };

	assert(servers->n);

	*ret = (struct answers){ .items = mem_zalloc(servers->n * sizeof(*ret->items)),
				 .n = servers->n };
	if (c->args[SLOT_COUNT])
		str_to_u64(str_of(c->args[SLOT_COUNT]), UINT32_MAX, &k.left);
	for (size_t i = 0; i < servers->n; i++) {
		ret->items[i].from = &servers->items[i];
		runs[i] = (struct run){ .calls = &k, .answer = &ret->items[i] };
		start(&runs[i], request);
	}
	wait_for_end(&k);
}

void answers_free(struct answers *a)
{
	for (size_t i = 0; i < a->n; i++) {
		buf_free(&a->items[i].out);
		buf_free(&a->items[i].err);
		buf_free(&a->items[i].failure);
	}
	free(a->items);
	*a = (struct answers){ 0 };
}

/* ---- the output ---- */

static void add_indented(struct buf *out, const struct buf *text)
{
	for (size_t i = 0; i < text->n; i++) {
		buf_addc(out, text->p[i]);
		if (text->p[i] == '\n')
			buf_adds(out, "      ");
	}
}

void answers_add_json(const struct answers *a, struct buf *out)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct answer *one = &a->items[i];

		buf_adds(out, i ? ",\n    {\n      \"server\": " : "\n    {\n      \"server\": ");
		json_write_string(out, one->from->name, strlen(one->from->name));
		if (one->failure.n) {
			buf_adds(out, ",\n      \"error\": ");
			json_write_string(out, one->failure.p, one->failure.n);
		} else if (one->out.n) {
			buf_adds(out, ",\n      \"answer\": ");
			add_indented(out, &one->out);
		}
		buf_adds(out, "\n    }");
	}
}

static enum status print_json(const struct session *s, const struct answers *a)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (a->n > 1) {
		buf_adds(&out, "{\n  \"servers\": [");
		answers_add_json(a, &out);
		buf_adds(&out, "\n  ]\n}\n");
	} else if (a->items[0].out.n) {
		buf_add(&out, a->items[0].out.p, a->items[0].out.n);
		buf_addc(&out, '\n');
	}
	return session_print(s, &out);
}

static void complain_of(const struct session *s, struct answer *a, bool many)
{
	const char *why = buf_cstr(&a->failure);

	if (!a->failure.n)
		return;
	/* a server that cannot be reached is in the sentence already */
	if (many && !strstr(why, a->from->name))
		session_complain(s, "%s: %s", a->from->name, why);
	else
		session_complain(s, "%s", why);
}

/* Warnings go to err before the text goes to out, so that they are not lost if out fails. */
static enum status print_text(const struct session *s, struct answer *a, bool many)
{
	enum status status = STATUS_DONE;

	if (many && !a->failure.n)
		status = session_print_server(s, a->from->name);
	fputs(buf_cstr(&a->err), s->err);
	complain_of(s, a, many);
	if (status == STATUS_DONE)
		status = session_print(s, &a->out);
	return status == STATUS_DONE && many && !a->failure.n ? session_print_end(s) : status;
}

static enum status first_failure(const struct answers *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->items[i].status != STATUS_DONE)
			return a->items[i].status;
	return STATUS_DONE;
}

enum status answers_complain(const struct session *s, struct answers *a)
{
	for (size_t i = 0; i < a->n; i++)
		complain_of(s, &a->items[i], a->n > 1);
	return first_failure(a);
}

enum status answers_print(const struct session *s, struct answers *a)
{
	enum status status = STATUS_DONE;

	if (s->options->json) {
		status = print_json(s, a);
		answers_complain(s, a);
	}
	for (size_t i = 0; !s->options->json && i < a->n && status == STATUS_DONE; i++)
		status = print_text(s, &a->items[i], a->n > 1);
	return status == STATUS_DONE ? first_failure(a) : status;
}

enum status calls_run(struct session *s, const struct command *c, const struct action *a)
{
	struct answers answers;
	enum status status;

	calls_ask(s, c, a, NULL, &answers);
	status = a->method->server_streaming ? first_failure(&answers) : answers_print(s, &answers);
	answers_free(&answers);
	return status;
}
