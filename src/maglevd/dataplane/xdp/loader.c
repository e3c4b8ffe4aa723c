/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child is forked, so it has our descriptors, the lock on the folder and the capabilities. It
 * reports by one write into a pipe. The end of the pipe without a report is a child that died. It
 * is known by a descriptor: a default loop reaps children as soon as they are gone, and their
 * numbers may then be those of others.
 */
#include "src/maglevd/dataplane/xdp/loader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(struct plane_report) <= PIPE_BUF, "a report is one write");

static void end_watch(struct plane_loader *l)
{
	siginfo_t ended;

	ev_io_stop(l->loop, &l->io);
	close(l->io.fd);
	waitid(P_PIDFD, (id_t)l->child, &ended, WEXITED);
	close(l->child);
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

/* Its descriptor; nobody has reaped it yet. */
static int start_child(plane_job_fn job, const void *order, int out)
{
	pid_t pid = fork();
	int child;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		work(job, order, out);
	child = pidfd_open(pid, 0);
	if (child < 0) {
		child = -errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return child;
}

int plane__loader_start(struct plane_loader *l, plane_job_fn job, const void *order)
{
	int fds[2], child;

	assert(!l->busy);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	child = start_child(job, order, fds[1]);
	close(fds[1]);
	if (child < 0) {
		close(fds[0]);
		return child;
	}
	l->child = child;
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
	pidfd_send_signal(l->child, SIGKILL, NULL, 0);
	end_watch(l);
}
