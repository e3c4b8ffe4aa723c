/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proxy between a fast and a slow side: much data crosses it, and little is held.
 *
 * Four hosts run on one loop: a source, the two sides of the proxy, and a sink. The source sends
 * whatever its window allows. The sink takes a small piece in each turn of the loop. The proxy
 * returns a byte to the window of the source when the queue towards the sink has room for it. So
 * what is held at any time is bounded by the windows and marks, however much has crossed. Both
 * directions are tested: the source is the client or the server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/h2/testkit.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
static size_t allocated(void)
{
	return __sanitizer_get_current_allocated_bytes();
}
#else
#include <malloc.h>
static size_t allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
#endif

#define AMOUNT ((uint64_t)1 << 30)
#define WARM ((uint64_t)1 << 20) /* bytes after which all buffers have their size */
#define WINDOW ((size_t)64 * 1024)
#define SIP ((size_t)24 * 1024) /* bytes that the sink takes in a turn */

struct pump {
	struct ev_loop *loop;
	struct h2_host *source, *near, *far, *sink; /* near and far are the sides of the proxy */
	struct h2_conn *to_proxy, *to_sink;
	struct h2_stream *near_stream, *far_stream, *sink_stream, *source_stream;
	bool down;	      /* the answer is large, not the request */
	uint64_t sent, taken; /* by source and sink */
	size_t most_held;     /* by the proxy */
	size_t least, most;   /* bytes allocated in all, in any turn after WARM */
	int done;
	ev_prepare sip;
};

static const struct field ok = { { ":status", 7 }, { "200", 3 } };

/* ---- the source: keeps its queue full ---- */

static void pour(struct pump *p, struct h2_stream *s)
{
	static const char bytes[16384];

	while (p->sent < AMOUNT && !h2_is_full(s)) {
		h2_send(s, (struct str){ bytes, sizeof(bytes) });
		p->sent += sizeof(bytes);
	}
	if (p->sent == AMOUNT)
		h2_end(s, NULL, 0);
}

static void on_source_writable(struct h2_stream *s, void *user)
{
	struct pump *p = user;

	if (s == p->source_stream && p->sent < AMOUNT)
		pour(p, s);
}

static void on_source_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	struct pump *p = user;

	if (!p->down)
		return;
	p->source_stream = s;
	h2_respond(s, &ok, 1, false);
	pour(p, s);
}

/* ---- the proxy ---- */

static void measure(struct pump *p)
{
	const struct h2_stats *near = h2_host_stats(p->near), *far = h2_host_stats(p->far);
	size_t held = near->queued + near->unread + far->queued + far->unread;

	p->most_held = held > p->most_held ? held : p->most_held;
}

/* What is queued on one side is not yet consumed on the other. */
static void give_back(struct pump *p, struct h2_stream *from, struct h2_stream *to)
{
	size_t unread = h2_unread(from), queued = h2_queued(to);

	measure(p);
	if (unread > queued)
		h2_consume(from, unread - queued);
}

static void on_proxy_data(struct h2_stream *s, struct str bytes, void *user)
{
	struct pump *p = user;
	struct h2_stream *to = s == p->near_stream ? p->far_stream : p->near_stream;

	h2_send(to, bytes);
	give_back(p, s, to);
}

static void on_proxy_writable(struct h2_stream *s, void *user)
{
	struct pump *p = user;

	if (p->near_stream && p->far_stream)
		give_back(p, s == p->near_stream ? p->far_stream : p->near_stream, s);
}

static void on_near_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	struct pump *p = user;

	p->near_stream = s;
	p->far_stream = h2_request(p->to_sink, pair_post, 4, h2_is_ended(s));
	assert_non_null(p->far_stream);
}

static void on_far_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	struct pump *p = user;

	h2_respond(p->near_stream, &ok, 1, h2_is_ended(s));
}

static void on_proxy_end(struct h2_stream *s, void *user)
{
	struct pump *p = user;
	struct h2_stream *to = s == p->near_stream ? p->far_stream : p->near_stream;

	if (h2_stream_received(s))
		h2_end(to, NULL, 0);
}

static void on_proxy_closed(struct h2_stream *s, uint32_t error, void *user)
{
	struct pump *p = user;

	assert_int_equal(error, H2_NO_ERROR);
	if (s == p->near_stream)
		p->near_stream = NULL;
	else
		p->far_stream = NULL;
}

/* ---- the sink: takes a little in each turn ---- */

static void on_sink_headers(struct h2_stream *s, enum h2_block block, void *user)
{
	((struct pump *)user)->sink_stream = s;
}

