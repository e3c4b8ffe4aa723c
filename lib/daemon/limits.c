/* SPDX-License-Identifier: Apache-2.0 */
/* limits: descriptors and resource limits at the start of the process. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/daemon/daemon.h"

void daemon_fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR); /* the lowest free number; stays open */
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* The default soft limit of 1024 protects programs that use select(); libev uses epoll. */
int daemon_raise_nofile(uint64_t *ret_limit)
{
	struct rlimit limit;

	assert(ret_limit);

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	*ret_limit = limit.rlim_cur;
	return 0;
}
