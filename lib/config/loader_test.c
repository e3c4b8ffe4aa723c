/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/config/loader.h"

/*
 * A configuration is one word. "bad" violates a rule, "hang" never ends, "die" kills the child. "N
 * MiB" takes that much memory in addition.
 */
struct word {
	char *text;
};

static enum config_result build(struct str bytes, struct config_load *load, const void *user)
{
	struct word *w;

	assert_string_equal(user, "user");
	if (!bytes.n) {
		errs_add(&load->errors, (struct place){ .line = 1, .column = 1 }, "", "is empty");
		return CONFIG_PARSE_ERROR;
	}
	if (str_eq(bytes, STR("bad"))) {
		errs_add(&load->errors, (struct place){ .line = 2, .column = 1 }, "b", "is bad");
		errs_add(&load->errors, (struct place){ .line = 1, .column = 1 }, "a", "is worse");
		return CONFIG_SEMANTIC_ERROR;
	}
	if (str_eq(bytes, STR("hang")))
		for (;;)
			pause();
	if (str_eq(bytes, STR("die")))
		raise(SIGKILL);
	if (bytes.n > 4 && memcmp(bytes.p + bytes.n - 4, " MiB", 4) == 0)
		arena_alloc(load->arena, strtoul(bytes.p, NULL, 10) << 20);
	w = arena_new_of(load->arena, struct word);
	w->text = arena_strndup(load->arena, bytes.p, bytes.n);
	errs_add(&load->warnings, (struct place){ .line = 1, .column = 1 }, "", "is only a word");
	load->config = w;
	return CONFIG_OK;
}

struct fixture {
	char path[64];
	struct config_source source;
	struct config_loader *loader;
	struct config_load *load; /* of the last reading */
	char reason[128], text[64];
	bool take, detail;
	unsigned readings, told;
	unsigned again; /* number (from 1) of the caller that asks again from its callback */
	struct fixture *forget;
};

