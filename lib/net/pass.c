/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/pass.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(NET_PASS_MAX * sizeof(int))];
};

static void attach(struct msghdr *m, union control *control, const int *fds, size_t n)
{
	struct cmsghdr *c;

	memset(control, 0, sizeof(*control));
	m->msg_control = control->space;
	m->msg_controllen = CMSG_SPACE(n * sizeof(int));
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
}

int net_pass(int socket, struct str message, const int *fds, size_t n)
{
	struct iovec bytes = { (void *)(uintptr_t)message.p, message.n };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };
	union control control;

	assert(message.n && n <= NET_PASS_MAX);
	if (n)
		attach(&m, &control, fds, n);
	return sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The control buffer has no room for more than NET_PASS_MAX of them. */
static size_t detach(struct msghdr *m, int fds[static NET_PASS_MAX])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		assert(n * sizeof(int) + bytes <= NET_PASS_MAX * sizeof(int));
		memcpy(fds + n, CMSG_DATA(c), bytes);
		n += bytes / sizeof(int);
	}
	return n;
}

ssize_t net_take(int socket, void *p, size_t size, int *fds, size_t *n_fds)
{
	struct iovec bytes = { p, size };
	union control control;
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control.space,
			    .msg_controllen = sizeof(control.space) };
	size_t room = *n_fds, n;
	int came[NET_PASS_MAX];
	ssize_t r;

	*n_fds = 0;
	r = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	if (r < 0)
		return -errno;
	n = detach(&m, came);
	if ((m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || n > room) {
		for (size_t i = 0; i < n; i++)
			close(came[i]);
		return -EMSGSIZE;
	}
	if (n)
		memcpy(fds, came, n * sizeof(int));
	*n_fds = n;
	return r;
}
