/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/config/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

static int write_all(int fd, struct str text)
{
	while (text.n) {
		ssize_t n = write(fd, text.p, text.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text.p += n;
		text.n -= (size_t)n;
	}
	return 0;
}

static int replace(const char *path, struct str text, bool safely)
{
	_cleanup_(cleanup_free) char *new = NULL;
	int fd, error;

	if (asprintf(&new, "%s.new", path) < 0)
		return -ENOMEM;
	/* one that a crash has left may be readable by others */
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	error = write_all(fd, text);
	if (!error && safely && fsync(fd) < 0)
		error = -errno;
	if (close(fd) < 0 && !error)
		error = -errno;
	if (!error && rename(new, path) < 0)
		error = -errno;
	if (error)
		unlink(new);
	return error;
}

int file_replace(const char *path, struct str text)
{
	return replace(path, text, false);
}

int file_replace_safely(const char *path, struct str text)
{
	return replace(path, text, true);
}

int file_read(const char *path, size_t max, struct buf *ret)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	_cleanup_(cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		buf_reserve(&text, (size_t)64 * 1024);
		n = read(fd, text.p + text.n, (size_t)64 * 1024);
		text.n += n > 0 ? (size_t)n : 0;
	} while (text.n <= max && (n > 0 || (n < 0 && errno == EINTR)));
	if (n < 0)
		return -errno;
	if (text.n > max)
		return -EFBIG;
	*ret = text;
	text = (struct buf){ 0 };
	return 0;
}
