/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The new process is this program again: its argument says how it behaves, and it reports through
 * its exit status and through a pipe that it is given.
 */
#include "lib/daemon/takeover.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/net/pass.h"

#define MANY 3000 /* more than the kernel keeps in messages */

/* ---- the new process ---- */

/* Writes to the last descriptor of the state: that the test can read. */
static int take(int channel)
{
	struct takeover_state state;
	char text[64];
	int r = takeover_receive(channel, &state), n;

	if (r < 0)
		return 10;
	r = takeover_confirm(channel);
	n = snprintf(text, sizeof(text), "%zu %.*s %d", state.fds.n, (int)state.bytes.n,
		     state.bytes.p, r);
	if (write(state.fds.items[state.fds.n - 1], text, (size_t)n) != n)
		return 11;
	takeover_state_close(&state);
	return 0;
}

static int ask_and_end(int channel)
{
	struct takeover_state state;

	return takeover_receive(channel, &state) == 0 ? 0 : 10;
}

static int end_at_once(int channel)
{
	return 7;
}

/* Until it is killed. */
static int hang(int channel)
{
	while (pause() < 0)
		;
	return 22;
}

static int lie(int channel)
{
	net_pass(channel, STR("ready"), NULL, 0);
	return hang(channel);
}

static const struct {
	const char *name;
	int (*run)(int channel);
} behaviours[] = { { "take", take },
		   { "ask", ask_and_end },
		   { "end", end_at_once },
		   { "lie", lie },
		   { "hang", hang } };

static int behave(const char *name)
{
	int channel = takeover_channel();

	if (channel != 3 || takeover_channel() != -1 || getenv("WATCHDOG_PID"))
		return 20;
	for (size_t i = 0; i < ARRAY_SIZE(behaviours); i++)
		if (strcmp(behaviours[i].name, name) == 0)
			return behaviours[i].run(channel);
	return 21;
}

/* ---- the old one ---- */

struct world {
	struct ev_loop *loop;
	struct takeover *takeover;
	int pipe[2];
	size_t n; /* descriptors that are passed */
	int asked, ended;
	bool refuses;
	char failure[128];
};

static const char *on_asked(struct takeover_state *state, void *user)
{
	struct world *w = user;

	w->asked++;
	buf_adds(&state->bytes, "bytes");
	for (size_t i = 0; i < w->n; i++)
		vec_push(&state->fds, w->pipe[1]);
	return w->refuses ? "not now" : NULL;
}

static void on_ended(const char *failure, void *user)
{
	struct world *w = user;

	w->ended++;
	snprintf(w->failure, sizeof(w->failure), "%s", failure ?: "");
	ev_break(w->loop, EVBREAK_ALL);
}

static struct world open_world(size_t n)
{
	struct world w = { .loop = ev_default_loop(0), .n = n };

	assert_int_equal(pipe2(w.pipe, O_CLOEXEC), 0);
	return w;
}

static void begin(struct world *w, const char *behaviour)
{
	char program[] = "/proc/self/exe", argument[16];
	char *argv[] = { program, argument, NULL };
	const struct takeover_calls calls = { on_asked, on_ended, w };

	snprintf(argument, sizeof(argument), "%s", behaviour);
	assert_int_equal(takeover_start(w->loop, argv, &calls, &w->takeover), 0);
}

static void finish(struct world *w)
{
	takeover_free(w->takeover);
	close(w->pipe[0]);
	close(w->pipe[1]);
}

static void run(struct world *w, const char *behaviour)
{
	begin(w, behaviour);
	ev_run(w->loop, 0);
	assert_int_equal(w->ended, 1);
}

