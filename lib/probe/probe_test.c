/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a probe, and TCP, the simplest kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "lib/probe/internal.h"
#include "lib/probe/test_server.h"

static const struct step silent[] = { STEP(END) };

static struct endpoint closed_port(struct bench *b)
{
	struct server s;
	struct endpoint at;

	server_start(&s, b->loop, AF_INET, silent);
	at = s.at;
	server_stop(&s);
	return at;
}

/* A listener with a full queue: the kernel drops further connections. */
static int deaf_listener(struct endpoint *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	addr_parse("127.0.0.1", &ret->addr);
	ret->port = 0;
	len = endpoint_to_sockaddr(ret, &sa);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, 0), 0);
	getsockname(fd, (struct sockaddr *)&sa, &len);
	endpoint_from_sockaddr((struct sockaddr *)&sa, ret);
	return fd;
}

static int fill(const struct endpoint *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(at, &sa);

	(void)!connect(fd, (struct sockaddr *)&sa, len);
	return fd;
}

static void ask_once(struct bench *b, const struct probe_spec *spec)
{
	struct probe *p = bench_probe(b, spec);

	bench_ask(b, p);
	probe_free(p);
}

static void an_open_port_answers_over_both_families(void **state)
{
	const int families[] = { AF_INET, AF_INET6 };
	struct bench *b = *state;

	for (size_t i = 0; i < 2; i++) {
		struct probe_spec spec;

		server_start(&b->server, b->loop, families[i], silent);
		spec = bench_spec(b, PROBE_TCP);
		ask_once(b, &spec);
		bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
		assert_false(probe_outcome_is_local(&b->outcome));
		server_stop(&b->server);
	}
}

static void a_closed_port_refuses(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec = bench_spec(b, PROBE_TCP);
	char wanted[128], text[ENDPOINT_STRLEN];

	spec.target = closed_port(b);
	ask_once(b, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);
	assert_int_equal(b->outcome.sys_errno, ECONNREFUSED);
	snprintf(wanted, sizeof(wanted), "connect to %s: connection refused",
		 endpoint_format(&spec.target, text));
	assert_string_equal(b->outcome.reason, wanted);
	assert_false(probe_outcome_is_local(&b->outcome));
}

static void a_port_that_says_nothing_times_out_while_connecting(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec = bench_spec(b, PROBE_TCP);
	int listener = deaf_listener(&spec.target);
	int first = fill(&spec.target), second = fill(&spec.target);

	spec.timeout = 80 * INT64_C(1000000);
	ask_once(b, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_TIMEOUT);
	assert_true(b->outcome.rtt >= spec.timeout);
	assert_true(b->outcome.rtt < 10 * spec.timeout);
	assert_non_null(strstr(b->outcome.reason, "timed out after 80ms"));
	assert_false(probe_outcome_is_local(&b->outcome));
	close(first);
	close(second);
	close(listener);
}

static void a_source_of_this_machine_is_used(void **state)
{
	static const struct step script[] = { STEP(REQUEST),
					      STEP_WITH(SEND, "HTTP/1.1 204 x\r\n\r\n"),
					      STEP(END) };
	struct bench *b = *state;
	struct probe_spec spec;

	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_HTTP);
	addr_parse("127.77.0.1", &spec.source);
	ask_once(b, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
}

static void a_source_that_is_not_ours_is_a_local_failure(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;

	server_start(&b->server, b->loop, AF_INET, silent);
	spec = bench_spec(b, PROBE_TCP);
	addr_parse("192.0.2.77", &spec.source);
	ask_once(b, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE);
	assert_int_equal(b->outcome.sys_errno, EADDRNOTAVAIL);
	assert_true(probe_outcome_is_local(&b->outcome));
}

