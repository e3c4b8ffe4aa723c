/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through client and server, both on one loop. */
#include "lib/grpc/server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"
#include "lib/grpc/testkit.h"

#define MIB ((size_t)1024 * 1024)

static const struct grpc_server_config plain;

static void a_unary_call_is_answered(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &h, &kit_echo, "h\xc3\xa9llo", 7, NSEC_PER_SEC * 10);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_OK);
	assert_string_equal(h.text, "");
	assert_int_equal(h.messages, 1);
	assert_string_equal(h.note, "h\xc3\xa9llo");
	assert_int_equal(h.n, 7);
	assert_int_equal(kit.connected, 1);
	assert_int_equal(kit.traced, 1);
	assert_int_equal(kit.traced_status, GRPC_OK);
	assert_string_equal(kit.traced_path, "/grpc_test.Test/Echo");
	assert_int_equal(grpc_server_stats(kit.server)->calls, 0);
	assert_int_equal(grpc_server_stats(kit.server)->calls_started, 1);
	assert_int_equal(grpc_server_stats(kit.server)->connections, 1);
	kit_stop(&kit);
}

static void many_calls_share_a_connection(void **state)
{
	struct heard h[300] = { 0 }; /* more than the server lets run at once */
	struct kit kit;

	kit_start(&kit, plain);
	for (unsigned i = 0; i < 300; i++)
		kit_call(&kit, &h[i], &kit_echo, "x", i, 0);
	for (unsigned i = 0; i < 300; i++) {
		kit_wait_done(&kit, &h[i]);
		assert_int_equal(h[i].status, GRPC_OK);
		assert_int_equal(h[i].n, i);
	}
	assert_int_equal(grpc_server_stats(kit.server)->accepted, 1);
	kit_stop(&kit);
}

static void a_failure_has_its_status_and_text(void **state)
{
	static const char text[] = "100% of \xe2\x82\xac\nand more: \x01~";
	static const char shown[] = "100% of \xe2\x82\xac\\x0aand more: \\x01~";
	struct kit kit;

	kit_start(&kit, plain);
	for (uint32_t status = GRPC_CANCELLED; status <= GRPC_UNAUTHENTICATED; status++) {
		struct heard h = { 0 };

		kit_call(&kit, &h, &kit_fail, text, status, 0);
		kit_wait_done(&kit, &h);
		assert_int_equal(h.status, status);
		assert_string_equal(h.text, shown);
		assert_int_equal(h.messages, 0);
	}
	kit_stop(&kit);
}

static void a_method_that_is_not_there_is_unimplemented(void **state)
{
	const struct grpc_method nowhere = { "/grpc_test.Test/Nowhere", kit_echo.request,
					     kit_echo.response, false };
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &h, &nowhere, "", 0, 0);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_UNIMPLEMENTED);
	assert_string_equal(h.text, "there is no method /grpc_test.Test/Nowhere");
	assert_string_equal(kit.traced_path, "/grpc_test.Test/Nowhere");
	kit_stop(&kit);
}

static void a_stream_ends_with_ok(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &h, &kit_count, "tick", 1000, 0);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_OK);
	assert_int_equal(h.messages, 1000);
	assert_int_equal(h.n, 999);
	memset(&h, 0, sizeof(h));
	kit_call(&kit, &h, &kit_count, "none", 0, 0);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_OK);
	assert_int_equal(h.messages, 0);
	kit_stop(&kit);
}

static void a_stream_gets_what_is_sent_later(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &h, &kit_watch, "first", 0, 0);
	kit_wait_messages(&kit, &h, 1);
	assert_int_equal(kit_send(&kit, "second", 0), 0);
	kit_wait_messages(&kit, &h, 2);
	assert_string_equal(h.note, "second");
	/* text = "third", in two parts */
	assert_int_equal(grpc_send_encoded(kit.watcher, STR("\x0a\x05th"), STR("ird")), 0);
	kit_wait_messages(&kit, &h, 3);
	assert_string_equal(h.note, "third");
	grpc_fail(kit.watcher, GRPC_ABORTED, "enough");
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_ABORTED);
	assert_int_equal(h.messages, 3);
	assert_int_equal(kit.cancelled, 0);
	kit_stop(&kit);
}

static void the_deadline_ends_a_call_on_both_sides(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &h, &kit_hang, "", 0, 50 * NSEC_PER_MSEC);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_DEADLINE_EXCEEDED);
	kit_wait_int(&kit, &kit.cancelled, 1);
	kit_stop(&kit);
}

