/* SPDX-License-Identifier: Apache-2.0 */
/* Flow control in both directions, and how the streams of a connection share it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/h2/testkit.h"

#define WINDOW ((size_t)64 * 1024)

static const struct field ok = { { ":status", 7 }, { "200", 3 } };

/* A stream that is not consumed stops at its window, and holds up no other. */
static void what_is_not_consumed_is_not_sent(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	p.s.all_hungry = true;
	c = pair_join(&p);
	pair_ask(c, 4 * WINDOW);
	pair_wait(&p, &p.s.bytes, (int)WINDOW);
	p.s.hungry = p.s.stream;
	p.s.all_hungry = false;
	for (int i = 1; i <= 30; i++) {
		pair_ask(c, WINDOW);
		pair_wait(&p, &p.s.ended, i);
	}
	assert_int_equal(p.s.bytes, 31 * WINDOW);
	assert_int_equal(h2_unread(p.s.hungry), WINDOW);
	assert_int_equal(h2_stream_received(p.s.hungry), WINDOW);
	assert_int_equal(h2_host_stats(p.server)->unread, WINDOW);
	h2_consume(p.s.hungry, WINDOW);
	p.s.hungry = NULL;
	pair_wait(&p, &p.s.bytes, (int)(34 * WINDOW));
	pair_wait(&p, &p.s.ended, 31);
	assert_int_equal(h2_host_stats(p.server)->unread, 0);
	pair_stop(&p);
}

/* The same for a client, whose window is that of the host, too. */
static void answers_wait_for_their_reader(void **state)
{
	struct h2_stream *s;
	struct pair p;

	pair_start(&p, (struct h2_config){ .window = 128 * 1024 });
	p.s.answer = 500000;
	p.c.all_hungry = true;
	s = pair_ask(pair_join(&p), 0);
	pair_wait(&p, &p.c.bytes, 128 * 1024);
	pair_turn(&p, 20 * MS);
	assert_int_equal(p.c.bytes, 128 * 1024);
	while (p.c.bytes < 500000) {
		h2_consume(s, h2_unread(s));
		pair_wait(&p, &p.c.bytes, p.c.bytes + 1);
	}
	pair_wait(&p, &p.c.closed, 1);
	pair_stop(&p);
}

/* Bytes that were not consumed when their stream ends are not missed by the connection. */
static void streams_that_end_unread_leave_nothing(void **state)
{
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ .max_resets = 1000 });
	p.s.silent = true;
	p.s.all_hungry = true;
	c = pair_join(&p);
	for (int i = 1; i <= 50; i++) { /* more than the window of the connection in all */
		struct h2_stream *s = pair_ask(c, WINDOW);

		pair_wait(&p, &p.s.bytes, i * (int)WINDOW);
		if (i % 2)
			h2_reset(s, H2_CANCEL);
		else
			h2_reset(p.s.stream, H2_CANCEL);
		pair_wait(&p, i % 2 ? &p.s.closed : &p.c.closed, (i + 1) / 2);
	}
	assert_int_equal(h2_host_stats(p.server)->unread, 0);
	assert_int_equal(h2_host_stats(p.server)->streams, 0);
	pair_stop(&p);
}

/* The low mark is crossed once for each filling; more can be appended from within. */
static void a_full_queue_says_when_it_takes_more(void **state)
{
	struct h2_stream *s;
	struct pair p;

	pair_start(&p, (struct h2_config){ .high = 100000, .low = 10000 });
	p.s.silent = true;
	p.s.all_hungry = true;
	s = h2_request(pair_join(&p), pair_post, 4, false);
	assert_false(h2_is_full(s));
	pair_fill(h2_out(s), 'x', 99999);
	assert_false(h2_is_full(s));
	h2_send(s, STR("x"));
	assert_true(h2_is_full(s));
	pair_wait(&p, &p.s.bytes, (int)WINDOW);
	assert_int_equal(p.c.writable, 0);
	assert_int_equal(h2_queued(s), 100000 - WINDOW);
	assert_int_equal(h2_conn_queued(h2_stream_conn(s)), 100000 - WINDOW);
	h2_consume(p.s.stream, 60000);
	pair_wait(&p, &p.c.writable, 1);
	pair_wait(&p, &p.s.bytes, 100000);
	assert_int_equal(p.c.writable, 1);
	assert_int_equal(h2_stream_sent(s), 100000);
	pair_stop(&p);
}

