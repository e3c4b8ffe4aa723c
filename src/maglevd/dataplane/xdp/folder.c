/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock is on the folder itself, because files cannot be created in a BPF file system. It ends
 * with the process that holds it, or with its last child that is still loading something.
 */
#include "src/maglevd/dataplane/xdp/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

void xdplb__folder_init(struct xdplb_folder *f, const char *pin)
{
	snprintf(f->pin, sizeof(f->pin), "%s", pin);
	snprintf(f->maps, sizeof(f->maps), "%s/maps", f->pin);
	snprintf(f->next, sizeof(f->next), "%s/next", f->pin);
	snprintf(f->program, sizeof(f->program), "%s/program", f->pin);
	f->lock = -1;
}

static bool is_bpf_filesystem(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

/* Outside a BPF file system the folder is removed again, but only if it was created here. */
static int open_folder(const struct xdplb_folder *f, struct xdplb_why *why)
{
	bool made = mkdir(f->pin, 0700) == 0;
	int fd;

	if (!made && errno != EEXIST) {
		int r = -errno;

		xdplb__explain(why, "cannot make %s: %s", f->pin, strerror(-r));
		return r;
	}
	fd = open(f->pin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		xdplb__explain(why, "cannot open %s: %s", f->pin, strerror(errno));
		return -errno;
	}
	if (is_bpf_filesystem(fd))
		return fd;
	xdplb__explain(why, "%s is not in a BPF file system: see xdp.pin, or mount one", f->pin);
	if (made)
		rmdir(f->pin);
	close(fd);
	return -EINVAL;
}

int xdplb__folder_lock(struct xdplb_folder *f, struct xdplb_why *why)
{
	_cleanup_(cleanup_fd) int fd = open_folder(f, why);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		xdplb__explain(why, "another maglevd uses %s", f->pin);
		return -EBUSY;
	}
	f->lock = TAKE_FD(fd);
	return 0;
}

bool xdplb__folder_holds(const struct xdplb_folder *f)
{
	struct stat held, there;

	return f->lock >= 0 && fstat(f->lock, &held) == 0 && stat(f->pin, &there) == 0 &&
	       held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

void xdplb__folder_unlock(struct xdplb_folder *f)
{
	if (f->lock >= 0)
		close(f->lock);
	f->lock = -1;
}
