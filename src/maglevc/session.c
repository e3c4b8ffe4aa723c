/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: the thin layer between a command and the server.
 *
 * A command that needs the server is one call. The row in action.c makes its request, renders the
 * answer and decides whether the answer means success; this file waits, prints and sets the exit
 * code. Events are printed as they arrive, one per line, and each line is flushed. Errors are shown
 * without gRPC status names. UNAVAILABLE comes from the server if we are connected (for example,
 * maglevd has no VPP); if we are not, it means that there is no server. A row also says which
 * server it is for, maglevd, maglev-speaker or maglev-router; each is connected when a command
 * needs it.
 */
#include "src/maglevc/session.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/client.h"
#include "lib/json/json.h"
#include "lib/pb/pb.h"
#include "src/maglevc/action.h"
#include "src/maglevc/keys.h"
#include "src/maglevc/render.h"
#include "src/maglevc/text.h"
#include "src/maglevc/wait.h"

/* One call that is under way. Lives on the stack of call(). */
struct run {
	struct session *session;
	const struct command *command;
	const struct action *action;
	struct grpc_client_call *call; /* NULL once it is over */
	uint64_t left;		       /* events still to show; 0: no limit */
	enum status status;
};

void session_complain(const struct session *s, const char *fmt, ...)
{
	_cleanup_(buf_free) struct buf raw = { 0 }, line = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&raw, fmt, ap);
	va_end(ap);
	buf_adds(&line, s->options->color ? "\033[31m" : "");
	if (!s->shell || s->line)
		buf_adds(&line, "maglevc: ");
	if (s->line)
		buf_printf(&line, "line %u: ", s->line);
	text_add_clean(&line, str_of(buf_cstr(&raw)));
	buf_adds(&line, s->options->color ? "\033[0m\n" : "\n");
	fputs(buf_cstr(&line), s->err);
	fflush(s->err);
}

/* Output that could not be written (full disk, closed pipe) is a failure. */
enum status session_print(const struct session *s, const struct buf *text)
{
	if (!text->n || (fwrite(text->p, 1, text->n, s->out) == text->n && fflush(s->out) == 0))
		return STATUS_DONE;
	session_complain(s, "cannot write the answer: %s", strerror(errno));
	return STATUS_REFUSED;
}

/* ---- without a server ---- */

static enum status show_version(const struct session *s)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	const struct cli_version *v = &cli_version;

	if (!s->options->json) {
		buf_printf(&out, "maglevc %s (%s, %s)\n", v->version, v->commit, v->date);
		return session_print(s, &out);
	}
	buf_adds(&out, "{\n  \"version\": ");
	json_write_string(&out, v->version, strlen(v->version));
	buf_adds(&out, ",\n  \"commit\": ");
	json_write_string(&out, v->commit, strlen(v->commit));
	buf_adds(&out, ",\n  \"date\": ");
	json_write_string(&out, v->date, strlen(v->date));
	buf_adds(&out, "\n}\n");
	return session_print(s, &out);
}

static enum status show_help(const struct session *s, const struct command *c)
{
	_cleanup_(buf_free) struct buf out = { 0 }, why = { 0 };

	if (command_help(c->words, c->n_words, s->shell, &out, &why) < 0) {
		session_complain(s, "%s", buf_cstr(&why));
		return STATUS_USAGE;
	}
	return session_print(s, &out);
}

/* ---- what the server says ---- */

static void finish(struct run *r, enum status status)
{
	r->status = status;
	ev_break(r->session->loop, EVBREAK_ONE);
}