static void a_cancelled_call_tells_its_handler(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &h, &kit_watch, "", 0, 0);
	kit_wait_messages(&kit, &h, 1);
	grpc_client_cancel(h.call);
	kit_wait_int(&kit, &kit.cancelled, 1);
	assert_int_equal(kit.traced_status, GRPC_CANCELLED);
	assert_int_equal(h.done, 0);
	assert_int_equal(grpc_server_stats(kit.server)->calls, 0);
	assert_int_equal(grpc_server_stats(kit.server)->resets, 1);
	kit_stop(&kit);
}

static void a_lost_connection_cancels_its_calls(void **state)
{
	struct heard a = { 0 }, b = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call(&kit, &a, &kit_hang, "", 0, 0);
	kit_call(&kit, &b, &kit_watch, "", 0, 0);
	kit_wait_int(&kit, &kit.handled, 2);
	grpc_client_free(kit.client);
	kit.client = NULL;
	kit_wait_int(&kit, &kit.cancelled, 2);
	assert_int_equal(a.done + b.done, 0);
	kit_stop(&kit);
}

/* The windows are far smaller, so it is sent in many pieces in both directions. */
static void large_messages_cross_small_windows(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call_with_data(&kit, &h, &kit_echo, 3 * MIB);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_OK);
	assert_int_equal(h.data_size, 3 * MIB);
	kit_stop(&kit);
}

static void what_is_too_large_is_refused_either_way(void **state)
{
	struct heard h = { 0 };
	struct kit kit;

	kit_start(&kit, plain);
	kit_call_with_data(&kit, &h, &kit_echo, 5 * MIB);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_RESOURCE_EXHAUSTED);
	assert_string_equal(h.text, "the request is longer than 4194304 bytes");
	memset(&h, 0, sizeof(h));
	kit_reconnect(&kit, (struct grpc_client_config){ .max_message = 1000 });
	kit_call_with_data(&kit, &h, &kit_echo, 2000);
	kit_wait_done(&kit, &h);
	assert_int_equal(h.status, GRPC_RESOURCE_EXHAUSTED);
	assert_string_equal(h.text, "the answer is longer than 1000 bytes");
	kit_stop(&kit);
}

static void a_queue_that_is_full_refuses_more(void **state)
{
	struct heard h = { 0 };
	struct kit kit;
	int n = 0, r;

	kit_start(&kit, (struct grpc_server_config){ .max_queued = 10000 });
	kit_call(&kit, &h, &kit_watch, "", 0, 0);
	kit_wait_messages(&kit, &h, 1);
	while ((r = kit_send(&kit, "x", 1000)) == 0)
		n++;
	assert_int_equal(r, -ENOBUFS);
	assert_int_equal(n, 9);
	assert_int_equal(grpc_send_encoded(kit.watcher, STR("\x0a\x05th"),
					   (struct str){ h.note, 1000 }),
			 -ENOBUFS);
	kit_wait_messages(&kit, &h, 1 + n); /* what was taken arrives, and there is room again */
	assert_int_equal(kit_send(&kit, "more", 0), 0);
	kit_wait_messages(&kit, &h, 2 + n);
	assert_string_equal(h.note, "more");
	grpc_finish(kit.watcher);
	kit_wait_done(&kit, &h);
	kit_stop(&kit);
}

/* Several megabytes are queued for a client that does not read: other clients are served. */
static void a_client_that_does_not_read_holds_up_nobody(void **state)
{
	struct heard other = { 0 };
	struct kit kit;
	struct raw *stuck;
	int n = 0;

	kit_start(&kit, plain);
	stuck = raw_new(&kit);
	raw_preface(stuck);
	raw_request(stuck, 1, "/grpc_test.Test/Watch", STR(""), false);
	raw_frame(stuck, 0, 1, 1, STR("\0\0\0\0\0"));
	kit_wait_int(&kit, &kit.handled, 1);
	while (kit_send(&kit, "x", 10000) == 0) {
		n++;
		kit_turn(&kit);
	}
	assert_in_range(n, 50, 200);
	kit_call(&kit, &other, &kit_echo, "x", 0, 0);
	kit_wait_done(&kit, &other);
	assert_int_equal(other.status, GRPC_OK);
	raw_free(stuck);
	kit_wait_int(&kit, &kit.cancelled, 1);
	kit_stop(&kit);
}

static void on_drained(void *user)
{
	++*(int *)user;
}

