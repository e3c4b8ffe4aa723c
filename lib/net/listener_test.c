/* SPDX-License-Identifier: Apache-2.0 */
/* What lib/http's tests do not reach: they cover pausing, draining and both families. */
#include "lib/net/listener.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const struct endpoint loopback = { .addr = { AF_INET, { 127, 0, 0, 1 } } };

struct seen {
	int n;
	struct endpoint peer;
};

static void on_accepted(int fd, struct endpoint peer, void *user)
{
	struct seen *seen = user;

	seen->n++;
	seen->peer = peer;
	close(fd);
}

static void on_starved(int error, void *user)
{
	fail_msg("starved: %d", error);
}

static int connect_to(struct endpoint e)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(&e, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

static void a_connection_is_handed_over_with_its_peer(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct seen seen = { 0 };
	const struct net_listener_events events = { on_accepted, on_starved, &seen };
	struct net_listener l;
	int fd;

	assert_int_equal(net_listener_open(&l, loop, loopback, &events), 0);
	assert_int_not_equal(l.bound.port, 0);
	fd = connect_to(l.bound);
	ev_run(loop, EVRUN_ONCE);
	assert_int_equal(seen.n, 1);
	assert_int_equal(addr_cmp(&seen.peer.addr, &loopback.addr), 0);
	close(fd);
	net_listener_close(&l);
	net_listener_close(&l);
	ev_loop_destroy(loop);
}

static void draining_takes_what_the_kernel_has_accepted(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct seen seen = { 0 };
	const struct net_listener_events events = { on_accepted, on_starved, &seen };
	struct net_listener l;
	int a, b;

	assert_int_equal(net_listener_open(&l, loop, loopback, &events), 0);
	a = connect_to(l.bound);
	b = connect_to(l.bound);
	net_listener_drain(&l);
	assert_int_equal(seen.n, 2);
	assert_int_equal(l.fd, -1);
	close(a);
	close(b);
	ev_loop_destroy(loop);
}

static void a_port_that_is_taken_is_refused(void **state)
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct seen seen = { 0 };
	const struct net_listener_events events = { on_accepted, on_starved, &seen };
	struct net_listener l, second;

	assert_int_equal(net_listener_open(&l, loop, loopback, &events), 0);
	assert_int_equal(net_listener_open(&second, loop, l.bound, &events), -EADDRINUSE);
	net_listener_close(&l);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_handed_over_with_its_peer),
		cmocka_unit_test(draining_takes_what_the_kernel_has_accepted),
		cmocka_unit_test(a_port_that_is_taken_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
