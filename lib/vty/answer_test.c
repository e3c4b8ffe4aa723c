/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vty/answer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Two answers and a half: the second has NUL bytes in its text, the third is not complete. */
static const char bytes[] = "one\n\0\0\0\0"
			    "a\0b\0\0c\0\0\0\x0d"
			    "more\0\0";
#define N (sizeof(bytes) - 1)

/* Feeds in pieces of at most `piece` bytes and checks what comes out. */
static void feed(size_t piece)
{
	struct vty_reader r = { 0 };
	size_t at = 0, answers = 0;

	while (at < N) {
		long used = vty_reader_feed(&r, bytes + at, N - at < piece ? N - at : piece);

		assert_true(used > 0);
		at += (size_t)used;
		if (!r.done)
			continue;
		assert_int_equal(vty_reader_feed(&r, "x", 1), 0);
		if (answers++ == 0) {
			assert_int_equal(r.status, VTY_SUCCESS);
			assert_int_equal(r.text.n, 4);
			assert_memory_equal(r.text.p, "one\n", 4);
		} else {
			assert_int_equal(r.status, VTY_CONFIG_FAILED);
			assert_int_equal(r.text.n, 6);
			assert_memory_equal(r.text.p, "a\0b\0\0c", 6);
		}
		vty_reader_next(&r);
	}
	assert_int_equal(answers, 2);
	assert_int_equal(r.text.n, 4);
	assert_int_equal(r.zeros, 2);
	vty_reader_free(&r);
}

static void answers_do_not_depend_on_the_pieces(void **state)
{
	for (size_t piece = 1; piece <= N; piece++)
		feed(piece);
}

static void an_answer_without_text_is_an_answer(void **state)
{
	struct vty_reader r = { 0 };

	assert_int_equal(vty_reader_feed(&r, "\0\0\0\2", 4), 4);
	assert_true(r.done);
	assert_int_equal(r.status, VTY_NO_MATCH);
	assert_int_equal(r.text.n, 0);
	vty_reader_free(&r);
}

/* four NUL bytes are the end and status 0, and the next byte belongs to the next answer */
static void a_status_of_zero_is_not_text(void **state)
{
	struct vty_reader r = { 0 };

	assert_int_equal(vty_reader_feed(&r, "\0\0\0\0x", 5), 4);
	assert_true(r.done);
	assert_int_equal(r.status, VTY_SUCCESS);
	vty_reader_free(&r);
}

static void a_text_without_end_is_refused(void **state)
{
	struct vty_reader r = { 0 };
	size_t n = 8 * 1024 * 1024;
	char *block = malloc(n);
	long used = 0;

	for (size_t i = 0; i < n; i++)
		block[i] = 'x';
	for (unsigned i = 0; used >= 0 && i < 10; i++)
		used = vty_reader_feed(&r, block, n);
	assert_int_equal(used, -EMSGSIZE);
	free(block);
	vty_reader_free(&r);
}

static void every_status_has_words(void **state)
{
	char buf[16];

	assert_string_equal(vty_status_text(VTY_NO_MATCH, buf), "unknown command");
	assert_string_equal(vty_status_text(200, buf), "status 200");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_do_not_depend_on_the_pieces),
		cmocka_unit_test(an_answer_without_text_is_an_answer),
		cmocka_unit_test(a_status_of_zero_is_not_text),
		cmocka_unit_test(a_text_without_end_is_refused),
		cmocka_unit_test(every_status_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
