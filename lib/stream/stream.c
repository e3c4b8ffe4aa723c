/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: sockets, TLS and deadlines turned into steps of a task.
 *
 * The watchers only record what happened and wake the task. on_step() is the whole state machine:
 * it does one bounded piece of work for the current state and reports the result. The order within
 * a step is fixed: output, then what the owner waits for, then the deadline.
 *
 * A callback may end the stream and free its memory. So after each callback the step checks whether
 * its task still exists (is_there()) before it uses the stream again.
 *
 * The queue is allocated when the socket does not take everything at once, or when the owner
 * appends to it. Most streams of probes never have one.
 */
#include "lib/stream/stream.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/net/net.h"
#include "lib/stream/listener_private.h"
#include "lib/stream/stream_private.h"
#include "lib/tls/tls.h"

#define FLUSH_MAX ((size_t)256 * 1024) /* bytes per call: 0.25 ms, as TLS encrypts about 1 GB/s */
#define DISCARD_SIZE ((size_t)16 * 1024)
#define HIGH_MARK ((size_t)64 * 1024)
#define RECORD_MAX 16384	/* bytes of a record of TLS */
#define JOIN_MAX ((size_t)2048) /* bytes that are copied for the sake of one call of send() */
#define KEEP_MAX ((size_t)4096) /* an empty queue larger than this is freed */

struct stream__out {
	struct buf queue;
	size_t at;	  /* bytes at the start that were sent */
	size_t high, low; /* water marks */
};

static struct ev_loop *loop_of(const struct stream *s)
{
	return task_loop(&s->task);
}

/* ---- what to wait for ---- */

static bool has_output(const struct stream *s)
{
	return s->out && s->out->at < s->out->queue.n;
}

/* The events that the state needs; watch() makes the watcher match them. */
static int wanted_events(const struct stream *s)
{
	switch ((enum stream_state)s->state) {
	case STREAM_CONNECTING:
		return EV_WRITE;
	case STREAM_PROXY:
		return stream__proxy_sends(s) ? EV_WRITE : EV_READ;
	case STREAM_SECURING:
		return tls_wants_write(s->tls) ? EV_WRITE : EV_READ;
	case STREAM_OPEN:
		return s->want | (has_output(s) || s->crossed ? EV_WRITE : 0);
	case STREAM_LINGERING:
		return (s->eof ? 0 : EV_READ) | (has_output(s) ? EV_WRITE : 0);
	case STREAM_CLOSED:
	case STREAM_FAILED:
		break;
	}
	return 0;
}

/* Leaves an unchanged watcher alone, because each change costs an epoll_ctl(). */
static void watch(struct stream *s)
{
	int events = wanted_events(s);

	if (ev_is_active(&s->io) ? (s->io.events & (EV_READ | EV_WRITE)) == events : !events)
		return;
	ev_io_stop(loop_of(s), &s->io);
	ev_io_set(&s->io, s->fd, events);
	if (events)
		ev_io_start(loop_of(s), &s->io);
}

static void on_io(struct ev_loop *loop, ev_io *w, int revents)
{
	struct stream *s = container_of(w, struct stream, io);

	s->seen |= (uint8_t)(revents & (EV_READ | EV_WRITE));
	task_wake(&s->task);
}

static void arm_deadline(struct stream *s, int64_t ns)
{
	ev_timer_set(&s->deadline, loop_seconds(ns), 0.);
	ev_timer_start(loop_of(s), &s->deadline);
}

/* libev counts from the start of the turn in which the timer was set, so it may fire early. */
static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct stream *s = container_of(w, struct stream, deadline);
	int64_t left = s->due_at - loop_monotonic();

	if (left > 0) {
		arm_deadline(s, left);
		return;
	}
	s->due = true;
	task_wake(&s->task);
}

/* ---- output ---- */

/* Bytes that are held back for more are sent with the end of the stream. */
static int send_flags(const struct stream *s)
{
	return s->last ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
}

static ssize_t write_some(struct stream *s, const char *p, size_t n)
{
	ssize_t r;

	if (s->tls)
		r = tls_write(s->tls, p, n);
	else
		r = send(s->fd, p, n, send_flags(s));
	if (!s->tls && r < 0)
		r = errno == EINTR ? -EAGAIN : -errno;
	if (r > 0)
		s->sent += (uint64_t)r;
	return r;
}

