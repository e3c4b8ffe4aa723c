/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/net/pass.h"

struct pair {
	int a, b;
};

static struct pair open_pair(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	return (struct pair){ fds[0], fds[1] };
}

static void close_pair(struct pair p)
{
	close(p.a);
	close(p.b);
}

static int count_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static void descriptors_arrive_in_order_with_their_message(void **state)
{
	struct pair p = open_pair();
	int pipes[2], got[NET_PASS_MAX];
	size_t n = NET_PASS_MAX;
	char text[16], byte;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(net_pass(p.a, STR("two"), pipes, 2), 0);
	assert_int_equal(net_pass(p.a, STR("none"), NULL, 0), 0);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(net_take(p.b, text, sizeof(text), got, &n), 3);
	assert_memory_equal(text, "two", 3);
	assert_int_equal(n, 2);
	assert_int_equal(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(got[1], "x", 1), 1);
	assert_int_equal(read(got[0], &byte, 1), 1);
	close(got[0]);
	close(got[1]);
	n = NET_PASS_MAX;
	assert_int_equal(net_take(p.b, text, sizeof(text), got, &n), 4);
	assert_int_equal(n, 0);
	n = NET_PASS_MAX;
	assert_int_equal(net_take(p.b, text, sizeof(text), got, &n), -EAGAIN);
	close_pair(p);
}

static void a_message_can_have_the_maximum(void **state)
{
	struct pair p = open_pair();
	int fds[NET_PASS_MAX], got[NET_PASS_MAX];
	size_t n = NET_PASS_MAX;
	char text[16];

	for (size_t i = 0; i < NET_PASS_MAX; i++)
		fds[i] = p.a;
	assert_int_equal(net_pass(p.a, STR("x"), fds, NET_PASS_MAX), 0);
	assert_int_equal(net_take(p.b, text, sizeof(text), got, &n), 1);
	assert_int_equal(n, NET_PASS_MAX);
	for (size_t i = 0; i < n; i++)
		close(got[i]);
	close_pair(p);
}

static void what_does_not_fit_leaves_nothing_open(void **state)
{
	struct pair p = open_pair();
	int before = count_open(), fds[3] = { 0, 1, 2 }, got[2];
	size_t n = 2;
	char text[4];

	assert_int_equal(net_pass(p.a, STR("abc"), fds, 3), 0);
	assert_int_equal(net_take(p.b, text, sizeof(text), got, &n), -EMSGSIZE);
	assert_int_equal(n, 0);
	n = 2;
	assert_int_equal(net_pass(p.a, STR("abcdefgh"), fds, 2), 0);
	assert_int_equal(net_take(p.b, text, sizeof(text), got, &n), -EMSGSIZE);
	assert_int_equal(n, 0);
	assert_int_equal(count_open(), before);
	close_pair(p);
}

static void the_end_of_the_other_side_is_seen(void **state)
{
	struct pair p = open_pair();
	size_t n = 0;
	char text[4];

	close(p.a);
	assert_int_equal(net_pass(p.b, STR("abc"), NULL, 0), -EPIPE);
	assert_int_equal(net_take(p.b, text, sizeof(text), NULL, &n), 0);
	close(p.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_arrive_in_order_with_their_message),
		cmocka_unit_test(a_message_can_have_the_maximum),
		cmocka_unit_test(what_does_not_fit_leaves_nothing_open),
		cmocka_unit_test(the_end_of_the_other_side_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
