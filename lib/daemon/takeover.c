/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover: the old process's side. See takeover.h for what is said.
 *
 * The child is started by posix_spawn(), because after a fork() of a process with threads hardly
 * anything may be called. It is known by a pidfd: once it is reaped, by the default loop, its
 * number may be another's. The socket shows its end, as no other process has the child's side of
 * it.
 */
#include "lib/daemon/takeover.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/daemon/takeover_private.h"
#include "lib/net/pass.h"

enum step {
	STEP_STARTED, /* waits for "hello" */
	STEP_OFFERED, /* waits for "ready" */
	STEP_DONE,    /* "go" was sent */
	STEP_FAILED,
};

struct takeover {
	struct ev_loop *loop;
	struct takeover_calls calls;
	enum step step;
	ev_io readable; /* or writable: more of the state can be passed */
	ev_timer limit; /* of the step */
	VEC(int) fds;	/* to be passed */
	size_t passed;
	int channel;
	int child; /* pidfd */
	pid_t pid;
};

/* ---- the end ---- */

static void disarm(struct takeover *t)
{
	ev_io_stop(t->loop, &t->readable);
	ev_timer_stop(t->loop, &t->limit);
	for (size_t i = 0; i < t->fds.n; i++)
		close(t->fds.items[i]);
	vec_free(&t->fds);
}

/* The child is killed before its socket is closed: it must not take that for our end. */
static void fail(struct takeover *t, const char *why)
{
	disarm(t);
	t->step = STEP_FAILED;
	takeover_signal(t, SIGKILL);
	t->calls.ended(why, t->calls.user);
}

static void succeed(struct takeover *t)
{
	disarm(t);
	t->step = STEP_DONE;
	if (net_pass(t->channel, STR(TAKEOVER__GO), NULL, 0) < 0) {
		fail(t, "the new process has ended");
		return;
	}
	t->calls.ended(NULL, t->calls.user);
}

static void on_limit(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct takeover *t = container_of(w, struct takeover, limit);

	fail(t, t->step == STEP_STARTED ? "the new process does not ask for the state"
					: "the new process does not become ready");
}

/* ---- the state ---- */

