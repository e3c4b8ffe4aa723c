/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child is forked, so it has our descriptors, the lock on the folder and the capabilities. It
 * reports by one write into a pipe. The end of the pipe without a report is a child that died.
 */
#include "src/maglevd/dataplane/xdp/loader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/loop/child.h"

_Static_assert(sizeof(struct plane_report) <= PIPE_BUF, "a report is one write");

static void end_watch(struct plane_loader *l)
{
	ev_io_stop(l->loop, &l->io);
	close(l->io.fd);
	child_end(l->child);
	l->busy = false;
}

static void on_report(struct ev_loop *loop, ev_io *w, int events)
{
	struct plane_loader *l = w->data;
	struct plane_report report = { .err = -ECHILD };
	ssize_t n = read(w->fd, &report, sizeof(report));

	if (n < 0 && errno == EINTR)
		return;
	end_watch(l);
	if (n != sizeof(report)) {
		report = (struct plane_report){ .err = -ECHILD };
		plane__explain(&report.why, "the process that loads the program ended early");
	}
	l->done(l->user, &report);
}

static void work(plane_job_fn job, const void *order, int fd)
{
	struct plane_report report = { 0 };

	job(order, &report);
	if (write(fd, &report, sizeof(report)) != sizeof(report))
		_exit(1);
	_exit(0);
}

int plane__loader_start(struct plane_loader *l, plane_job_fn job, const void *order)
{
	int fds[2], r;

	assert(!l->busy);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	r = child_fork(&l->child);
	if (r == 0)
		work(job, order, fds[1]);
	close(fds[1]);
	if (r < 0) {
		close(fds[0]);
		return r;
	}
	l->busy = true;
	ev_io_init(&l->io, on_report, fds[0], EV_READ);
	l->io.data = l;
	ev_io_start(l->loop, &l->io);
	return 0;
}

bool plane__loader_busy(const struct plane_loader *l)
{
	return l->busy;
}

void plane__loader_stop(struct plane_loader *l)
{
	if (!l->busy)
		return;
	end_watch(l);
}
