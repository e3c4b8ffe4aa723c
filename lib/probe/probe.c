/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe: the life of a question, its deadline and its end.
 *
 * The environment (struct probe_env) belongs to a loop and is shared by all probes: read buffer,
 * request buffer, ICMP sockets and table of echoes, TLS contexts, namespace. A probe has its spec
 * and one stream; between questions it keeps at most a connection and a TLS session. A probe takes
 * a few hundred bytes. A question in flight adds a descriptor, and the state of its HTTP response.
 *
 * connect.c opens the connection, https.c does the TLS handshake, http.c, grpc.c and talk.c send
 * the request and judge the response; icmp.c sends echoes and receives the replies. Every question
 * ends in conclude(), which removes all of its state before it calls back, so that the callback
 * may start or free the probe. If a question ends within probe_start(), the callback is called in
 * a later step.
 *
 * The streams of probes are urgent tasks: their steps run before those of the program's clients.
 *
 * One deadline covers all stages. on_expired() first tries to advance the question once more: after
 * a long turn of the loop the response may have arrived unnoticed, because one poll reports a
 * bounded number of sockets. Then it checks whether the loop itself was late.
 */
#include "lib/probe/probe.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/h2/h2.h"
#include "lib/probe/internal.h"

#define LATE_PART 10 /* lateness above timeout / LATE_PART extends the question */

/* Removes the state of the question; connection and TLS session stay. */
static void end_question(struct probe *p)
{
	stream_set_deadline(&p->stream, 0);
	if (p->state == STATE_ECHO)
		probe__echo_forget(p);
	if (p->answer)
		probe__answer_free(TAKE_PTR(p->answer));
	probe__grpc_end(p);
	free(TAKE_PTR(p->ready));
	p->state = STATE_IDLE;
	p->questions++;
}

/*
 * Makes text one line that is safe to show: it may hold bytes of the server, and snprintf() may
 * have cut it inside of a character.
 */
static void clean(char *text, size_t size)
{
	_cleanup_(buf_free) struct buf shown = { 0 };
	size_t n = strlen(text);

	if (utf8_printable_run(text, n) == n)
		return;
	buf_add_shown(&shown, (struct str){ text, n }, size - sizeof("..."));
	memcpy(text, buf_cstr(&shown), shown.n + 1);
}

/* The only end of a question that calls back. done() may free p, so it comes last. */
static void conclude(struct probe *p, struct probe_outcome *o)
{
	bool good = o->error == PROBE_OK;

	o->status = p->status;
	o->reused = p->reused;
	o->resumed = p->resumed;
	o->answered = good && probe__judges(&p->spec);
	o->rtt = p->env->clock() - p->started;
	o->granted = p->granted;
	o->header[0] = '\0';
	if (p->answer && p->answer->header[0]) {
		memcpy(o->header, p->answer->header, sizeof(o->header));
		clean(o->header, sizeof(o->header));
	}
	end_question(p);
	probe__tls_end(p, good);
	if (!good || !p->keep)
		probe__disconnect(p);
	if (!p->starting) {
		p->done(p, o, p->user);
		return;
	}
	p->ready = mem_copy(o, sizeof(*o));
	p->state = STATE_READY;
	stream_wake(&p->stream);
}

void probe__fail(struct probe *p, enum probe_stage stage, enum probe_error error, int sys_errno,
		 const char *fmt, ...)
{
	struct probe_outcome o = { .stage = stage, .error = error, .sys_errno = sys_errno };
	va_list ap;

	assert(error != PROBE_OK && stage != PROBE_STAGE_DONE);
	va_start(ap, fmt);
	vsnprintf(o.reason, sizeof(o.reason), fmt, ap);
	va_end(ap);
	clean(o.reason, sizeof(o.reason));
	conclude(p, &o);
}

void probe__succeed(struct probe *p)
{
	struct probe_outcome o;

	/* not zeroed as a whole, because most of it is reason[] and this is the common case */
	o.stage = PROBE_STAGE_DONE;
	o.error = PROBE_OK;
	o.sys_errno = 0;
	o.reason[0] = '\0';
	conclude(p, &o);
}

/*
 * A kept connection is readable between questions. Either the server has closed it, or TLS 1.3
 * session tickets have arrived, which give no data (-EAGAIN) and a newer session.
 */
static void on_idle(struct probe *p)
{
	char byte;

	if (stream_read(&p->stream, &byte, 1) == -EAGAIN)
		probe__tls_end(p, true);
	else
		probe__disconnect(p);
}

