/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/job.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/units.h"

#define PATIENCE (20 * NSEC_PER_SEC)
#define LONG_ANSWER ((size_t)300 * 1000) /* far more than a pipe holds */

struct fixture {
	struct ev_loop *loop;
	struct job *job;
	unsigned calls;
	enum job_end end;
	int number;
	char reason[64];
	char *bytes;
	size_t n;
	/* for the child: */
	int fd, other;
	size_t length;
	struct arena *arena;
	char **shared;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->loop = ev_loop_new(EVFLAG_AUTO);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	/* every test must leave its child ended and reaped */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	ev_loop_destroy(f->loop);
	arena_free(f->arena);
	free(f->bytes);
	free(f);
	return 0;
}

static void on_done(const struct job_result *result, void *user)
{
	struct fixture *f = user;

	f->calls++;
	f->end = result->end;
	f->number = result->number;
	snprintf(f->reason, sizeof(f->reason), "%s", result->reason);
	free(f->bytes);
	f->bytes = calloc(1, result->n + 1);
	f->n = result->n;
	if (result->n)
		memcpy(f->bytes, result->bytes, result->n);
	f->job = NULL;
}

static struct job_spec spec_of(struct fixture *f, job_work_fn work)
{
	return (struct job_spec){ .work = work,
				  .done = on_done,
				  .user = f,
				  .result_max = LONG_ANSWER,
				  .timeout = PATIENCE };
}

/* ev_run() returns by itself, because a job leaves no watcher. */
static void run(struct fixture *f, const struct job_spec *spec)
{
	f->calls = 0;
	assert_int_equal(job_start(f->loop, spec, &f->job), 0);
	ev_run(f->loop, 0);
	assert_int_equal(f->calls, 1);
}

static int say_hello(int out, void *user)
{
	return job_write(out, "hello", 5) < 0;
}

static int say_much(int out, void *user)
{
	const struct fixture *f = user;
	char chunk[1000];

	memset(chunk, 'x', sizeof(chunk));
	for (size_t n = 0; n < f->length; n += sizeof(chunk))
		if (job_write(out, chunk, sizeof(chunk)) < 0)
			return 9;
	return 0;
}

static int hang(int out, void *user)
{
	pause(); /* the child has no handlers, so only a fatal signal ends this */
	return 0;
}

static int hang_after_words(int out, void *user)
{
	job_write(out, "half", 4);
	return hang(out, user);
}

static int die(int out, void *user)
{
	return raise(SIGKILL);
}

static int give_up(int out, void *user)
{
	job_write(out, "because", 7);
	return 3;
}

static void what_the_child_writes_is_the_result(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, say_hello);

	run(f, &spec);
	assert_int_equal(f->end, JOB_DONE);
	assert_string_equal(f->reason, "");
	assert_string_equal(f->bytes, "hello");
	assert_int_equal(f->n, 5);
}

static void an_answer_longer_than_a_pipe_arrives_whole(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, say_much);

	f->length = LONG_ANSWER;
	run(f, &spec);
	assert_int_equal(f->end, JOB_DONE);
	assert_int_equal(f->n, LONG_ANSWER);
	assert_int_equal(strspn(f->bytes, "x"), LONG_ANSWER);
}

static void an_answer_longer_than_its_bound_ends_the_job(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, say_much);

	spec.result_max = 4999;
	f->length = 5000;
	run(f, &spec);
	assert_int_equal(f->end, JOB_OVERFLOW);
	assert_string_equal(f->reason, "gave an answer that is too long");
	assert_int_equal(f->n, 4999);
	f->length = (size_t)-1 / 2 / 1000 * 1000; /* far more than it can write */
	run(f, &spec);
	assert_int_equal(f->end, JOB_OVERFLOW);
}

static int write_into_arena(int out, void *user)
{
	struct fixture *f = user;

	*f->shared = arena_strdup(f->arena, "made by the child");
	return out == -1 ? 0 : 1; /* no pipe without a result */
}

static void a_shared_arena_is_a_result_too(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, write_into_arena);

	f->arena = arena_new_shared(4096, NULL);
	f->shared = arena_new_of(f->arena, char *);
	spec.result_max = 0;
	run(f, &spec);
	assert_int_equal(f->end, JOB_DONE);
	assert_int_equal(f->n, 0);
	assert_string_equal(*f->shared, "made by the child");
}