/* Writes at most FLUSH_MAX bytes and counts them in *done. 0 only if all n were written. */
static int write_all(struct stream *s, const char *p, size_t n, size_t *done)
{
	size_t end = n < FLUSH_MAX ? n : FLUSH_MAX;
	ssize_t r;

	for (*done = 0; *done < end; *done += (size_t)r) {
		r = write_some(s, p + *done, end - *done);
		if (r < 0)
			return (int)r;
	}
	if (end == n)
		return 0;
	/* the bound is reached; the socket may take more, so the next step must not wait for it */
	s->seen |= STREAM_WRITE;
	task_wake(&s->task);
	return -EAGAIN;
}

static struct stream__out *have_out(struct stream *s)
{
	if (!s->out) {
		s->out = mem_zalloc(sizeof(*s->out));
		s->out->high = HIGH_MARK;
	}
	return s->out;
}

static void drop_out(struct stream *s)
{
	if (!s->out)
		return;
	buf_free(&s->out->queue);
	s->out->at = 0;
}

/* FIN only after the last queued byte. */
static void end_our_side(struct stream *s)
{
	if (!s->shut || has_output(s) || s->fd < 0)
		return;
	if (s->tls)
		tls_end(s->tls);
	shutdown(s->fd, SHUT_WR);
}

int stream_flush(struct stream *s)
{
	struct stream__out *out = s->out;
	size_t done;
	int r;

	if (!has_output(s))
		return 0;
	r = write_all(s, out->queue.p + out->at, out->queue.n - out->at, &done);
	out->at += done;
	if (r == 0) {
		out->queue.n = out->at = 0;
		if (out->queue.cap > KEEP_MAX)
			buf_free(&out->queue);
		end_our_side(s);
	}
	if (s->state == STREAM_OPEN || s->state == STREAM_LINGERING)
		watch(s);
	return r;
}

int stream_send(struct stream *s, const void *p, size_t n)
{
	size_t done = 0;
	int r = 0;

	assert(s->state == STREAM_OPEN && !s->shut);
	if (!has_output(s))
		r = write_all(s, p, n, &done);
	if (r < 0 && r != -EAGAIN)
		return r;
	if (done < n) {
		buf_add(stream_out(s), (const char *)p + done, n - done);
		watch(s);
	}
	return 0;
}

static ssize_t send_vector(const struct stream *s, const struct str *pieces, size_t n)
{
	struct iovec iov[STREAM_PIECES_MAX];
	const struct msghdr message = { .msg_iov = iov, .msg_iovlen = n };

	for (size_t i = 0; i < n; i++)
		iov[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].p, pieces[i].n };
	return sendmsg(s->fd, &message, send_flags(s));
}

/* A few bytes are sent sooner from one piece than from several. */
static ssize_t send_joined(const struct stream *s, const struct str *pieces, size_t n)
{
	char joined[JOIN_MAX];
	size_t at = 0;

	if (n == 1)
		return send(s->fd, pieces[0].p, pieces[0].n, send_flags(s));
	for (size_t i = 0; i < n; at += pieces[i++].n)
		if (pieces[i].n)
			memcpy(joined + at, pieces[i].p, pieces[i].n);
	return send(s->fd, joined, at, send_flags(s));
}