/* The outcome is copied, because end_question() frees it and done() may free the probe. */
static void tell_ready(struct probe *p)
{
	struct probe_outcome o = *p->ready;

	end_question(p);
	p->done(p, &o, p->user);
}

/* Advances the question as far as possible without waiting. It may have ended on return. */
static void advance(struct probe *p)
{
	switch ((enum probe__state)p->state) {
	case STATE_CONNECT:
		probe__on_connecting(p);
		break;
	case STATE_SEND:
		if (!stream_unsent(&p->stream))
			probe__http_sent(p);
		break;
	case STATE_HEAD:
	case STATE_BODY:
		probe__http_receive(p);
		break;
	case STATE_ECHO:
		probe__echo_look(p);
		break;
	case STATE_TALK:
		probe__talk_receive(p);
		break;
	case STATE_CALL: /* lib/h2 has the connection */
	case STATE_TLS:	 /* the stream continues the handshake in each of its steps */
	case STATE_IDLE:
	case STATE_READY:
		break;
	}
}

static struct probe *probe_of(struct stream *s)
{
	return container_of(s, struct probe, stream);
}

/* In IDLE and READY no question is waiting for input: it concerns the kept connection. */
static void on_ready(struct stream *s, unsigned what)
{
	struct probe *p = probe_of(s);

	if (p->state == STATE_READY && (what & STREAM_WAKE))
		tell_ready(p);
	else if (p->state == STATE_IDLE || p->state == STATE_READY) {
		if (what & STREAM_READ)
			on_idle(p);
	} else if (what & (STREAM_READ | STREAM_WRITE))
		advance(p);
}

static void on_opened(struct stream *s)
{
	probe__on_secured(probe_of(s));
}

/* The stream has failed on its own. Errors of stream_read() are handled by its caller. */
static void on_closed(struct stream *s, int error)
{
	struct probe *p = probe_of(s);

	if (p->state == STATE_TLS)
		probe__on_handshake_failed(p, -error);
	else if (p->state == STATE_SEND)
		probe__http_send_failed(p, -error);
	else if (p->state == STATE_TALK)
		probe__talk_failed(p, -error);
	else
		probe__disconnect(p);
}

/* Stage and reason of a timeout depend on what the question was waiting for. */
static void on_deadline(struct probe *p)
{
	static const struct {
		enum probe_stage stage;
		const char *what;
	} waits[] = {
		[STATE_ECHO] = { PROBE_STAGE_CONNECT, "ping" },
		[STATE_CONNECT] = { PROBE_STAGE_CONNECT, "connect to" },
		[STATE_TLS] = { PROBE_STAGE_TLS, "TLS handshake with" },
		[STATE_SEND] = { PROBE_STAGE_HTTP, "send request to" },
		[STATE_HEAD] = { PROBE_STAGE_HTTP, "answer of" },
		[STATE_BODY] = { PROBE_STAGE_HTTP, "body from" },
		[STATE_CALL] = { PROBE_STAGE_HTTP, "answer of" },
	};
	char text[ENDPOINT_STRLEN], duration[DURATION_STRLEN];

	if (p->spec.kind == PROBE_ICMP)
		addr_format(&p->spec.target.addr, text);
	else
		endpoint_format(&p->spec.target, text);
	probe__fail(p, waits[p->state].stage, PROBE_ERR_TIMEOUT, 0, "%s %s: timed out after %s",
		    waits[p->state].what, text, duration_format(p->spec.timeout, duration));
}

/*
 * The time that this program has lost since the question began or was last extended: in long turns
 * of the loop, and by handling this deadline late. 0 if it is below the bound.
 */
static int64_t own_lateness(const struct probe *p, int64_t overdue)
{
	int64_t late = loop_late(p->env->loop) - p->late_before + overdue;
	int64_t bound = p->spec.timeout / LATE_PART;

	return late > (bound > LOOP_LATE ? bound : LOOP_LATE) ? late : 0;
}

/* Extends the question by the time lost, at most by one timeout each time. */
static void grant(struct probe *p, int64_t late)
{
	int64_t more = late < p->spec.timeout ? late : p->spec.timeout;

	p->granted = p->env->clock() - p->started - p->spec.timeout + more;
	p->late_before = loop_late(p->env->loop);
	stream_set_deadline(&p->stream, more);
}

/*
 * After advance() p must not be read before task_is_running() has shown that it still exists. The
 * count of questions detects a callback that has started a new question at once.
 */
