/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: a forked child, the pidfd that identifies it, and perhaps a pipe for its result.
 *
 * The pidfd becomes readable when the child has ended; that is the only event that finishes a
 * job. The pipe is read as bytes arrive, so that a child with a long result does not wait, and
 * once more at the end. The end of the pipe means nothing: the child may close it early, and a
 * process that it started may hold it open longer.
 *
 * The child is killed through the pidfd, never by its pid: once the child is reaped, the pid may
 * belong to another process. A default loop of libev reaps every child of the process, and keeps
 * the status only for those with an ev_child. So a job on a default loop has one, which only
 * keeps the status until the pidfd is handled.
 */
#include "lib/loop/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define CHUNK ((size_t)16 * 1024) /* initial size of the result buffer */
#define FIRST_FD 3 /* standard descriptors stay, so that messages of abort() are seen */

struct job {
	struct ev_loop *loop;
	job_done_fn done;
	void *user;
	ev_io ended;	   /* on the pidfd */
	ev_io readable;	   /* on the pipe; its fd is -1 without one */
	ev_timer deadline; /* only with a timeout */
	ev_child status;   /* keeps the status that a default loop reaped; otherwise inactive */
	pid_t group;	   /* the process group of the child; 0: that of this process */
	enum job_end why; /* why it was killed: JOB_TIMEOUT or JOB_OVERFLOW; JOB_DONE: it was not */
	size_t result_max;
	char *bytes;
	size_t n, size;
};

/* ---- the fork ---- */

#if defined(__clang__) && __clang_major__ <= 16
#if __has_feature(address_sanitizer)
#define SANITIZER_FORKS_UNLOCKED
#endif
#endif

#ifdef SANITIZER_FORKS_UNLOCKED
/*
 * Without this, another thread that is in the sanitizer's malloc() at the fork leaves its locks
 * locked in the child. Later versions of the sanitizer do the same by themselves.
 */
void lock_malloc(void) __asm__("_ZN6__lsan13LockAllocatorEv");
void unlock_malloc(void) __asm__("_ZN6__lsan15UnlockAllocatorEv");
void lock_traces(void) __asm__("_ZN11__sanitizer17StackDepotLockAllEv");
void unlock_traces(void) __asm__("_ZN11__sanitizer19StackDepotUnlockAllEv");

static pid_t fork_unlocked(void)
{
	pid_t pid;

	lock_malloc();
	lock_traces();
	pid = fork();
	unlock_traces();
	unlock_malloc();
	return pid;
}
#else
static pid_t fork_unlocked(void)
{
	return fork();
}
#endif

/* ---- in the child ---- */

static int compare_fds(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/*
 * Closes all descriptors except those to keep. A copy of the parent's socket in the child would
 * keep the connection open after the parent has closed it.
 */
static void close_others(const struct job_spec *spec, int out)
{
	int keep[JOB_KEEP_MAX + 1];
	unsigned next = FIRST_FD;
	size_t n = 0;

	for (; n < spec->n_keep; n++)
		keep[n] = spec->keep[n];
	if (out >= 0)
		keep[n++] = out;
	qsort(keep, n, sizeof(keep[0]), compare_fds);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] > (int)next)
			close_range(next, (unsigned)keep[i] - 1, 0);
		if (keep[i] >= (int)next)
			next = (unsigned)keep[i] + 1;
	}
	close_range(next, UINT_MAX, 0);
}

/* Fatal errors keep their handlers, because a sanitizer may print a report there. */
static bool is_fault(int s)
{
	return s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL || s == SIGABRT;
}

/*
 * The inherited handlers would wake the parent's loop. Signals that a terminal or a service
 * manager sends to all processes are the parent's to handle; the child ends with it. SIGPIPE is
 * ignored, so that a write after the parent has closed its end returns an error.
 */