static void draining_lets_calls_finish_and_ends_streams(void **state)
{
	struct heard unary = { 0 }, stream = { 0 }, late = { 0 };
	struct grpc_call *call;
	struct kit kit;
	int drained = 0;

	kit_start(&kit, plain);
	kit_call(&kit, &unary, &kit_hang, "", 0, 0);
	kit_wait_int(&kit, &kit.handled, 1);
	call = kit.watcher;
	kit_call(&kit, &stream, &kit_watch, "", 0, 0);
	kit_wait_messages(&kit, &stream, 1);

	grpc_server_drain(kit.server, on_drained, &drained);
	kit_wait_done(&kit, &stream);
	assert_int_equal(stream.status, GRPC_UNAVAILABLE);
	assert_string_equal(stream.text, "the server is shutting down");
	assert_int_equal(kit.cancelled, 1);
	kit_wait_int(&kit, &kit.disconnected, 1);
	assert_string_equal(kit.why, "the server is shutting down");
	assert_int_equal(drained, 0);

	kit_call(&kit, &late, &kit_echo, "", 0, 0); /* the listener is closed */
	kit_wait_done(&kit, &late);
	assert_int_equal(late.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(late.text, "connection refused"));

	grpc_fail(call, GRPC_NOT_FOUND, "after all");
	kit_wait_done(&kit, &unary);
	assert_int_equal(unary.status, GRPC_NOT_FOUND);
	kit_wait_int(&kit, &drained, 1);
	assert_int_equal(grpc_server_stats(kit.server)->connections, 0);
	kit_stop(&kit);
}

/* A streaming call that arrives after GOAWAY is refused, because it would never end. */
static void a_stream_that_begins_while_draining_is_ended(void **state)
{
	struct kit kit;
	struct raw *r;
	int drained = 0;

	kit_start(&kit, plain);
	r = raw_new(&kit);
	raw_preface(r);
	raw_request(r, 1, "/grpc_test.Test/Hang", STR(""), false);
	raw_frame(r, 0, 1, 1, STR("\0\0\0\0\0"));
	kit_wait_int(&kit, &kit.handled, 1);
	grpc_server_drain(kit.server, on_drained, &drained);
	raw_request(r, 3, "/grpc_test.Test/Watch", STR(""), false);
	kit_wait_int(&kit, &kit.traced, 1);
	assert_int_equal(kit.traced_status, GRPC_UNAVAILABLE);
	raw_request(r, 5, "/grpc_test.Test/Echo", STR(""), false); /* unary calls are served */
	raw_frame(r, 0, 1, 5, STR("\0\0\0\0\0"));
	kit_wait_int(&kit, &kit.traced, 2);
	assert_int_equal(kit.traced_status, GRPC_OK);
	grpc_fail(kit.watcher, GRPC_ABORTED, "done");
	kit_wait_int(&kit, &drained, 1);
	raw_free(r);
	kit_stop(&kit);
}

static void draining_without_connections_is_told_from_the_loop(void **state)
{
	struct kit kit;
	int drained = 0;

	kit_start(&kit, plain);
	grpc_server_drain(kit.server, on_drained, &drained);
	assert_int_equal(drained, 0);
	kit_wait_int(&kit, &drained, 1);
	kit_stop(&kit);
}

static void a_port_that_is_taken_is_refused(void **state)
{
	struct grpc_server_config config = { 0 };
	struct grpc_server *second = NULL;
	struct kit kit;

	kit_start(&kit, plain);
	config.listen = grpc_server_endpoint(kit.server);
	assert_int_equal(grpc_server_new(kit.loop, &config, &second), -EADDRINUSE);
	assert_null(second);
	kit_stop(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unary_call_is_answered),
		cmocka_unit_test(many_calls_share_a_connection),
		cmocka_unit_test(a_failure_has_its_status_and_text),
		cmocka_unit_test(a_method_that_is_not_there_is_unimplemented),
		cmocka_unit_test(a_stream_ends_with_ok),
		cmocka_unit_test(a_stream_gets_what_is_sent_later),
		cmocka_unit_test(the_deadline_ends_a_call_on_both_sides),
		cmocka_unit_test(a_cancelled_call_tells_its_handler),
		cmocka_unit_test(a_lost_connection_cancels_its_calls),
		cmocka_unit_test(large_messages_cross_small_windows),
		cmocka_unit_test(what_is_too_large_is_refused_either_way),
		cmocka_unit_test(a_queue_that_is_full_refuses_more),
		cmocka_unit_test(a_client_that_does_not_read_holds_up_nobody),
		cmocka_unit_test(draining_lets_calls_finish_and_ends_streams),
		cmocka_unit_test(a_stream_that_begins_while_draining_is_ended),
		cmocka_unit_test(draining_without_connections_is_told_from_the_loop),
		cmocka_unit_test(a_port_that_is_taken_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