static void on_expired(struct stream *s)
{
	struct probe *p = probe_of(s);
	int64_t left = p->started + p->spec.timeout + p->granted - p->env->clock();
	struct ev_loop *loop = p->env->loop;
	uint8_t questions = p->questions;
	int64_t late;

	if (left > 0) {
		stream_set_deadline(s, left);
		return;
	}
	advance(p);
	if (!task_is_running(loop, &s->task) || p->questions != questions)
		return; /* the question has ended, and p may have been freed */
	late = own_lateness(p, -left);
	if (late)
		grant(p, late);
	else if (p->state == STATE_BODY)
		probe__http_deadline(p);
	else if (p->state == STATE_TALK)
		probe__talk_deadline(p);
	else
		on_deadline(p);
}

static const struct stream_events stream_events = {
	.opened = on_opened, .ready = on_ready, .closed = on_closed, .expired = on_expired
};

struct probe_env *probe_env_new(struct ev_loop *loop, const char *netns)
{
	struct probe_env *env = mem_zalloc(sizeof(*env));

	assert(loop);
	env->loop = loop;
	env->clock = loop_monotonic;
	net_ns_init(&env->ns, netns);
	probe__echo_init(env);
	probe__left_init(env);
	return env;
}

void probe_env_free(struct probe_env *env)
{
	if (!env)
		return;
	assert(env->n_probes == 0);
	probe__echo_free(env);
	probe__left_free(env);
	net_ns_free(&env->ns);
	for (size_t i = 0; i < 4; i++)
		tls_context_free(env->tls[i / 2][i % 2]);
	h2_host_free(env->h2);
	buf_free(&env->request);
	free(env);
}

void probe_env_set_netns(struct probe_env *env, const char *netns)
{
	const char *now = env->ns.name ? env->ns.name : "";

	if (strcmp(now, netns ? netns : "") == 0)
		return; /* the ICMP sockets stay open: echoes in flight are not lost */
	net_ns_free(&env->ns);
	net_ns_init(&env->ns, netns);
	probe__echo_close(env);
}

static void check_spec(const struct probe_spec *spec)
{
	assert(addr_is_set(&spec->target.addr) && spec->timeout > 0);
	assert(!addr_is_set(&spec->source) || spec->source.family == spec->target.addr.family);
	assert(spec->kind == PROBE_ICMP || spec->target.port);
	assert(spec->kind == PROBE_HTTP || spec->kind == PROBE_HTTPS || !spec->keep_alive);
	assert(spec->kind != PROBE_UDP || (spec->talk && spec->talk->send.n));
	assert(spec->kind != PROBE_DNS || spec->dns);
}

struct probe *probe_new(struct probe_env *env, const struct probe_spec *spec, probe_done_fn done,
			void *user)
{
	struct probe *p = mem_zalloc(sizeof(*p));

	assert(env && spec && done);
	check_spec(spec);
	p->env = env;
	p->spec = *spec;
	p->done = done;
	p->user = user;
	stream_init(&p->stream, env->loop, TASK_URGENT, &stream_events);
	env->n_probes++;
	return p;
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	end_question(p);
	probe__let_go(p);
	probe__tls_forget(p);
	stream_end(&p->stream);
	p->env->n_probes--;
	free(p);
}

/* Uses the kept connection if there is one, else opens a new one. */
static void ask(struct probe *p)
{
	if (!probe__connection_is_here(p)) {
		probe__disconnect(p);
		probe__connect(p);
		return;
	}
	p->reused = true;
	p->served++;
	probe__http_send(p);
}

/* The deadline is set at the end: a question that has ended already (READY) needs none. */
static void begin(struct probe *p)
{
	p->starting = true;
	p->previous = p->started;
	p->started = p->env->clock();
	p->granted = 0;
	p->late_before = loop_late(p->env->loop);
	p->status = 0;
	p->reused = p->resumed = p->keep = false;
	if (p->spec.kind == PROBE_ICMP)
		probe__echo_start(p);
	else {
		probe__tls_prepare(p);
		ask(p);
	}
	p->starting = false;
	if (p->state != STATE_READY)
		stream_set_deadline(&p->stream, p->spec.timeout);
}

void probe_start(struct probe *p)
{
	assert(p && !probe_in_flight(p));
	begin(p);
}

bool probe_in_flight(const struct probe *p)
{
	return p->state != STATE_IDLE;
}

/* The connection is closed as well, because a response to the old request may still arrive. */
void probe_cancel(struct probe *p)
{
	if (!probe_in_flight(p))
		return;
	end_question(p);
	probe__let_go(p);
}

void probe_set_spec(struct probe *p, const struct probe_spec *spec)
{
	bool asking = probe_in_flight(p);

	check_spec(spec);
	end_question(p);
	probe__let_go(p);
	probe__tls_forget(p);
	p->spec = *spec;
	if (asking)
		begin(p);
}
