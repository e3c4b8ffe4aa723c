/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/near.h"
#include "base/random.h"

static size_t distance(const char *a, const char *b, size_t limit)
{
	return near_distance(str_of(a), str_of(b), limit);
}

static void each_edit_counts_one(void **state)
{
	assert_int_equal(distance("", "", 0), 0);
	assert_int_equal(distance("port", "port", 3), 0);
	assert_int_equal(distance("port", "ports", 3), 1);
	assert_int_equal(distance("port", "pot", 3), 1);
	assert_int_equal(distance("port", "part", 3), 1);
	assert_int_equal(distance("port", "prot", 3), 1);
	assert_int_equal(distance("", "abc", 3), 3);
	assert_int_equal(distance("kitten", "sitting", 9), 3);
	assert_int_equal(distance("ca", "abc", 9), 3); /* swapped characters are not edited again */
}

static void more_than_the_limit_is_one_more(void **state)
{
	assert_int_equal(distance("kitten", "sitting", 2), 3);
	assert_int_equal(distance("kitten", "sitting", 1), 2);
	assert_int_equal(distance("kitten", "sitting", 0), 1);
	assert_int_equal(distance("abc", "", 2), 3);
}

static void long_names_are_near_to_nothing(void **state)
{
	char longest[NEAR_BYTES + 1] = "", longer[NEAR_BYTES + 2] = "";

	memset(longest, 'x', NEAR_BYTES);
	memset(longer, 'x', NEAR_BYTES + 1);
	assert_int_equal(distance(longest, longest, 200), 0);
	assert_int_equal(distance(longest, longer, 200), 201);
	assert_int_equal(distance(longer, longer, 200), 201);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The definition of the distance over the full matrix, without the band. */
static size_t by_definition(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), cost[16][16];

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			cost[i][j] = !i || !j ? i + j : SIZE_MAX;
			if (!i || !j)
				continue;
			cost[i][j] = least(cost[i - 1][j], cost[i][j - 1]) + 1;
			cost[i][j] = least(cost[i][j], cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
		}
	return cost[n][m];
}

static void make_word(uint64_t *random, char *word)
{
	size_t n = random_next(random) % 11;

	for (size_t i = 0; i < n; i++)
		word[i] = (char)('a' + random_next(random) % 3);
	word[n] = '\0';
}

static void the_band_changes_nothing(void **state)
{
	uint64_t random = 1;

	for (int i = 0; i < 100000; i++) {
		size_t limit = random_next(&random) % 12, want;
		char a[16], b[16];

		make_word(&random, a);
		make_word(&random, b);
		want = least(by_definition(a, b), limit + 1);
		if (distance(a, b, limit) != want)
			fail_msg("%s, %s within %zu: %zu, not %zu", a, b, limit,
				 distance(a, b, limit), want);
	}
}

static void the_nearest_come_first_and_ties_in_order(void **state)
{
	static const char *const names[] = { "web4x", "web2", "web1x", "web1", "other", "web3" };
	struct near near = { .wanted = STR("web1"), .limit = 2, .max = 3 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		near_consider(&near, names[i]);
	assert_int_equal(near.n, 3);
	assert_string_equal(near.found[0].name, "web1");
	assert_string_equal(near.found[1].name, "web2");
	assert_string_equal(near.found[2].name, "web1x");
}

static void nothing_is_near(void **state)
{
	struct near near = { .wanted = STR("web1"), .limit = 1, .max = 1 };

	near_consider(&near, "web22");
	near_consider(&near, "");
	assert_int_equal(near.n, 0);
	near_consider(&near, "web1");
	near_consider(&near, "web1");
	assert_int_equal(near.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_edit_counts_one),
		cmocka_unit_test(more_than_the_limit_is_one_more),
		cmocka_unit_test(long_names_are_near_to_nothing),
		cmocka_unit_test(the_band_changes_nothing),
		cmocka_unit_test(the_nearest_come_first_and_ties_in_order),
		cmocka_unit_test(nothing_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
