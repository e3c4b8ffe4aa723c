/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real signals, which the process sends to itself, and a datagram socket instead of systemd.
 * Tests that end the process run in a child.
 */
#include "lib/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

struct world {
	struct daemon daemon;
	struct ev_loop *loop;
	int manager; /* systemd's end */
	int stops, reloads, upgrades, feedings, last_signal;
};

/* An abstract socket: the kernel chooses a free name. */
static int open_manager(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sun);
	char name[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sun, &len), 0);
	len -= offsetof(struct sockaddr_un, sun_path) + 1;
	snprintf(name, sizeof(name), "@%.*s", (int)len, sun.sun_path + 1);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->loop = ev_default_loop(0);
	w->manager = open_manager();
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	close(w->manager);
	free(w);
	return 0;
}

static void assert_told(struct world *w, const char *want)
{
	char got[512];
	ssize_t n = recv(w->manager, got, sizeof(got) - 1, 0);

	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got, want);
}

static void assert_told_nothing(struct world *w)
{
	char got[512];

	assert_int_equal(recv(w->manager, got, sizeof(got), 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static void on_stop(int signo, void *user)
{
	struct world *w = user;

	w->stops++;
	w->last_signal = signo;
}

static void on_reload(void *user)
{
	struct world *w = user;

	w->reloads++;
}

static void on_upgrade(void *user)
{
	struct world *w = user;

	w->upgrades++;
}

static void begin(struct world *w)
{
	struct daemon_calls calls = { on_stop, on_reload, w, 60 * NSEC_PER_SEC, on_upgrade };

	daemon_start(&w->daemon, w->loop, &calls);
}

/* Sends a signal and runs the loop until it is handled. */
static void send_and_turn(struct world *w, int signo)
{
	kill(getpid(), signo);
	ev_run(w->loop, EVRUN_NOWAIT);
	ev_run(w->loop, EVRUN_NOWAIT);
}

static void the_first_stop_signal_asks_to_stop_and_tells_systemd(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		begin(w);
		send_and_turn(w, signals[i]);
		assert_int_equal(w->stops, i + 1);
		assert_int_equal(w->last_signal, signals[i]);
		assert_told(w, "STOPPING=1");
		assert_told_nothing(w);
		daemon_end(&w->daemon);
	}
}

static void hangup_asks_to_reload_each_time_but_not_while_stopping(void **state)
{
	struct world *w = *state;

	begin(w);
	send_and_turn(w, SIGHUP);
	send_and_turn(w, SIGHUP);
	assert_int_equal(w->reloads, 2);
	send_and_turn(w, SIGTERM);
	send_and_turn(w, SIGHUP);
	assert_int_equal(w->reloads, 2);
	assert_int_equal(w->stops, 1);
	daemon_end(&w->daemon);
}

static void usr2_asks_for_an_upgrade_but_not_while_stopping(void **state)
{
	struct world *w = *state;

	begin(w);
	send_and_turn(w, SIGUSR2);
	assert_int_equal(w->upgrades, 1);
	send_and_turn(w, SIGTERM);
	send_and_turn(w, SIGUSR2);
	assert_int_equal(w->upgrades, 1);
	daemon_end(&w->daemon);
	send_and_turn(w, SIGUSR2);
	assert_int_equal(w->upgrades, 1);
}

/* Reading a configuration takes time; a SIGHUP meanwhile must not end the process. */
static void a_hangup_between_begin_and_start_is_kept(void **state)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	struct world *w = *state;

	sigaction(SIGHUP, &usual, NULL); /* the default action, as at the start of a process */
	daemon_begin(&(struct daemon_log){ LOG_ERROR, "json" });
	raise(SIGHUP);
	begin(w);
	ev_run(w->loop, EVRUN_NOWAIT);
	assert_int_equal(w->reloads, 1);
	send_and_turn(w, SIGHUP);
	assert_int_equal(w->reloads, 2);
	daemon_end(&w->daemon);
}

static void without_a_reload_call_hangup_is_ignored(void **state)
{
	struct world *w = *state;
	struct daemon_calls calls = { on_stop, NULL, w, NSEC_PER_SEC, NULL };

	daemon_start(&w->daemon, w->loop, &calls);
	send_and_turn(w, SIGHUP);
	assert_int_equal(w->stops, 0);
	daemon_end(&w->daemon);
}

/* Runs in a child whose standard output is a pipe without a reader. */
static _Noreturn void begin_without_a_reader(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	int ends[2];

	sigaction(SIGPIPE, &usual, NULL);
	if (pipe(ends) < 0 || dup2(ends[1], STDOUT_FILENO) < 0)
		_exit(98);
	close(ends[0]);
	daemon_begin(&(struct daemon_log){ LOG_INFO, "json" });
	_exit(log_dropped() == 1 ? 0 : 99);
}

/* The first line is written before any loop runs. */
static void a_log_without_a_reader_is_not_the_end(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		begin_without_a_reader();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Runs in a child whose standard output is a file that has reached its limit. */
static _Noreturn void begin_with_a_full_file(void)
{
	struct rlimit small = { 20, RLIM_INFINITY };
	struct sigaction usual = { .sa_handler = SIG_DFL };
	FILE *file = tmpfile();

	sigaction(SIGXFSZ, &usual, NULL);
	if (!file || dup2(fileno(file), STDOUT_FILENO) < 0 || setrlimit(RLIMIT_FSIZE, &small) < 0)
		_exit(98);
	daemon_begin(&(struct daemon_log){ LOG_INFO, "json" });
	_exit(log_dropped() == 1 ? 0 : 99);
}

static void a_log_at_the_limit_of_its_size_is_not_the_end(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		begin_with_a_full_file();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void turn(struct world *w)
{
	ev_run(w->loop, EVRUN_NOWAIT);
}

/* As often as there is a gap, and only when lines are accepted again. */
static void lines_that_were_lost_are_reported_once(void **state)
{
	struct world *w = *state;
	FILE *good = tmpfile();
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	char text[2048];
	size_t n;

	assert_non_null(good);
	begin(w);
	log_to_fd(full, LOG_INFO);
	log_info("first");
	turn(w);
	log_info("second");
	turn(w);
	log_to_fd(fileno(good), LOG_INFO);
	log_info("third");
	turn(w);
	turn(w);
	log_to_fd(-1, LOG_INFO);
	rewind(good);
	n = fread(text, 1, sizeof(text) - 1, good);
	text[n] = '\0';
	assert_null(strstr(text, "\"second\""));
	assert_non_null(strstr(text, "\"third\"}\n"));
	assert_non_null(
		strstr(text, "\"level\":\"WARN\",\"msg\":\"log-lines-lost\",\"lines\":2}\n"));
	assert_null(strstr(strstr(text, "lost") + 1, "lost"));
	fclose(good);
	close(full);
	daemon_end(&w->daemon);
}

static void *log_two_lines(void *user)
{
	log_thread_start();
	log_info("elsewhere");
	log_info("elsewhere");
	log_thread_end();
	return NULL;
}

static void *log_too_much(void *user)
{
	char text[4000];

	memset(text, 'x', sizeof(text));
	log_thread_start();
	for (int i = 0; i < 1000; i++)
		log_info("elsewhere", LOG_SN("text", text, sizeof(text)));
	log_thread_end();
	return NULL;
}

static size_t count_in(FILE *file, const char *word)
{
	_cleanup_(cleanup_free) char *line = NULL;
	size_t room = 0, n = 0;

	rewind(file);
	while (getline(&line, &room, file) > 0)
		n += strstr(line, word) != NULL;
	return n;
}

/* The loop sleeps until the thread wakes it, and sleeps again when there is nothing more. */
static void lines_of_another_thread_wake_the_loop(void **state)
{
	struct world *w = *state;
	FILE *log = tmpfile();
	pthread_t thread;

	begin(w);
	log_to_fd(fileno(log), LOG_INFO);
	daemon_accept_threads(&w->daemon);
	assert_int_equal(pthread_create(&thread, NULL, log_two_lines, NULL), 0);
	for (size_t n = 0; n < 2; n = count_in(log, "elsewhere"))
		ev_run(w->loop, EVRUN_ONCE);
	pthread_join(thread, NULL);
	while (ev_is_active(&w->daemon.collect) || log_collect())
		ev_run(w->loop, EVRUN_ONCE);
	log_to_fd(-1, LOG_INFO);
	fclose(log);
	daemon_end(&w->daemon);
	assert_int_equal(ev_run(w->loop, 0), 0);
}

static void lines_that_another_thread_lost_are_reported(void **state)
{
	struct world *w = *state;
	FILE *log = tmpfile();
	pthread_t thread;
	char report[64];
	size_t there;

	begin(w);
	log_to_fd(fileno(log), LOG_INFO);
	daemon_accept_threads(&w->daemon);
	assert_int_equal(pthread_create(&thread, NULL, log_too_much, NULL), 0);
	pthread_join(thread, NULL); /* nobody collects meanwhile */
	while (!count_in(log, "log-lines-lost") || ev_is_active(&w->daemon.collect))
		ev_run(w->loop, EVRUN_ONCE);
	there = count_in(log, "elsewhere");
	snprintf(report, sizeof(report), "\"log-lines-lost\",\"lines\":%zu}", 1000 - there);
	assert_in_range(there, 1, 999);
	assert_int_equal(count_in(log, report), 1);
	log_to_fd(-1, LOG_INFO);
	fclose(log);
	daemon_end(&w->daemon);
}

static void after_the_end_nothing_keeps_the_loop(void **state)
{
	struct world *w = *state;

	setenv("WATCHDOG_USEC", "1000000", 1);
	begin(w);
	send_and_turn(w, SIGTERM);
	daemon_end(&w->daemon);
	assert_int_equal(ev_run(w->loop, 0), 0);
}

static void on_stop_again(int signo, void *user)
{
	kill(getpid(), SIGINT);
}

/* Gets a second signal while it stops; logs to out. */
static _Noreturn void be_told_twice(int out)
{
	struct daemon_calls calls = { on_stop_again, NULL, NULL, 3600 * NSEC_PER_SEC, NULL };
	struct ev_loop *loop = EV_DEFAULT;
	struct daemon d;

	alarm(20);
	log_to_fd(out, LOG_INFO);
	ev_loop_fork(loop);
	daemon_start(&d, loop, &calls);
	kill(getpid(), SIGTERM);
	ev_run(loop, 0);
	_exit(99);
}

static void a_second_signal_while_stopping_ends_at_once_with_1(void **state)
{
	char said[256] = "";
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_told_twice(ends[1]);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(read(ends[0], said, sizeof(said) - 1) > 0);
	close(ends[0]);
	assert_non_null(strstr(said, "\"stopped-at-once\""));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void a_drain_that_takes_too_long_leaves_the_loop(void **state)
{
	struct world *w = *state;
	struct daemon_calls calls = { on_stop, NULL, w, NSEC_PER_MSEC, NULL };

	daemon_start(&w->daemon, w->loop, &calls);
	kill(getpid(), SIGTERM);
	ev_run(w->loop, 0);
	assert_int_equal(w->stops, 1);
	daemon_end(&w->daemon);
}

static void after_the_end_signals_change_nothing(void **state)
{
	struct world *w = *state;

	begin(w);
	daemon_end(&w->daemon);
	raise(SIGTERM);
	raise(SIGINT);
	raise(SIGHUP);
	ev_run(w->loop, EVRUN_NOWAIT);
	assert_int_equal(w->stops + w->reloads, 0);
}

static void systemd_hears_of_ready_reloading_and_status(void **state)
{
	struct world *w = *state;
	long long usec;
	char got[128];
	ssize_t n;

	daemon_ready("10 backends");
	assert_told(w, "READY=1\nSTATUS=10 backends");
	daemon_status("two\nSTOPPING=1");
	assert_told(w, "STATUS=two STOPPING=1");
	daemon_hand_over(4711);
	assert_told(w, "MAINPID=4711");

	daemon_reloading();
	n = recv(w->manager, got, sizeof(got) - 1, 0);
	assert_true(n > 0);
	got[n] = '\0';
	assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%lld", &usec), 1);
	assert_in_range(loop_monotonic() / NSEC_PER_USEC - usec, 0, 10000000);
}

static void without_systemd_nothing_is_said(void **state)
{
	struct world *w = *state;

	unsetenv("NOTIFY_SOCKET");
	daemon_ready("alone");
	daemon_reloading();
	daemon_status("alone");
	assert_told_nothing(w);
}

static void on_manager_told(struct ev_loop *loop, ev_io *io, int revents)
{
	struct world *w = io->data;

	assert_told(w, "WATCHDOG=1");
	if (++w->feedings == 3)
		ev_break(loop, EVBREAK_ALL);
}

static void on_patience_over(struct ev_loop *loop, ev_timer *t, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void the_watchdog_is_fed_from_the_loop(void **state)
{
	struct world *w = *state;
	ev_timer patience;
	ev_io told;

	setenv("WATCHDOG_USEC", "10000", 1);
	begin(w);
	ev_io_init(&told, on_manager_told, w->manager, EV_READ);
	told.data = w;
	ev_io_start(w->loop, &told);
	ev_timer_init(&patience, on_patience_over, 20., 0.);
	ev_timer_start(w->loop, &patience);
	ev_run(w->loop, 0);
	assert_int_equal(w->feedings, 3);
	ev_io_stop(w->loop, &told);
	ev_timer_stop(w->loop, &patience);
	daemon_end(&w->daemon);
}

static void a_watchdog_meant_for_another_process_is_left_alone(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_false(ev_is_active(&w->daemon.watchdog));
	daemon_end(&w->daemon);

	setenv("WATCHDOG_USEC", "10000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	begin(w);
	assert_false(ev_is_active(&w->daemon.watchdog));
	daemon_end(&w->daemon);
}

/* Runs in a child without standard output; the parent needs its own for TAP. */
static _Noreturn void be_without_output(void)
{
	struct stat null, out;

	close(STDOUT_FILENO);
	daemon_fill_standard();
	_exit(stat("/dev/null", &null) < 0 || fstat(STDOUT_FILENO, &out) < 0 ||
	      out.st_rdev != null.st_rdev || fcntl(STDIN_FILENO, F_GETFD) < 0);
}

static void a_closed_standard_descriptor_is_not_taken_by_another(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		be_without_output();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void the_limit_of_open_files_rises_to_the_hard_one(void **state)
{
	struct rlimit before, after;
	uint64_t limit = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	after = before;
	after.rlim_cur = before.rlim_max < 64 ? before.rlim_max : 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(daemon_raise_nofile(&limit), 0);
	assert_int_equal(limit, before.rlim_max);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_cur, before.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_first_stop_signal_asks_to_stop_and_tells_systemd),
		CASE(hangup_asks_to_reload_each_time_but_not_while_stopping),
		CASE(usr2_asks_for_an_upgrade_but_not_while_stopping),
		CASE(a_hangup_between_begin_and_start_is_kept),
		CASE(without_a_reload_call_hangup_is_ignored),
		CASE(a_log_without_a_reader_is_not_the_end),
		CASE(a_log_at_the_limit_of_its_size_is_not_the_end),
		CASE(lines_that_were_lost_are_reported_once),
		CASE(lines_of_another_thread_wake_the_loop),
		CASE(lines_that_another_thread_lost_are_reported),
		CASE(after_the_end_nothing_keeps_the_loop),
		CASE(a_second_signal_while_stopping_ends_at_once_with_1),
		CASE(after_the_end_signals_change_nothing),
		CASE(a_drain_that_takes_too_long_leaves_the_loop),
		CASE(systemd_hears_of_ready_reloading_and_status),
		CASE(without_systemd_nothing_is_said),
		CASE(the_watchdog_is_fed_from_the_loop),
		CASE(a_watchdog_meant_for_another_process_is_left_alone),
		CASE(a_closed_standard_descriptor_is_not_taken_by_another),
		CASE(the_limit_of_open_files_rises_to_the_hard_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