static void reset_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };
	sigset_t none;

	for (int s = 1; s <= SIGRTMAX; s++)
		if (!is_fault(s))
			sigaction(s, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		sigaction(ignored[i], &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * The descriptors are closed first. If the parent is killed meanwhile, the program that follows it
 * may already try to listen on the same ports. A child that PR_SET_PDEATHSIG kills before it has
 * closed them would keep them open while the kernel frees its memory.
 */
static _Noreturn void run(const struct job_spec *spec, int out, pid_t parent)
{
	close_others(spec, out);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* the parent ended before prctl(): no signal will come */
		_exit(1);
	if (spec->group)
		setpgid(0, 0);
	reset_signals();
	_exit(spec->work(out, spec->user));
}

int job_write(int out, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t written = write(out, p, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		p += written;
		n -= (size_t)written;
	}
	return 0;
}

/* ---- in the parent ---- */

/*
 * The number of the group is that of the child, and is not given to another process before the
 * child is reaped. On a default loop that has happened when there is a status.
 */
static void kill_group(struct job *j)
{
	if (j->group && !j->status.rpid)
		kill(-j->group, SIGKILL);
}

static void job_kill(struct job *j, enum job_end why)
{
	if (j->why == JOB_DONE)
		j->why = why;
	kill_group(j);
	pidfd_send_signal(j->ended.fd, SIGKILL, NULL, 0);
}

/* One byte more than allowed, so that a result that is too long is noticed. */
static void make_room(struct job *j)
{
	size_t most = j->result_max + 1;

	if (j->n < j->size || j->size == most)
		return;
	j->size = j->size ? 2 * j->size : CHUNK;
	if (j->size > most)
		j->size = most;
	j->bytes = mem_resize(j->bytes, j->size, 1);
}

/* Reads once. False if there is nothing more to read now. */
static bool take(struct job *j)
{
	ssize_t n;

	make_room(j);
	n = read(j->readable.fd, j->bytes + j->n, j->size - j->n);
	if (n > 0)
		j->n += (size_t)n;
	if (n > 0 && j->n <= j->result_max)
		return true;
	if (n > 0) {
		j->n = j->result_max;
		job_kill(j, JOB_OVERFLOW);
	}
	if (n >= 0)
		ev_io_stop(j->loop, &j->readable);
	return false;
}

/* One read per turn of the loop, so that a long result does not delay other watchers. */
static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	take(container_of(w, struct job, readable));
}

/* The child ends soon after, and on_ended() handles that. */
static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	job_kill(container_of(w, struct job, deadline), JOB_TIMEOUT);
}

/* The status stays in the watcher, where find_end() reads it. */
static void on_status(struct ev_loop *loop, ev_child *w, int revents)
{
}

/* A child that finished successfully before the signal reached it has succeeded. */
static void judge(const struct job *j, const siginfo_t *info, struct job_result *result)
{
	bool exited = info->si_code == CLD_EXITED;

	result->number = info->si_status;
	if (exited && info->si_status == 0 && j->why != JOB_OVERFLOW)
		result->end = JOB_DONE;
	else if (j->why != JOB_DONE)
		result->end = j->why;
	else
		result->end = exited ? JOB_EXIT : JOB_SIGNAL;
}

static siginfo_t from_status(int status)
{
	bool exited = WIFEXITED(status);
	siginfo_t info = { .si_code = exited ? CLD_EXITED : CLD_KILLED };

	info.si_status = exited ? WEXITSTATUS(status) : WTERMSIG(status);
	return info;
}

/* waitid() fails with ECHILD if a default loop or other code has already reaped the child. */
static void find_end(const struct job *j, struct job_result *result)
{
	siginfo_t info = { 0 };
	int r;

	do
		r = waitid(P_PIDFD, (id_t)j->ended.fd, &info, WEXITED);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		judge(j, &info, result);
	else if (j->status.rpid) {
		info = from_status(j->status.rstatus);
		judge(j, &info, result);
	} else {
		result->end = j->why != JOB_DONE ? j->why : JOB_UNKNOWN;
	}
}

