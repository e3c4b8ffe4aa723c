/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump: the bytes of a relay.
 *
 * What one side sends is read into the memory of the thread and sent to the other side at once.
 * What that does not take is queued there, and the sender is not read from until the queue is
 * empty: so a relay whose peers are equally fast, or silent, holds no memory. A side that ends is
 * passed on as an end of that direction only.
 *
 * A sender that fills the whole memory at once has more: from then on its bytes go through a pipe,
 * without passing through this program, until less comes at a time. That needs two plain sockets.
 * A direction has a pipe only while bytes are in it.
 */
#include <errno.h>

#include "src/router/relay.h"

#define FEW ((size_t)16 * 1024) /* bytes at a time for which a copy costs less than a pipe */

/* One direction. */
struct way {
	struct stream *from, *to;
	struct relay_way *state;
	enum stats_counter what;
	uint64_t *bytes;
};

static struct way up(struct relay *r)
{
	return (struct way){ &r->client->stream, &r->link->stream, &r->up, STATS_IN, &r->in };
}

static struct way down(struct relay *r)
{
	return (struct way){ &r->link->stream, &r->client->stream, &r->down, STATS_OUT, &r->out };
}

static void steer(struct relay *r)
{
	stream_want(&r->client->stream, (r->up.ended || r->up.full ? 0U : STREAM_READ) |
						(r->down.full ? STREAM_WRITE : 0U));
	stream_want(&r->link->stream, (r->down.ended || r->down.full ? 0U : STREAM_READ) |
					      (r->up.full ? STREAM_WRITE : 0U));
}

static void count_bytes(struct relay *r, const struct way *w, size_t n)
{
	*w->bytes += n;
	relay__count(r, w->what, n);
}

/* ---- the end of a side ---- */

static bool is_client(const struct relay *r, const struct stream *s)
{
	return s == &r->client->stream;
}

static void lose(struct relay *r, const struct stream *s, int error)
{
	if (is_client(r, s))
		relay_drop(r, "client-gone");
	else
		relay_lost(r, error);
}

static void end(struct relay *r, const struct way *w)
{
	w->state->ended = true;
	if (r->up.ended && r->down.ended) {
		relay__finish(r);
		return;
	}
	stream_shutdown(w->to);
	steer(r);
}

/* ---- through a pipe ---- */

/* Both sockets are plain, and nothing is queued. */
static bool can_splice(const struct way *w)
{
	return w->state->bulk && !w->from->tls && !w->to->tls && !stream_unsent(w->to);
}

static void give_pipe(struct relay *r, const struct way *w)
{
	pipes_give(&r->client->worker->pipes, w->state->pipe);
	w->state->pipe = NULL;
}

/* What is in the pipe goes out. */
static void splice_out(struct relay *r, const struct way *w)
{
	struct pipe *pipe = w->state->pipe;
	bool full = w->state->full;
	ssize_t n = stream_splice_out(w->to, pipe->out, pipe->held);

	if (n < 0 && n != -EAGAIN) {
		lose(r, w->to, (int)n);
		return;
	}
	pipe->held -= n > 0 ? (size_t)n : 0;
	w->state->full = pipe->held > 0;
	if (!w->state->full)
		give_pipe(r, w);
	if (full != w->state->full)
		steer(r);
}

/* Returns false if there is no pipe, and the bytes have to be copied. */
static bool splice_in(struct relay *r, const struct way *w)
{
	struct pipe *pipe = pipes_take(&r->client->worker->pipes);
	ssize_t n;

	if (!pipe)
		return false;
	w->state->pipe = pipe;
	n = stream_splice_in(w->from, pipe->in, PIPE_SIZE);
	if (n > 0) {
		pipe->held = (size_t)n;
		w->state->bulk = (size_t)n >= FEW;
		count_bytes(r, w, (size_t)n);
		splice_out(r, w);
		return true;
	}
	give_pipe(r, w);
	w->state->bulk = false;
	if (n == 0)
		end(r, w);
	else if (n != -EAGAIN)
		lose(r, w->from, (int)n);
	return true;
}

/* ---- through memory ---- */

static void pass(struct relay *r, const struct way *w, const char *p, size_t n)
{
	int error = stream_send(w->to, p, n);

	if (error < 0) {
		lose(r, w->to, error);
		return;
	}
	count_bytes(r, w, n);
	w->state->full = stream_unsent(w->to) > 0;
	if (w->state->full)
		steer(r);
}

static void copy(struct relay *r, const struct way *w)
{
	struct worker *worker = r->client->worker;
	ssize_t n = stream_read(w->from, worker->scratch, sizeof(worker->scratch));

	if (n == -EAGAIN)
		return;
	if (n < 0) {
		lose(r, w->from, (int)n);
	} else if (n == 0) {
		end(r, w);
	} else {
		w->state->bulk = (size_t)n == sizeof(worker->scratch);
		pass(r, w, worker->scratch, (size_t)n);
	}
}

/* ---- the door ---- */

static void move(struct relay *r, struct way w)
{
	if (w.state->full || w.state->ended)
		return;
	if (!can_splice(&w) || !splice_in(r, &w))
		copy(r, &w);
}

/* The queue is empty again, or the socket takes more. */
static void resume(struct relay *r, struct way w)
{
	if (!w.state->full)
		return;
	if (w.state->pipe) {
		splice_out(r, &w);
		return;
	}
	w.state->full = false;
	steer(r);
}

void pump_begin(struct relay *r, struct str first)
{
	struct stream *client = &r->client->stream;
	struct way w = up(r);

	steer(r);
	stream_wake(client); /* most clients have sent something by now */
	if (first.n)
		pass(r, &w, first.p, first.n);
}

void pump_push(struct relay *r)
{
	move(r, up(r));
}

void pump_pull(struct relay *r)
{
	move(r, down(r));
}

void pump_client_took(struct relay *r)
{
	resume(r, down(r));
}

void pump_server_took(struct relay *r)
{
	resume(r, up(r));
}

void pump_free(struct relay *r)
{
	struct pipes *pipes = &r->client->worker->pipes;

	pipes_give(pipes, r->up.pipe);
	pipes_give(pipes, r->down.pipe);
}
