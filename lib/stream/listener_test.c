/* SPDX-License-Identifier: Apache-2.0 */
/* Real sockets. The tests of lib/http cover running out of descriptors and both families. */
#include "lib/stream/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

#define PATIENCE (20 * NSEC_PER_SEC)
#define FDS 256

static const struct stream_listener_config loopback = { .at.addr = { AF_INET, { 127, 0, 0, 1 } } };

/* The owner of a listener, and what its callbacks have recorded. */
struct bench {
	struct ev_loop *loop;
	struct stream_listener l;
	struct stream_listener_events events;
	char dir[32], path[64];
	int fds[FDS]; /* accepted */
	struct endpoint peers[FDS];
	unsigned n, full, other_turns;
	bool closes, drains; /* in its next callback */
};

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	struct bench *b = user;

	assert_true(b->n < FDS);
	b->peers[b->n] = peer;
	b->fds[b->n++] = fd;
	if (b->drains) {
		b->drains = false;
		stream_listener_drain(&b->l);
	}
	if (b->closes) {
		stream_listener_close(&b->l);
		memset(&b->l, 0xa5, sizeof(b->l)); /* it must not be used any more */
		b->l.fd = -1;
	}
}

static void on_starved(int error, void *user)
{
	fail_msg("starved: %d", error);
}

static void on_full(void *user)
{
	((struct bench *)user)->full++;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->loop = ev_loop_new(EVFLAG_AUTO);
	b->events = (struct stream_listener_events){ on_accepted, on_starved, b, on_full };
	b->l.fd = -1;
	snprintf(b->dir, sizeof(b->dir), "/tmp/listener.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/s", b->dir);
	*state = b;
	return 0;
}