static const char *explain(const struct job_result *result, char *text, size_t size)
{
	switch (result->end) {
	case JOB_DONE:
		return "";
	case JOB_TIMEOUT:
		return "took too long";
	case JOB_OVERFLOW:
		return "gave an answer that is too long";
	case JOB_UNKNOWN:
		return "ended in an unknown way";
	case JOB_SIGNAL:
	case JOB_EXIT:
		snprintf(text, size, "ended by %s %d",
			 result->end == JOB_SIGNAL ? "signal" : "exit code", result->number);
		return text;
	}
	return "";
}

/* The child must have ended and been reaped. */
static void job_free(struct job *j)
{
	ev_io_stop(j->loop, &j->ended);
	ev_timer_stop(j->loop, &j->deadline);
	ev_child_stop(j->loop, &j->status);
	close(j->ended.fd);
	if (j->readable.fd >= 0) {
		ev_io_stop(j->loop, &j->readable);
		close(j->readable.fd);
	}
	free(j->bytes);
	free(j);
}

static void on_ended(struct ev_loop *loop, ev_io *w, int revents)
{
	struct job *j = container_of(w, struct job, ended);
	struct job_result result = { 0 };
	job_done_fn done = j->done;
	void *user = j->user;
	char text[64], *bytes;

	while (ev_is_active(&j->readable) && take(j))
		;
	find_end(j, &result);
	result.reason = explain(&result, text, sizeof(text));
	result.n = j->n;
	result.bytes = bytes = TAKE_PTR(j->bytes); /* freed after done() returns */
	job_free(j);
	done(&result, user);
	free(bytes);
}

static void watch(struct job *j, const struct job_spec *spec, pid_t pid)
{
	ev_io_start(j->loop, &j->ended);
	if (j->readable.fd >= 0)
		ev_io_start(j->loop, &j->readable);
	ev_init(&j->deadline, on_deadline);
	if (spec->timeout) {
		/* a timer counts from the start of this turn, which may be long ago */
		ev_now_update(j->loop);
		ev_timer_set(&j->deadline, loop_seconds(spec->timeout), 0.);
		ev_timer_start(j->loop, &j->deadline);
	}
	ev_child_init(&j->status, on_status, pid, 0);
	if (ev_is_default_loop(j->loop))
		ev_child_start(j->loop, &j->status);
}

/* No loop runs between fork() and this call, so the pid is still that of the child. */
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

static int open_pipe(size_t result_max, int *ret_in, int *ret_out)
{
	int fds[2];

	if (result_max == 0)
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*ret_in = fds[0];
	*ret_out = fds[1];
	return 0;
}

/*
 * The parent's copy of the writing end closes with its scope; otherwise the pipe would never end.
 */
int job_start(struct ev_loop *loop, const struct job_spec *spec, struct job **ret)
{
	_cleanup_(cleanup_fd) int in = -1, out = -1;
	pid_t parent = getpid(), pid;
	struct job *j;
	int r, child;

	assert(loop && spec->work && spec->done && spec->timeout >= 0 && ret);
	assert(spec->n_keep <= JOB_KEEP_MAX);
	r = open_pipe(spec->result_max, &in, &out);
	if (r < 0)
		return r;
	pid = fork_unlocked();
	if (pid == 0)
		run(spec, out, parent);
	child = pid < 0 ? -errno : know(pid);
	if (child < 0)
		return child;
	j = mem_zalloc(sizeof(*j));
	j->loop = loop;
	j->done = spec->done;
	j->user = spec->user;
	j->result_max = spec->result_max;
	if (spec->group) {
		setpgid(pid, pid); /* the child does the same; whoever comes first */
		j->group = pid;
	}
	ev_io_init(&j->ended, on_ended, child, EV_READ);
	ev_io_init(&j->readable, on_readable, TAKE_FD(in), EV_READ);
	watch(j, spec, pid);
	*ret = j;
	return 0;
}

void job_cancel(struct job *j)
{
	struct job_result ignored;

	if (!j)
		return;
	job_kill(j, JOB_TIMEOUT);
	find_end(j, &ignored);
	job_free(j);
}