/* Warnings go to err before the text goes to out, so that they are not lost if out fails. */
static enum status show_answer(struct run *r, const ProtobufCMessage *message)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 };
	const struct session *s = r->session;
	struct render render = { .color = s->options->color,
				 .now = loop_realtime(),
				 .command = r->command,
				 .out = &out,
				 .err = &err };
	enum status status;

	if (s->options->json) {
		pb_json_write(message, PB_JSON_PRETTY, &out);
		buf_addc(&out, '\n');
	} else {
		r->action->render(message, &render);
	}
	fputs(buf_cstr(&err), s->err);
	status = session_print(s, &out);
	if (status == STATUS_DONE && r->action->accepted && !r->action->accepted(message))
		status = STATUS_REFUSED;
	return status;
}

/*
 * Ends the call after the last event that was asked for, or when an event could not be printed.
 */
static void show_event(struct run *r, const ProtobufCMessage *message)
{
	_cleanup_(buf_free) struct buf line = { 0 };

	pb_json_write(message, PB_JSON_COMPACT, &line);
	buf_addc(&line, '\n');
	r->status = session_print(r->session, &line);
	if (r->status == STATUS_DONE && !(r->left && --r->left == 0))
		return;
	grpc_client_cancel(TAKE_PTR(r->call));
	finish(r, r->status);
}

static void on_message(const ProtobufCMessage *message, void *user)
{
	struct run *r = user;

	if (!r->call)
		return; /* cancelled: events that were already received are dropped */
	if (r->action->method->server_streaming)
		show_event(r, message);
	else
		r->status = show_answer(r, message);
}

enum status session_refuse(const struct session *s, enum server server, enum grpc_status status,
			   const char *text)
{
	const struct options *o = s->options;
	char timeout[DURATION_STRLEN];

	if (status == GRPC_DEADLINE_EXCEEDED) {
		session_complain(s, "%s did not answer within %s", o->servers[server],
				 duration_format(o->timeout, timeout));
		return STATUS_NO_SERVER;
	}
	session_complain(s, "%s", *text ? text : "the server refused without a reason");
	if (status == GRPC_UNAVAILABLE && !s->clients[server].connected)
		return STATUS_NO_SERVER;
	return STATUS_REFUSED;
}

static void on_done(enum grpc_status status, const char *text, void *user)
{
	struct run *r = user;

	r->call = NULL;
	finish(r, status == GRPC_OK ? r->status
				    : session_refuse(r->session, r->action->server, status, text));
}

/* Kept for refuse() and for the prompt, see link_state(). */
static void on_state(bool connected, const char *why, void *user)
{
	struct session_client *c = user;

	c->connected = connected;
}

/* ---- the connection ---- */

/* Certificates are loaded once per session. Errors in them are errors of usage. */
static enum status start_tls(struct session *s)
{
	char reason[256];

	if (!s->options->tls || s->tls)
		return STATUS_DONE;
	if (tls_h2_client_context_new(&s->options->tls_files, &s->tls, reason, sizeof(reason)) == 0)
		return STATUS_DONE;
	session_complain(s, "TLS: %s", reason);
	return STATUS_USAGE;
}

static enum status start_client(struct session *s, enum server server)
{
	static const char *const flags[SERVERS] = {
		[SERVER_MAGLEVD] = "--server",
		[SERVER_SPEAKER] = "--speaker",
		[SERVER_ROUTER] = "--router",
	};
	const char *target = s->options->servers[server];
	char user_agent[64];
	const struct grpc_client_config config = {
		.target = target,
		.tls = s->tls,
		.tls_name = s->options->tls_name,
		.user_agent = user_agent,
		.bounds.text = (size_t)1024 * 1024, /* far longer than any that they send */
		.connect_timeout = s->options->timeout,
		.state = on_state,
		.user = &s->clients[server],
	};

	snprintf(user_agent, sizeof(user_agent), "maglevc/%s", cli_version.version);
	if (grpc_client_new(s->loop, &config, &s->clients[server].client) == 0)
		return STATUS_DONE;
	session_complain(s, "%s: %s: not of the form host:port", flags[server], target);
	return STATUS_USAGE;
}

enum status session_connect(struct session *s, enum server server)
{
	enum status status;

	assert(s && s->loop && s->options && s->err);

