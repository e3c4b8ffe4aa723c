/* SPDX-License-Identifier: Apache-2.0 */
#include "core/maglev/maglev.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/maglev/measure.h"

#define SMALL MAGLEV_SIZE_MIN
#define MANY_STEPS 1000003
#define USUAL 65537

static struct maglev_member member(const char *address, uint8_t weight)
{
	struct maglev_member m = { .weight = weight };

	assert_int_equal(addr_parse(address, &m.address), 0);
	return m;
}

static size_t count(const uint16_t *table, size_t size, uint16_t who)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += table[i] == who;
	return n;
}

/* FNV-1a over the indexes, low byte first. */
static uint64_t digest(const uint16_t *table, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++) {
		hash = (hash ^ (table[i] & 0xff)) * 0x100000001b3u;
		hash = (hash ^ (table[i] >> 8)) * 0x100000001b3u;
	}
	return hash;
}

/*
 * The vectors: two balancers of different versions must agree, so these values never change. A
 * build that fails them would split the flows of a half-upgraded fleet between two servers.
 */
static void a_small_table_is_as_it_always_was(void **state)
{
	static const char was[SMALL + 1] =
		"0101120010001000000101000000011000010110001010100000100000001011110000011100000110"
		"0001001100101000000000000001001100011001100110000000010111000101001101101110100100"
		"0001010000010100000100001100110011110000000100110010000100100000001020010000101110"
		"00111";
	struct maglev_member members[] = { member("192.0.2.1", 100), member("2001:db8::2", 50),
					   member("192.0.2.3", 1), member("192.0.2.4", 0) };
	uint16_t table[SMALL];
	char is[SMALL + 1] = "";

	maglev_build(members, ARRAY_SIZE(members), table, SMALL);
	for (size_t i = 0; i < SMALL; i++)
		is[i] = (char)('0' + table[i]);
	assert_string_equal(is, was);
}

static void large_tables_are_as_they_always_were(void **state)
{
	static const struct {
		enum measure_mix mix;
		size_t n, size;
		uint64_t digest;
	} vectors[] = {
		{ MEASURE_EQUAL, 2, USUAL, 0x57d6aa07d5ed645 },
		{ MEASURE_EQUAL, 1000, USUAL, 0x6a58fe9669b416a4 },
		{ MEASURE_RANDOM, 100, USUAL, 0x1fcb592d39fa8631 },
		{ MEASURE_RANDOM, 5000, USUAL, 0x52d93ed68a137014 },
		{ MEASURE_ONE_HEAVY, 300, 1021, 0x74ef70010bc8e56d },
		{ MEASURE_ONE_LIGHT, 20000, USUAL, 0xb7192527ed43049 },
		{ MEASURE_RANDOM, 10, 655373, 0xda808f02637393b8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		size_t n = vectors[i].n, size = vectors[i].size;
		_cleanup_(cleanup_free) struct maglev_member *members =
			mem_resize(NULL, n, sizeof(*members));
		_cleanup_(cleanup_free) uint16_t *table = mem_resize(NULL, size, sizeof(*table));

		measure_fleet(vectors[i].mix, 1, members, n);
		maglev_build(members, n, table, size);
		if (digest(table, size) != vectors[i].digest)
			fail_msg("vector %zu: %#llx", i, (unsigned long long)digest(table, size));
	}
}

static void without_weight_all_slots_are_nobodys(void **state)
{
	struct maglev_member members[] = { member("192.0.2.1", 0), member("2001:db8::1", 0) };
	uint16_t table[SMALL];

	memset(table, 0, sizeof(table));
	maglev_build(members, 2, table, SMALL);
	assert_int_equal(count(table, SMALL, MAGLEV_NONE), SMALL);

	memset(table, 0, sizeof(table));
	maglev_build(NULL, 0, table, SMALL);
	assert_int_equal(count(table, SMALL, MAGLEV_NONE), SMALL);
}

static void one_member_has_all_slots_whatever_its_weight(void **state)
{
	static const uint8_t weights[] = { 1, 37, 100 };
	uint16_t table[SMALL];

	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		struct maglev_member members[] = { member("192.0.2.1", 0),
						   member("192.0.2.2", weights[i]) };

		maglev_build(members, 2, table, SMALL);
		assert_int_equal(count(table, SMALL, 1), SMALL);
	}
}

static void the_largest_table_is_filled(void **state)
{
	_cleanup_(cleanup_free) uint16_t *table = mem_resize(NULL, MAGLEV_SIZE_MAX, sizeof(*table));
	struct maglev_member members[] = { member("192.0.2.1", 1) };

	maglev_build(members, 1, table, MAGLEV_SIZE_MAX);
	assert_int_equal(count(table, MAGLEV_SIZE_MAX, 0), MAGLEV_SIZE_MAX);
}

