/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that go from one socket to another through a pipe, without passing through this program. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#include "lib/stream/stream.h"

static ssize_t move(int from, int to, size_t n)
{
	ssize_t r = splice(from, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (r >= 0)
		return r;
	return errno == EINTR ? -EAGAIN : -errno;
}

ssize_t stream_splice_in(struct stream *s, int pipe, size_t n)
{
	assert(s->state == STREAM_OPEN && !s->tls);
	return move(s->fd, pipe, n);
}

ssize_t stream_splice_out(struct stream *s, int pipe, size_t n)
{
	ssize_t r;

	assert(s->state == STREAM_OPEN && !s->tls && !s->shut && !stream_unsent(s));
	r = move(pipe, s->fd, n);
	if (r > 0)
		s->sent += (uint64_t)r;
	return r;
}
