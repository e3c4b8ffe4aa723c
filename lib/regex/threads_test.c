/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads search with the same patterns; also run under ThreadSanitizer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/regex/regex.h"

#define THREADS 4
#define ROUNDS 300

static const struct {
	const char *pattern;
	const char *subject;
	enum regex_result want;
} rows[] = {
	{ "status:[01]", "all is well, status:1", REGEX_MATCH },
	{ "(*NO_JIT)status:[01]", "all is well, status:2", REGEX_NO_MATCH },
	{ "^(\\w|\\s)+healthy$", "a few words and then healthy", REGEX_MATCH },
	{ "^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz", REGEX_LIMIT },
};

struct work {
	struct regex *patterns[ARRAY_SIZE(rows)];
	pthread_barrier_t start;
	unsigned rounds;
};

/* cmocka's assertions belong to the main thread, so a thread returns the number of mistakes. */
static void *search(void *user)
{
	struct work *w = user;
	uintptr_t wrong = 0;

	pthread_barrier_wait(&w->start);
	for (unsigned round = 0; round < w->rounds; round++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			wrong += regex_match(w->patterns[i], rows[i].subject,
					     strlen(rows[i].subject)) != rows[i].want;
	return (void *)wrong;
}

static void search_at_once(struct work *w)
{
	pthread_t threads[THREADS];
	void *wrong;

	pthread_barrier_init(&w->start, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, search, w), 0);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	pthread_barrier_destroy(&w->start);
}

static int setup(void **state)
{
	static struct work w;
	char reason[REGEX_REASON_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(
			regex_compile(rows[i].pattern, &w.patterns[i], reason, sizeof(reason)), 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct work *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		regex_free(w->patterns[i]);
	return 0;
}

static void threads_share_patterns_and_nothing_else(void **state)
{
	struct work *w = *state;

	w->rounds = ROUNDS;
	search_at_once(w);
}

/* The address sanitizer reports what a thread leaves behind. */
static void a_thread_that_ends_frees_its_memory(void **state)
{
	struct work *w = *state;

	w->rounds = 1;
	for (int i = 0; i < 20; i++)
		search_at_once(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_share_patterns_and_nothing_else, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_ends_frees_its_memory, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
