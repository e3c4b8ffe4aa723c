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
#include "lib/http/server.h"
#include "lib/http/testkit.h"
#include "src/frontend/broker.h"
#include "src/frontend/events.h"

#define EPOCH 1700000000000000000

struct desk {
	struct kit kit;
	struct broker *broker;
	struct events *events;
};

static void on_events(struct http_exchange *x, const struct http_request *request, void *user)
{
	events_subscribe(((struct desk *)user)->events, x, request);
}

static const struct http_route routes[] = { { HTTP_GET, "/events", on_events } };

static void start(struct desk *d)
{
	kit_start(&d->kit, (struct http_server_config){
				   .routes = routes, .n_routes = ARRAY_SIZE(routes), .user = d });
	d->broker = broker_new(EPOCH);
	d->events = events_new(d->kit.loop, d->broker);
}

static void stop(struct desk *d)
{
	http_server_free(TAKE_PTR(d->kit.server));
	assert_int_equal(events_stats(d->events)->subscribers, 0);
	events_free(d->events);
	broker_free(d->broker);
	kit_stop(&d->kit);
}

static void publish(struct desk *d, const char *payload)
{
	const struct broker_event e = { "server", STR("s"), STR("log"), 1, str_of(payload) };

	broker_publish(d->broker, &e, loop_monotonic());
	events_wake(d->events);
}

/* Sends the request with an additional header line; returns when the stream is open. */
static struct client *subscribe(struct desk *d, const char *query, const char *line)
{
	struct client *c = client_new(&d->kit);
	char text[256];

	snprintf(text, sizeof(text), "GET /events%s HTTP/1.1\r\nHost: a\r\n%s\r\n", query, line);
	client_send(c, text);
	client_expect(c, "retry: 2000\n\n");
	return c;
}

static void events_come_as_they_happen(void **state)
{
	struct desk d;
	struct client *c;

	start(&d);
	publish(&d, "\"before\"");
	c = subscribe(&d, "", "");
	assert_int_equal(client_count(c, "Content-Type: text/event-stream\r\n"), 1);
	assert_int_equal(client_count(c, "X-Accel-Buffering: no\r\n"), 1);
	publish(&d, "\"one\"");
	client_expect(c, "\"one\"");
	publish(&d, "\"two\"");
	publish(&d, "\"three\"");
	client_expect(c, "\"three\"");
	assert_int_equal(client_count(c, "id: 1700000000000000000-"), 3);
	assert_int_equal(client_count(c, "before"), 0);
	client_free(c);
	stop(&d);
}

static void what_was_missed_is_replayed(void **state)
{
	struct desk d;
	struct client *c;

	start(&d);
	for (int i = 0; i < 1000;
	     i++) /* more than EVENTS_LAG_MAX, which does not apply to a replay */
		publish(&d, "\"missed\"");
	c = subscribe(&d, "", "Last-Event-ID: 1700000000000000000-400\r\n");
	publish(&d, "\"news\"");
	client_expect(c, "\"news\"");
	assert_int_equal(client_count(c, "\"missed\""), 600);
	assert_int_equal(client_count(c, "-401\n"), 1);
	assert_int_equal(client_count(c, "resync"), 0);
	assert_int_equal(events_stats(d.events)->resumed, 1);
	client_free(c);
	c = subscribe(&d, "?after=1700000000000000000-1000", "");
	client_expect(c, "\"news\"");
	client_free(c);
	stop(&d);
}

static void an_unknown_epoch_is_told_to_start_over(void **state)
{
	struct desk d;
	struct client *c;

	start(&d);
	publish(&d, "\"old\"");
	c = subscribe(&d, "", "Last-Event-ID: 1699999999999999999-1\r\n");
	client_expect(c, "\"type\":\"resync\"");
	assert_int_equal(client_count(c, "id: 1700000000000000000-1\n"), 1);
	publish(&d, "\"news\"");
	client_expect(c, "\"news\"");
	assert_int_equal(client_count(c, "\"old\""), 0);
	assert_int_equal(events_stats(d.events)->resyncs, 1);
	client_free(c);
	stop(&d);
}

