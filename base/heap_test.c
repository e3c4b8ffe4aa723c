/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

#define N 500

struct thing {
	struct heap_node node;
	bool in;
};

static struct thing things[N];
static struct heap heap;

static int setup(void **state)
{
	memset(things, 0, sizeof(things));
	heap = (struct heap){ 0 };
	return 0;
}

static void add(size_t i, uint64_t major, uint64_t minor)
{
	things[i].node.major = major;
	things[i].node.minor = minor;
	things[i].in = true;
	heap_add(&heap, &things[i].node);
}

static void an_empty_heap_gives_nothing(void **state)
{
	assert_null(heap_take(&heap));
	add(0, 1, 1);
	assert_ptr_equal(heap_take(&heap), &things[0].node);
	assert_null(heap_take(&heap));
	assert_int_equal(heap.n, 0);
}

static void the_major_number_counts_before_the_minor(void **state)
{
	add(0, 2, 1);
	add(1, 1, 9);
	add(2, 1, 3);
	assert_ptr_equal(heap_take(&heap), &things[2].node);
	assert_ptr_equal(heap_take(&heap), &things[1].node);
	assert_ptr_equal(heap_take(&heap), &things[0].node);
}

/* The reference: the smallest node, found by a scan over all of them. */
static size_t smallest(void)
{
	size_t best = N;

	for (size_t i = 0; i < N; i++)
		if (things[i].in && (best == N || things[i].node.major < things[best].node.major ||
				     (things[i].node.major == things[best].node.major &&
				      things[i].node.minor < things[best].node.minor)))
			best = i;
	return best;
}

static void take_and_compare(void)
{
	size_t expected = smallest();
	struct heap_node *node = heap_take(&heap);

	if (expected == N) {
		assert_null(node);
		return;
	}
	assert_ptr_equal(node, &things[expected].node);
	things[expected].in = false;
}

/* Random additions, removals and takes, compared with the scan. */
static void whatever_happens_the_smallest_comes_first(void **state)
{
	uint64_t random = 11, count = 0;

	for (unsigned step = 0; step < 20000; step++) {
		uint64_t dice = random_next(&random);
		size_t i = (size_t)(dice >> 32) % N;

		if (!things[i].in) {
			add(i, dice % 40, count++);
		} else if (dice % 3 == 0) {
			heap_remove(&heap, &things[i].node);
			things[i].in = false;
		} else {
			take_and_compare();
		}
	}
	assert_true(heap.n > 0);
	while (heap.n)
		take_and_compare();
	take_and_compare();
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_empty_heap_gives_nothing),
		T(the_major_number_counts_before_the_minor),
		T(whatever_happens_the_smallest_comes_first),
	};

	return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
