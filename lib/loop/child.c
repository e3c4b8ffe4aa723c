/* SPDX-License-Identifier: Apache-2.0 */
/* child: between fork() and pidfd_open() no loop turns, so that the number is still the child's. */
#include "lib/loop/child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

int child_fork(int *ret)
{
	pid_t pid = fork();
	int child;

	assert(ret);
	if (pid <= 0)
		return pid < 0 ? -errno : 0;
	child = pidfd_open(pid, 0);
	if (child < 0) {
		int r = -errno;

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return r;
	}
	*ret = child;
	return 1;
}

void child_kill(int child)
{
	pidfd_send_signal(child, SIGKILL, NULL, 0);
}

void child_end(int child)
{
	siginfo_t ended;

	child_kill(child);
	while (waitid(P_PIDFD, (id_t)child, &ended, WEXITED) < 0 && errno == EINTR)
		;
	close(child);
}
