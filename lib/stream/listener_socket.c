/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener: opens listening sockets.
 *
 * A Unix socket with a path is a file, and two things must hold for it.
 *
 * No process may connect before the file has its mode. fchmod() on the socket before bind() makes
 * bind() create the file with that mode minus the umask; the bits that the umask removed are added
 * afterwards. The umask is not changed, because all threads share it. listen() comes last, and
 * before it no process can connect at all.
 *
 * A stale file (of a process that has ended) is replaced, the file of a running process is not.
 * connect() shows the difference: it is refused if no process listens. Two processes that start at
 * the same time could both find a stale file, and the second would remove the new file of the
 * first. So all of it is done under a lock, a file PATH.lock with mode 0600, which only this user
 * or root can open. It is removed at the end. After flock() a process checks that the file is still
 * in place, because it may have been removed between open() and flock().
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/stream/listener_private.h"

#define MODE_DEFAULT 0600
#define LOCK_TRIES 8
#define LOCK_SUFFIX ".lock"

static int backlog_of(const struct stream_listener_config *c)
{
	return (int)(c->backlog ? c->backlog : STREAM__BACKLOG);
}

/* ---- TCP ---- */

/* Accepted sockets inherit these options from the listener, which saves calls per connection. */
static void set_inherited(int fd)
{
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int open_socket(const struct endpoint *e, bool reuse_port)
{
	int family = e->addr.family == AF_INET ? AF_INET : AF_INET6;
	int v6only = addr_is_set(&e->addr);
	int on = 1;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	set_inherited(fd);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (reuse_port)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	return fd;
}

/* Returns the port, or a negative errno. */
static int bind_and_listen(int fd, const struct endpoint *e, int backlog)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(e, &sa);
	struct endpoint bound = { 0 };

	if (bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, backlog) < 0)
		return -errno;
	len = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	endpoint_from_sockaddr((struct sockaddr *)&sa, &bound);
	return bound.port;
}

int stream__listen_tcp(const struct stream_listener_config *c, struct stream__bound *ret)
{
	struct endpoint e = c->at;
	_cleanup_(cleanup_fd) int fd = open_socket(&e, c->reuse_port);
	int port;

	if (fd == -EAFNOSUPPORT && !addr_is_set(&e.addr)) {
		e.addr = (struct addr){ .family = AF_INET };
		fd = open_socket(&e, c->reuse_port);
	}
	if (fd < 0)
		return fd;
	port = bind_and_listen(fd, &e, backlog_of(c));
	if (port < 0)
		return port;
	*ret = (struct stream__bound){ .fd = TAKE_FD(fd), .at = { c->at.addr, (uint16_t)port } };
	return 0;
}

/* ---- Unix: the name ---- */

static bool is_abstract(const char *path)
{
	return path[0] == '@';
}

int stream__unix_address(const char *path, struct sockaddr_un *ret)
{
	size_t n = strlen(path);

	if (!n)
		return -EINVAL;
	if (n >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, n);
	if (!is_abstract(path))
		return (int)(offsetof(struct sockaddr_un, sun_path) + n + 1);
	ret->sun_path[0] = '\0'; /* no NUL at the end: it would be part of the name, see unix(7) */
	return (int)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int unix_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* ---- Unix: the lock ---- */

static bool is_same_file(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Returns the descriptor that holds the lock, or a negative errno. Does not wait. */
static int lock(const char *path)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		_cleanup_(cleanup_fd) int fd =
			open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		if (is_same_file(fd, path))
			return TAKE_FD(fd);
	}
	return -EADDRINUSE;
}

/* ---- Unix: the file ---- */

/* 0 if no process listens there. A full queue (EAGAIN) or another socket type is in use as well. */
static int find_nobody(const struct sockaddr_un *sa, socklen_t len)
{
	_cleanup_(cleanup_fd) int fd = unix_socket();

	if (fd < 0)
		return fd;
	if (connect(fd, (const struct sockaddr *)sa, len) == 0)
		return -EADDRINUSE;
	if (errno == ECONNREFUSED || errno == ENOENT)
		return 0;
	return errno == EAGAIN || errno == EPROTOTYPE ? -EADDRINUSE : -errno;
}