static void each_end_has_its_reason(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, die);

	run(f, &spec);
	assert_int_equal(f->end, JOB_SIGNAL);
	assert_string_equal(f->reason, "ended by signal 9");
	spec.work = give_up;
	run(f, &spec);
	assert_int_equal(f->end, JOB_EXIT);
	assert_string_equal(f->reason, "ended by exit code 3");
	assert_string_equal(f->bytes, "because");
	spec.work = hang_after_words;
	spec.timeout = 50 * NSEC_PER_MSEC;
	run(f, &spec);
	assert_int_equal(f->end, JOB_TIMEOUT);
	assert_string_equal(f->reason, "took too long");
}

/* The default loop reaps every child before the job can wait for it. */
static void the_reason_is_known_on_a_default_loop(void **state)
{
	struct fixture *f = *state;
	struct ev_loop *own = f->loop;
	struct job_spec spec = spec_of(f, die);
	siginfo_t ended;

	f->loop = ev_default_loop(EVFLAG_AUTO);
	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
	assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
	ev_run(f->loop, 0);
	assert_int_equal(f->calls, 1);
	assert_string_equal(f->reason, "ended by signal 9");
	spec.work = give_up;
	run(f, &spec);
	assert_string_equal(f->reason, "ended by exit code 3");
	spec.work = say_hello;
	run(f, &spec);
	assert_int_equal(f->end, JOB_DONE);
	ev_loop_destroy(f->loop);
	f->loop = own;
}

static void a_status_that_others_took_is_unknown(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, say_hello);

	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
	assert_true(waitpid(-1, NULL, 0) > 0);
	ev_run(f->loop, 0);
	assert_int_equal(f->calls, 1);
	assert_int_equal(f->end, JOB_UNKNOWN);
	assert_string_equal(f->bytes, "hello");
	/* a cancel does not wait for a child that is already reaped */
	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
	assert_true(waitpid(-1, NULL, 0) > 0);
	job_cancel(f->job);
}

static void a_cancelled_job_is_silent_and_gone(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, hang);
	char byte;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	spec.keep = &fds[1];
	spec.n_keep = 1;
	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
	close(fds[1]);
	job_cancel(f->job);
	job_cancel(NULL);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	ev_run(f->loop, 0);
	assert_int_equal(f->calls, 0);
	close(fds[0]);
}

/* ---- what the child inherits ---- */

static int list_descriptors(int out, void *user)
{
	const struct fixture *f = user;

	for (int fd = 3; fd < 1024; fd++) {
		bool open = fcntl(fd, F_GETFD) >= 0;

		if (open != (fd == out || fd == f->fd || fd == f->other))
			return 1;
	}
	return 0;
}

static void only_named_descriptors_are_open(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, list_descriptors);
	int fds[4], keep[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(fds + 2), 0);
	f->other = keep[0] = fds[3]; /* in no particular order */
	f->fd = keep[1] = fds[1];
	spec.keep = keep;
	spec.n_keep = 2;
	run(f, &spec);
	assert_string_equal(f->reason, "");
	f->fd = f->other = -1;
	spec.n_keep = 0;
	run(f, &spec);
	assert_string_equal(f->reason, "");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void on_signal(int number)
{
}

static int look_at_signals(int out, void *user)
{
	struct sigaction usr1, term;
	sigset_t mask;

	sigaction(SIGUSR1, NULL, &usr1);
	sigaction(SIGTERM, NULL, &term);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	return usr1.sa_handler != SIG_DFL || term.sa_handler != SIG_IGN ||
	       sigismember(&mask, SIGUSR2);
}

static void signals_are_as_in_a_new_process(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, look_at_signals);
	struct sigaction mine = { .sa_handler = on_signal }, before;
	sigset_t some;

	sigaction(SIGUSR1, &mine, &before);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigprocmask(SIG_BLOCK, &some, NULL);
	run(f, &spec);
	assert_string_equal(f->reason, "");
	sigprocmask(SIG_UNBLOCK, &some, NULL);
	sigaction(SIGUSR1, &before, NULL);
}

static void a_child_ends_with_its_parent(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, hang);
	pid_t parent;
	char byte;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	spec.keep = &fds[1];
	spec.n_keep = 1;
	parent = fork();
	if (parent == 0)
		_exit(job_start(f->loop, &spec, &f->job) < 0);
	close(fds[1]);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
}