/* Neither sockets nor locks may be left in the directory. */
static int teardown(void **state)
{
	struct bench *b = *state;

	stream_listener_close(&b->l);
	for (unsigned i = 0; i < b->n; i++)
		close(b->fds[i]);
	ev_loop_destroy(b->loop);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

static int open_at(struct bench *b, const struct stream_listener_config *config)
{
	return stream_listener_open(&b->l, b->loop, config, &b->events);
}

static int open_path(struct bench *b, mode_t mode)
{
	return open_at(b, &(struct stream_listener_config){ .path = b->path, .mode = mode });
}

/* Connected, or -errno. */
static int dial(const void *sa, socklen_t len)
{
	int family = ((const struct sockaddr *)sa)->sa_family;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	assert_true(fd >= 0);
	if (connect(fd, sa, len) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static int dial_tcp(struct endpoint e)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&e, &sa);
	int fd = dial(&sa, len);

	assert_true(fd >= 0);
	return fd;
}

static int dial_path(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	memcpy(sa.sun_path, path, strlen(path));
	return dial(&sa, sizeof(sa));
}

static void turn_until_accepted(struct bench *b, unsigned n)
{
	int64_t end = loop_monotonic() + PATIENCE;

	while (b->n < n) {
		assert_true(loop_monotonic() < end);
		ev_run(b->loop, EVRUN_NOWAIT);
	}
}

/* More turns than anything here needs. */
static void turn_some(struct bench *b)
{
	for (int i = 0; i < 20; i++)
		ev_run(b->loop, EVRUN_NOWAIT);
}

/* The peer's end of a closed connection reads end of file. */
static void expect_closed(int fd)
{
	char byte;

	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
}

/* ---- TCP ---- */

static void a_connection_is_handed_over_with_its_peer(void **state)
{
	struct bench *b = *state;
	int fd;

	assert_int_equal(open_at(b, &loopback), 0);
	assert_int_not_equal(b->l.bound.port, 0);
	fd = dial_tcp(b->l.bound);
	ev_run(b->loop, EVRUN_ONCE);
	assert_int_equal(b->n, 1);
	assert_int_equal(addr_cmp(&b->peers[0].addr, &loopback.at.addr), 0);
	assert_true(fcntl(b->fds[0], F_GETFL) & O_NONBLOCK);
	close(fd);
	stream_listener_close(&b->l);
	stream_listener_close(&b->l);
}

static void draining_takes_what_the_kernel_has_accepted(void **state)
{
	struct bench *b = *state;
	int x, y;

	assert_int_equal(open_at(b, &loopback), 0);
	x = dial_tcp(b->l.bound);
	y = dial_tcp(b->l.bound);
	stream_listener_drain(&b->l);
	assert_int_equal(b->n, 2);
	assert_int_equal(b->l.fd, -1);
	close(x);
	close(y);
}

static void a_port_that_is_taken_is_refused(void **state)
{
	struct bench *b = *state;
	struct stream_listener second = { .fd = -1 };
	struct stream_listener_config same = loopback;

	assert_int_equal(open_at(b, &loopback), 0);
	same.at = b->l.bound;
	assert_int_equal(stream_listener_open(&second, b->loop, &same, &b->events), -EADDRINUSE);
	assert_int_equal(second.fd, -1);
}

static void two_listeners_share_a_port_when_told(void **state)
{
	struct bench *b = *state;
	struct stream_listener_config shared = loopback;
	struct stream_listener second;
	int fds[32];

	shared.reuse_port = true;
	assert_int_equal(open_at(b, &shared), 0);
	shared.at = b->l.bound;
	assert_int_equal(stream_listener_open(&second, b->loop, &shared, &b->events), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial_tcp(b->l.bound);
	turn_until_accepted(b, ARRAY_SIZE(fds));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	stream_listener_close(&second);
}

static bool count_step(struct task *t)
{
	return true; /* there is always more */
}

/* During a flood other tasks run; connections that do not fit into a step are accepted later. */
static void a_flood_is_accepted_in_steps(void **state)
{
	struct bench *b = *state;
	struct task other;
	int fds[200];

	assert_int_equal(open_at(b, &loopback), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial_tcp(b->l.bound);
	task_init(&other, b->loop, TASK_ORDINARY, count_step);
	task_wake(&other);
	ev_run(b->loop, EVRUN_NOWAIT);
	assert_in_range(b->n, 1, 64);
	turn_until_accepted(b, ARRAY_SIZE(fds));
	task_cancel(&other);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void a_callback_may_close_and_forget(void **state)
{
	struct bench *b = *state;
	int x, y;

	assert_int_equal(open_at(b, &loopback), 0);
	x = dial_tcp(b->l.bound);
	y = dial_tcp(b->l.bound);
	b->closes = true;
	turn_until_accepted(b, 1);
	turn_some(b);
	assert_int_equal(b->n, 1);
	close(x);
	close(y);
}

static void a_callback_may_drain(void **state)
{
	struct bench *b = *state;
	int x, y;

	assert_int_equal(open_at(b, &loopback), 0);
	x = dial_tcp(b->l.bound);
	y = dial_tcp(b->l.bound);
	b->drains = true;
	ev_run(b->loop, EVRUN_ONCE);
	assert_int_equal(b->n, 2);
	assert_int_equal(b->l.fd, -1);
	turn_some(b);
	close(x);
	close(y);
}

/* ---- limits ---- */

static void a_full_listener_waits_for_a_release(void **state)
{
	struct bench *b = *state;
	struct stream_listener_config two = loopback;
	int fds[4];

	two.max_open = 2;
	assert_int_equal(open_at(b, &two), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial_tcp(b->l.bound);
	turn_until_accepted(b, 2);
	turn_some(b);
	assert_int_equal(b->n, 2);
	assert_int_equal(b->full, 1);
	assert_int_equal(b->l.open, 2);
	assert_false(task_is_woken(&b->l.task)); /* it does not spin */
	stream_listener_release(&b->l, &b->peers[0]);
	turn_until_accepted(b, 3);
	turn_some(b);
	assert_int_equal(b->n, 3);
	assert_int_equal(b->full, 2);
	assert_int_equal(b->l.refused, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void draining_does_not_exceed_the_bound(void **state)
{
	struct bench *b = *state;
	struct stream_listener_config two = loopback;
	int fds[3];

	two.max_open = 2;
	assert_int_equal(open_at(b, &two), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial_tcp(b->l.bound);
	stream_listener_drain(&b->l);
	assert_int_equal(b->n, 2);
	assert_int_equal(b->l.refused, 1);
	expect_closed(fds[2]);
	stream_listener_release(&b->l, &b->peers[0]); /* after the close: no effect */
	close(fds[0]);
	close(fds[1]);
}

/* From one of several local addresses. */
static int dial_from(struct endpoint to, const char *source)
{
	struct endpoint from = { 0 };
	struct sockaddr_storage sa;
	int fd = socket(to.addr.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len;

	assert_int_equal(addr_parse(source, &from.addr), 0);
	len = endpoint_to_sockaddr(&from, &sa);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	len = endpoint_to_sockaddr(&to, &sa);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

static void one_source_does_not_take_the_places_of_others(void **state)
{
	struct bench *b = *state;
	struct stream_listener_config two = loopback;
	int greedy[3], modest;

	two.max_per_source = 2;
	assert_int_equal(open_at(b, &two), 0);
	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		greedy[i] = dial_from(b->l.bound, "127.0.0.2");
	modest = dial_from(b->l.bound, "127.0.0.3");
	turn_until_accepted(b, 3);
	assert_int_equal(b->l.refused, 1);
	expect_closed(greedy[2]);
	stream_listener_release(&b->l, &b->peers[0]);
	greedy[2] = dial_from(b->l.bound, "127.0.0.2");
	turn_until_accepted(b, 4);
	assert_int_equal(b->l.refused, 1);
	for (unsigned i = 1; i < b->n; i++)
		stream_listener_release(&b->l, &b->peers[i]);
	assert_null(b->l.sources); /* sources without connections are forgotten */
	assert_int_equal(b->l.open, 0);
	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		close(greedy[i]);
	close(modest);
}

/* The kernel makes a new address usable a moment later. */
static bool wait_for_address(const struct in6_addr *addr)
{
	const struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = *addr };
	int64_t end = loop_monotonic() + PATIENCE;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool bound = false;

	while (!bound && loop_monotonic() < end) {
		bound = bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0;
		sched_yield();
	}
	close(fd);
	return bound;
}

/* A network of its own, whose loopback interface has addresses in two networks. */
static bool enter_network(void)
{
	static const char *const addrs[] = { "2001:db8:0:1::1", "2001:db8:0:1::2",
					     "2001:db8:0:2::1" };
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		struct in6_ifreq add = { .ifr6_prefixlen = 128, .ifr6_ifindex = 1 };

		inet_pton(AF_INET6, addrs[i], &add.ifr6_addr);
		if (ioctl(fd, SIOCSIFADDR, &add) < 0 || !wait_for_address(&add.ifr6_addr))
			return false;
	}
	close(fd);
	return true;
}

static void count_networks(struct bench *b)
{
	struct stream_listener_config one = { .max_per_source = 1 };
	int first, same, other;

	assert_int_equal(addr_parse("2001:db8:0:1::1", &one.at.addr), 0);
	assert_int_equal(open_at(b, &one), 0);
	first = dial_from(b->l.bound, "2001:db8:0:1::1");
	same = dial_from(b->l.bound, "2001:db8:0:1::2");
	other = dial_from(b->l.bound, "2001:db8:0:2::1");
	turn_until_accepted(b, 2);
	assert_int_equal(b->l.refused, 1);
	expect_closed(same);
	close(first);
	close(other);
	stream_listener_close(&b->l);
}

/* In a child process, because there is no way back out of a namespace of this kind. */
static void a_network_of_ipv6_is_one_source(void **state)
{
	struct bench *b = *state;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!enter_network())
			_exit(77);
		count_networks(
			b); /* a failed assertion does not return; the exit status shows it */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no namespaces here, or no IPv6 */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- Unix sockets ---- */

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	return st.st_mode & 07777;
}

static void a_path_accepts_and_goes_with_the_listener(void **state)
{
	struct bench *b = *state;
	int fd;

	assert_int_equal(open_path(b, 0), 0);
	assert_string_equal(b->l.path, b->path);
	fd = dial_path(b->path);
	turn_until_accepted(b, 1);
	assert_false(addr_is_set(&b->peers[0].addr));
	assert_int_equal(send(fd, "x", 1, 0), 1);
	assert_int_equal(recv(b->fds[0], (char[1]){ 0 }, 1, 0), 1);
	close(fd);
	stream_listener_close(&b->l);
	assert_int_equal(access(b->path, F_OK), -1);
}

static void the_file_has_its_mode_whatever_the_umask(void **state)
{
	static const struct {
		mode_t umask, asked, is;
	} rows[] = { { 0, 0, 0600 },	   { 0, 0600, 0600 },	 { 0077, 0666, 0666 },
		     { 0777, 0660, 0660 }, { 0022, 0640, 0640 }, { 0, 0777, 0777 } };
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		mode_t before = umask(rows[i].umask);

		assert_int_equal(open_path(b, rows[i].asked), 0);
		assert_int_equal(umask(before), rows[i].umask);
		assert_int_equal(mode_of(b->path), rows[i].is);
		stream_listener_close(&b->l);
	}
}

/* A process that dies leaves its file. */
static void leave_a_dead_socket(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path, path, strlen(path));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd);
}

static void the_file_of_a_dead_process_is_replaced(void **state)
{
	struct bench *b = *state;
	int fd;

	leave_a_dead_socket(b->path);
	assert_int_equal(dial_path(b->path), -ECONNREFUSED);
	assert_int_equal(open_path(b, 0), 0);
	fd = dial_path(b->path);
	turn_until_accepted(b, 1);
	close(fd);
}

static void the_file_of_a_live_one_is_not(void **state)
{
	struct bench *b = *state;
	struct stream_listener second;
	const struct stream_listener_config same = { .path = b->path };
	int fd;

	assert_int_equal(open_path(b, 0), 0);
	assert_int_equal(stream_listener_open(&second, b->loop, &same, &b->events), -EADDRINUSE);
	fd = dial_path(b->path);
	turn_until_accepted(b, 1);
	close(fd);
}

static void a_live_socket_with_a_full_queue_is_alive(void **state)
{
	struct bench *b = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), waits;

	memcpy(sa.sun_path, b->path, strlen(b->path));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 0), 0);
	waits = dial_path(b->path);
	assert_int_equal(open_path(b, 0), -EADDRINUSE);
	close(waits);
	close(fd);
	assert_int_equal(unlink(b->path), 0);
}

static void a_file_that_is_no_socket_stays(void **state)
{
	struct bench *b = *state;
	int fd = open(b->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	close(fd);
	assert_int_equal(open_path(b, 0), -EEXIST);
	assert_int_equal(unlink(b->path), 0);
}

static void a_file_of_somebody_else_stays_at_close(void **state)
{
	struct bench *b = *state;

	assert_int_equal(open_path(b, 0), 0);
	assert_int_equal(unlink(b->path), 0);
	leave_a_dead_socket(b->path);
	stream_listener_close(&b->l);
	assert_int_equal(unlink(b->path), 0);
}

/* Another process holds the lock, between its check and its bind(). */
static void two_at_once_do_not_both_win(void **state)
{
	struct bench *b = *state;
	char name[80];
	int fd;

	snprintf(name, sizeof(name), "%s.lock", b->path);
	fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	leave_a_dead_socket(b->path);
	assert_int_equal(open_path(b, 0), -EADDRINUSE);
	close(fd); /* the lock file of a process that has ended is ignored */
	assert_int_equal(open_path(b, 0), 0);
}

/* In a child: waits for the start signal, and keeps its listener until it is killed. */
static void compete(struct bench *b, int go[2], int won[2])
{
	char byte;

	close(go[1]);
	(void)!read(go[0], &byte, 1);
	if (open_path(b, 0) < 0)
		_exit(0);
	(void)!write(won[1], "w", 1);
	close(won[1]);
	for (;;)
		pause();
}

/* Many processes start at once over one stale file: exactly one of them listens in the end. */
static void of_many_that_start_at_once_one_wins(void **state)
{
	struct bench *b = *state;
	pid_t children[16];
	int go[2], won[2], fd;
	unsigned winners = 0;
	char byte;

	leave_a_dead_socket(b->path);
	assert_int_equal(pipe2(go, O_CLOEXEC) | pipe2(won, O_CLOEXEC), 0);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (children[i] == 0)
			compete(b, go, won);
	}
	close(go[1]); /* all at once */
	close(won[1]);
	while (read(won[0], &byte, 1) == 1)
		winners++;
	assert_int_equal(winners, 1);
	fd = dial_path(b->path);
	assert_true(fd >= 0);
	close(fd);
	close(go[0]);
	close(won[0]);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	assert_int_equal(unlink(b->path), 0);
}

static void an_abstract_name_has_no_file(void **state)
{
	struct bench *b = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stream_listener second;
	char name[64];
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path));
	int fd;

	snprintf(name, sizeof(name), "@maglev-listener-test-%d", (int)getpid());
	memcpy(sa.sun_path, name, strlen(name));
	sa.sun_path[0] = '\0';
	len += (socklen_t)strlen(name);
	const struct stream_listener_config config = { .path = name };
	assert_int_equal(open_at(b, &config), 0);
	assert_int_equal(stream_listener_open(&second, b->loop, &config, &b->events), -EADDRINUSE);
	fd = dial(&sa, len);
	assert_true(fd >= 0);
	turn_until_accepted(b, 1);
	close(fd);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	struct bench *b = *state;
	char name[109];

	memset(name, 'x', sizeof(name) - 1);
	name[108] = '\0';
	assert_int_equal(open_at(b, &(struct stream_listener_config){ .path = name }),
			 -ENAMETOOLONG);
	assert_int_equal(open_at(b, &(struct stream_listener_config){ .path = "" }), -EINVAL);
}