static void on_sink_data(struct h2_stream *s, struct str bytes, void *user)
{
	assert_in_range(h2_unread(s), 1, WINDOW);
}

static void on_sink_end(struct h2_stream *s, void *user)
{
	struct pump *p = user;

	if (!p->down)
		h2_respond(s, &ok, 1, true);
}

static void on_sink_closed(struct h2_stream *s, uint32_t error, void *user)
{
	struct pump *p = user;

	assert_int_equal(error, H2_NO_ERROR);
	p->taken = h2_stream_received(s);
	p->sink_stream = NULL;
	p->done++;
}

static void weigh(struct pump *p, size_t now)
{
	p->least = !p->least || now < p->least ? now : p->least;
	p->most = now > p->most ? now : p->most;
}

static void on_turn(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct pump *p = container_of(w, struct pump, sip);
	size_t n = p->sink_stream ? h2_unread(p->sink_stream) : 0;

	if (n)
		h2_consume(p->sink_stream, n < SIP ? n : SIP);
	if (p->sent > WARM)
		weigh(p, allocated());
}

static const struct h2_events source_events = { .headers = on_source_headers,
						.writable = on_source_writable };
static const struct h2_events sink_events = { .headers = on_sink_headers,
					      .data = on_sink_data,
					      .end = on_sink_end,
					      .closed = on_sink_closed };
static const struct h2_events near_events = { .headers = on_near_headers,
					      .data = on_proxy_data,
					      .end = on_proxy_end,
					      .writable = on_proxy_writable,
					      .closed = on_proxy_closed };
static const struct h2_events far_events = { .headers = on_far_headers,
					     .data = on_proxy_data,
					     .end = on_proxy_end,
					     .writable = on_proxy_writable,
					     .closed = on_proxy_closed };

static struct h2_host *host(struct pump *p, bool server, const struct h2_events *events)
{
	const struct h2_config config = {
		.server = server, .events = events, .user = p, .window = WINDOW, .low = WINDOW / 2
	};
	const struct endpoint at = { .addr = { AF_INET, { 127, 0, 0, 1 } } };
	struct h2_host *h = h2_host_new(p->loop, &config);

	if (server)
		assert_int_equal(h2_listen(h, at), 0);
	return h;
}

static struct h2_conn *dial(struct pump *p, struct h2_host *from, struct h2_host *to)
{
	struct h2_conn *c = h2_connect(from, h2_endpoint(to), NULL, NULL);

	while (!h2_conn_room(c))
		ev_run(p->loop, EVRUN_ONCE);
	return c;
}

static void start(struct pump *p)
{
	p->loop = ev_loop_new(EVFLAG_AUTO);
	p->source = host(p, p->down, &source_events);
	p->near = host(p, true, &near_events);
	p->far = host(p, false, &far_events);
	p->sink = host(p, !p->down, &sink_events);
	p->to_proxy = dial(p, p->down ? p->sink : p->source, p->near);
	p->to_sink = dial(p, p->far, p->down ? p->source : p->sink);
	ev_prepare_init(&p->sip, on_turn);
	ev_prepare_start(p->loop, &p->sip);
}

static void stop(struct pump *p)
{
	ev_prepare_stop(p->loop, &p->sip);
	h2_host_free(p->source);
	h2_host_free(p->near);
	h2_host_free(p->far);
	h2_host_free(p->sink);
	ev_loop_destroy(p->loop);
}

/* The loop must not sleep while the sink has something to take. */
static void pump(struct pump *p)
{
	while (!p->done || p->near_stream || p->far_stream)
		ev_run(p->loop, EVRUN_NOWAIT);
	assert_int_equal(p->taken, AMOUNT);
	assert_int_equal(p->sent, AMOUNT);
	assert_in_range(p->most_held, WINDOW / 2, 3 * WINDOW);
	assert_in_range(p->most - p->least, 0, 16 * WINDOW);
	assert_in_range(p->most, 0, 4 << 20);
}

static void much_goes_up_and_little_is_held(void **state)
{
	struct pump p = { 0 };

	start(&p);
	p.source_stream = h2_request(p.to_proxy, pair_post, 4, false);
	pour(&p, p.source_stream);
	pump(&p);
	stop(&p);
}

static void much_comes_down_and_little_is_held(void **state)
{
	struct pump p = { .down = true };

	start(&p);
	h2_request(p.to_proxy, pair_post, 4, true);
	pump(&p);
	stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(much_goes_up_and_little_is_held),
		cmocka_unit_test(much_comes_down_and_little_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