/* As many bytes as one call takes; 0 if nothing was sent and the pieces must be queued. */
static ssize_t write_pieces(struct stream *s, const struct str *pieces, size_t n)
{
	size_t total = 0;
	ssize_t r;

	for (size_t i = 0; i < n; i++)
		total += pieces[i].n;
	r = n == 1 || total <= JOIN_MAX ? send_joined(s, pieces, n) : send_vector(s, pieces, n);
	if (r < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	s->sent += (uint64_t)r;
	return r;
}

/* What the one call did not take is queued at once: another call would find the socket full. */
static int send_plain(struct stream *s, const struct str *pieces, size_t n)
{
	ssize_t done = has_output(s) ? 0 : write_pieces(s, pieces, n);
	size_t skip = done > 0 ? (size_t)done : 0;

	if (done < 0)
		return (int)done;
	for (size_t i = 0; i < n; i++) {
		size_t sent = skip < pieces[i].n ? skip : pieces[i].n;

		skip -= sent;
		if (sent < pieces[i].n)
			buf_add(stream_out(s), pieces[i].p + sent, pieces[i].n - sent);
	}
	if (has_output(s))
		watch(s);
	return 0;
}

/* One record, and one call for the socket, instead of one for each piece. */
static int send_record(struct stream *s, const struct str *pieces, size_t n)
{
	char joined[RECORD_MAX];
	size_t at = 0;

	for (size_t i = 0; i < n; at += pieces[i++].n)
		if (pieces[i].n)
			memcpy(joined + at, pieces[i].p, pieces[i].n);
	return at ? stream_send(s, joined, at) : 0;
}

static size_t total_of(const struct str *pieces, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += pieces[i].n;
	return total;
}

int stream_sendv(struct stream *s, const struct str *pieces, size_t n)
{
	int r = 0;

	assert(s->state == STREAM_OPEN && !s->shut && n <= STREAM_PIECES_MAX);
	if (!s->tls)
		return send_plain(s, pieces, n);
	if (n > 1 && total_of(pieces, n) <= RECORD_MAX)
		return send_record(s, pieces, n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = stream_send(s, pieces[i].p, pieces[i].n);
	return r;
}

/* Sent bytes are removed only when they are the larger half, so the copying stays linear. */
struct buf *stream_out(struct stream *s)
{
	struct stream__out *out = have_out(s);

	if (out->at > out->queue.n / 2) {
		buf_consume(&out->queue, out->at);
		out->at = 0;
	}
	return &out->queue;
}

size_t stream_unsent(const struct stream *s)
{
	return s->out ? s->out->queue.n - s->out->at : 0;
}

size_t stream_held(const struct stream *s)
{
	return s->out ? s->out->queue.cap : 0;
}

void stream_shrink(struct stream *s)
{
	struct buf *b;

	if (!s->out || s->out->queue.cap <= KEEP_MAX)
		return;
	b = stream_out(s);
	if (b->n > b->cap / 2)
		return;
	if (!b->n) {
		drop_out(s);
		return;
	}
	b->cap = b->n;
	b->p = mem_resize(b->p, b->cap, 1);
}

void stream_set_marks(struct stream *s, size_t high, size_t low)
{
	struct stream__out *out = have_out(s);

	out->high = high;
	out->low = low;
}

bool stream_is_full(const struct stream *s)
{
	return s->out && stream_unsent(s) >= s->out->high;
}

static bool is_low(const struct stream *s)
{
	return !s->out || stream_unsent(s) <= s->out->low;
}

/* ---- input ---- */

ssize_t stream_read(struct stream *s, void *p, size_t n)
{
	ssize_t r;

	assert(s->state == STREAM_OPEN);
	if (s->tls) {
		r = tls_read(s->tls, p, n);
		s->crossed = r == -EAGAIN && tls_wants_write(s->tls);
		return r;
	}
	r = recv(s->fd, p, n, 0);
	if (r >= 0)
		return r;
	return errno == EINTR ? -EAGAIN : -errno;
}

/* ---- the steps; each returns whether the stream still exists ---- */

static bool is_there(const struct stream *s, struct ev_loop *loop)
{
	return task_is_running(loop, &s->task);
}

/* A step of a handshake takes longer than most, so those of ordinary tasks go first. */
static void set_securing(struct stream *s)
{
	s->state = STREAM_SECURING;
	if (s->rank == TASK_ORDINARY)
		task_set_rank(&s->task, TASK_PATIENT);
}

static void end_securing(struct stream *s)
{
	task_set_rank(&s->task, s->rank);
}

static bool tell_closed(struct stream *s, struct ev_loop *loop, int error)
{
	end_securing(s);
	s->failed_in = s->state;
	s->state = STREAM_FAILED;
	s->error = 0;
	watch(s);
	s->events->closed(s, error);
	return is_there(s, loop);
}

static bool tell_opened(struct stream *s, struct ev_loop *loop)
{
	end_securing(s);
	s->state = STREAM_OPEN;
	s->events->opened(s);
	return is_there(s, loop);
}

static bool step_secure(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	int r = tls_handshake(s->tls);

	if (r == -EAGAIN)
		return true;
	return r < 0 ? tell_closed(s, loop, r) : tell_opened(s, loop);
}

/* The state after the PROXY header, or after connecting without one. */
static bool step_onward(struct stream *s, struct ev_loop *loop)
{
	if (!s->tls)
		return tell_opened(s, loop);
	set_securing(s);
	task_wake(&s->task);
	return true;
}

static bool step_proxy(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	int r = stream__proxy_step(s);

	if (r == -EAGAIN)
		return true;
	return r < 0 ? tell_closed(s, loop, r) : step_onward(s, loop);
}

static bool step_connect(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (!(seen & STREAM_WRITE))
		return true;
	getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error)
		return tell_closed(s, loop, -error);
	if (!s->proxy)
		return step_onward(s, loop);
	s->state = STREAM_PROXY;
	return step_proxy(s, 0, loop);
}

/* The part of seen that the owner waits for. */
static unsigned to_tell(const struct stream *s, unsigned seen)
{
	unsigned what = seen & STREAM_WAKE;

	if (s->crossed && (seen & STREAM_WRITE))
		seen |= STREAM_READ;
	what |= s->want & seen & STREAM_READ;
	if (s->want & seen & STREAM_WRITE && is_low(s))
		what |= STREAM_WRITE;
	return what;
}

static bool step_open(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	unsigned what;
	int r = 0;

	if (seen & STREAM_WRITE)
		r = stream_flush(s);
	if (r < 0 && r != -EAGAIN)
		return tell_closed(s, loop, r);
	what = to_tell(s, seen);
	if (what)
		s->events->ready(s, what);
	return is_there(s, loop);
}

/* Errors do not matter any more: the owner gets 0. Raw input is discarded, also under TLS. */
static bool step_linger(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	char nowhere[DISCARD_SIZE];
	ssize_t n;
	int r = 0;

	if (seen & STREAM_WRITE)
		r = stream_flush(s);
	if (r < 0 && r != -EAGAIN)
		return tell_closed(s, loop, 0);
	if (!(seen & STREAM_READ))
		return true;
	n = recv(s->fd, nowhere, sizeof(nowhere), 0);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return true;
	s->eof = true;
	return n == 0 && has_output(s) ? true : tell_closed(s, loop, 0);
}

/* Without a socket only a wake-up can be reported. */
static bool step_closed(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	if (seen & STREAM_WAKE)
		s->events->ready(s, STREAM_WAKE);
	return is_there(s, loop);
}

static bool step_failed(struct stream *s, unsigned seen, struct ev_loop *loop)
{
	return true;
}

static bool (*const steps[])(struct stream *s, unsigned seen, struct ev_loop *loop) = {
	[STREAM_CLOSED] = step_closed, [STREAM_CONNECTING] = step_connect,
	[STREAM_PROXY] = step_proxy,   [STREAM_SECURING] = step_secure,
	[STREAM_OPEN] = step_open,     [STREAM_LINGERING] = step_linger,
	[STREAM_FAILED] = step_failed,
};

/* On the way to OPEN a wake-up is kept until ready() can be called. */
static bool is_on_its_way(const struct stream *s)
{
	return s->state == STREAM_CONNECTING || s->state == STREAM_PROXY ||
	       s->state == STREAM_SECURING;
}

/* seen is cleared before the callbacks, so that a wake-up from within one is not lost. */
static bool step_state(struct stream *s, struct ev_loop *loop)
{
	unsigned seen = s->seen;

	if (s->error)
		return tell_closed(s, loop, s->error);
	s->seen = is_on_its_way(s) ? seen & STREAM_WAKE : 0;
	return steps[s->state](s, seen, loop);
}

static bool step_deadline(struct stream *s, struct ev_loop *loop)
{
	if (!s->due)
		return true;
	s->due = false;
	if (s->state == STREAM_LINGERING)
		return tell_closed(s, loop, 0);
	s->events->expired(s);
	return is_there(s, loop);
}

/* Whether another step is needed for which no watcher will fire: TLS may hold decrypted bytes. */
static bool has_more(struct stream *s)
{
	bool tls = s->tls && tls_has_more(s->tls);

	if (is_on_its_way(s))
		return s->state == STREAM_SECURING && tls;
	if (s->state == STREAM_OPEN && s->want & STREAM_READ && tls)
		s->seen |= STREAM_READ;
	return s->seen != 0;
}

static bool on_step(struct task *t)
{
	struct stream *s = container_of(t, struct stream, task);
	struct ev_loop *loop = task_loop(t);

	if (!step_state(s, loop) || !step_deadline(s, loop))
		return false;
	if (s->state != STREAM_CLOSED)
		watch(s);
	return has_more(s);
}

/* ---- life ---- */

void stream_init(struct stream *s, struct ev_loop *loop, enum task_rank rank,
		 const struct stream_events *events)
{
	assert(s && loop && events && events->ready && events->closed);
	*s = (struct stream){
		.events = events, .fd = -1, .state = STREAM_CLOSED, .rank = (uint8_t)rank
	};
	task_init(&s->task, loop, rank, on_step);
	ev_init(&s->deadline, on_deadline);
	ev_init(&s->io, on_io);
}

static void begin(struct stream *s, int fd, enum stream_state state)
{
	assert(s->fd < 0);
	s->fd = fd;
	s->state = (uint8_t)state;
	s->want = s->seen = 0;
	s->sent = 0;
	s->error = 0;
	s->crossed = s->shut = s->eof = s->last = false;
}

void stream_adopt(struct stream *s, int fd)
{
	assert(fd >= 0);
	begin(s, fd, STREAM_OPEN);
}

static int connect_socket(const struct sockaddr *to, socklen_t len, int *ret_fd)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	if (to->sa_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, to, len) == 0 || errno == EINPROGRESS)
		return 0;
	return -errno;
}