static void put(const struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void on_ended(const struct config_reading *reading, void *user)
{
	struct fixture *f = user;

	f->readings++;
	f->take = reading->take;
	f->detail = reading->detail;
	config_load_free(f->load);
	f->load = reading->load;
	snprintf(f->reason, sizeof(f->reason), "%s", reading->reason ? reading->reason : "");
	if (f->load && f->load->config)
		snprintf(f->text, sizeof(f->text), "%s", ((struct word *)f->load->config)->text);
	config_loader_answer(f->loader, f->text);
}

static void on_told(const void *report, void *user)
{
	struct fixture *f = user;

	assert_ptr_equal(report, f->text);
	f->told++;
	if (f->forget)
		config_loader_forget(f->loader, f->forget);
	if (f->told == f->again)
		assert_int_equal(config_loader_ask(f->loader, CONFIG_CHECK, on_told, f), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct config_loader_calls calls = { .ended = on_ended, .user = f };
	int fd;

	snprintf(f->path, sizeof(f->path), "%s", "/tmp/maglev-loader-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	f->source = (struct config_source){ .path = f->path, .build = build, .user = "user" };
	f->loader = config_loader_new(ev_default_loop(0), &f->source, &calls);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	config_loader_free(f->loader);
	config_load_free(f->load);
	unlink(f->path);
	free(f);
	return 0;
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	fail_msg("it takes too long");
}

/* Runs the loop until a count is reached. */
static void wait_for(const unsigned *count, unsigned n)
{
	ev_timer late;

	ev_timer_init(&late, on_late, 20., 0.);
	ev_now_update(EV_DEFAULT);
	ev_timer_start(EV_DEFAULT, &late);
	while (*count < n)
		ev_run(EV_DEFAULT, EVRUN_ONCE);
	ev_timer_stop(EV_DEFAULT, &late);
	assert_int_equal(*count, n);
}

static void ask(struct fixture *f, unsigned wishes)
{
	assert_int_equal(config_loader_ask(f->loader, wishes, on_told, f), 0);
}

static void read_in_child(struct fixture *f)
{
	unsigned n = f->told + 1;

	ask(f, CONFIG_CHECK);
	assert_int_equal(f->told, n - 1); /* done() is not called before it returns */
	wait_for(&f->told, n);
}

static void a_load_in_this_process_is_complete(void **state)
{
	struct fixture *f = *state;
	struct config_load *load;

	put(f, "hello");
	load = config_load(&f->source);
	assert_int_equal(load->result, CONFIG_OK);
	assert_string_equal(((struct word *)load->config)->text, "hello");
	assert_int_equal(load->warnings.n, 1);
	config_load_free(load);
	unlink(f->path);
	load = config_load(&f->source);
	assert_int_equal(load->result, CONFIG_PARSE_ERROR);
	assert_null(load->config);
	assert_int_equal(load->errors.n, 1);
	config_load_free(load);
}

static void a_child_hands_over_what_it_built(void **state)
{
	struct fixture *f = *state;

	put(f, "hello");
	read_in_child(f);
	assert_int_equal(f->load->result, CONFIG_OK);
	assert_string_equal(((struct word *)f->load->config)->text, "hello");
	assert_int_equal(f->load->warnings.n, 1);
}

static void a_child_hands_over_errors_sorted_by_place(void **state)
{
	struct fixture *f = *state;

	put(f, "bad");
	read_in_child(f);
	assert_int_equal(f->load->result, CONFIG_SEMANTIC_ERROR);
	assert_null(f->load->config);
	assert_int_equal(f->load->errors.n, 2);
	assert_string_equal(f->load->errors.items[0].text, "is worse");
	put(f, "");
	read_in_child(f);
	assert_int_equal(f->load->result, CONFIG_PARSE_ERROR);
}

static void a_child_that_dies_gives_a_reason(void **state)
{
	struct fixture *f = *state;

	put(f, "die");
	read_in_child(f);
	assert_null(f->load);
	assert_string_equal(f->reason, "reading the configuration ended by signal 9");
	put(f, "hello");
	read_in_child(f);
	assert_int_equal(f->load->result, CONFIG_OK);
}

static void a_child_that_hangs_is_ended(void **state)
{
	struct fixture *f = *state;

	f->source.limit = .05;
	put(f, "hang");
	read_in_child(f);
	assert_null(f->load);
	assert_string_equal(f->reason, "reading the configuration took too long");
}

static void a_loader_is_freed_with_its_child_under_way(void **state)
{
	struct fixture *f = *state;

	put(f, "hang");
	ask(f, CONFIG_CHECK);
	ask(f, CONFIG_CHECK);
}

/* Callers that come during the first reading are served together by the second. */
static void callers_that_come_late_share_the_next_reading(void **state)
{
	struct fixture *f = *state;

	put(f, "one");
	ask(f, CONFIG_CHECK);
	for (int i = 0; i < 10; i++)
		ask(f, i == 5 ? CONFIG_TAKE : i == 6 ? CONFIG_DETAIL : CONFIG_CHECK);
	wait_for(&f->told, 1);
	assert_false(f->take || f->detail);
	put(f, "two");
	wait_for(&f->told, 11);
	assert_int_equal(f->readings, 2);
	assert_true(f->take && f->detail);
}

/* A caller that asks from a callback gets a new reading of the file. */
static void a_caller_may_ask_again_when_it_is_told(void **state)
{
	struct fixture *f = *state;

	f->again = 2;
	put(f, "one");
	for (int i = 0; i < 3; i++)
		ask(f, CONFIG_CHECK);
	wait_for(&f->told, 4);
	assert_int_equal(f->readings,
			 3); /* the first; the two after it; the one that asked again */
}

static void the_number_of_callers_is_bounded_but_for_hangups(void **state)
{
	struct fixture *f = *state;

	put(f, "one");
	for (int i = 0; i < CONFIG_WAITING_MAX; i++)
		ask(f, CONFIG_CHECK);
	assert_int_equal(config_loader_ask(f->loader, CONFIG_TAKE, on_told, f), -EBUSY);
	for (int i = 0; i < 100; i++)
		config_loader_hangup(f->loader, on_told, f);
	wait_for(&f->told, CONFIG_WAITING_MAX + 1);
	assert_int_equal(f->readings, 2);
	assert_true(f->take);
}

static void a_caller_that_is_forgotten_is_not_told(void **state)
{
	struct fixture *f = *state, other = { 0 };

	put(f, "one");
	f->forget = &other;
	ask(f, CONFIG_CHECK);
	assert_int_equal(config_loader_ask(f->loader, CONFIG_TAKE, on_told, &other), 0);
	ask(f, CONFIG_CHECK);
	wait_for(&f->told, 2);
	assert_int_equal(other.told, 0);
	assert_true(f->take); /* the reading happens all the same */
}

static void a_watched_file_is_read_when_it_changes(void **state)
{
	struct fixture *f = *state;

	put(f, "one");
	assert_int_equal(config_loader_watch(f->loader, .02, on_told, f), 0);
	put(f, "two");
	wait_for(&f->told, 1);
	assert_string_equal(f->text, "two");
	assert_true(f->take);
	assert_false(f->detail);
	put(f, "bad");
	wait_for(&f->told, 2);
	assert_int_equal(f->load->result, CONFIG_SEMANTIC_ERROR);
	put(f, "three");
	wait_for(&f->told, 3);
	assert_string_equal(f->text, "three");
}

static size_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Limits the address space to what is in use now and some MiB more; 0: no limit. */
static void limit_address_space(size_t more)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = more ? address_space() + (more << 20) : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void read_text(struct fixture *f, const char *text)
{
	unsigned before = f->told;

	put(f, text);
	assert_int_equal(config_loader_ask(f->loader, CONFIG_TAKE, on_told, f), 0);
	wait_for(&f->told, before + 1);
}

/* A service with LimitAS= may have much less than the largest configuration could take. */
static void a_reading_needs_little_address_space(void **state)
{
	struct fixture *f = *state;

	limit_address_space(64);
	for (int i = 0; i < 20; i++) {
		read_text(f, i % 2 ? "10 MiB" : "word");
		assert_string_equal(f->reason, "");
		assert_string_equal(f->text, i % 2 ? "10 MiB" : "word");
	}
	read_text(f, "20 MiB"); /* its arena would have 128 MiB */
	assert_string_equal(f->reason, "Cannot allocate memory");
	limit_address_space(0);
	read_text(f, "word");
	assert_string_equal(f->reason, "");
}

static void a_finished_load_holds_only_what_it_uses(void **state)
{
	struct fixture *f = *state;
	size_t before;

	read_text(f, "word");
	before = address_space();
	read_text(f, "40 MiB");
	assert_string_equal(f->text, "40 MiB");
	assert_in_range(address_space() - before, (size_t)40 << 20, (size_t)50 << 20);
	read_text(f, "word");
	assert_in_range(address_space(), 0, before + ((size_t)10 << 20));
}

static void a_large_configuration_is_read_again_with_more_room(void **state)
{
	struct fixture *f = *state;

	read_text(f, "20 MiB");
	assert_string_equal(f->text, "20 MiB");
	assert_int_equal(f->readings, 1);
	assert_true(f->take);
	read_text(f, "1025 MiB");
	assert_string_equal(f->reason, "reading the configuration takes more than 1 GiB");
	assert_int_equal(f->readings, 2);
	read_text(f, "hang on"); /* and another one afterwards is not affected */
	assert_string_equal(f->text, "hang on");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_load_in_this_process_is_complete),
		TEST(a_child_hands_over_what_it_built),
		TEST(a_child_hands_over_errors_sorted_by_place),
		TEST(a_child_that_dies_gives_a_reason),
		TEST(a_child_that_hangs_is_ended),
		TEST(a_loader_is_freed_with_its_child_under_way),
		TEST(callers_that_come_late_share_the_next_reading),
		TEST(a_caller_may_ask_again_when_it_is_told),
		TEST(the_number_of_callers_is_bounded_but_for_hangups),
		TEST(a_caller_that_is_forgotten_is_not_told),
		TEST(a_watched_file_is_read_when_it_changes),
		TEST(a_reading_needs_little_address_space),
		TEST(a_finished_load_holds_only_what_it_uses),
		TEST(a_large_configuration_is_read_again_with_more_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