/* ---- races around the end ---- */

static int leave_a_grandchild(int out, void *user)
{
	const struct fixture *f = user;
	char byte;

	if (fork() == 0) {
		(void)!read(f->fd, &byte, 1); /* until the test closes the other end */
		_exit(0);
	}
	return job_write(out, "mine", 4) < 0;
}

static void a_pipe_that_others_hold_open_delays_nothing(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, leave_a_grandchild);
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f->fd = fds[0];
	spec.keep = &fds[0];
	spec.n_keep = 1;
	run(f, &spec);
	assert_int_equal(f->end, JOB_DONE);
	assert_string_equal(f->bytes, "mine");
	close(fds[1]);
	close(fds[0]);
}

/* Both processes hold the writing end of the pipe, and neither ends by itself. */
static int stay_with_a_grandchild(int out, void *user)
{
	fork();
	for (;;)
		pause();
	return 0;
}

static void a_group_is_killed_whole(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, stay_with_a_grandchild);
	int fds[2];
	char byte;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	spec.keep = &fds[1];
	spec.n_keep = 1;
	spec.timeout = 50 * NSEC_PER_MSEC;
	spec.group = true;
	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
	close(fds[1]);
	ev_run(f->loop, 0);
	assert_int_equal(f->end, JOB_TIMEOUT);
	/* the end of the pipe comes when the last process that holds it has ended */
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
}

static int close_early(int out, void *user)
{
	const struct fixture *f = user;
	char byte;

	close(out);
	return read(f->fd, &byte, 1) != 0;
}

static void the_end_of_the_pipe_is_not_the_end_of_the_job(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, close_early);
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f->fd = fds[0];
	spec.keep = &fds[0];
	spec.n_keep = 1;
	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
	ev_run(f->loop, EVRUN_ONCE);
	assert_int_equal(f->calls, 0);
	close(fds[1]);
	ev_run(f->loop, 0);
	assert_int_equal(f->calls, 1);
	assert_int_equal(f->end, JOB_DONE);
	close(fds[0]);
}

static void start_again(const struct job_result *result, void *user)
{
	struct fixture *f = user;
	struct job_spec spec = spec_of(f, say_hello);

	assert_int_equal(result->end, JOB_DONE);
	assert_int_equal(job_start(f->loop, &spec, &f->job), 0);
}

static void a_callback_may_start_the_next_job(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, say_hello);

	spec.done = start_again;
	run(f, &spec);
	assert_string_equal(f->bytes, "hello");
}

/* ---- other threads ---- */

static int use_memory(int out, void *user)
{
	for (size_t i = 0; i < 1000; i++) {
		void *volatile p = calloc(1, i * 7 % 5000 + 1); /* not optimised away */

		free(p);
	}
	return 0;
}

static void *use_memory_until(void *user)
{
	const atomic_bool *ended = user;

	while (!atomic_load(ended))
		use_memory(-1, NULL);
	return NULL;
}

/* No lock of malloc() that another thread has at the fork stays locked in the child. */
static void a_child_has_memory_while_other_threads_use_it(void **state)
{
	struct fixture *f = *state;
	struct job_spec spec = spec_of(f, use_memory);
	atomic_bool ended = false;
	pthread_t threads[2];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_memory_until, &ended), 0);
	for (size_t i = 0; i < 30; i++) {
		run(f, &spec);
		assert_int_equal(f->end, JOB_DONE);
	}
	atomic_store(&ended, true);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_the_child_writes_is_the_result),
		T(an_answer_longer_than_a_pipe_arrives_whole),
		T(an_answer_longer_than_its_bound_ends_the_job),
		T(a_shared_arena_is_a_result_too),
		T(each_end_has_its_reason),
		T(the_reason_is_known_on_a_default_loop),
		T(a_status_that_others_took_is_unknown),
		T(a_cancelled_job_is_silent_and_gone),
		T(only_named_descriptors_are_open),
		T(signals_are_as_in_a_new_process),
		T(a_child_ends_with_its_parent),
		T(a_pipe_that_others_hold_open_delays_nothing),
		T(a_group_is_killed_whole),
		T(the_end_of_the_pipe_is_not_the_end_of_the_job),
		T(a_callback_may_start_the_next_job),
		T(a_child_has_memory_while_other_threads_use_it),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