/* ---- sockets from elsewhere ---- */

static void a_socket_from_elsewhere_is_used(void **state)
{
	struct bench *b = *state;
	const struct stream_listener_config bounds = { .max_open = 1 };
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&loopback.at, &sa);
	int fd = socket(AF_INET, SOCK_STREAM, 0), x, y;

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(stream_listener_adopt(&b->l, b->loop, fd, &bounds, &b->events), -EINVAL);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(stream_listener_adopt(&b->l, b->loop, fd, &bounds, &b->events), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(addr_cmp(&b->l.bound.addr, &loopback.at.addr), 0);
	x = dial_tcp(b->l.bound);
	y = dial_tcp(b->l.bound);
	turn_until_accepted(b, 1);
	turn_some(b);
	assert_int_equal(b->n, 1);
	close(x);
	close(y);
}

static void what_does_not_listen_is_refused(void **state)
{
	struct bench *b = *state;
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct endpoint at;

	assert_int_equal(stream_listener_inspect(udp, &at), -EINVAL);
	assert_int_equal(stream_listener_adopt(&b->l, b->loop, udp, &loopback, &b->events),
			 -EINVAL);
	assert_int_equal(stream_listener_adopt(&b->l, b->loop, file, &loopback, &b->events),
			 -EINVAL);
	assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC); /* still ours, still open */
	close(udp);
	close(file);
}

