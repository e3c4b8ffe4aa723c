/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/l4/changes.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reload.h"
#include "src/maglevd/testing.h"

#define CONFIG(address) "maglev: { dataplane: none, backends: { a: { address: " address " } } }\n"
#define OTHER_PLANE                                                                                \
	"maglev: { dataplane: xdp, xdp: { interfaces: [lo] }, backends: { a: { address: "          \
	"10.0.0.1 } } }\n"

struct fixture {
	char path[64];
	struct snapshot_input input;
	struct config_source source;
	struct engine *engine;
	struct reload *reload;
	unsigned told, wanted;
	enum reload_result result;
	/* changes reported to each of the first callers, from 1; SIZE_MAX: none */
	size_t changes[8];
	unsigned again; /* the caller that asks once more from its callback, from 1 */
	struct engine_observer observer;
	char refusal[256];
	size_t n_errors;
	unsigned added; /* backends that do not come from the file */
};

static void on_refused(void *user, const struct engine_refusal *why)
{
	struct fixture *f = user;

	snprintf(f->refusal, sizeof(f->refusal), "%s", why->error);
	f->n_errors = why->n_errors;
}

static void put(const struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	snprintf(f->path, sizeof(f->path), "%s", "/tmp/maglev-reload-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	put(f, CONFIG("10.0.0.1"));
	f->source = snapshot_source(f->path, &f->input);
	f->engine = engine_new(EV_DEFAULT, testing_snapshot(CONFIG("10.0.0.1")));
	f->observer = (struct engine_observer){ .refused = on_refused, .user = f };
	engine_observe(f->engine, &f->observer);
	f->reload = reload_new(EV_DEFAULT, f->engine, &f->source, &f->input);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	reload_free(f->reload);
	engine_free(f->engine);
	unlink(f->path);
	free(f);
	return 0;
}

static void on_done(const void *p, void *user)
{
	const struct reload_report *report = p;
	struct fixture *f = user;

	f->told++;
	f->result = report->result;
	if (f->told < ARRAY_SIZE(f->changes))
		f->changes[f->told] = report->changes ? report->changes->n : SIZE_MAX;
	if (f->told == f->again) {
		put(f, CONFIG("10.0.0.2"));
		assert_int_equal(reload_check(f->reload, on_done, f), 0);
	}
}

static bool all_are_told(void *user)
{
	struct fixture *f = user;

	return f->told >= f->wanted;
}

static void wait_told(struct fixture *f, unsigned n)
{
	f->wanted = n;
	assert_true(testing_wait(EV_DEFAULT, all_are_told, f));
	assert_int_equal(f->told, n);
}

static unsigned last_byte(const struct fixture *f)
{
	return engine_model(f->engine)->config->backends[0].address.bytes[3];
}

/* FR-5.3: callers of the API cannot keep the operator's signal out */
static void a_hangup_is_heard_however_many_wait(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < CONFIG_WAITING_MAX; i++)
		assert_int_equal(reload_check(f->reload, on_done, f), 0);
	assert_int_equal(reload_check(f->reload, on_done, f), -EBUSY);
	put(f, CONFIG("10.0.0.9"));
	reload_hangup(f->reload, NULL, NULL);
	wait_told(f, CONFIG_WAITING_MAX);
	assert_int_equal(last_byte(f), 9);
	assert_int_equal(reload_stats(f->reload)->succeeded, 1);
}

/* The first one is being read; all others are one more reading. */
static void a_hundred_hangups_are_two_readings(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 100; i++)
		reload_hangup(f->reload, on_done, f);
	wait_told(f, 2);
	assert_int_equal(reload_stats(f->reload)->succeeded, 2);
}

/*
 * Callers get the answer of the reading that serves them; one that asks in between, of the next
 * one.
 */
static void who_asks_while_others_are_told_is_answered_by_the_next_reading(void **state)
{
	struct fixture *f = *state;

	f->again = 1;
	assert_int_equal(reload_check(f->reload, on_done, f), 0);
	wait_told(f, 2);
	assert_int_equal(f->changes[1], 0);
	assert_int_equal(f->changes[2], 1);

	/*
	 * one reading for the first, one for the two after it, and one for the caller that asks
	 * during that
	 */
	put(f, CONFIG("10.0.0.1"));
	f->again = 4;
	for (int i = 0; i < 3; i++)
		assert_int_equal(reload_check(f->reload, on_done, f), 0);
	wait_told(f, 6);
	assert_int_equal(f->changes[3], 0);
	assert_int_equal(f->changes[4], 0);
	assert_int_equal(f->changes[5], 0);
	assert_int_equal(f->changes[6], 1);
}

