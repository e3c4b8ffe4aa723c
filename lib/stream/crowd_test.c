/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/stream/crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* ---- the decision alone ---- */

static void the_rules_as_a_table(void **state)
{
	static const struct stream_limits limits = { .max = 100, .per_source = 25, .reserve = 10 };
	static const struct {
		struct stream_situation now;
		enum stream_room expected;
	} rows[] = {
		/* remote, local, of the source; is local */
		{ { 0, 0, 0, false }, STREAM_ROOM },
		{ { 24, 0, 24, false }, STREAM_ROOM },
		{ { 25, 0, 25, false }, STREAM_ROOM_OF_SOURCE },
		{ { 26, 0, 26, false }, STREAM_ROOM_OF_SOURCE },
		{ { 89, 0, 24, false }, STREAM_ROOM },
		{ { 90, 0, 0, false }, STREAM_ROOM_OF_REMOTE },
		{ { 90, 0, 25, false }, STREAM_ROOM_OF_SOURCE }, /* not at the cost of others */
		{ { 89, 10, 0, false }, STREAM_ROOM },
		{ { 80, 19, 0, false }, STREAM_ROOM },
		{ { 80, 20, 0, false }, STREAM_ROOM_OF_REMOTE }, /* locals have taken more */
		{ { 0, 100, 0, false }, STREAM_ROOM_OF_REMOTE },
		{ { 90, 0, 0, true }, STREAM_ROOM },
		{ { 90, 9, 0, true }, STREAM_ROOM },
		{ { 90, 10, 0, true }, STREAM_ROOM_OF_ANYONE },
		{ { 0, 99, 0, true }, STREAM_ROOM },
		{ { 0, 100, 0, true }, STREAM_ROOM_OF_ANYONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (stream_decide(&limits, &rows[i].now) != rows[i].expected)
			fail_msg("row %zu", i);
}

static void limits_follow_from_the_number_of_connections(void **state)
{
	static const struct {
		size_t max, per_source;
		struct stream_limits expected;
	} rows[] = {
		{ 4096, 0, { 4096, 1024, 64 } }, { 1000, 0, { 1000, 250, 15 } },
		{ 1000, 7, { 1000, 7, 15 } },	 { 64, 0, { 64, 16, 1 } },
		{ 2, 0, { 2, 1, 0 } },		 { 1, 0, { 1, 1, 0 } },
		{ 8, 1000, { 8, 1000, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct stream_limits limits = stream_limits(rows[i].max, rows[i].per_source);

		assert_memory_equal(&limits, &rows[i].expected, sizeof(limits));
	}
}

/* ---- the account ---- */

struct world {
	struct stream_crowd crowd;
	struct stream_member members[64];
	size_t n;
};

static int setup(void **state)
{
	static const struct stream_limits limits = { .max = 8, .per_source = 3, .reserve = 2 };
	static struct world w;

	w = (struct world){ 0 };
	stream_crowd_init(&w.crowd, &limits);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < w->n; i++)
		stream_crowd_leave(&w->crowd, &w->members[i]);
	stream_crowd_end(&w->crowd);
	return 0;
}

/* "": a Unix socket. */
static struct endpoint peer(const char *address)
{
	struct endpoint e = { .port = 1234 };

	if (*address)
		assert_int_equal(addr_parse(address, &e.addr), 0);
	return e;
}

/* A connection that replaces another one, if it has to. NULL: it is refused. */
static struct stream_member *come(struct world *w, const char *from, unsigned rank)
{
	const struct endpoint e = peer(from);
	struct stream_member *m = &w->members[w->n], *victim = m;

	if (!stream_crowd_admit(&w->crowd, &e, NULL, &victim)) {
		assert_ptr_equal(victim, m); /* untouched */
		return NULL;
	}
	if (victim)
		stream_crowd_leave(&w->crowd, victim);
	stream_crowd_join(&w->crowd, m, &e);
	stream_crowd_rank(&w->crowd, m, rank);
	w->n++;
	return m;
}

static void a_source_replaces_its_own_and_nobody_elses(void **state)
{
	struct world *w = *state;
	const struct stream_member *other = come(w, "192.0.2.9", 0), *first, *second;

	first = come(w, "192.0.2.1", 1);
	second = come(w, "192.0.2.1", 0);
	assert_non_null(come(w, "192.0.2.1", STREAM_KEPT));
	assert_non_null(come(w, "192.0.2.1", STREAM_KEPT)); /* for the second: the lowest rank */
	assert_false(second->joined);
	assert_non_null(come(w, "192.0.2.1", STREAM_KEPT));
	assert_false(first->joined);
	assert_null(come(w, "192.0.2.1", 0)); /* all are in use */
	assert_true(other->joined);
	assert_non_null(come(w, "192.0.2.2", 0));
	assert_int_equal(w->crowd.remote, 5);
}

static void a_slash_64_is_one_source(void **state)
{
	struct world *w = *state;

	assert_non_null(come(w, "2001:db8::1", STREAM_KEPT));
	assert_non_null(come(w, "2001:db8::2", STREAM_KEPT));
	assert_non_null(come(w, "2001:db8::ffff:1:1", STREAM_KEPT));
	assert_null(come(w, "2001:db8::3", STREAM_KEPT));
	assert_non_null(come(w, "2001:db8:0:1::3", STREAM_KEPT));
}

static void remote_clients_leave_the_reserve_to_local_ones(void **state)
{
	static const char *const locals[] = { "127.0.0.1", "::1", "", "127.8.8.8" };
	struct world *w = *state;
	const struct stream_member *idle;

	for (unsigned i = 0; i < 5; i++)
		assert_non_null(come(w, i % 2 ? "192.0.2.1" : "192.0.2.2", STREAM_KEPT));
	idle = come(w, "192.0.2.3", 0);
	assert_non_null(come(w, "192.0.2.4", STREAM_KEPT)); /* 6 of 8 are for remote ones */
	assert_false(idle->joined);
	assert_null(come(w, "192.0.2.5", 0));
	assert_non_null(come(w, locals[0], 2));
	assert_non_null(come(w, locals[1], STREAM_KEPT));
	assert_non_null(come(w, locals[2], STREAM_KEPT)); /* for the first local one */
	assert_null(come(w, locals[3], STREAM_KEPT));
	assert_int_equal(w->crowd.local, 2);
	assert_int_equal(w->crowd.remote, 6);
}

static void local_clients_replace_remote_ones_first(void **state)
{
	struct world *w = *state;
	const struct stream_member *remote, *local;

	local = come(w, "127.0.0.1", 0);
	for (unsigned i = 0; i < 6; i++)
		assert_non_null(come(w, "127.0.0.1", STREAM_KEPT));
	remote = come(w, "192.0.2.1", 2);
	assert_non_null(come(w, "127.0.0.1", STREAM_KEPT));
	assert_false(remote->joined);
	assert_true(local->joined);
	assert_null(come(w, "192.0.2.1", 0)); /* never at the cost of a local one */
	assert_non_null(come(w, "127.0.0.1", STREAM_KEPT));
	assert_false(local->joined);
}

static void of_a_rank_the_oldest_goes_and_setting_it_again_renews_it(void **state)
{
	struct world *w = *state;
	struct stream_member *a = come(w, "192.0.2.1", 1), *b = come(w, "192.0.2.2", 1);

	assert_ptr_equal(stream_crowd_least(&w->crowd, NULL), a);
	assert_ptr_equal(stream_crowd_least(&w->crowd, a), b);
	stream_crowd_rank(&w->crowd, a, 1);
	assert_ptr_equal(stream_crowd_least(&w->crowd, NULL), b);
	stream_crowd_rank(&w->crowd, a, 0);
	assert_ptr_equal(stream_crowd_least(&w->crowd, NULL), a);
	stream_crowd_rank(&w->crowd, a, STREAM_KEPT);
	stream_crowd_rank(&w->crowd, b, STREAM_KEPT);
	assert_null(stream_crowd_least(&w->crowd, NULL));
}

static void one_that_has_not_joined_is_nothing(void **state)
{
	struct world *w = *state;
	struct stream_member m = { 0 };

	stream_crowd_rank(&w->crowd, &m, 0);
	stream_crowd_leave(&w->crowd, &m);
	assert_null(stream_crowd_least(&w->crowd, NULL));
	assert_int_equal(w->crowd.remote + w->crowd.local, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rules_as_a_table),
		cmocka_unit_test(limits_follow_from_the_number_of_connections),
		CASE(a_source_replaces_its_own_and_nobody_elses),
		CASE(a_slash_64_is_one_source),
		CASE(remote_clients_leave_the_reserve_to_local_ones),
		CASE(local_clients_replace_remote_ones_first),
		CASE(of_a_rank_the_oldest_goes_and_setting_it_again_renews_it),
		CASE(one_that_has_not_joined_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