/* A socket that one process gives away serves in the next, including queued connections. */
static void a_socket_is_taken_over_with_its_queue(void **state)
{
	struct bench *b = *state;
	struct stream_listener heir;
	struct endpoint at;
	int waits, fd;

	assert_int_equal(open_path(b, 0640), 0);
	waits = dial_path(b->path);
	fd = stream_listener_give(&b->l);
	assert_true(fd >= 0);
	assert_int_equal(mode_of(b->path), 0640);
	assert_int_equal(stream_listener_give(&b->l), -1);
	assert_int_equal(stream_listener_inspect(fd, &at), 0);
	assert_false(addr_is_set(&at.addr));
	assert_int_equal(stream_listener_adopt(&heir, b->loop, fd, &loopback, &b->events), 0);
	assert_string_equal(heir.path, b->path);
	turn_until_accepted(b, 1);
	stream_listener_close(&heir);
	assert_int_equal(mode_of(b->path), 0640); /* its maker removes it */
	assert_int_equal(unlink(b->path), 0);
	close(waits);
}

/* Whether a loop of this process would wake up: its set of epoll can be polled itself. */
static bool a_loop_would_wake(void)
{
	char path[32], what[32];
	bool ready = false;

	for (int fd = 0; fd < 64; fd++) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, what, sizeof(what) - 1);
		what[n > 0 ? n : 0] = '\0';
		if (strcmp(what, "anon_inode:[eventpoll]") == 0)
			ready |= poll(&p, 1, 0) > 0;
	}
	return ready;
}