	if (s->clients[server].client)
		return STATUS_DONE;
	status = start_tls(s);
	return status == STATUS_DONE ? start_client(s, server) : status;
}

/* ---- one call ---- */

/*
 * A watch has no natural end, so cancelling it is a success. Cancelling any other call leaves
 * open whether the server has carried it out, and says so.
 */
static void cancel(struct run *r)
{
	if (!r->call)
		return;
	grpc_client_cancel(TAKE_PTR(r->call));
	if (!r->action->method->server_streaming)
		session_complain(r->session, "interrupted; it may have been done all the same");
	finish(r, r->action->method->server_streaming ? STATUS_DONE : STATUS_REFUSED);
}

/*
 * Ctrl-C in an interactive shell ends only the command. Any other signal, and Ctrl-C in a
 * script, ends the session.
 */
static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct run *r = w->data;

	if (w->signum != SIGINT || !r->session->keys)
		r->session->ended = true;
	cancel(r);
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
static size_t watch_signals(struct run *r, ev_signal signals[SIGNALS])
{
	static const int numbers[SIGNALS] = { SIGINT, SIGTERM, SIGHUP };
	size_t n = r->session->keys ? SIGNALS : SIGNALS - 1;

	if (!r->action->method->server_streaming && !r->session->shell)
		return 0;
	for (size_t i = 0; i < n; i++) {
		ev_signal_init(&signals[i], on_signal, numbers[i]);
		signals[i].data = r;
		ev_signal_start(r->session->loop, &signals[i]);
	}
	return n;
}

/* Runs the loop until finish() breaks it. */
static void wait_for_end(struct run *r)
{
	struct ev_loop *loop = r->session->loop;
	ev_signal signals[SIGNALS];
	size_t n = watch_signals(r, signals);
	struct keys keys;

	keys_start(&keys, loop,
		   r->session->keys && r->action->method->server_streaming ? STDIN_FILENO : -1,
		   on_key, r);
	ev_run(loop, 0);
	keys_stop(&keys);
	/* a single key only ends the watch; a key with more after it is pasted input and kept */
	if (keys.more)
		buf_add(&r->session->typed, keys.key, keys.n);
	while (n)
		ev_signal_stop(loop, &signals[--n]);
}

/* A stream has no deadline. Other calls fail after the timeout. */
static enum status call(struct session *s, const struct command *c, const struct action *a)
{
	_cleanup_(cleanup_free) ProtobufCMessage *request = action_request(a, c, loop_realtime());
	struct run r = { .session = s, .command = c, .action = a };
	const struct grpc_client_events events = { .message = on_message,
						   .done = on_done,
						   .user = &r };

	if (c->args[SLOT_COUNT])
		str_to_u64(str_of(c->args[SLOT_COUNT]), UINT32_MAX, &r.left);
	r.call = grpc_client_call(s->clients[a->server].client, a->method, request,
				  a->method->server_streaming ? 0 : s->options->timeout, &events);
	wait_for_end(&r);
	return r.status;
}

enum status session_run(struct session *s, const struct command *c)
{
	const struct action *a = action_of(c->act);
	enum status status;

	assert(s && s->loop && s->options && s->out && s->err);

	if (c->act == ACT_VERSION)
		return show_version(s);
	if (c->act == ACT_HELP)
		return show_help(s, c);
	assert(a);
	status = session_connect(s, a->server);
	if (status == STATUS_DONE)
		status = call(s, c, a);
	if (status == STATUS_DONE && c->args[SLOT_WAIT])
		status = wait_drained(s, c);
	return status;
}

void session_end(struct session *s)
{
	for (size_t i = 0; i < SERVERS; i++) {
		if (s->clients[i].client)
			grpc_client_free(s->clients[i].client);
		s->clients[i] = (struct session_client){ 0 };
	}
	if (s->tls)
		tls_context_free(s->tls);
	buf_free(&s->typed);
	s->tls = NULL;
}
