/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: accepts connections in steps of a task, within limits.
 *
 * The owner embeds the struct; the loop holds its two watchers. The watcher acceptable only wakes
 * the task. It is active unless accepting pauses: while the timer pause runs (after descriptors or
 * memory ran out), or while open is at its bound. watch() sets it from these two.
 *
 * A callback may close the listener and free its memory. Closing sets *gone, a local variable of
 * the function that accepts, which must not use the listener then.
 */
#include "lib/stream/listener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/stream/listener_private.h"
#include "lib/stream/source.h"

#define ACCEPTS_PER_STEP 64 /* bounds a step, like its time budget */
#define ACCEPT_PAUSE 0.1    /* s */

static struct ev_loop *loop_of(const struct stream_listener *l)
{
	return task_loop(&l->task);
}

/* ---- limits ---- */

static bool counts(const struct stream_listener *l)
{
	return l->max_open || l->max_per_source;
}

static bool is_full(const struct stream_listener *l)
{
	return l->max_open && l->open >= l->max_open;
}

static bool is_paused(struct stream_listener *l)
{
	return is_full(l) || ev_is_active(&l->pause);
}

/* Counts one connection; false if the source is at its bound. */
static bool count_source(struct stream_listener *l, const struct endpoint *peer)
{
	const struct stream__source *source;

	if (!l->max_per_source || !addr_is_set(&peer->addr))
		return true;
	source = stream__source_find(&l->sources, peer);
	if (source && source->n >= l->max_per_source)
		return false;
	stream__source_add(&l->sources, peer, sizeof(*source));
	return true;
}

static void discount_source(struct stream_listener *l, const struct endpoint *peer)
{
	if (l->max_per_source && addr_is_set(&peer->addr))
		stream__source_remove(&l->sources, stream__source_find(&l->sources, peer));
}

/* ---- accepting ---- */

static void watch(struct stream_listener *l)
{
	bool wanted = l->fd >= 0 && !is_paused(l);

	if (l->leaving)
		return;
	if (wanted)
		ev_io_start(loop_of(l), &l->acceptable);
	else
		ev_io_stop(loop_of(l), &l->acceptable);
}

static void on_acceptable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct stream_listener *l = container_of(w, struct stream_listener, acceptable);

	task_wake(&l->task);
}

static void on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct stream_listener *l = container_of(w, struct stream_listener, pause);

	if (l->leaving)
		stream_listener_close(l);
	else
		watch(l);
}

/* Errors of a connection that failed in the queue: accept(2) asks to retry after most of them. */
static bool is_of_the_peer(int error)
{
	static const int errors[] = { EINTR,	   ECONNABORTED, EPROTO, ENETDOWN,
				      ENOPROTOOPT, EHOSTDOWN,	 ENONET, EHOSTUNREACH,
				      EOPNOTSUPP,  ENETUNREACH,	 EPERM };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i] == error)
			return true;
	return false;
}

/* The result of one accept(). */
enum attempt {
	AGAIN, /* there may be more */
	DONE,  /* nothing more for now */
	GONE,  /* a callback closed the listener: it must not be used */
};

static enum attempt pause_accepting(struct stream_listener *l, int error, const bool *gone)
{
	ev_timer_set(&l->pause, ACCEPT_PAUSE, 0);
	ev_timer_start(loop_of(l), &l->pause);
	watch(l);
	l->events.starved(error, l->events.user);
	return *gone ? GONE : DONE;
}

/* full() is called after accepted() of the last connection that fits. */
static enum attempt hand_over(struct stream_listener *l, int fd, struct endpoint peer,
			      const bool *gone)
{
	if (is_full(l) || !count_source(l, &peer)) {
		l->refused++;
		close(fd);
		return AGAIN;
	}
	l->open += counts(l);
	watch(l);
	l->events.accepted(fd, peer, l->events.user);
	if (*gone)
		return GONE;
	if (!is_full(l) || !l->events.full)
		return AGAIN;
	l->events.full(l->events.user);
	return *gone ? GONE : AGAIN;
}

static enum attempt accept_one(struct stream_listener *l, const bool *gone)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	int fd = accept4(l->fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct endpoint peer = { 0 };

	if (fd >= 0) {
		endpoint_from_sockaddr((struct sockaddr *)&sa, &peer);
		return hand_over(l, fd, peer, gone);
	}
	if (is_of_the_peer(errno))
		return AGAIN;
	return errno == EAGAIN ? DONE : pause_accepting(l, errno, gone);
}

/*
 * The number of connections that wait. An accept() that finds none makes a socket first and frees
 * it again, which takes several times as long as to ask.
 */
static unsigned waiting(const struct stream_listener *l)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (l->path || getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return ACCEPTS_PER_STEP; /* the last accept() tells */
	return info.tcpi_unacked;	 /* of a listening socket */
}

/* Stops when the time is over. The remaining connections make the socket readable again. */
static bool on_step(struct task *t)
{
	struct stream_listener *l = container_of(t, struct stream_listener, task);
	struct ev_loop *loop = loop_of(l);
	enum attempt last = AGAIN;
	unsigned n = 1;
	bool gone = false;

	l->gone = &gone;
	for (unsigned i = 0; i < n && last == AGAIN && !is_paused(l); i++) {
		last = accept_one(l, &gone);
		if (last == GONE)
			return false;
		if (!task_has_time(loop))
			break;
		if (i == 0)
			n = 1 + waiting(l);
		if (n > ACCEPTS_PER_STEP)
			n = ACCEPTS_PER_STEP;
	}
	l->gone = NULL;
	return false;
}

