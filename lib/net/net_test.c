/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/net/net.h"

static char name[64], path[96];

static bool run(const char *verb)
{
	char command[160];

	snprintf(command, sizeof(command), "ip netns %s %s 2>/dev/null", verb, name);
	return system(command) == 0;
}

static bool loopback_is_up(int fd)
{
	struct ifreq request = { .ifr_name = "lo" };

	assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &request), 0);
	return request.ifr_flags & IFF_UP;
}

static void needs_namespaces(void)
{
	if (geteuid() != 0 || !run("add")) {
		print_message("# needs root and ip netns\n");
		skip();
	}
}

static int leave_nothing(void **state)
{
	if (access(path, F_OK) == 0)
		run("del");
	return 0;
}

static void a_socket_of_ones_own_namespace_does_not_block_or_leak(void **state)
{
	struct net_ns ns;
	bool entered;
	int fd;

	net_ns_init(&ns, "");
	fd = net_socket(&ns, AF_INET, SOCK_STREAM, 0, &entered);
	assert_true(fd >= 0);
	assert_true(entered);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	net_ns_free(&ns);
}

static void a_socket_is_opened_inside_and_the_process_stays_outside(void **state)
{
	struct stat before, after;
	struct net_ns ns;
	bool entered;
	int fd;

	needs_namespaces();
	assert_int_equal(stat("/proc/self/ns/net", &before), 0);
	net_ns_init(&ns, name);
	fd = net_socket(&ns, AF_INET, SOCK_STREAM, 0, &entered);
	assert_true(fd >= 0);
	assert_true(entered);
	assert_false(loopback_is_up(fd)); /* down, as in every new namespace */
	assert_int_equal(stat("/proc/self/ns/net", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	close(fd);
	net_ns_free(&ns);
}

static void a_namespace_that_vanished_fails_and_one_that_came_back_works(void **state)
{
	struct net_ns_id first, second;
	struct net_ns ns;
	bool entered = true;
	int fd;

	needs_namespaces();
	net_ns_init(&ns, path); /* an absolute path works as well */
	assert_int_equal(net_ns_identify(&ns, &first), 0);
	fd = net_socket(&ns, AF_INET, SOCK_DGRAM, 0, &entered); /* keeps the old namespace alive */
	assert_true(fd >= 0);

	assert_true(run("del"));
	assert_int_equal(net_ns_identify(&ns, &second), -ENOENT);
	assert_int_equal(net_socket(&ns, AF_INET, SOCK_STREAM, 0, &entered), -ENOENT);
	assert_false(entered);

	assert_true(run("add"));
	assert_int_equal(net_ns_identify(&ns, &second), 0);
	assert_true(first.ino != second.ino);
	close(fd);
	fd = net_socket(&ns, AF_INET, SOCK_STREAM, 0, &entered);
	assert_true(fd >= 0);
	assert_true(entered);
	close(fd);
	net_ns_free(&ns);
}

static void what_is_no_namespace_fails_without_blocking(void **state)
{
	struct net_ns ns;
	bool entered = true;
	char fifo[64];

	snprintf(fifo, sizeof(fifo), "/tmp/net_test.%d", (int)getpid());
	assert_int_equal(mkfifo(fifo, 0600), 0);
	net_ns_init(&ns, fifo);
	assert_int_equal(net_socket(&ns, AF_INET, SOCK_STREAM, 0, &entered), -EINVAL);
	assert_false(entered);
	net_ns_free(&ns);
	unlink(fifo);
}

static void errors_have_words_in_lower_case(void **state)
{
	assert_string_equal(net_error_word(ECONNREFUSED), "connection refused");
	assert_string_equal(net_error_word(ENOENT), "no such file or directory");
	assert_string_equal(net_error_word(99999), "error 99999");
}

static void *ask_for_a_word(void *user)
{
	return strcmp(net_error_word(88888), "error 88888") == 0 ? user : NULL;
}

static void threads_do_not_overwrite_each_others_words(void **state)
{
	const char *word = net_error_word(99999);
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, ask_for_a_word, state), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, state);
	assert_string_equal(word, "error 99999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_of_ones_own_namespace_does_not_block_or_leak),
		cmocka_unit_test_teardown(a_socket_is_opened_inside_and_the_process_stays_outside,
					  leave_nothing),
		cmocka_unit_test_teardown(
			a_namespace_that_vanished_fails_and_one_that_came_back_works,
			leave_nothing),
		cmocka_unit_test(what_is_no_namespace_fails_without_blocking),
		cmocka_unit_test(errors_have_words_in_lower_case),
		cmocka_unit_test(threads_do_not_overwrite_each_others_words),
	};

	snprintf(name, sizeof(name), "net-test-%d", (int)getpid());
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
