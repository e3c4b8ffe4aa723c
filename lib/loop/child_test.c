/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Says so by the end of a pipe that it holds, and stays. */
static int start_sleeper(int *ret)
{
	int fds[2], child, r;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	r = child_fork(&child);
	if (r == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(r, 1);
	close(fds[1]);
	*ret = child;
	return fds[0];
}

static void a_child_is_ended_and_gone(void **state)
{
	int child, pipe = start_sleeper(&child);
	char byte;

	child_end(child);
	assert_int_equal(read(pipe, &byte, 1), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(fcntl(child, F_GETFD), -1);
	close(pipe);
}

static void one_that_is_killed_is_still_to_be_ended(void **state)
{
	int child, pipe = start_sleeper(&child);
	char byte;

	child_kill(child);
	assert_int_equal(read(pipe, &byte, 1), 0);
	child_kill(child);
	child_end(child);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(pipe);
}

/* As a default loop does. */
static void one_that_somebody_else_reaped_is_ended_too(void **state)
{
	int child, r = child_fork(&child);

	if (r == 0)
		_exit(0);
	assert_int_equal(r, 1);
	assert_true(waitpid(-1, NULL, 0) > 0);
	child_kill(child);
	child_end(child);
	assert_int_equal(fcntl(child, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_ended_and_gone),
		cmocka_unit_test(one_that_is_killed_is_still_to_be_ended),
		cmocka_unit_test(one_that_somebody_else_reaped_is_ended_too),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