void stream_connect(struct stream *s, const struct sockaddr *to, socklen_t len)
{
	int fd = -1;
	int r = connect_socket(to, len, &fd);

	assert(s->events->opened);
	begin(s, fd, STREAM_CONNECTING);
	if (r < 0)
		stream_fail(s, r);
	else
		watch(s);
}

void stream_connect_unix(struct stream *s, const char *path)
{
	struct sockaddr_un sa;
	int len = stream__unix_address(path, &sa);

	if (len >= 0) {
		stream_connect(s, (struct sockaddr *)&sa, (socklen_t)len);
		return;
	}
	begin(s, -1, STREAM_CONNECTING);
	stream_fail(s, len);
}

void stream_fail(struct stream *s, int error)
{
	assert(error < 0);
	s->error = error;
	task_wake(&s->task);
}

void stream_secure(struct stream *s, struct tls *tls)
{
	assert(tls && !s->tls && s->events->opened);
	s->tls = tls;
	if (s->state != STREAM_OPEN)
		return; /* the handshake begins when it is connected */
	set_securing(s);
	task_wake(&s->task);
}

int stream_release(struct stream *s, struct tls **ret_tls)
{
	int fd = TAKE_FD(s->fd);

	if (fd >= 0)
		ev_io_stop(loop_of(s), &s->io);
	*ret_tls = TAKE_PTR(s->tls);
	stream__proxy_free(s);
	drop_out(s);
	end_securing(s);
	s->state = STREAM_CLOSED;
	s->seen &= STREAM_WAKE;
	s->want = 0;
	s->error = 0;
	return fd;
}

