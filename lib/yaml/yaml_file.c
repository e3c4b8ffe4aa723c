/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file that a user named and that may not be a regular file. It is opened without waiting
 * (open() of a FIFO without a writer blocks), checked with fstat(), and read up to a bound,
 * whatever size fstat() reported, because the file may grow meanwhile.
 */
#include "lib/yaml/yaml_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/yaml/yaml.h"

/* Complaints about the file as a whole have no line. */
static const struct place nowhere = { 0 };

static const char *kind_of(mode_t mode)
{
	static const struct {
		mode_t mode;
		const char *words;
	} kinds[] = {
		{ S_IFDIR, "a directory" }, { S_IFIFO, "a FIFO" },	   { S_IFSOCK, "a socket" },
		{ S_IFCHR, "a device" },    { S_IFBLK, "a block device" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((mode & S_IFMT) == kinds[i].mode)
			return kinds[i].words;
	return "something else";
}

static int refuse_size(struct errs *errors)
{
	errs_add(errors, nowhere, "", "too large: at most %zu bytes are read", YAML_MAX_BYTES);
	return -EFBIG;
}

/* fstat() on the open descriptor, not stat() on the path: the path may change in between. */
static int check_kind(int fd, struct errs *errors)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		int r = -errno;

		errs_add(errors, nowhere, "", "cannot be examined: %s", strerror(-r));
		return r;
	}
	if (!S_ISREG(st.st_mode)) {
		errs_add(errors, nowhere, "", "is %s, not a regular file", kind_of(st.st_mode));
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	return st.st_size > (off_t)YAML_MAX_BYTES ? refuse_size(errors) : 0;
}

/* Reads up to the end of the file, or until the bound is exceeded, which the caller reports. */
static int read_all(int fd, struct buf *into)
{
	ssize_t got;

	do {
		buf_reserve(into, 64 * 1024);
		got = read(fd, into->p + into->n, into->cap - into->n);
		if (got < 0 && errno != EINTR)
			return -errno;
		into->n += got > 0 ? (size_t)got : 0;
	} while (got && into->n <= YAML_MAX_BYTES);
	return 0;
}

/* O_NOCTTY because the path of a terminal must not become our controlling terminal. */
int yaml_read_file(const char *path, struct buf *ret, struct errs *errors)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_(buf_free) struct buf bytes = { 0 };
	int r = fd < 0 ? -errno : 0;

	assert(!ret->n);

	if (r < 0) {
		errs_add(errors, nowhere, "", "cannot be opened: %s", strerror(-r));
		return r;
	}
	r = check_kind(fd, errors);
	if (r < 0)
		return r;
	r = read_all(fd, &bytes);
	if (r < 0) {
		errs_add(errors, nowhere, "", "cannot be read: %s", strerror(-r));
		return r;
	}
	if (bytes.n > YAML_MAX_BYTES)
		return refuse_size(errors);
	buf_free(ret);
	*ret = bytes;
	bytes = (struct buf){ 0 };
	return 0;
}
