/* SPDX-License-Identifier: Apache-2.0 */
/* Each test drops capabilities for good, so each runs in its own child process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/net/net.h"
#include "lib/net/privilege.h"

#define BIT(cap) (UINT64_C(1) << (cap))

/* Runs f in a child. The return value of f, 0 for success, says where it failed. */
static int in_child(int (*f)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(f());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int can_open_raw(void)
{
	int fd = socket(AF_INET, SOCK_RAW, 1 /* ICMP */);

	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

static int keep_one(void)
{
	if (privilege_keep(BIT(CAP_NET_RAW)) != 0)
		return 1;
	if (!privilege_held(CAP_NET_RAW) || privilege_held(CAP_SYS_ADMIN))
		return 2;
	if (privilege_effective(CAP_NET_RAW) || can_open_raw())
		return 3;
	if (privilege_raise(CAP_NET_RAW) != 1 || !can_open_raw())
		return 4;
	if (privilege_raise(CAP_NET_RAW) != 0)
		return 5;
	privilege_lower(CAP_NET_RAW);
	if (can_open_raw())
		return 6;
	return privilege_raise(CAP_SYS_ADMIN) == -EPERM ? 0 : 7;
}

static int keep_none_then_ask(void)
{
	struct net_ns ns;
	bool entered;
	int fd;

	if (privilege_keep(0) != 0 || privilege_raise(CAP_NET_RAW) != -EPERM)
		return 1;
	net_ns_init(&ns, NULL);
	if (net_socket(&ns, AF_INET, SOCK_RAW, 1, &entered) != -EPERM || !entered)
		return 2;
	fd = net_socket(&ns, AF_INET, SOCK_STREAM, 0, &entered);
	if (fd < 0)
		return 3;
	close(fd);
	return 0;
}

static int bounding_shrinks(void)
{
	if (privilege_keep(BIT(CAP_NET_RAW)) != 0)
		return 1;
	if (prctl(PR_CAPBSET_READ, CAP_NET_RAW) != 1)
		return 2;
	return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0 ? 0 : 3;
}

static int raw_socket_raises_by_itself(void)
{
	struct net_ns ns;
	bool entered;
	int fd;

	if (privilege_keep(BIT(CAP_NET_RAW)) != 0)
		return 1;
	net_ns_init(&ns, NULL);
	fd = net_socket(&ns, AF_INET, SOCK_RAW, 1, &entered);
	if (fd < 0)
		return 2;
	close(fd);
	return privilege_effective(CAP_NET_RAW) ? 3 : 0;
}

static int keep_twice(void)
{
	if (privilege_keep(BIT(CAP_NET_RAW)) != 0 || privilege_keep(BIT(CAP_SYS_ADMIN)) != 0)
		return 1;
	return privilege_held(CAP_NET_RAW) || privilege_held(CAP_SYS_ADMIN) ? 2 : 0;
}

static void needs_root(void)
{
	if (geteuid() != 0 || !privilege_held(CAP_NET_RAW) || !privilege_held(CAP_SYS_ADMIN)) {
		print_message("# needs root with CAP_NET_RAW and CAP_SYS_ADMIN\n");
		skip();
	}
}

static void what_is_kept_is_in_force_only_while_raised(void **state)
{
	needs_root();
	assert_int_equal(in_child(keep_one), 0);
}

static void without_any_capability_plain_sockets_still_open(void **state)
{
	assert_int_equal(in_child(keep_none_then_ask), 0);
}

static void keeping_shrinks_the_bounding_set(void **state)
{
	needs_root();
	assert_int_equal(in_child(bounding_shrinks), 0);
}

static void a_raw_socket_raises_and_lowers_what_it_needs(void **state)
{
	needs_root();
	assert_int_equal(in_child(raw_socket_raises_by_itself), 0);
}

static void keeping_never_gives_back_what_was_dropped(void **state)
{
	needs_root();
	assert_int_equal(in_child(keep_twice), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_in_force_only_while_raised),
		cmocka_unit_test(without_any_capability_plain_sockets_still_open),
		cmocka_unit_test(keeping_shrinks_the_bounding_set),
		cmocka_unit_test(a_raw_socket_raises_and_lowers_what_it_needs),
		cmocka_unit_test(keeping_never_gives_back_what_was_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