/* The bytes as a file in memory; or a negative errno. */
static int store(const struct buf *bytes)
{
	_cleanup_(cleanup_fd) int fd = memfd_create("maglev-state", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < bytes->n) {
		ssize_t n = write(fd, bytes->p + done, bytes->n - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return TAKE_FD(fd);
}

static void watch(struct takeover *t, int events)
{
	ev_io_stop(t->loop, &t->readable);
	ev_io_set(&t->readable, t->channel, events);
	ev_io_start(t->loop, &t->readable);
}

/* The descriptors from the next one on: those that one message can have. 0, or a negative errno. */
static int pass_next(struct takeover *t)
{
	size_t left = t->fds.n - t->passed, n = left < NET_PASS_MAX ? left : NET_PASS_MAX;
	char text[TAKEOVER__TEXT] = TAKEOVER__MORE;
	int r;

	if (!t->passed)
		snprintf(text, sizeof(text), TAKEOVER__STATE "%zu", t->fds.n - 1);
	r = net_pass(t->channel, str_of(text), t->fds.items + t->passed, n);
	if (r == 0)
		t->passed += n;
	return r;
}

/* The kernel keeps only a few messages (net.unix.max_dgram_qlen) until the child takes them. */
static void pass_on(struct takeover *t)
{
	int r = 0;

	while (t->passed < t->fds.n && r == 0)
		r = pass_next(t);
	watch(t, r == -EAGAIN ? EV_READ | EV_WRITE : EV_READ);
	if (r < 0 && r != -EAGAIN)
		fail(t, strerror(-r));
}

/* The first descriptor is the file with the bytes. All are our own copies. */
static int prepare(struct takeover *t, const struct takeover_state *s)
{
	int fd = store(&s->bytes);

	for (size_t i = 0; i < s->fds.n && fd >= 0; i++) {
		vec_push(&t->fds, fd);
		fd = fcntl(s->fds.items[i], F_DUPFD_CLOEXEC, 0);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd < 0)
		return fd;
	vec_push(&t->fds, fd);
	return s->fds.n > TAKEOVER_FDS || s->bytes.n > TAKEOVER_BYTES ? -E2BIG : 0;
}

static void offer(struct takeover *t)
{
	struct takeover_state state = { 0 };
	const char *failure;
	int r = 0;

	t->step = STEP_OFFERED;
	failure = t->calls.asked(&state, t->calls.user);
	if (!failure)
		r = prepare(t, &state);
	buf_free(&state.bytes);
	vec_free(&state.fds);
	if (failure || r < 0) {
		fail(t, failure ?: strerror(-r));
		return;
	}
	ev_now_update(t->loop);
	ev_timer_stop(t->loop, &t->limit);
	ev_timer_set(&t->limit, TAKEOVER_STATE_LIMIT, 0.);
	ev_timer_start(t->loop, &t->limit);
	pass_on(t);
}

/* ---- what the child says ---- */

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct takeover *t = container_of(w, struct takeover, readable);
	char text[TAKEOVER__TEXT];
	size_t none = 0;
	ssize_t n = net_take(t->channel, text, sizeof(text), NULL, &none);
	struct str said = { text, n > 0 ? (size_t)n : 0 };

	if (n == -EAGAIN || n == -EINTR) {
		if (revents & EV_WRITE)
			pass_on(t);
		return;
	}
	if (n == 0 || n == -ECONNRESET)
		fail(t, "the new process has ended before it was ready");
	else if (t->step == STEP_STARTED && str_eq(said, STR(TAKEOVER__HELLO)))
		offer(t);
	else if (t->step == STEP_OFFERED && t->passed == t->fds.n &&
		 str_eq(said, STR(TAKEOVER__READY)))
		succeed(t);
	else
		fail(t, "the new process does not follow the protocol");
}

/* ---- the start ---- */

struct strings {
	char **items;
	size_t n, cap;
};

static bool sets(const char *assignment, const char *name)
{
	size_t n = strlen(name);

	return strncmp(assignment, name, n) == 0 && assignment[n] == '=';
}

/*
 * With the number of the socket. Without the process to which a watchdog of systemd belongs:
 * then it belongs to every process (sd_watchdog_enabled(3)).
 */
static void make_environment(char *channel, struct strings *ret)
{
	for (char **e = environ; *e; e++)
		if (!sets(*e, "WATCHDOG_PID") && !sets(*e, TAKEOVER__VARIABLE))
			vec_push(ret, *e);
	vec_push(ret, channel);
	vec_push(ret, NULL);
}

/*
 * Signals that a daemon ignores are as usual in the child. Those that ask a daemon for something
 * wait until it handles them (daemon_start()); their default action would end it.
 */
static int spawn(char *const argv[], int socket, pid_t *ret)
{
	char channel[] = TAKEOVER__VARIABLE "=" TAKEOVER__NUMBER;
	struct strings environment = { 0 };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t requests, all;
	int r;

	sigemptyset(&requests);
	sigaddset(&requests, SIGHUP);
	sigaddset(&requests, SIGUSR2);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, socket, TAKEOVER__FD);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &requests);
	posix_spawnattr_setsigdefault(&attributes, &all);
	make_environment(channel, &environment);
	r = -posix_spawnp(ret, argv[0], &files, &attributes, argv, environment.items);
	vec_free(&environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

/* No loop runs between spawn() and this call, so the number is still that of the child. */
static int know(pid_t pid)
{
	int fd = pidfd_open(pid, 0);

	if (fd < 0) {
		fd = -errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return fd;
}

int takeover_start(struct ev_loop *loop, char *const argv[], const struct takeover_calls *calls,
		   struct takeover **ret)
{
	_cleanup_(cleanup_fd) int ours = -1, theirs = -1, child = -1;
	struct takeover *t;
	int pair[2], r;
	pid_t pid;

	assert(loop && argv[0] && calls->asked && calls->ended);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	fcntl(ours, F_SETFL, O_NONBLOCK);
	r = spawn(argv, theirs, &pid);
	if (r < 0)
		return r;
	child = know(pid);
	if (child < 0)
		return child;
	t = mem_zalloc(sizeof(*t));
	*t = (struct takeover){ .loop = loop, .calls = *calls, .pid = pid };
	t->channel = TAKE_FD(ours);
	t->child = TAKE_FD(child);
	ev_io_init(&t->readable, on_readable, t->channel, EV_READ);
	ev_io_start(loop, &t->readable);
	ev_now_update(loop);
	ev_timer_init(&t->limit, on_limit, TAKEOVER_START_LIMIT, 0.);
	ev_timer_start(loop, &t->limit);
	*ret = t;
	return 0;
}

pid_t takeover_pid(const struct takeover *t)
{
	return t->pid;
}

void takeover_signal(const struct takeover *t, int signo)
{
	pidfd_send_signal(t->child, signo, NULL, 0);
}

void takeover_free(struct takeover *t)
{
	if (!t)
		return;
	disarm(t);
	if (t->step != STEP_DONE)
		takeover_signal(t, SIGKILL);
	close(t->channel);
	close(t->child);
	free(t);
}