static bool has_lagged(void *arg)
{
	return events_stats(((struct desk *)arg)->events)->resyncs > 0;
}

/* Large events, so that the socket is full long before the last. */
static void a_slow_browser_is_cut_off_and_others_are_not(void **state)
{
	struct buf large = { 0 };
	struct client *slow, *quick;
	struct desk d;

	buf_addc(&large, '"');
	for (int i = 0; i < 100000; i++)
		buf_addc(&large, 'x');
	buf_addc(&large, '"');
	start(&d);
	slow = subscribe(&d, "", "");
	quick = subscribe(&d, "", "");
	client_set_reading(slow, false);
	for (int i = 1; i <= 300; i++) {
		char id[64];

		publish(&d, buf_cstr(&large));
		snprintf(id, sizeof(id), "000-%d\n", i);
		client_expect(quick, id);
		quick->in.n = 0;
	}
	client_set_reading(slow, true);
	kit_wait(&d.kit, has_lagged, &d);
	client_expect(slow, "\"type\":\"resync\"");
	assert_true(client_count(slow, "\"type\":\"log\"") < 300);
	publish(&d, "\"news\"");
	client_expect(slow, "\"news\"");
	client_expect(quick, "\"news\"");
	assert_int_equal(client_count(quick, "resync"), 0);
	client_free(slow);
	client_free(quick);
	buf_free(&large);
	stop(&d);
}

/* A slice of a large event was sent. */
static bool is_half_sent(void *arg)
{
	return http_server_stats(((struct desk *)arg)->kit.server)->bytes_sent >= HTTP_SLICE;
}

/* Half of an event was sent when it leaves the ring: the rest is lost. */
static void what_leaves_the_ring_half_sent_ends_the_stream(void **state)
{
	struct buf large = { 0 };
	struct client *slow;
	struct desk d;

	buf_addc(&large, '"');
	for (size_t i = 0; i < BROKER_BYTES_MAX / 4; i++)
		buf_addc(&large, 'x');
	buf_addc(&large, '"');
	start(&d);
	slow = subscribe(&d, "", "");
	client_set_reading(slow, false);
	publish(&d, buf_cstr(&large));
	kit_wait(&d.kit, is_half_sent, &d);
	for (int i = 0; i < 4; i++)
		publish(&d, buf_cstr(&large));
	assert_null(broker_event(d.broker, 1).p);
	client_set_reading(slow, true);
	client_expect_close(slow);
	assert_true(slow->in.n < BROKER_BYTES_MAX / 4);
	assert_int_equal(client_count(slow, "000-1\n"), 1);
	assert_int_equal(client_count(slow, "resync"), 0);
	assert_int_equal(events_stats(d.events)->lost, 1);
	client_free(slow);
	slow = subscribe(&d, "", "Last-Event-ID: 1700000000000000000-0\r\n");
	client_expect(slow, "resync");
	client_free(slow);
	buf_free(&large);
	stop(&d);
}

static bool has_none(void *arg)
{
	return events_stats(((struct desk *)arg)->events)->subscribers == 0;
}

static void a_browser_that_leaves_is_forgotten(void **state)
{
	struct desk d;

	start(&d);
	client_free(subscribe(&d, "", ""));
	kit_wait(&d.kit, has_none, &d);
	publish(&d, "\"news\"");
	stop(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_as_they_happen),
		cmocka_unit_test(what_was_missed_is_replayed),
		cmocka_unit_test(an_unknown_epoch_is_told_to_start_over),
		cmocka_unit_test(a_slow_browser_is_cut_off_and_others_are_not),
		cmocka_unit_test(what_leaves_the_ring_half_sent_ends_the_stream),
		cmocka_unit_test(a_browser_that_leaves_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
