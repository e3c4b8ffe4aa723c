/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	unsigned char *blocks[400];

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		size_t size = i * 7 % 300;

		blocks[i] = arena_alloc(a, size);
		assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t), 0);
		for (size_t j = 0; j < size; j++)
			assert_int_equal(blocks[i][j], 0);
		memset(blocks[i], (int)(i & 0xff), size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		for (size_t j = 0; j < i * 7 % 300; j++)
			assert_int_equal(blocks[i][j], i & 0xff);
}

static void a_large_request_leaves_the_open_block_in_use(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	char *before = arena_alloc(a, 16);
	char *large = arena_alloc(a, 1 << 20);
	char *after = arena_alloc(a, 16);

	memset(large, 1, 1 << 20);
	assert_ptr_equal(after, before + 16);
}

static void a_large_request_may_come_first(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	char *large = arena_alloc(a, 1 << 20);
	char *small = arena_alloc(a, 1);

	memset(large, 1, 1 << 20);
	assert_int_equal(*small, 0);
}

static void used_counts_what_was_handed_out(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();

	assert_int_equal(arena_used(a), 0);
	arena_alloc(a, 1);
	assert_in_range(arena_used(a), 1, alignof(max_align_t));
	arena_alloc(a, 100000);
	assert_in_range(arena_used(a), 100001, 100001 + 2 * alignof(max_align_t));
}

static void reset_forgets_and_hands_out_zeroed_memory_again(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	unsigned char *p;

	arena_reset(a);
	for (int i = 0; i < 100; i++)
		memset(arena_alloc(a, 1000), 0xff, 1000);
	arena_reset(a);
	assert_int_equal(arena_used(a), 0);
	p = arena_alloc(a, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(p[i], 0);
}

static void an_array_has_room_for_all_its_items(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	uint64_t *many = arena_array_of(a, 5000, uint64_t);
	struct {
		int x;
	} *one = arena_alloc(a, sizeof(*one));

	memset(many, 0xff, 5000 * sizeof(*many));
	assert_int_equal(one->x, 0);
	assert_non_null(arena_array(a, 0, 8));
}

static void copies_are_terminated_and_independent(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	char text[] = "maglev";
	char *all = arena_strdup(a, text), *part = arena_strndup(a, text, 3);
	char *none = arena_strndup(a, NULL, 0), *bytes = arena_copy(a, text, sizeof(text));

	text[0] = 'X';
	assert_string_equal(all, "maglev");
	assert_string_equal(part, "mag");
	assert_string_equal(none, "");
	assert_string_equal(bytes, "maglev");
	assert_non_null(arena_copy(a, NULL, 0));
}

static void printf_formats_text_of_any_length(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();

	assert_string_equal(arena_printf(a, "%s-%d", "as", 7), "as-7");
	assert_string_equal(arena_printf(a, "%s", ""), "");
	assert_int_equal(strlen(arena_printf(a, "%*d", 70000, 1)), 70000);
}

static void a_shared_arena_that_is_trimmed_keeps_what_it_has(void **state)
{
	struct arena *a = arena_new_shared((size_t)64 << 20, NULL), *plain = arena_new();
	char *text = arena_strdup(a, "kept");

	memset(arena_alloc(a, 10000), 'x', 10000);
	arena_trim(a);
	assert_string_equal(text, "kept");
	arena_trim(a); /* nothing is left to give back */
	assert_string_equal(text, "kept");
	arena_free(a);
	arena_trim(plain);
	arena_free(plain);
}

static jmp_buf beyond;

static void on_full(void)
{
	longjmp(beyond, 1);
}

static void a_shared_arena_that_is_full_says_so(void **state)
{
	struct arena *a = arena_new_shared(1000, on_full);
	size_t before;

	arena_alloc(a, 900);
	before = arena_used(a);
	if (setjmp(beyond) == 0) {
		arena_alloc(a, 200);
		fail_msg("there is no room for it");
	}
	assert_int_equal(arena_used(a), before);
	arena_free(a);
}

static void freeing_nothing_is_fine(void **state)
{
	arena_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(a_large_request_leaves_the_open_block_in_use),
		cmocka_unit_test(a_large_request_may_come_first),
		cmocka_unit_test(used_counts_what_was_handed_out),
		cmocka_unit_test(reset_forgets_and_hands_out_zeroed_memory_again),
		cmocka_unit_test(an_array_has_room_for_all_its_items),
		cmocka_unit_test(copies_are_terminated_and_independent),
		cmocka_unit_test(printf_formats_text_of_any_length),
		cmocka_unit_test(a_shared_arena_that_is_trimmed_keeps_what_it_has),
		cmocka_unit_test(a_shared_arena_that_is_full_says_so),
		cmocka_unit_test(freeing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
