/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "lib/net/lookup.h"

#define PATIENCE (20 * NSEC_PER_SEC)

struct heard {
	struct ev_loop *loop;
	unsigned times;
	size_t n;
	struct endpoint first;
	char why[160];
};

static void on_done(const struct endpoint *found, size_t n, const char *why, void *user)
{
	struct heard *h = user;

	h->times++;
	h->n = n;
	if (n)
		h->first = found[0];
	snprintf(h->why, sizeof(h->why), "%s", why);
	ev_break(h->loop, EVBREAK_ONE);
}

static struct heard ask(const char *host, int64_t timeout)
{
	struct heard h = { .loop = ev_loop_new(EVFLAG_AUTO) };
	const struct net_lookup_query query = { host, 9090, timeout, on_done, &h };
	struct net_lookup *l;

	assert_int_equal(net_lookup_start(h.loop, &query, &l), 0);
	ev_run(h.loop, 0);
	ev_loop_destroy(h.loop);
	assert_int_equal(h.times, 1);
	return h;
}

static void an_address_is_its_own_answer(void **state)
{
	char text[ENDPOINT_STRLEN];
	struct heard h = ask("192.0.2.7", PATIENCE);

	assert_int_equal(h.n, 1);
	assert_string_equal(endpoint_format(&h.first, text), "192.0.2.7:9090");
	assert_string_equal(h.why, "");
	h = ask("2001:db8::7", PATIENCE);
	assert_string_equal(endpoint_format(&h.first, text), "[2001:db8::7]:9090");
}

static void localhost_is_found_once_for_each_address(void **state)
{
	struct heard h = ask("localhost", PATIENCE);

	assert_in_range(h.n, 1, 2);
	assert_true(addr_is_loopback(&h.first.addr));
}

static void a_name_that_is_none_has_a_reason(void **state)
{
	struct heard h = ask("not a name", PATIENCE);

	assert_int_equal(h.n, 0);
	assert_non_null(strstr(h.why, "not a name: "));
}

static void a_lookup_that_takes_too_long_is_ended(void **state)
{
	struct heard h = ask("localhost", 1); /* times out before it can have begun */

	assert_true(h.n || strcmp(h.why, "the name lookup did not end in time") == 0);
}

static void a_cancelled_lookup_is_silent(void **state)
{
	struct heard h = { .loop = ev_loop_new(EVFLAG_AUTO) };
	const struct net_lookup_query query = { "localhost", 1, PATIENCE, on_done, &h };
	struct net_lookup *l;

	assert_int_equal(net_lookup_start(h.loop, &query, &l), 0);
	net_lookup_cancel(l);
	net_lookup_cancel(NULL);
	ev_run(h.loop, 0); /* returns: no watcher is left */
	ev_loop_destroy(h.loop);
	assert_int_equal(h.times, 0);
}

static unsigned strangers_killed;

/* Replaces libc's kill(): the pid of a reaped process may belong to another process. */
int kill(pid_t pid, int number)
{
	strangers_killed += syscall(SYS_kill, pid, 0) < 0;
	return (int)syscall(SYS_kill, pid, number);
}

/* The default loop reaps every child, and does so before the result is read. */
static void a_child_that_was_reaped_is_not_killed(void **state)
{
	struct heard h = { .loop = ev_default_loop(EVFLAG_AUTO) };
	const struct net_lookup_query query = { "192.0.2.7", 1, PATIENCE, on_done, &h };
	struct net_lookup *l;
	siginfo_t ended;

	assert_int_equal(net_lookup_start(h.loop, &query, &l), 0);
	assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
	ev_run(h.loop, 0);
	assert_int_equal(h.n, 1);
	assert_int_equal(strangers_killed, 0);
	ev_loop_destroy(h.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_its_own_answer),
		cmocka_unit_test(localhost_is_found_once_for_each_address),
		cmocka_unit_test(a_name_that_is_none_has_a_reason),
		cmocka_unit_test(a_lookup_that_takes_too_long_is_ended),
		cmocka_unit_test(a_cancelled_lookup_is_silent),
		cmocka_unit_test(a_child_that_was_reaped_is_not_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
