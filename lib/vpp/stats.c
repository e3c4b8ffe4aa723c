/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vpp/stats.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/net/net.h"
#include "lib/vpp/dial.h"

#define TIMEOUT (5 * NSEC_PER_SEC)
#define TEXT_SIZE 256
#define FDS_MAX 4 /* VPP sends one; if there are more, all are closed */

struct vpp_stats {
	struct ev_loop *loop;
	struct vpp_stats_config config;
	char *path;
	int fd;
	ev_io io;
	ev_timer deadline, over;     /* over: calls back from the loop */
	struct vpp_segment *segment; /* from its arrival until ready() */
	char text[TEXT_SIZE];
};

/* Stops the attempt. The callback comes from the loop, with or without a segment. */
static void finish(struct vpp_stats *s)
{
	ev_io_stop(s->loop, &s->io);
	ev_timer_stop(s->loop, &s->deadline);
	ev_timer_start(s->loop, &s->over);
}

static void fail(struct vpp_stats *s, const char *why)
{
	snprintf(s->text, sizeof(s->text), "%s: %s", s->path, why);
	finish(s);
}

static void on_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct vpp_stats *s = container_of(w, struct vpp_stats, over);

	if (s->segment)
		s->config.ready(s->config.user, TAKE_PTR(s->segment));
	else
		s->config.failed(s->config.user, s->text);
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	fail(container_of(w, struct vpp_stats, deadline), "VPP did not send its stats segment");
}

/* The only descriptor of a message; -1 if there is none or more than one. */
static int take_descriptor(struct msghdr *message)
{
	int fds[FDS_MAX], n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		assert(bytes <= sizeof(fds)); /* the control buffer has no room for more */
		memcpy(fds, CMSG_DATA(c), bytes);
		n = (int)(bytes / sizeof(int));
	}
	if (n == 1)
		return fds[0];
	for (int i = 0; i < n; i++)
		cleanup_fd(&fds[i]);
	return -1;
}

static void open_segment(struct vpp_stats *s, int fd)
{
	int r = vpp_segment_open(fd, &s->segment);

	if (r == -EPROTONOSUPPORT)
		fail(s, "the segment's layout is of an unknown version");
	else if (r == -EBADMSG)
		fail(s, "what VPP sent is not a stats segment");
	else if (r < 0)
		fail(s, net_error_word(-r));
	else
		finish(s);
}

/* VPP's message has no data, only a descriptor: so a length of 0 is not the end of the stream. */
static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct vpp_stats *s = container_of(w, struct vpp_stats, io);
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
	char bytes[64];
	struct iovec data = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(s->fd, &message, MSG_CMSG_CLOEXEC) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			fail(s, net_error_word(errno));
		return;
	}
	fd = take_descriptor(&message);
	if (fd < 0)
		fail(s, "VPP closed the connection without sending its stats segment");
	else
		open_segment(s, fd);
}

/* A failed connect is reported from the loop as well, so callers have one path for failures. */
struct vpp_stats *vpp_stats_connect(struct ev_loop *loop, const struct vpp_stats_config *config)
{
	struct vpp_stats *s = mem_zalloc(sizeof(*s));

	assert(config->path && config->ready && config->failed);
	s->loop = loop;
	s->config = *config;
	s->path = mem_strdup(config->path);
	ev_timer_init(&s->over, on_over, 0., 0.);
	ev_timer_init(&s->deadline, on_deadline,
		      loop_seconds(config->timeout ? config->timeout : TIMEOUT), 0.);
	ev_init(&s->io, on_readable);
	/* If the loop stalled, a received message is handled before the deadline. */
	ev_set_priority(&s->io, 1);
	s->fd = vpp__dial(s->path, SOCK_SEQPACKET);
	if (s->fd < 0) {
		fail(s, net_error_word(-s->fd));
		return s;
	}
	ev_io_set(&s->io, s->fd, EV_READ);
	ev_io_start(loop, &s->io);
	ev_timer_start(loop, &s->deadline);
	return s;
}

void vpp_stats_free(struct vpp_stats *s)
{
	if (!s)
		return;
	ev_io_stop(s->loop, &s->io);
	ev_timer_stop(s->loop, &s->deadline);
	ev_timer_stop(s->loop, &s->over);
	cleanup_fd(&s->fd);
	vpp_segment_close(s->segment);
	free(s->path);
	free(s);
}