/* Removes a stale socket file. Must be called with the lock held. */
static int clear_path(const char *path, const struct sockaddr_un *sa, socklen_t len)
{
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	r = find_nobody(sa, len);
	if (r < 0)
		return r;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* Does not follow a symbolic link, in case the file was replaced by one. */
static int complete_mode(const char *path, mode_t mode)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if ((st.st_mode & 07777) == mode)
		return 0;
	return fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int make_file(int fd, const struct stream_listener_config *c, const struct sockaddr_un *sa,
		     socklen_t len, struct stream__bound *ret)
{
	mode_t mode = c->mode ? c->mode : MODE_DEFAULT;
	struct stat st;
	int r;

	if (fchmod(fd, mode) < 0 || bind(fd, (const struct sockaddr *)sa, len) < 0)
		return -errno;
	if (lstat(c->path, &st) < 0)
		return -errno;
	r = complete_mode(c->path, mode);
	if (r == 0 && listen(fd, backlog_of(c)) < 0)
		r = -errno;
	if (r < 0) {
		stream__remove_file(c->path, st.st_dev, st.st_ino);
		return r;
	}
	*ret = (struct stream__bound){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino };
	return 0;
}

static int listen_at_path(int fd, const struct stream_listener_config *c,
			  const struct sockaddr_un *sa, socklen_t len, struct stream__bound *ret)
{
	char name[sizeof(sa->sun_path) + sizeof(LOCK_SUFFIX)];
	_cleanup_(cleanup_fd) int held = -1;
	int r;

	snprintf(name, sizeof(name), "%s" LOCK_SUFFIX, c->path);
	held = lock(name);
	if (held < 0)
		return held;
	r = clear_path(c->path, sa, len);
	if (r == 0)
		r = make_file(fd, c, sa, len, ret);
	unlink(name);
	return r;
}

static int listen_abstract(int fd, const struct stream_listener_config *c,
			   const struct sockaddr_un *sa, socklen_t len, struct stream__bound *ret)
{
	if (bind(fd, (const struct sockaddr *)sa, len) < 0 || listen(fd, backlog_of(c)) < 0)
		return -errno;
	*ret = (struct stream__bound){ .fd = fd };
	return 0;
}

int stream__listen_unix(const struct stream_listener_config *c, struct stream__bound *ret)
{
	struct sockaddr_un sa;
	int len = stream__unix_address(c->path, &sa);
	_cleanup_(cleanup_fd) int fd = len < 0 ? -1 : unix_socket();
	int r;

	if (len < 0)
		return len;
	if (fd < 0)
		return fd;
	if (is_abstract(c->path))
		r = listen_abstract(fd, c, &sa, (socklen_t)len, ret);
	else
		r = listen_at_path(fd, c, &sa, (socklen_t)len, ret);
	if (r == 0)
		(void)TAKE_FD(fd);
	return r;
}

/*
 * Programs that use this function do not replace the file while the socket listens, and its inode
 * number is not used again while the socket is open. So there is no race with a later owner.
 */
void stream__remove_file(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_dev == dev && st.st_ino == ino)
		unlink(path);
}

/* ---- sockets from elsewhere ---- */

static int get_int(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) < 0 ? -1 : value;
}

static char *unix_name(const struct sockaddr_un *sa, socklen_t len)
{
	size_t n = len - offsetof(struct sockaddr_un, sun_path);
	char *name = mem_zalloc(sizeof(sa->sun_path) + 1);

	memcpy(name, sa->sun_path, n < sizeof(sa->sun_path) ? n : sizeof(sa->sun_path));
	if (n && !name[0])
		name[0] = '@';
	return name;
}

/* [::] without IPV6_V6ONLY is written as an endpoint without an address everywhere else. */
static void forget_any(int fd, struct endpoint *e)
{
	static const struct addr any = { .family = AF_INET6 };

	if (addr_cmp(&e->addr, &any) == 0 && get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 0)
		e->addr = (struct addr){ 0 };
}

int stream__inspect(int fd, struct endpoint *ret_at, char **ret_path)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	struct endpoint at;

	if (get_int(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM ||
	    get_int(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -EINVAL;
	if (sa.ss_family == AF_UNIX) {
		*ret_at = (struct endpoint){ 0 };
		*ret_path = unix_name((struct sockaddr_un *)&sa, len);
		return 0;
	}
	if (endpoint_from_sockaddr((struct sockaddr *)&sa, &at) < 0)
		return -EINVAL;
	forget_any(fd, &at);
	set_inherited(fd);
	*ret_at = at;
	*ret_path = NULL;
	return 0;
}
