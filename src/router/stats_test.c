/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/stats.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- names ---- */

static void a_name_keeps_its_number_while_it_is_used(void **state)
{
	struct names *names = names_new();
	struct name *a = names_take(names, "a"), *b = names_take(names, "b");
	uint64_t id = a->id;
	uint32_t number = a->number;

	assert_ptr_equal(names_take(names, "a"), a);
	assert_int_not_equal(a->number, b->number);
	names_release(a);
	assert_ptr_equal(names_take(names, "a"), a);
	names_release(a);
	names_release(a);
	a = names_take(names, "c");
	assert_int_equal(a->number, number); /* used again */
	assert_int_not_equal(a->id, id);
	assert_int_equal(names_bound(names), 2);
	assert_ptr_equal(names_at(names, number), a);
	assert_null(names_at(names, 2));
	a->user = names;
	assert_ptr_equal(names_release(a), names);
	assert_null(names_release(b));
	names_free(names);
}

/* ---- sums ---- */

static uint64_t requests(struct stats *s, enum stats_kind kind, uint32_t number, uint64_t id)
{
	struct stats_values v;

	stats_sum(s, kind, number, id, &v);
	return v.counters[STATS_REQUESTS];
}

static void cells_of_all_threads_are_added_up(void **state)
{
	struct stats *s = stats_new(2);
	struct stats_values v;

	for (unsigned t = 0; t < 2; t++) {
		struct stats_cell *cell = stats_cell(stats_thread(s, t), STATS_POOL, 7, 1);

		stats_count(cell, STATS_REQUESTS, 1 + t);
		stats_set(cell, STATS_OPEN, 5);
		stats_latency(cell, 300000);
		stats_first(cell, 90000);
	}
	stats_sum(s, STATS_POOL, 7, 1, &v);
	assert_int_equal(v.counters[STATS_REQUESTS], 3);
	assert_int_equal(v.counters[STATS_OPEN], 10);
	assert_int_equal(v.counters[STATS_LATENCY], 600000);
	assert_int_equal(v.latency[buckets_index(300000)], 2);
	assert_int_equal(v.first[buckets_index(90000)], 2);
	assert_int_equal(buckets_total(v.latency), 2);
	stats_add_values(&v, &v);
	assert_int_equal(v.counters[STATS_REQUESTS], 6);
	assert_int_equal(v.first[buckets_index(90000)], 4);
	/* neither another kind nor a number that was never used has anything */
	assert_int_equal(requests(s, STATS_ROUTE, 7, 1), 0);
	assert_int_equal(requests(s, STATS_POOL, 1000000, 1), 0);
	stats_free(s);
}

static void every_number_has_a_cell_of_its_own(void **state)
{
	struct stats *s = stats_new(1);
	struct stats_thread *t = stats_thread(s, 0);

	for (uint32_t i = 0; i < 1000; i++)
		stats_count(stats_cell(t, STATS_ROUTE, i, i + 1), STATS_REQUESTS, i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(requests(s, STATS_ROUTE, i, i + 1), i);
	stats_free(s);
}

static void a_number_that_is_used_again_begins_with_zeros(void **state)
{
	struct stats *s = stats_new(1);
	struct stats_thread *t = stats_thread(s, 0);

	stats_count(stats_cell(t, STATS_ROUTE, 3, 8), STATS_REQUESTS, 4);
	/* before the thread has met the new name, the control thread does not see the old one */
	assert_int_equal(requests(s, STATS_ROUTE, 3, 9), 0);
	stats_count(stats_cell(t, STATS_ROUTE, 3, 9), STATS_REQUESTS, 1);
	assert_int_equal(requests(s, STATS_ROUTE, 3, 9), 1);
	assert_int_equal(requests(s, STATS_ROUTE, 3, 8), 0);
	stats_free(s);
}

/* ---- threads ---- */

#define THREADS 3
#define NUMBERS 500
#define ROUNDS 200

static void *write_all(void *user)
{
	struct stats_thread *t = user;

	for (unsigned round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < NUMBERS; i++) {
			struct stats_cell *cell = stats_cell(t, STATS_ROUTE, i, i + 1);

			stats_count(cell, STATS_REQUESTS, 1);
			stats_latency(cell, round);
		}
	return NULL;
}

/* Under the thread sanitizer this would report a race. */
static void sums_are_read_while_threads_write(void **state)
{
	struct stats *s = stats_new(THREADS);
	pthread_t threads[THREADS];
	uint64_t before = 0;

	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, write_all, stats_thread(s, t)),
				 0);
	for (uint32_t i = 0; i < NUMBERS; i++) {
		uint64_t now = requests(s, STATS_ROUTE, NUMBERS - 1, NUMBERS);

		assert_true(now >= before && now <= THREADS * ROUNDS);
		before = now;
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	for (uint32_t i = 0; i < NUMBERS; i++)
		assert_int_equal(requests(s, STATS_ROUTE, i, i + 1), THREADS * ROUNDS);
	stats_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_number_while_it_is_used),
		cmocka_unit_test(cells_of_all_threads_are_added_up),
		cmocka_unit_test(every_number_has_a_cell_of_its_own),
		cmocka_unit_test(a_number_that_is_used_again_begins_with_zeros),
		cmocka_unit_test(sums_are_read_while_threads_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