/* Two builds at once, and one that is ended early. */
static void a_table_is_the_same_in_steps(void **state)
{
	struct maglev_member members[200];
	_cleanup_(cleanup_free) uint16_t *whole = mem_alloc(MANY_STEPS * sizeof(*whole));
	_cleanup_(cleanup_free) uint16_t *steps = mem_alloc(MANY_STEPS * sizeof(*steps));
	uint16_t small[SMALL];
	struct maglev_work *large, *other;
	unsigned n = 0;

	measure_fleet(MEASURE_RANDOM, 1, members, ARRAY_SIZE(members));
	maglev_build(members, ARRAY_SIZE(members), whole, MANY_STEPS);
	large = maglev_begin(members, ARRAY_SIZE(members), steps, MANY_STEPS);
	other = maglev_begin(members, 2, small, SMALL);
	for (; !maglev_step(large); n++)
		maglev_step(other);
	maglev_end(large);
	maglev_end(other);
	assert_true(n > 50);
	assert_memory_equal(whole, steps, MANY_STEPS * sizeof(*whole));
	assert_int_equal(count(small, SMALL, MAGLEV_NONE), 0);

	large = maglev_begin(members, ARRAY_SIZE(members), steps, MANY_STEPS);
	assert_false(maglev_step(large));
	maglev_end(large);
	maglev_end(NULL);
}

static void only_the_ratio_of_weights_matters(void **state)
{
	struct maglev_member low[] = { member("192.0.2.1", 1), member("192.0.2.2", 3) };
	struct maglev_member high[] = { member("192.0.2.1", 25), member("192.0.2.2", 75) };
	uint16_t one[SMALL], other[SMALL];

	maglev_build(low, 2, one, SMALL);
	maglev_build(high, 2, other, SMALL);
	assert_memory_equal(one, other, sizeof(one));
	assert_int_equal(count(one, SMALL, 0), 63); /* 62.75 */
	assert_int_equal(count(one, SMALL, 1), 188);
}

static void equal_members_differ_by_one_slot(void **state)
{
	struct maglev_member members[100];
	size_t counts[100];
	uint16_t table[SMALL];

	measure_fleet(MEASURE_EQUAL, 1, members, 100);
	maglev_build(members, 100, table, SMALL);
	measure_counts(table, SMALL, counts, 100);
	for (size_t i = 0; i < 100; i++)
		assert_in_range(counts[i], 2, 3);
}

static void who_has_little_weight_has_a_slot_all_the_same(void **state)
{
	struct maglev_member members[200];
	size_t counts[200];
	uint16_t table[SMALL];

	measure_fleet(MEASURE_ONE_LIGHT, 1, members, 200);
	maglev_build(members, 200, table, SMALL);
	measure_counts(table, SMALL, counts, 200);
	assert_int_equal(counts[0], 1);
	for (size_t i = 1; i < 200; i++)
		assert_in_range(counts[i], 1, 2);
}

static void where_slots_are_short_the_heaviest_have_one_each(void **state)
{
	struct maglev_member members[300];
	size_t counts[300], light = 0;
	uint16_t table[SMALL];

	measure_fleet(MEASURE_EQUAL, 1, members, 300);
	for (size_t i = 0; i < 100; i++)
		members[i * 3].weight = 7;
	maglev_build(members, 300, table, SMALL);
	measure_counts(table, SMALL, counts, 300);
	for (size_t i = 0; i < 300; i++) {
		assert_in_range(counts[i], members[i].weight == 100, 1);
		light += members[i].weight == 7 ? counts[i] : 0;
	}
	assert_int_equal(light, SMALL - 200);
}

static void as_many_members_as_there_may_be_find_their_places(void **state)
{
	size_t n = MAGLEV_MEMBERS_MAX;
	_cleanup_(cleanup_free) struct maglev_member *members =
		mem_resize(NULL, n, sizeof(*members));
	_cleanup_(cleanup_free) uint16_t *table = mem_resize(NULL, USUAL, sizeof(*table));
	_cleanup_(cleanup_free) size_t *counts = mem_resize(NULL, n, sizeof(*counts));

	measure_fleet(MEASURE_RANDOM, 1, members, n);
	maglev_build(members, n, table, USUAL);
	measure_counts(table, USUAL, counts, n);
	for (size_t i = 0; i < n; i++)
		assert_in_range(counts[i], 1, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_table_is_as_it_always_was),
		cmocka_unit_test(large_tables_are_as_they_always_were),
		cmocka_unit_test(without_weight_all_slots_are_nobodys),
		cmocka_unit_test(one_member_has_all_slots_whatever_its_weight),
		cmocka_unit_test(the_largest_table_is_filled),
		cmocka_unit_test(a_table_is_the_same_in_steps),
		cmocka_unit_test(only_the_ratio_of_weights_matters),
		cmocka_unit_test(equal_members_differ_by_one_slot),
		cmocka_unit_test(who_has_little_weight_has_a_slot_all_the_same),
		cmocka_unit_test(where_slots_are_short_the_heaviest_have_one_each),
		cmocka_unit_test(as_many_members_as_there_may_be_find_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
