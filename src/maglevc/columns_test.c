/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void add_row(struct columns *c, const char *a, const char *b, const char *d)
{
	columns_cell(c, TINT_NONE, "%s", a);
	columns_cell(c, TINT_GOOD, "%s", b);
	columns_cell(c, TINT_NONE, "%s", d);
	columns_end_row(c);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(false);
	_cleanup_(buf_free) struct buf out = { 0 };

	columns_head(c, "A,BB,C");
	columns_line(c, TINT_NONE, "a line that is longer than any column");
	add_row(c, "one", "2", "three");
	add_row(c, "", "x", "");
	columns_write(c, 1, &out);
	assert_string_equal(buf_cstr(&out), " A    BB  C\n"
					    " a line that is longer than any column\n"
					    " one  2   three\n"
					    "      x\n");
}

static void widths_count_characters_not_bytes(void **state)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(false);
	_cleanup_(buf_free) struct buf out = { 0 };

	add_row(c, "zürich", "x", "y");
	add_row(c, "geneva", "x", "y");
	columns_write(c, 0, &out);
	assert_string_equal(buf_cstr(&out), "zürich  x  y\ngeneva  x  y\n");
}

static void colour_is_there_when_asked_for_and_takes_no_room(void **state)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(true);
	_cleanup_(buf_free) struct buf out = { 0 };

	columns_head(c, "A,B");
	add_row(c, "1", "up", "z");
	add_row(c, "1", "", "z");
	columns_write(c, 0, &out);
	assert_string_equal(buf_cstr(&out), "\033[34mA\033[0m  \033[34mB\033[0m\n"
					    "1  \033[32mup\033[0m  z\n"
					    "1      z\n");
}

static void control_characters_never_get_into_a_cell(void **state)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(false);
	_cleanup_(buf_free) struct buf out = { 0 };

	add_row(c, "a\nb", "\033[31m", "c");
	columns_write(c, 0, &out);
	assert_string_equal(buf_cstr(&out), "a\\x0ab  \\x1b[31m  c\n");
}

static void nothing_is_written_for_nothing(void **state)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(false);
	_cleanup_(buf_free) struct buf out = { 0 };

	columns_write(c, 4, &out);
	assert_int_equal(out.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(widths_count_characters_not_bytes),
		cmocka_unit_test(colour_is_there_when_asked_for_and_takes_no_room),
		cmocka_unit_test(control_characters_never_get_into_a_cell),
		cmocka_unit_test(nothing_is_written_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