static void only_failures_of_this_machine_are_local(void **state)
{
	static const struct {
		enum probe_stage stage;
		enum probe_error error;
		int sys_errno;
		bool local;
	} rows[] = {
		{ PROBE_STAGE_LOCAL, PROBE_ERR_NETNS, ENOENT, true },
		{ PROBE_STAGE_LOCAL, PROBE_ERR_SOCKET, EMFILE, true },
		{ PROBE_STAGE_LOCAL, PROBE_ERR_SOCKET, EPERM, true },
		{ PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE, ENETUNREACH, true },
		{ PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE, EADDRNOTAVAIL, true },
		{ PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE, EHOSTUNREACH, false },
		{ PROBE_STAGE_CONNECT, PROBE_ERR_UNREACHABLE, ENETUNREACH, false },
		{ PROBE_STAGE_CONNECT, PROBE_ERR_TIMEOUT, 0, false },
		{ PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED, ECONNREFUSED, false },
		{ PROBE_STAGE_HTTP, PROBE_ERR_RESET, ECONNRESET, false },
		{ PROBE_STAGE_DONE, PROBE_OK, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct probe_outcome o = { .stage = rows[i].stage,
						 .error = rows[i].error,
						 .sys_errno = rows[i].sys_errno };

		assert_int_equal(probe_outcome_is_local(&o), rows[i].local);
	}
}

/* A cancelled or freed probe does not call back, in any stage. */
static void a_cancelled_question_is_never_answered(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, silent);
	spec = bench_spec(b, PROBE_TCP); /* ends within start */
	p = bench_probe(b, &spec);
	probe_start(p);
	probe_cancel(p);
	assert_false(probe_in_flight(p));
	bench_turns(b, 5);
	spec.kind = PROBE_HTTP; /* waits for an answer */
	probe_set_spec(p, &spec);
	probe_start(p);
	bench_turns(b, 5);
	probe_cancel(p);
	probe_cancel(p);
	bench_turns(b, 5);
	probe_start(p);
	bench_turns(b, 5);
	probe_free(p);
	bench_turns(b, 5);
	assert_int_equal(b->answers, 0);
	assert_int_equal(b->server.accepted, 2);
	assert_int_equal(b->server.gone, 2);
}

static void a_new_spec_in_flight_is_asked_instead(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;
	char *path = strdup("/old");

	server_start(&b->server, b->loop, AF_INET, silent);
	spec = bench_spec(b, PROBE_HTTP);
	spec.path = path;
	p = bench_probe(b, &spec);
	probe_start(p);
	bench_turns(b, 3);
	spec.kind = PROBE_TCP;
	spec.path = NULL;
	probe_set_spec(p, &spec);
	free(path);
	assert_int_equal(b->answers, 0);
	bench_run_until(b, &b->answers, 1);
	bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
	bench_turns(b, 3);
	assert_int_equal(b->answers, 1);
	probe_free(p);
}

struct meddler {
	struct probe *other;
	unsigned answered;
};

static void on_done_ask_again(struct probe *p, const struct probe_outcome *o, void *user)
{
	struct meddler *m = user;

	if (m->other) {
		probe_free(m->other);
		m->other = NULL;
	}
	if (++m->answered < 3)
		probe_start(p);
	else
		probe_free(p);
}

static void the_callback_may_start_again_and_free_itself_and_others(void **state)
{
	const enum probe_kind kinds[] = { PROBE_TCP, PROBE_HTTP };
	static const struct step script[] = { STEP(REQUEST),
					      STEP_WITH(SEND, "HTTP/1.1 200 x\r\n\r\n"),
					      STEP(END) };
	struct bench *b = *state;

	server_start(&b->server, b->loop, AF_INET, script);
	for (size_t i = 0; i < 2; i++) {
		struct meddler m = { 0 };
		struct probe_spec spec = bench_spec(b, kinds[i]);
		struct probe *p = probe_new(b->env, &spec, on_done_ask_again, &m);

		m.other = bench_probe(b, &spec);
		b->answers = 0;
		probe_start(p);
		probe_start(m.other);
		bench_run_until(b, &m.answered, 3);
		bench_turns(b, 3);
		assert_int_equal(m.answered, 3);
		assert_true(b->answers <= 1); /* the other's, if it came first */
	}
}

static void every_outcome_has_a_word(void **state)
{
	for (int s = PROBE_STAGE_LOCAL; s <= PROBE_STAGE_DONE; s++)
		assert_true(strlen(probe_stage_name((enum probe_stage)s)) > 0);
	for (int e = PROBE_OK; e <= PROBE_ERR_BODY; e++)
		assert_true(strlen(probe_error_name((enum probe_error)e)) > 0);
}

static void a_reason_is_one_line_of_utf8(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec = bench_spec(b, PROBE_TCP);
	char name[200] = "bad\n\xff";

	spec.target = closed_port(b);
	for (size_t i = strlen(name); i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2); /* cut somewhere in the middle */
	probe_env_set_netns(b->env, name);
	ask_once(b, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_LOCAL, PROBE_ERR_NETNS);
	assert_true(utf8_valid(b->outcome.reason, strlen(b->outcome.reason)));
	assert_null(strchr(b->outcome.reason, '\n'));
	assert_int_equal(strncmp(b->outcome.reason, "enter netns bad\\x0a\\xff\xc3\xa9", 25), 0);
}