/* What another process does with its copy of the socket must not wake the loop that left it. */
static void a_listener_that_leaves_does_not_see_later_connections(void **state)
{
	struct bench *b = *state;
	struct stream_listener heir;
	int copy, waits;

	assert_int_equal(open_path(b, 0640), 0);
	copy = dup(b->l.fd);
	stream_listener_leave(&b->l);
	turn_some(b);
	assert_int_equal(b->l.fd, -1);
	assert_int_equal(mode_of(b->path), 0640);
	waits = dial_path(b->path);
	assert_false(a_loop_would_wake());
	assert_int_equal(stream_listener_adopt(&heir, b->loop, copy, &loopback, &b->events), 0);
	turn_until_accepted(b, 1);
	stream_listener_leave(&heir);
	stream_listener_close(&heir); /* need not wait for the turn */
	assert_int_equal(unlink(b->path), 0);
	close(waits);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_connection_is_handed_over_with_its_peer),
		T(draining_takes_what_the_kernel_has_accepted),
		T(a_port_that_is_taken_is_refused),
		T(two_listeners_share_a_port_when_told),
		T(a_flood_is_accepted_in_steps),
		T(a_callback_may_close_and_forget),
		T(a_callback_may_drain),
		T(a_full_listener_waits_for_a_release),
		T(draining_does_not_exceed_the_bound),
		T(one_source_does_not_take_the_places_of_others),
		T(a_network_of_ipv6_is_one_source),
		T(a_path_accepts_and_goes_with_the_listener),
		T(the_file_has_its_mode_whatever_the_umask),
		T(the_file_of_a_dead_process_is_replaced),
		T(the_file_of_a_live_one_is_not),
		T(a_live_socket_with_a_full_queue_is_alive),
		T(a_file_that_is_no_socket_stays),
		T(a_file_of_somebody_else_stays_at_close),
		T(two_at_once_do_not_both_win),
		T(of_many_that_start_at_once_one_wins),
		T(an_abstract_name_has_no_file),
		T(a_name_that_is_too_long_is_refused),
		T(a_socket_from_elsewhere_is_used),
		T(what_does_not_listen_is_refused),
		T(a_socket_is_taken_over_with_its_queue),
		T(a_listener_that_leaves_does_not_see_later_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