/* The server waits for windows that never come: what is queued stays, nothing is added. */
static void a_peer_without_a_window_gets_fields_only(void **state)
{
	const struct field trailer = { STR("x"), STR("y") };
	char heard[4096];
	struct pair p;
	int fd, fields = 0;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.silent = true;
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_say(fd, STR("\0\0\6\4\0\0\0\0\0\0\4\0\0\0\0")); /* INITIAL_WINDOW_SIZE 0 */
	pair_say(fd, pair_request);
	pair_wait(&p, &p.s.ended, 1);
	h2_respond(p.s.stream, &ok, 1, false);
	h2_send(p.s.stream, STR("body"));
	h2_end(p.s.stream, &trailer, 1);
	pair_turn(&p, 20 * MS);
	assert_int_equal(p.s.closed, 0);
	assert_int_equal(h2_queued(p.s.stream), 4);
	pair_say(fd, STR("\0\0\4\x8\0\0\0\0\1\0\0\0\4")); /* WINDOW_UPDATE of the stream */
	pair_wait(&p, &p.s.closed, 1);
	assert_int_equal(p.s.error, H2_NO_ERROR);
	pair_turn(&p, 1 * MS);
	for (ssize_t at = 0, n = recv(fd, heard, sizeof(heard), 0); at + 9 <= n;) {
		fields += heard[at + 3] == 1;
		at += 9 + ((unsigned char)heard[at + 1] << 8 | (unsigned char)heard[at + 2]);
	}
	assert_int_equal(fields, 2);
	close(fd);
	pair_stop(&p);
}

/* Bytes of DATA for each stream in what the server has sent. */
static void add_data(const char *p, size_t n, size_t *at, size_t sums[static 8])
{
	while (*at + 9 <= n) {
		size_t size = (size_t)(unsigned char)p[*at] << 16 |
			      (size_t)(unsigned char)p[*at + 1] << 8 | (unsigned char)p[*at + 2];

		if (*at + 9 + size > n)
			return;
		if (p[*at + 3] == 0)
			sums[p[*at + 8] & 7] += size;
		*at += 9 + size;
	}
}

#define GREAT_WINDOWS "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0"
/* HEADERS of a complete GET: as stream 1; 3 before all others, with all the weight; 5. */
#define FIRST "\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\1a"
#define GREEDY "\0\0\xb\1\x25\0\0\0\3\x80\0\0\0\xff\x82\x86\x84\x41\1a"
#define LAST "\0\0\6\1\5\0\0\0\5\x82\x86\x84\x41\1a"
/* PRIORITY: 1 depends on 5, and nothing else does. */
#define BELOW "\0\0\5\2\0\0\0\0\1\x80\0\0\5\0"

static void streams_share_a_connection_whatever_priority_they_ask_for(void **state)
{
	size_t sums[8] = { 0 }, at = 0;
	struct buf heard = { 0 };
	struct pair p;
	int fd;

	pair_start(&p, (struct h2_config){ 0 });
	p.s.answer = 1 << 20;
	fd = pair_adopt(&p);
	pair_say(fd, pair_preface);
	pair_say(fd, STR(GREAT_WINDOWS FIRST GREEDY LAST BELOW));
	while (sums[1] + sums[3] + sums[5] < (size_t)1500 * 1024) {
		ssize_t n;

		ev_run(p.loop, EVRUN_NOWAIT);
		buf_reserve(&heard, 65536);
		n = recv(fd, heard.p + heard.n, 65536, 0);
		heard.n += n > 0 ? (size_t)n : 0;
		add_data(heard.p, heard.n, &at, sums);
	}
	assert_in_range(sums[1], 450 * 1024, 550 * 1024);
	assert_in_range(sums[3], 450 * 1024, 550 * 1024);
	assert_in_range(sums[5], 450 * 1024, 550 * 1024);
	buf_free(&heard);
	close(fd);
	pair_stop(&p);
}

/* A client's streams share the connection likewise. */
static void requests_share_a_connection(void **state)
{
	struct h2_stream *s[3];
	struct h2_conn *c;
	struct pair p;

	pair_start(&p, (struct h2_config){ .window = 8 << 20 });
	p.s.silent = true;
	c = pair_join(&p);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		s[i] = pair_ask(c, 1 << 20);
	pair_wait(&p, &p.s.bytes, 1500 * 1024);
	for (size_t i = 0; i < ARRAY_SIZE(s); i++)
		assert_in_range(h2_stream_sent(s[i]), 450 * 1024, 800 * 1024);
	pair_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_consumed_is_not_sent),
		cmocka_unit_test(answers_wait_for_their_reader),
		cmocka_unit_test(streams_that_end_unread_leave_nothing),
		cmocka_unit_test(a_full_queue_says_when_it_takes_more),
		cmocka_unit_test(a_peer_without_a_window_gets_fields_only),
		cmocka_unit_test(streams_share_a_connection_whatever_priority_they_ask_for),
		cmocka_unit_test(requests_share_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