/* ---- life ---- */

static void begin(struct stream_listener *l, struct ev_loop *loop,
		  const struct stream_listener_config *config,
		  const struct stream_listener_events *events)
{
	*l = (struct stream_listener){
		.events = *events,
		.backlog = config->backlog ? config->backlog : STREAM__BACKLOG,
		.max_open = config->max_open,
		.max_per_source = config->max_per_source,
	};
	task_init(&l->task, loop, TASK_ORDINARY, on_step);
	ev_init(&l->pause, on_pause_over);
}

static void start(struct stream_listener *l, int fd)
{
	l->fd = fd;
	ev_io_init(&l->acceptable, on_acceptable, fd, EV_READ);
	watch(l);
}

int stream_listener_open(struct stream_listener *l, struct ev_loop *loop,
			 const struct stream_listener_config *config,
			 const struct stream_listener_events *events)
{
	struct stream__bound bound;
	int r;

	assert(l && loop && config && events && events->accepted && events->starved);
	if (config->path)
		r = stream__listen_unix(config, &bound);
	else
		r = stream__listen_tcp(config, &bound);
	if (r < 0)
		return r;
	begin(l, loop, config, events);
	l->bound = bound.at;
	l->path = config->path ? mem_strdup(config->path) : NULL;
	l->file_dev = bound.dev;
	l->file_ino = bound.ino;
	start(l, bound.fd);
	return 0;
}

int stream_listen(const struct stream_listener_config *config, struct endpoint *ret_at)
{
	struct stream__bound bound;
	int r = stream__listen_tcp(config, &bound);

	if (r < 0)
		return r;
	if (ret_at)
		*ret_at = bound.at;
	return bound.fd;
}

int stream_listener_adopt(struct stream_listener *l, struct ev_loop *loop, int fd,
			  const struct stream_listener_config *config,
			  const struct stream_listener_events *events)
{
	struct endpoint at;
	char *path;
	int r;

	assert(l && loop && config && events && events->accepted && events->starved);
	r = stream__inspect(fd, &at, &path);
	if (r < 0)
		return r;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	begin(l, loop, config, events);
	l->bound = at;
	l->path = path;
	start(l, fd);
	return 0;
}

int stream_listener_inspect(int fd, struct endpoint *ret_at)
{
	_cleanup_(cleanup_free) char *path = NULL;

	return stream__inspect(fd, ret_at, &path);
}

/* Ends everything but the socket; the task is cancelled and a running step is notified. */
int stream_listener_give(struct stream_listener *l)
{
	int fd = TAKE_FD(l->fd);

	if (fd < 0)
		return -1;
	ev_io_stop(loop_of(l), &l->acceptable);
	ev_timer_stop(loop_of(l), &l->pause);
	task_cancel(&l->task);
	stream__source_clear(&l->sources);
	free(TAKE_PTR(l->path));
	if (l->gone)
		*l->gone = true;
	l->gone = NULL;
	return fd;
}

/*
 * A closed descriptor whose socket lives on in another process stays in the set of epoll, which
 * would report its connections here, under a number that another thread may have got. libev never
 * removes it. So the set is first told to wait for something that does not happen to a listening
 * socket.
 */
void stream_listener_leave(struct stream_listener *l)
{
	if (l->fd < 0 || l->leaving)
		return;
	l->leaving = true;
	l->file_ino = 0;
	task_cancel(&l->task);
	if (l->gone)
		*l->gone = true;
	l->gone = NULL;
	ev_io_stop(loop_of(l), &l->acceptable);
	ev_io_set(&l->acceptable, l->fd, EV_WRITE);
	ev_io_start(loop_of(l), &l->acceptable);
	ev_timer_stop(loop_of(l), &l->pause);
	ev_timer_set(&l->pause, 0., 0.);
	ev_timer_start(loop_of(l), &l->pause);
}

void stream_listener_release(struct stream_listener *l, const struct endpoint *peer)
{
	if (l->fd < 0 || !counts(l))
		return;
	assert(l->open);
	l->open--;
	discount_source(l, peer);
	watch(l);
}

void stream_listener_drain(struct stream_listener *l)
{
	enum attempt last = AGAIN;
	bool gone = false;

	assert(l->fd >= 0 && !l->leaving);
	if (l->gone)
		*l->gone = true; /* called from a callback of a step: that step must end */
	l->gone = &gone;
	for (unsigned i = 0; i < l->backlog && last == AGAIN; i++) {
		last = accept_one(l, &gone);
		if (last == GONE)
			return;
	}
	l->gone = NULL;
	stream_listener_close(l);
}

void stream_listener_close(struct stream_listener *l)
{
	int fd;

	if (l->fd < 0)
		return;
	if (l->file_ino)
		stream__remove_file(l->path, l->file_dev, l->file_ino);
	fd = stream_listener_give(l);
	cleanup_fd(&fd);
}
