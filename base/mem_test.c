/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void zalloc_is_zeroed(void **state)
{
	_cleanup_(cleanup_free) unsigned char *p = mem_zalloc(4096);

	for (int i = 0; i < 4096; i++)
		assert_int_equal(p[i], 0);
}

static void resize_keeps_what_was_there(void **state)
{
	_cleanup_(cleanup_free) int *p = mem_resize(NULL, 4, sizeof(*p));

	for (int i = 0; i < 4; i++)
		p[i] = i;
	p = mem_resize(p, 4000, sizeof(*p));
	for (int i = 0; i < 4; i++)
		assert_int_equal(p[i], i);
}

static void nothing_is_still_a_pointer(void **state)
{
	_cleanup_(cleanup_free) void *resized = mem_resize(NULL, 0, 8);
	_cleanup_(cleanup_free) void *copied = mem_copy(NULL, 0);

	assert_non_null(resized);
	assert_non_null(copied);
}

static void copies_are_independent(void **state)
{
	char text[] = "maglev";
	_cleanup_(cleanup_free) char *copy = mem_strdup(text);

	text[0] = 'X';
	assert_string_equal(copy, "maglev");
}

static void capacity_doubles_until_it_holds_the_need(void **state)
{
	assert_int_equal(mem_grown(0, 8, 0), 8);
	assert_int_equal(mem_grown(0, 8, 9), 16);
	assert_int_equal(mem_grown(64, 8, 64), 64);
	assert_int_equal(mem_grown(64, 8, 1000), 1024);
}

/* Runs f in a child process with stderr closed off; true if it aborted. */
static bool aborts(void (*f)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		sigaction(SIGABRT, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		close(STDERR_FILENO);
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void overflowing_product(void)
{
	free(mem_resize(NULL, SIZE_MAX / 2, 3));
}

static void wrapping_capacity(void)
{
	mem_grown(8, 8, SIZE_MAX);
}

static void sizes_that_wrap_abort(void **state)
{
	assert_true(aborts(overflowing_product));
	assert_true(aborts(wrapping_capacity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zalloc_is_zeroed),
		cmocka_unit_test(resize_keeps_what_was_there),
		cmocka_unit_test(nothing_is_still_a_pointer),
		cmocka_unit_test(copies_are_independent),
		cmocka_unit_test(capacity_doubles_until_it_holds_the_need),
		cmocka_unit_test(sizes_that_wrap_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
