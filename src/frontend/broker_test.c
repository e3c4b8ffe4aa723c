/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/frontend/broker.h"

#define EPOCH 1700000000000000000
#define SECOND ((int64_t)1000000000)

static void publish(struct broker *b, const char *payload, int64_t now)
{
	const struct broker_event e = { "server", STR("lon\"1"), STR("log"), 42, str_of(payload) };

	broker_publish(b, &e, now);
}

static const char *text_of(const struct broker *b, uint64_t seq)
{
	static char text[256];
	struct str event = broker_event(b, seq);

	snprintf(text, sizeof(text), "%.*s", (int)event.n, event.p ? event.p : "");
	return text;
}

static bool resume(struct broker *b, const char *id, int64_t now, uint64_t *next)
{
	return broker_resume(b, str_of(id), now, next);
}

static void an_event_is_the_text_that_browsers_get(void **state)
{
	struct broker *b = broker_new(EPOCH);

	assert_int_equal(broker_newest(b), 0);
	assert_null(broker_event(b, 0).p);
	publish(b, "{\"a\":1}", 0);
	assert_int_equal(broker_newest(b), 1);
	assert_string_equal(text_of(b, 1),
			    "id: 1700000000000000000-1\n"
			    "data: {\"server\":\"lon\\\"1\",\"type\":\"log\",\"at_ns\":42,"
			    "\"payload\":{\"a\":1}}\n\n");
	assert_null(broker_event(b, 2).p);
	broker_free(b);
}

static void a_browser_goes_on_behind_what_it_has(void **state)
{
	struct broker *b = broker_new(EPOCH);
	uint64_t next = 99;

	assert_true(resume(b, "1700000000000000000-0", 0, &next));
	assert_int_equal(next, 1);
	for (int i = 0; i < 3; i++)
		publish(b, "{}", 0);
	assert_true(resume(b, "1700000000000000000-1", 0, &next));
	assert_int_equal(next, 2);
	assert_true(resume(b, "1700000000000000000-3", 0, &next));
	assert_int_equal(next, 4);
	broker_free(b);
}

static void an_id_that_is_not_ours_is_refused(void **state)
{
	static const char *const ids[] = {
		"1700000000000000001-1", /* of another process */
		"1700000000000000000-4", /* of the future */
		"1700000000000000000",
		"1700000000000000000-",
		"-1",
		"x",
		"1700000000000000000-1-1",
		"1700000000000000000-18446744073709551615",
		"1700000000000000000-99999999999999999999",
	};
	struct broker *b = broker_new(EPOCH);
	uint64_t next = 99;

	for (int i = 0; i < 3; i++)
		publish(b, "{}", 0);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_false(resume(b, ids[i], 0, &next));
	assert_int_equal(next, 99);
	broker_free(b);
}

static void the_ring_is_bounded_by_count(void **state)
{
	struct broker *b = broker_new(EPOCH);
	uint64_t next;

	for (int i = 0; i < BROKER_EVENTS_MAX + 5; i++)
		publish(b, "{}", 0);
	assert_int_equal(broker_kept(b), BROKER_EVENTS_MAX);
	assert_null(broker_event(b, 5).p);
	assert_non_null(broker_event(b, 6).p);
	assert_non_null(broker_event(b, BROKER_EVENTS_MAX + 5).p);
	assert_false(resume(b, "1700000000000000000-4", 0, &next));
	assert_true(resume(b, "1700000000000000000-5", 0, &next));
	broker_free(b);
}

static void the_ring_is_bounded_by_age(void **state)
{
	struct broker *b = broker_new(EPOCH);
	uint64_t next;

	publish(b, "{}", 0);
	publish(b, "{}", 10 * SECOND);
	assert_true(resume(b, "1700000000000000000-0", 30 * SECOND, &next));
	assert_false(resume(b, "1700000000000000000-0", 31 * SECOND, &next));
	assert_true(resume(b, "1700000000000000000-1", 31 * SECOND, &next));
	publish(b, "{}", 50 * SECOND);
	assert_int_equal(broker_kept(b), 1);
	assert_true(
		resume(b, "1700000000000000000-3", 1000 * SECOND, &next)); /* no event was missed */
	assert_int_equal(broker_bytes(b), 0);
	broker_free(b);
}

static void the_ring_is_bounded_by_bytes(void **state)
{
	struct broker *b = broker_new(EPOCH);
	struct buf large = { 0 };

	buf_addc(&large, '"');
	for (size_t i = 0; i < BROKER_BYTES_MAX / 4; i++)
		buf_addc(&large, 'x');
	buf_addc(&large, '"');
	for (int i = 0; i < 8; i++) {
		publish(b, buf_cstr(&large), 0);
		assert_true(broker_bytes(b) <= BROKER_BYTES_MAX);
	}
	assert_int_equal(broker_kept(b), 3);
	assert_non_null(broker_event(b, 8).p);
	buf_free(&large);
	broker_free(b);
}

static void a_resync_has_the_number_of_the_newest(void **state)
{
	struct broker *b = broker_new(EPOCH);
	struct buf out = { 0 };

	publish(b, "{}", 0);
	publish(b, "{}", 0);
	broker_write_resync(b, 7, &out);
	assert_string_equal(
		buf_cstr(&out),
		"id: 1700000000000000000-2\n"
		"data: {\"server\":\"\",\"type\":\"resync\",\"at_ns\":7,\"payload\":{}}\n\n");
	assert_int_equal(broker_newest(b), 2);
	buf_free(&out);
	broker_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_the_text_that_browsers_get),
		cmocka_unit_test(a_browser_goes_on_behind_what_it_has),
		cmocka_unit_test(an_id_that_is_not_ours_is_refused),
		cmocka_unit_test(the_ring_is_bounded_by_count),
		cmocka_unit_test(the_ring_is_bounded_by_age),
		cmocka_unit_test(the_ring_is_bounded_by_bytes),
		cmocka_unit_test(a_resync_has_the_number_of_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
