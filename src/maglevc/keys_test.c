/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/keys.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct ev_loop *loop;
static int person = -1, terminal = -1;

static int start(void **state)
{
	loop = ev_loop_new(0);
	return openpty(&person, &terminal, NULL, NULL, NULL);
}

static int stop(void **state)
{
	if (person >= 0)
		close(person);
	close(terminal);
	ev_loop_destroy(loop);
	return 0;
}

static void on_pressed(void *user)
{
	ev_break(loop, EVBREAK_ALL);
}

/* Typed input ends the watch: the key is read, the rest is not. */
static void check(const char *typed, const char *key, const char *rest)
{
	char left[64] = "";
	struct keys k;

	keys_start(&k, loop, terminal, on_pressed, NULL);
	assert_int_equal(write(person, typed, strlen(typed)), strlen(typed));
	ev_run(loop, 0);
	assert_memory_equal(k.key, key, strlen(key));
	assert_int_equal(k.n, strlen(key));
	assert_int_equal(k.more, *rest != '\0');
	if (*rest)
		assert_int_equal(read(terminal, left, sizeof(left) - 1), strlen(rest));
	assert_string_equal(left, rest);
	keys_stop(&k);
}

static void a_key_is_read_whole(void **state)
{
	check("q", "q", "");
	check("\033", "\033", "");
	check("\033[A", "\033[A", "");
	check("\033OA", "\033OA", "");
	check("\033[1;5C", "\033[1;5C", "");
	check("\033x", "\033x", "");
	check("ß", "ß", "");
	check("\xf0\x9f\x90\xa2", "\xf0\x9f\x90\xa2", "");
}

static void what_is_behind_a_key_stays(void **state)
{
	check("show\r", "s", "how\n");
	check("\033[Ax", "\033[A", "x");
	check("\033OAx", "\033OA", "x");
	check("\033xy", "\033x", "y");
	check("ßx", "ß", "x");
}

static void a_sequence_without_an_end_is_not_the_whole_paste(void **state)
{
	check("\033[11111111111111111111", "\033[11111111111111", "111111");
}

static void a_terminal_that_is_gone_ends_it(void **state)
{
	struct keys k;

	keys_start(&k, loop, terminal, on_pressed, NULL);
	close(person);
	person = -1;
	ev_run(loop, 0);
	assert_int_equal(k.n, 0);
	assert_false(k.more);
	keys_stop(&k);
}

static void the_terminal_is_as_it_was(void **state)
{
	struct termios before, during, after;
	struct keys k;

	tcgetattr(terminal, &before);
	keys_start(&k, loop, terminal, on_pressed, NULL);
	tcgetattr(terminal, &during);
	keys_stop(&k);
	tcgetattr(terminal, &after);
	assert_false(during.c_lflag & (ICANON | ECHO));
	assert_true(during.c_lflag & ISIG);
	assert_int_equal(before.c_lflag, after.c_lflag);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_key_is_read_whole),
		CASE(what_is_behind_a_key_stays),
		CASE(a_sequence_without_an_end_is_not_the_whole_paste),
		CASE(a_terminal_that_is_gone_ends_it),
		CASE(the_terminal_is_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