static void check_report(struct world *w, const char *expected)
{
	char text[64] = "";

	assert_true(read(w->pipe[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, expected);
}

static void the_new_process_gets_bytes_and_descriptors(void **state)
{
	struct world w = open_world(1);

	setenv("WATCHDOG_PID", "1", 1);
	run(&w, "take");
	unsetenv("WATCHDOG_PID");
	assert_string_equal(w.failure, "");
	check_report(&w, "1 bytes 0");
	finish(&w);
}

static void thousands_of_descriptors_are_passed(void **state)
{
	struct world w = open_world(MANY);

	run(&w, "take");
	assert_string_equal(w.failure, "");
	check_report(&w, "3000 bytes 0");
	finish(&w);
}

static void a_new_process_that_ends_changes_nothing(void **state)
{
	struct world w = open_world(1);

	run(&w, "end");
	assert_int_equal(w.asked, 0);
	assert_string_equal(w.failure, "the new process has ended before it was ready");
	takeover_free(w.takeover);
	w.takeover = NULL;
	w.ended = 0;
	run(&w, "ask");
	assert_int_equal(w.asked, 1);
	assert_string_equal(w.failure, "the new process has ended before it was ready");
	finish(&w);
}

static void the_old_process_can_refuse(void **state)
{
	struct world w = open_world(1);

	w.refuses = true;
	run(&w, "take");
	assert_int_equal(w.asked, 1);
	assert_string_equal(w.failure, "not now");
	finish(&w);
}

static void wait_for_death(pid_t pid)
{
	int r;

	do
		r = waitpid(pid, NULL, 0);
	while (r < 0 && errno == EINTR);
	assert_true(r == pid || errno == ECHILD); /* or the default loop was faster */
}

static void a_new_process_that_lies_is_killed(void **state)
{
	struct world w = open_world(1);

	run(&w, "lie");
	assert_int_equal(w.asked, 0);
	assert_string_equal(w.failure, "the new process does not follow the protocol");
	wait_for_death(takeover_pid(w.takeover));
	finish(&w);
}

static void one_that_is_no_longer_wanted_is_killed(void **state)
{
	struct world w = open_world(1);
	pid_t pid;

	begin(&w, "hang");
	pid = takeover_pid(w.takeover);
	finish(&w);
	assert_int_equal(w.ended, 0);
	wait_for_death(pid);
}

static void a_program_that_is_missing_is_an_error(void **state)
{
	char program[] = "/nonexistent/program";
	char *argv[] = { program, NULL };
	const struct takeover_calls calls = { on_asked, on_ended, NULL };
	struct takeover *t;

	assert_int_equal(takeover_start(ev_default_loop(0), argv, &calls, &t), -ENOENT);
}

/* ---- what the new process makes of the old one ---- */

struct pair {
	int old, new;
};

static struct pair open_pair(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	return (struct pair){ fds[0], fds[1] };
}

static void an_old_process_that_lies_is_refused(void **state)
{
	static const struct str lies[] = { { "go", 2 },		 { "state", 5 },
					   { "state x", 7 },	 { "state 2", 7 },
					   { "state 0", 7 },	 { "state -1", 8 },
					   { "state 99999", 11 } };
	struct takeover_state got;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct pair p = open_pair();
		int two[2] = { 0, 1 }; /* two, and then "go": neither 0 nor 2 follow the file */

		assert_int_equal(net_pass(p.old, lies[i], two, 2), 0);
		assert_int_equal(net_pass(p.old, STR("go"), NULL, 0), 0);
		assert_int_equal(takeover_receive(p.new, &got), -EBADMSG);
		close(p.old);
		close(p.new);
	}
}

static void the_end_of_the_old_process_before_the_state_is_an_error(void **state)
{
	struct pair p = open_pair();
	struct takeover_state got;

	shutdown(p.old, SHUT_WR);
	assert_int_equal(takeover_receive(p.new, &got), -ECONNRESET);
	close(p.old);
	assert_int_equal(takeover_receive(p.new, &got), -ECONNRESET);
	close(p.new);
}

static void the_end_of_the_old_process_after_the_state_is_as_good_as_go(void **state)
{
	struct pair p = open_pair();

	assert_int_equal(net_pass(p.old, STR("go"), NULL, 0), 0);
	assert_int_equal(takeover_confirm(p.new), 0);
	assert_int_equal(net_pass(p.old, STR("stop"), NULL, 0), 0);
	assert_int_equal(takeover_confirm(p.new), -EBADMSG);
	shutdown(p.old, SHUT_WR);
	assert_int_equal(takeover_confirm(p.new), 0);
	close(p.old);
	assert_int_equal(takeover_confirm(p.new), 0);
	close(p.new);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_new_process_gets_bytes_and_descriptors),
		cmocka_unit_test(thousands_of_descriptors_are_passed),
		cmocka_unit_test(a_new_process_that_ends_changes_nothing),
		cmocka_unit_test(the_old_process_can_refuse),
		cmocka_unit_test(a_new_process_that_lies_is_killed),
		cmocka_unit_test(one_that_is_no_longer_wanted_is_killed),
		cmocka_unit_test(a_program_that_is_missing_is_an_error),
		cmocka_unit_test(an_old_process_that_lies_is_refused),
		cmocka_unit_test(the_end_of_the_old_process_before_the_state_is_an_error),
		cmocka_unit_test(the_end_of_the_old_process_after_the_state_is_as_good_as_go),
	};

	if (argc > 1)
		return behave(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
