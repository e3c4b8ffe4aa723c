/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On real files. That a change is not reported shows after the next one: the count of callbacks
 * would be too high.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
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

#include "lib/config/watch.h"

#define SETTLE .02

struct fixture {
	struct ev_loop *loop;
	char folder[64];
	struct config_watch *watch;
	unsigned told;
};

static void on_changed(void *user)
{
	struct fixture *f = user;

	f->told++;
	ev_break(f->loop, EVBREAK_ALL);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->folder, sizeof(f->folder), "%s", "/tmp/maglev-watch-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	f->loop = ev_loop_new(0);
	*state = f;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	config_watch_free(f->watch);
	ev_loop_destroy(f->loop);
	nftw(f->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* Paths in the fixture's directory; at most four are in use at a time. */
static const char *in(const struct fixture *f, const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", f->folder, name);
	return path;
}

static void put(const struct fixture *f, const char *name, const char *text)
{
	FILE *file = fopen(in(f, name), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const struct fixture *f, const char *name)
{
	assert_int_equal(mkdir(in(f, name), 0700), 0);
}

static void make_link(const struct fixture *f, const char *target, const char *name)
{
	assert_int_equal(symlink(target, in(f, name)), 0);
}

static void move(const struct fixture *f, const char *from, const char *to)
{
	assert_int_equal(rename(in(f, from), in(f, to)), 0);
}

static void watch(struct fixture *f, const char *name)
{
	assert_int_equal(config_watch_new(f->loop, in(f, name), SETTLE, on_changed, f, &f->watch),
			 0);
	assert_int_equal(config_watch_error(f->watch), 0);
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	fail_msg("nothing was told");
}

/* Runs the loop until the next callback. */
static void wait_for(struct fixture *f, unsigned told)
{
	ev_timer late;

	ev_timer_init(&late, on_late, 10., 0.);
	ev_timer_start(f->loop, &late);
	ev_now_update(f->loop);
	while (f->told < told)
		ev_run(f->loop, EVRUN_ONCE);
	ev_timer_stop(f->loop, &late);
	assert_int_equal(f->told, told);
}

static void a_file_written_in_place_is_told(void **state)
{
	struct fixture *f = *state;

	put(f, "app.yaml", "1");
	watch(f, "app.yaml");
	put(f, "app.yaml", "22");
	wait_for(f, 1);
	put(f, "app.yaml", "333");
	wait_for(f, 2);
}

static void a_file_replaced_by_a_rename_is_told(void **state)
{
	struct fixture *f = *state;

	put(f, "app.yaml", "1");
	watch(f, "app.yaml");
	for (unsigned i = 1; i <= 3; i++) {
		put(f, "app.yaml.new", "2");
		move(f, "app.yaml.new", "app.yaml");
		wait_for(f, i);
	}
}

static void a_burst_is_told_once(void **state)
{
	struct fixture *f = *state;

	put(f, "app.yaml", "1");
	watch(f, "app.yaml");
	for (int i = 0; i < 50; i++)
		put(f, "app.yaml", i % 2 ? "22" : "333");
	wait_for(f, 1);
	put(f, "app.yaml", "4444");
	wait_for(f, 2);
}

/* Writes again and again, faster than the file can settle. */
static void on_write(struct ev_loop *loop, ev_timer *timer, int events)
{
	put(timer->data, "app.yaml", ev_iteration(loop) % 2 ? "22" : "333");
}

static void a_file_that_never_settles_is_told_all_the_same(void **state)
{
	struct fixture *f = *state;
	ev_timer writer;

	put(f, "app.yaml", "1");
	watch(f, "app.yaml");
	ev_timer_init(&writer, on_write, 0., SETTLE / 10);
	writer.data = f;
	ev_timer_start(f->loop, &writer);
	wait_for(f, 1);
	wait_for(f, 2);
	ev_timer_stop(f->loop, &writer);
}

static void other_files_of_the_folder_are_not_told(void **state)
{
	struct fixture *f = *state;

	put(f, "app.yaml", "1");
	watch(f, "app.yaml");
	put(f, "other.yaml", "1");
	put(f, "app.yaml.swp", "1");
	unlink(in(f, "other.yaml"));
	put(f, "app.yaml", "22");
	wait_for(f, 1);
	put(f, "other.yaml", "2");
	put(f, "app.yaml", "333");
	wait_for(f, 2);
}

/* The file is missing for longer than it takes to settle, and then exists again. */
static void a_file_that_goes_is_told_when_it_comes_back(void **state)
{
	struct fixture *f = *state;

	put(f, "app.yaml", "1");
	watch(f, "app.yaml");
	unlink(in(f, "app.yaml"));
	ev_run(f->loop, EVRUN_ONCE); /* the events */
	ev_run(f->loop, EVRUN_ONCE); /* quiet: nothing to report */
	assert_int_equal(f->told, 0);
	put(f, "app.yaml", "22");
	wait_for(f, 1);
}

static void a_file_that_is_not_there_yet_is_told_when_it_comes(void **state)
{
	struct fixture *f = *state;

	watch(f, "etc/app.yaml");
	make_folder(f, "etc");
	put(f, "etc/app.yaml", "1");
	wait_for(f, 1);
	put(f, "etc/app.yaml", "22");
	wait_for(f, 2);
}

/* As kubelet's atomic writer does it. */
static void publish(const struct fixture *f, const char *version, const char *text)
{
	char name[64];

	make_folder(f, version);
	snprintf(name, sizeof(name), "%s/app.yaml", version);
	put(f, name, text);
	make_link(f, version, "..data_tmp");
	move(f, "..data_tmp", "..data");
}

static void a_config_map_of_kubernetes_is_told(void **state)
{
	struct fixture *f = *state;

	publish(f, "..2026_11_16_01", "1");
	make_link(f, "..data/app.yaml", "app.yaml");
	watch(f, "app.yaml");
	publish(f, "..2026_11_16_02", "2");
	unlink(in(f, "..2026_11_16_01/app.yaml"));
	rmdir(in(f, "..2026_11_16_01"));
	wait_for(f, 1);
	publish(f, "..2026_11_16_03", "3");
	wait_for(f, 2);
}

static void a_folder_that_is_replaced_is_told(void **state)
{
	struct fixture *f = *state;

	make_folder(f, "etc");
	put(f, "etc/app.yaml", "1");
	watch(f, "etc/app.yaml");
	make_folder(f, "new");
	put(f, "new/app.yaml", "2");
	move(f, "etc", "old");
	move(f, "new", "etc");
	wait_for(f, 1);
	put(f, "old/app.yaml", "of no interest");
	put(f, "etc/app.yaml", "333");
	wait_for(f, 2);
}

/* An absolute link to another directory; first the file there is changed, then the link. */
static void links_are_followed_wherever_they_lead(void **state)
{
	struct fixture *f = *state;

	make_folder(f, "a");
	make_folder(f, "b");
	put(f, "a/app.yaml", "1");
	put(f, "b/app.yaml", "2");
	make_link(f, in(f, "a"), "current");
	make_link(f, "./current/../current/app.yaml", "app.yaml");
	watch(f, "app.yaml");
	put(f, "a/app.yaml", "11");
	wait_for(f, 1);
	make_link(f, "b", "current.new");
	move(f, "current.new", "current");
	wait_for(f, 2);
	put(f, "b/app.yaml", "22");
	wait_for(f, 3);
}

static void links_in_a_circle_are_no_file(void **state)
{
	struct fixture *f = *state;

	make_link(f, "b", "a");
	make_link(f, "a", "b");
	watch(f, "a");
	unlink(in(f, "a"));
	put(f, "a", "1");
	wait_for(f, 1);
}

/* A relative path is one from the working directory. */
static void a_relative_path_is_watched(void **state)
{
	struct fixture *f = *state;
	char before[PATH_MAX];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(f->folder), 0);
	put(f, "app.yaml", "1");
	assert_int_equal(config_watch_new(f->loop, "app.yaml", SETTLE, on_changed, f, &f->watch),
			 0);
	put(f, "app.yaml", "22");
	wait_for(f, 1);
	assert_int_equal(chdir(before), 0);
}

static void on_changed_free(void *user)
{
	struct fixture *f = user;

	config_watch_free(f->watch);
	f->watch = NULL;
	f->told++;
}

static void the_callback_may_end_the_watch(void **state)
{
	struct fixture *f = *state;

	put(f, "app.yaml", "1");
	assert_int_equal(config_watch_new(f->loop, in(f, "app.yaml"), SETTLE, on_changed_free, f,
					  &f->watch),
			 0);
	put(f, "app.yaml", "22");
	wait_for(f, 1);
	assert_null(f->watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_file_written_in_place_is_told),
		TEST(a_file_replaced_by_a_rename_is_told),
		TEST(a_burst_is_told_once),
		TEST(a_file_that_never_settles_is_told_all_the_same),
		TEST(other_files_of_the_folder_are_not_told),
		TEST(a_file_that_goes_is_told_when_it_comes_back),
		TEST(a_file_that_is_not_there_yet_is_told_when_it_comes),
		TEST(a_config_map_of_kubernetes_is_told),
		TEST(a_folder_that_is_replaced_is_told),
		TEST(links_are_followed_wherever_they_lead),
		TEST(links_in_a_circle_are_no_file),
		TEST(a_relative_path_is_watched),
		TEST(the_callback_may_end_the_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