void stream_move(struct stream *to, struct stream *from)
{
	struct stream__proxy *proxy = TAKE_PTR(from->proxy);
	uint64_t sent = from->sent;
	bool shut = from->shut;
	struct tls *tls;
	int fd;

	assert(from->state == STREAM_OPEN && loop_of(to) == loop_of(from));
	if (has_output(from)) {
		buf_free(&have_out(to)->queue);
		to->out->queue = from->out->queue;
		to->out->at = from->out->at;
		from->out->queue = (struct buf){ 0 };
		from->out->at = 0;
	}
	fd = stream_release(from, &tls);
	begin(to, fd, STREAM_OPEN);
	to->tls = tls;
	to->proxy = proxy;
	to->sent = sent;
	to->shut = shut;
	watch(to);
}

void stream_close(struct stream *s)
{
	struct tls *tls;
	int fd = stream_release(s, &tls);

	tls_free(tls);
	cleanup_fd(&fd);
}

void stream_reset(struct stream *s)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	if (s->fd >= 0)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	stream_close(s);
}

/* Cancelling the task is what makes is_there() false for a step that is on the stack. */
void stream_end(struct stream *s)
{
	stream_close(s);
	ev_timer_stop(loop_of(s), &s->deadline);
	task_cancel(&s->task);
	s->seen = 0;
	s->due = false;
	free(TAKE_PTR(s->out));
}

void stream_want(struct stream *s, unsigned what)
{
	assert(!(what & ~(STREAM_READ | STREAM_WRITE)));
	s->want = (uint8_t)what;
	if (s->state == STREAM_OPEN)
		watch(s);
	/* bytes that TLS has already decrypted do not make the socket readable */
	if (what & STREAM_READ && s->state == STREAM_OPEN && s->tls && tls_has_more(s->tls)) {
		s->seen |= STREAM_READ;
		task_wake(&s->task);
	}
}

void stream_wake(struct stream *s)
{
	s->seen |= STREAM_WAKE;
	task_wake(&s->task);
}

void stream_set_deadline(struct stream *s, int64_t ns)
{
	assert(!ns || s->events->expired || s->state == STREAM_LINGERING);
	ev_timer_stop(loop_of(s), &s->deadline);
	s->due = false;
	if (!ns)
		return;
	s->due_at = loop_monotonic() + ns;
	arm_deadline(s, ns);
}

void stream_shutdown(struct stream *s)
{
	s->shut = true;
	end_our_side(s);
}

void stream_linger(struct stream *s, int64_t ns)
{
	assert(s->state == STREAM_OPEN && ns > 0);
	s->state = STREAM_LINGERING;
	stream_shutdown(s);
	stream_set_deadline(s, ns);
	watch(s);
}

const char *stream_reason(const struct stream *s, int error)
{
	const char *header = stream__proxy_reason(s);
	const char *word = s->tls ? tls_reason(s->tls) : "";

	if (header)
		return header;
	return *word ? word : net_error_word(-error);
}
