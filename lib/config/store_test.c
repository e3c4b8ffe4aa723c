/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/config/store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/config/file.h"

struct world {
	struct ev_loop *loop;
	struct store *store;
	char folder[64], path[96];
	const char *state;
	int answers, last, told, last_told;
	unsigned texts;
};

static void add_text(struct buf *out, void *user)
{
	struct world *w = user;

	w->texts++;
	buf_adds(out, w->state);
}

static void on_told(int err, void *user)
{
	struct world *w = user;

	w->told++;
	w->last_told = err;
}

static void on_done(int err, void *user)
{
	struct world *w = user;

	w->answers++;
	w->last = err;
}

static int build(void **state)
{
	struct world *w = mem_zalloc(sizeof(*w));

	snprintf(w->folder, sizeof(w->folder), "/tmp/store-test-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	snprintf(w->path, sizeof(w->path), "%s/file", w->folder);
	w->loop = ev_default_loop(0);
	w->state = "one";
	w->store = store_new(
		w->loop, &(struct store_config){
				 .path = w->path, .text = add_text, .told = on_told, .user = w });
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	store_free(w->store);
	chmod(w->folder, 0700);
	rmdir(w->path); /* one test makes a folder of it */
	unlink(w->path);
	rmdir(w->folder);
	free(w);
	return 0;
}

static void assert_file(const struct world *w, const char *expected)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	assert_int_equal(file_read(w->path, STORE_FILE_MAX, &text), 0);
	assert_string_equal(buf_cstr(&text), expected);
}

/* Runs the loop until n callers have been answered. */
static void run_until(struct world *w, int n)
{
	while (w->answers < n)
		ev_run(w->loop, EVRUN_ONCE);
}

static void an_answer_comes_after_the_write(void **state)
{
	struct world *w = *state;

	store_changed(w->store);
	assert_int_equal(store_wait(w->store, on_done, w), 0);
	assert_int_equal(w->answers, 0);
	run_until(w, 1);
	assert_int_equal(w->last, 0);
	assert_file(w, "one");
	assert_int_equal(store_stats(w->store)->written, 1);
}

static void what_changes_during_a_write_is_in_the_next_one(void **state)
{
	struct world *w = *state;

	store_changed(w->store);
	store_wait(w->store, on_done, w);
	while (!w->texts) /* the first write has begun */
		ev_run(w->loop, EVRUN_ONCE);
	w->state = "two";
	store_changed(w->store);
	store_wait(w->store, on_done, w);
	run_until(w, 2);
	assert_file(w, "two");
	assert_int_equal(store_stats(w->store)->written, 2);
}

static void many_changes_in_one_turn_are_one_write(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 100; i++) {
		store_changed(w->store);
		store_wait(w->store, on_done, w);
	}
	run_until(w, 100);
	assert_int_equal(store_stats(w->store)->written, 1);
}

static void what_is_so_already_is_not_written(void **state)
{
	struct world *w = *state;

	store_has(w->store, STR("one"));
	store_changed(w->store);
	store_wait(w->store, on_done, w);
	run_until(w, 1);
	assert_int_equal(store_stats(w->store)->written, 0);
	assert_int_equal(access(w->path, F_OK), -1);
}

/* A folder in the place of the file cannot be replaced, also not by root. */
static void a_failed_write_is_told_and_repeated(void **state)
{
	struct world *w = *state;

	assert_int_equal(mkdir(w->path, 0700), 0);
	store_changed(w->store);
	store_wait(w->store, on_done, w);
	run_until(w, 1);
	assert_int_equal(w->last, -EISDIR);
	assert_int_equal(w->last_told, -EISDIR);
	assert_true(store_stats(w->store)->failing);
	assert_int_equal(rmdir(w->path), 0);
	while (store_stats(w->store)->failing) /* a second later */
		ev_run(w->loop, EVRUN_ONCE);
	assert_file(w, "one");
	assert_int_equal(w->told, 2);
	assert_int_equal(w->last_told, 0);
}

static void one_that_is_forgotten_is_not_answered(void **state)
{
	struct world *w = *state;
	int other;

	store_changed(w->store);
	store_wait(w->store, on_done, &other);
	store_forget(w->store, &other);
	store_wait(w->store, on_done, w);
	run_until(w, 1);
	assert_int_equal(w->answers, 1);
}

static void the_end_writes_what_is_left(void **state)
{
	struct world *w = *state;

	store_changed(w->store);
	w->state = "last";
	store_free(w->store);
	w->store = NULL;
	assert_file(w, "last");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_answer_comes_after_the_write, build, tear_down),
		cmocka_unit_test_setup_teardown(what_changes_during_a_write_is_in_the_next_one,
						build, tear_down),
		cmocka_unit_test_setup_teardown(many_changes_in_one_turn_are_one_write, build,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_so_already_is_not_written, build,
						tear_down),
		cmocka_unit_test_setup_teardown(a_failed_write_is_told_and_repeated, build,
						tear_down),
		cmocka_unit_test_setup_teardown(one_that_is_forgotten_is_not_answered, build,
						tear_down),
		cmocka_unit_test_setup_teardown(the_end_writes_what_is_left, build, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