/* FR-5.5: checking such a file is no failure */
static void what_this_process_cannot_take_is_told_with_its_changes(void **state)
{
	struct fixture *f = *state;

	put(f, OTHER_PLANE);
	assert_int_equal(reload_check(f->reload, on_done, f), 0);
	wait_told(f, 1);
	assert_int_equal(f->result, RELOAD_REFUSED);
	assert_int_equal(f->changes[1], 2);
	assert_int_equal(reload_stats(f->reload)->failed, 0);
	assert_int_equal(reload_request(f->reload, on_done, f), 0);
	wait_told(f, 2);
	assert_int_equal(f->result, RELOAD_REFUSED);
	assert_int_equal(reload_stats(f->reload)->failed, 1);
	assert_int_equal(engine_model(f->engine)->config->dataplane, L4_DATAPLANE_NONE);
}

/*
 * A check is no attempt to reload; the first mistake is reported with its place, and their
 * number.
 */
static void observers_are_told_of_a_file_that_is_refused(void **state)
{
	struct fixture *f = *state;

	put(f, "maglev:\n  nothing: 1\n  dataplane: 7\n");
	assert_int_equal(reload_check(f->reload, on_done, f), 0);
	wait_told(f, 1);
	assert_string_equal(f->refusal, "");
	assert_int_equal(reload_request(f->reload, on_done, f), 0);
	wait_told(f, 2);
	assert_non_null(strstr(f->refusal, ":2:3: "));
	assert_null(strchr(f->refusal, '\n'));
	assert_true(f->n_errors >= 2);
	put(f, OTHER_PLANE);
	assert_int_equal(reload_request(f->reload, on_done, f), 0);
	wait_told(f, 3);
	assert_non_null(strstr(f->refusal, "restart maglevd"));
	assert_int_equal(f->n_errors, 1);
}

/* ---- entries that do not come from the file ---- */

/* Adds as many backends as the fixture says. */
static void add_backends(struct arena *arena, struct l4_doc *doc, struct errs *warnings,
			 const void *user)
{
	const struct fixture *f = user;
	struct doc_backend *list =
		arena_array_of(arena, doc->n_backends + f->added, struct doc_backend);

	memcpy(list, doc->backends, doc->n_backends * sizeof(*list));
	for (unsigned i = 0; i < f->added; i++)
		list[doc->n_backends++] =
			(struct doc_backend){ .name = arena_printf(arena, "zz-%u", i),
					      .address = { .set = true, .v = "10.0.0.77" } };
	doc->backends = list;
}

static bool is_extended(void *user)
{
	const struct fixture *f = user;

	return engine_model(f->engine)->config->n_backends == f->added + 1;
}

/* Returns when the entries are there; the backend of the file is the first by name. */
static void extend_to(struct fixture *f, unsigned n)
{
	f->added = n;
	for (int i = 0; i < 3; i++)
		reload_extend(f->reload);
	assert_true(testing_wait(EV_DEFAULT, is_extended, f));
}

/* An operator may be writing the file; a mistake in it must not keep the entries out. */
static void added_entries_do_not_take_the_file(void **state)
{
	struct fixture *f = *state;

	f->input.extend = add_backends;
	f->input.user = f;
	f->added = 1;
	put(f, CONFIG("10.0.0.3"));
	assert_int_equal(reload_request(f->reload, on_done, f), 0);
	wait_told(f, 1);
	assert_true(is_extended(f));
	put(f, "maglev:\n  half writ");
	extend_to(f, 5);
	extend_to(f, 2);
	assert_int_equal(last_byte(f), 3);
	unlink(f->path);
	extend_to(f, 4);
	assert_int_equal(last_byte(f), 3);
	assert_int_equal(reload_stats(f->reload)->failed, 0);
}

/* A request that comes during such a reading is served by the next one, which reads the file. */
static void who_asks_for_the_file_gets_it(void **state)
{
	struct fixture *f = *state;

	f->input.extend = add_backends;
	f->input.user = f;
	put(f, CONFIG("10.0.0.3"));
	assert_int_equal(reload_request(f->reload, on_done, f), 0);
	wait_told(f, 1);
	put(f, CONFIG("10.0.0.5"));
	f->added = 1;
	reload_extend(f->reload);
	reload_extend(f->reload);
	assert_int_equal(reload_request(f->reload, on_done, f), 0);
	wait_told(f, 2);
	assert_int_equal(f->result, RELOAD_OK);
	assert_int_equal(last_byte(f), 5);
	assert_true(is_extended(f));
	put(f, CONFIG("10.0.0.6"));
	extend_to(f, 2);
	assert_int_equal(last_byte(f), 5);
	reload_hangup(f->reload, on_done, f);
	wait_told(f, 3);
	assert_int_equal(last_byte(f), 6);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_hangup_is_heard_however_many_wait),
		T(a_hundred_hangups_are_two_readings),
		T(who_asks_while_others_are_told_is_answered_by_the_next_reading),
		T(what_this_process_cannot_take_is_told_with_its_changes),
		T(observers_are_told_of_a_file_that_is_refused),
		T(added_entries_do_not_take_the_file),
		T(who_asks_for_the_file_gets_it),
	};

	return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