static int without_descriptors(struct bench *b)
{
	struct probe_spec spec = bench_spec(b, PROBE_TCP);
	struct probe *p = bench_probe(b, &spec);
	struct rlimit limit;
	int spare;

	bench_ask(b, p); /* the loop has all it needs */
	spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	limit = (struct rlimit){ (rlim_t)spare, (rlim_t)spare + 1 };
	close(spare);
	setrlimit(RLIMIT_NOFILE, &limit);
	bench_ask(b, p);
	if (b->outcome.error != PROBE_ERR_SOCKET || b->outcome.sys_errno != EMFILE)
		return 1;
	if (!probe_outcome_is_local(&b->outcome))
		return 2;
	limit.rlim_cur++;
	setrlimit(RLIMIT_NOFILE, &limit);
	bench_ask(b, p);
	return b->outcome.error == PROBE_OK ? 0 : 3;
}

static void running_out_of_descriptors_is_local_and_heals(void **state)
{
	struct bench *b = *state;
	int status;
	pid_t pid;

	server_start(&b->server, b->loop, AF_INET, silent);
	pid = fork();
	if (pid == 0) {
		ev_loop_fork(b->loop);
		_exit(without_descriptors(b));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void many_at_once_are_all_answered(void **state)
{
	enum { MANY = 300 };
	struct bench *b = *state;
	struct probe *probes[MANY];
	struct probe_spec spec;

	server_start(&b->server, b->loop, AF_INET, silent);
	spec = bench_spec(b, PROBE_TCP);
	for (size_t i = 0; i < MANY; i++) {
		probes[i] = bench_probe(b, &spec);
		probe_start(probes[i]);
	}
	bench_run_until(b, &b->answers, MANY);
	for (size_t i = 0; i < MANY; i++)
		probe_free(probes[i]);
}

/* Blocks the loop, like a long turn or a stopped process. */
static void stall(int64_t ns)
{
	int64_t end = loop_monotonic() + ns;

	while (loop_monotonic() < end)
		;
}

/* The server answers after our stall, which is longer than the timeout. */
static void our_own_lateness_is_not_the_servers(void **state)
{
	static const struct step answers[] = { STEP(REQUEST),
					       STEP_WITH(SEND, "HTTP/1.1 200 OK\r\n\r\n"),
					       STEP(END) };
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, answers);
	spec = bench_spec(b, PROBE_HTTP);
	spec.timeout = 50 * NSEC_PER_MSEC;
	p = bench_probe(b, &spec);
	probe_start(p);
	stall(200 * NSEC_PER_MSEC);
	bench_run_until(b, &b->answers, 1);
	bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
	probe_free(p);
}

/* The question is extended once by the time lost, and then times out. */
static void a_silent_server_times_out_after_our_lateness(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, silent);
	spec = bench_spec(b, PROBE_HTTP);
	spec.timeout = 50 * NSEC_PER_MSEC;
	p = bench_probe(b, &spec);
	probe_start(p);
	stall(200 * NSEC_PER_MSEC);
	bench_run_until(b, &b->answers, 1);
	bench_expect(&b->outcome, PROBE_STAGE_HTTP, PROBE_ERR_TIMEOUT);
	assert_true(b->outcome.granted >= 150 * NSEC_PER_MSEC);
	probe_free(p);
}

static void a_probe_stays_small(void **state)
{
	assert_true(sizeof(struct probe) <= 448);
}

#define ON_BENCH(f) cmocka_unit_test_setup_teardown(f, bench_setup, bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(an_open_port_answers_over_both_families),
		ON_BENCH(a_closed_port_refuses),
		ON_BENCH(a_port_that_says_nothing_times_out_while_connecting),
		ON_BENCH(a_source_of_this_machine_is_used),
		ON_BENCH(a_source_that_is_not_ours_is_a_local_failure),
		cmocka_unit_test(only_failures_of_this_machine_are_local),
		ON_BENCH(a_cancelled_question_is_never_answered),
		ON_BENCH(a_new_spec_in_flight_is_asked_instead),
		ON_BENCH(the_callback_may_start_again_and_free_itself_and_others),
		cmocka_unit_test(every_outcome_has_a_word),
		ON_BENCH(a_reason_is_one_line_of_utf8),
		ON_BENCH(running_out_of_descriptors_is_local_and_heals),
		ON_BENCH(many_at_once_are_all_answered),
		ON_BENCH(our_own_lateness_is_not_the_servers),
		ON_BENCH(a_silent_server_times_out_after_our_lateness),
		cmocka_unit_test(a_probe_stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
