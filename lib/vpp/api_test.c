/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client is at one end of a pair of sockets, the test at the other. The bytes were recorded
 * from a real VPP where possible, except for the context, which the client chooses.
 */
#include "lib/vpp/api.h"

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"

#define PATIENCE 20.0 /* s */
#define MS NSEC_PER_MSEC
#define FOREVER (3600 * NSEC_PER_SEC)

static const struct vpp_message show_version = { "show_version_51077d14",
						 "show_version_reply_c919bde1" };
static const struct vpp_message thing_dump = { "lb_vip_dump_56110cb7", "lb_vip_details_1329ec9b" };
static const struct vpp_message missing = { "missing_01020304", "missing_reply_e8d4e804" };

/* The message numbers of the recorded session. */
static const struct vpp_table_entry known[] = {
	{ "control_ping_reply_f6b0b8ca", 24 }, { "control_ping_51077d14", 23 },
	{ "show_version_51077d14", 848 },      { "show_version_reply_c919bde1", 849 },
	{ "lb_vip_dump_56110cb7", 105 },       { "lb_vip_details_1329ec9b", 106 },
	{ "sockclnt_create_455fb9c4", 15 },    { "sockclnt_create_reply_35166268", 16 },
};

struct test {
	struct ev_loop *loop;
	struct vpp_api *api;
	int fd; /* VPP's end */
	ev_timer patience;

	int ready, ended;
	enum vpp_end why;
	char text[256];
	uint64_t traced[4];
	char failed[64]; /* name of the last message that failed */

	int answers, dones;
	int32_t values[8]; /* first numbers of the answers */
	bool ask_again, free_at_end;
};

/* ---- callbacks of the client ---- */

static void on_ready(void *user)
{
	((struct test *)user)->ready++;
}

static void on_ended(void *user, enum vpp_end why, const char *text)
{
	struct test *t = user;

	t->ended++;
	t->why = why;
	snprintf(t->text, sizeof(t->text), "%s", text);
	if (t->free_at_end)
		vpp_api_free(TAKE_PTR(t->api));
}

static void on_trace(void *user, enum vpp_trace what, const char *name)
{
	struct test *t = user;

	t->traced[what]++;
	if (what == VPP_RECEIVE_FAILED)
		snprintf(t->failed, sizeof(t->failed), "%s", name);
}

static void on_answer(void *user, struct vpp_reader *r)
{
	struct test *t = user;
	int32_t value = vpp_get_i32(r);

	if (r->bad)
		return;
	t->values[t->answers % 8] = value;
	t->answers++;
	if (!t->ask_again)
		return;
	t->ask_again = false;
	assert_int_equal(vpp_api_call(t->api, &show_version, NULL, on_answer, t), 0);
}

static void on_done(void *user)
{
	((struct test *)user)->dones++;
}

static void on_impatience(struct ev_loop *loop, ev_timer *w, int revents)
{
	fail_msg("waited for too long");
}

/* ---- both ends ---- */

static void begin_with(struct test *t, struct vpp_api_config config)
{
	int fds[2];

	t->loop = ev_loop_new(EVFLAG_AUTO);
	ev_timer_init(&t->patience, on_impatience, PATIENCE, 0.);
	ev_timer_start(t->loop, &t->patience);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
	config.client_name = "maglevd";
	config.ready = on_ready;
	config.ended = on_ended;
	config.trace = on_trace;
	config.user = t;
	config.timeout = config.timeout ? config.timeout : FOREVER;
	config.keepalive = config.keepalive ? config.keepalive : FOREVER;
	t->fd = fds[1];
	t->api = vpp_api_adopt(t->loop, &config, fds[0]);
}

static void finish(struct test *t)
{
	vpp_api_free(t->api);
	cleanup_fd(&t->fd);
	ev_timer_stop(t->loop, &t->patience);
	ev_loop_destroy(t->loop);
}

/* Runs the loop until the number is reached. */
static void wait_for(struct test *t, const int *what, int n)
{
	while (*what < n)
		ev_run(t->loop, EVRUN_ONCE);
	assert_int_equal(*what, n);
}

/* Handles all events that are ready now. */
static void settle(struct test *t)
{
	for (int i = 0; i < 10; i++)
		ev_run(t->loop, EVRUN_NOWAIT);
}

/* Reads the next n bytes that the client sends. */
static void take(struct test *t, uint8_t *ret, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = recv(t->fd, ret + at, n - at, 0);

		if (got > 0)
			at += (size_t)got;
		else
			ev_run(t->loop, EVRUN_ONCE);
	}
}

static void say(struct test *t, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n) {
		ssize_t sent = send(t->fd, from, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return; /* the client has closed */
		from += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
		if (n)
			ev_run(t->loop, EVRUN_NOWAIT);
	}
}

/* ---- recorded bytes ---- */

static struct buf unhex(const char *text)
{
	struct buf b = { 0 };
	unsigned value;
	int used;

	for (; sscanf(text, "%2x%n", &value, &used) == 1; text += used)
		buf_addc(&b, (char)value);
	return b;
}

static void set_context(struct buf *b, size_t at, uint32_t context)
{
	assert(b->p && b->n >= at + 4);
	for (size_t i = 0; i < 4; i++)
		b->p[at + i] = (char)(context >> (24 - 8 * i));
}

/*
 * Sends recorded bytes as VPP; the context, at an offset in the frame, is set to that of the
 * client.
 */
static void say_hex(struct test *t, const char *text, size_t at, uint32_t context)
{
	struct buf b = unhex(text);

	set_context(&b, at, context);
	say(t, b.p, b.n);
	buf_free(&b);
}

static void expect_hex(struct test *t, const char *text, size_t at, uint32_t context)
{
	struct buf expected = unhex(text);
	uint8_t *got = mem_alloc(expected.n);

	set_context(&expected, at, context);
	take(t, got, expected.n);
	assert_memory_equal(got, expected.p, expected.n);
	buf_free(&expected);
	free(got);
}

#define ZEROS16 "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
#define REQUEST_CONTEXT 22 /* offset in a frame */
#define ANSWER_CONTEXT 18
#define GARBAGE "c0 e4 04 30 01 00 00 00 "

static const char create[] =
	"00 00 00 00 00 00 00 00 00 00 00 46 00 00 00 00"
	"00 0f 01 02 03 04 6d 61 67 6c 65 76 64 00 00 00" ZEROS16 ZEROS16 ZEROS16
	"00 00 00 00 00 00";
static const char ping[] = "00 00 00 00 00 00 00 00 00 00 00 0a 00 00 00 00"
			   "00 17 80 00 00 01 00 00 01 01";
static const char ping_reply[] = GARBAGE "00 00 00 12 00 00 00 00"
					 "00 18 00 00 01 01 00 00 00 00 80 00 00 01 00 00 08 5c";
static const char version[] = "00 00 00 00 00 00 00 00 00 00 00 0a 00 00 00 00"
			      "03 50 80 00 00 01 00 00 01 02";
static const char version_reply[] =
	"80 d2 06 30 01 00 00 00 00 00 01 6a 00 00 00 00"
	"03 51 00 00 01 02 00 00 00 00 76 70 65 00 00 00"
	"00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
	"00 00 00 00 00 00 00 00 00 00 32 36 2e 31 30 2d"
	"72 63 30 7e 33 37 34 2d 67 62 35 37 35 65 63 32"
	"63 35 36 64 00 00 00 00 00 00 32 30 32 36 2d 31"
	"31 2d 31 35 54 31 38 3a 31 33 3a 31 35 00 00 00" ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16
		ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16 ZEROS16
			ZEROS16 "00 00 00 00 00 00 00 00 00 00";
static const char dump[] = "00 00 00 00 00 00 00 00 00 00 00 21 00 00 00 00"
			   "00 69 80 00 00 01 00 00 01 12 01 00 00 00 00 00"
			   "00 00 00 00 00 00 00 00 00 00 00 00 ff ff ff 00 00";
static const char *const details[] = {
	GARBAGE "00 00 00 28 00 00 00 00 00 6a 00 00 01 12 00 c0 00 02 01 00 00 00 00 00"
		"00 00 00 00 00 00 00 20 06 01 bb 00 00 00 00 00 00 00 00 00 00 00 40 00",
	GARBAGE "00 00 00 28 00 00 00 00 00 6a 00 00 01 12 01 20 01 0d b8 00 00 00 00 00"
		"00 00 00 00 00 00 01 80 11 00 35 00 00 00 01 00 00 00 00 00 00 00 04 00",
	GARBAGE "00 00 00 28 00 00 00 00 00 6a 00 00 01 12 00 c6 33 64 00 00 00 00 00 00"
		"00 00 00 00 00 00 00 18 ff 00 00 00 00 00 01 00 00 00 00 00 00 00 04 00",
};

/* The answer to sockclnt_create: context 01020304 is replaced by the client's first, 0. */
static struct buf create_reply(uint32_t context, int32_t response)
{
	struct buf b = { 0 };
	size_t begin = vpp_frame_begin(&b);

	vpp_put_u16(&b, 16);
	vpp_put_u32(&b, 0);
	vpp_put_u32(&b, context);
	vpp_put_u32(&b, (uint32_t)response);
	vpp_put_u32(&b, 0x80000001);
	vpp_put_u16(&b, ARRAY_SIZE(known));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		vpp_put_u16(&b, known[i].id);
		vpp_put_name(&b, known[i].name, VPP_NAME_SIZE);
	}
	vpp_frame_end(&b, begin);
	return b;
}

static void greet(struct test *t)
{
	struct buf reply = create_reply(0, 0);

	expect_hex(t, create, ANSWER_CONTEXT, 0);
	say(t, reply.p, reply.n);
	buf_free(&reply);
	wait_for(t, &t->ready, 1);
}

/* Connects the client; the contexts of requests continue from 1. */
static void begin(struct test *t)
{
	begin_with(t, (struct vpp_api_config){ 0 });
	greet(t);
}

static void assert_ended(struct test *t, enum vpp_end why, const char *text)
{
	wait_for(t, &t->ended, 1);
	assert_string_equal(vpp_end_name(t->why), vpp_end_name(why));
	assert_string_equal(t->text, text);
	assert_int_equal(vpp_api_call(t->api, &show_version, NULL, on_answer, t), -ENOTCONN);
	settle(t);
	assert_int_equal(t->ended, 1);
}

/* ---- stories ---- */

static void a_connection_is_ready_when_vpp_has_told_its_messages(void **state)
{
	struct test t = { 0 };
	uint16_t id;

	begin_with(&t, (struct vpp_api_config){ 0 });
	settle(&t);
	assert_int_equal(t.ready, 0);
	assert_int_equal(vpp_api_call(t.api, &show_version, NULL, on_answer, &t), -ENOTCONN);
	greet(&t);
	assert_int_equal(vpp_table_find(vpp_api_table(t.api), "show_version_51077d14", &id), 0);
	assert_int_equal(id, 848);
	finish(&t);
}

static void a_request_and_its_answer_are_the_recorded_bytes(void **state)
{
	struct test t = { 0 };

	begin(&t);
	assert_int_equal(vpp_api_call(t.api, &vpp_control_ping, NULL, on_answer, &t), 0);
	assert_int_equal(vpp_api_call(t.api, &show_version, NULL, on_answer, &t), 0);
	expect_hex(&t, ping, REQUEST_CONTEXT, 1);
	expect_hex(&t, version, REQUEST_CONTEXT, 2);
	say_hex(&t, ping_reply, ANSWER_CONTEXT, 1);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 2);
	wait_for(&t, &t.answers, 2);
	assert_int_equal(t.values[0], 0);
	assert_int_equal(t.traced[VPP_SENT], 3);
	assert_int_equal(t.traced[VPP_RECEIVED], 3);
	finish(&t);
}

static void a_dump_ends_with_the_answer_to_the_ping_behind_it(void **state)
{
	struct buf fields = unhex("01 " ZEROS16 "00 ff ff ff 00 00");
	struct test t = { 0 };

	begin(&t);
	fields.p[17] = 0;
	assert_int_equal(vpp_api_dump(t.api, &thing_dump, &fields, on_answer, on_done, &t), 0);
	buf_free(&fields);
	expect_hex(&t, dump, REQUEST_CONTEXT, 1);
	expect_hex(&t, ping, REQUEST_CONTEXT, 2);
	for (size_t i = 0; i < ARRAY_SIZE(details); i++)
		say_hex(&t, details[i], ANSWER_CONTEXT, 1);
	wait_for(&t, &t.answers, 3);
	settle(&t);
	assert_int_equal(t.dones, 0);
	say_hex(&t, ping_reply, ANSWER_CONTEXT, 2);
	wait_for(&t, &t.dones, 1);
	assert_int_equal(t.values[0], 0x00c00002);
	assert_int_equal(vpp_api_room(t.api), VPP_API_PENDING_MAX);
	finish(&t);
}

static void an_empty_dump_is_done_at_once(void **state)
{
	struct test t = { 0 };

	begin(&t);
	assert_int_equal(vpp_api_dump(t.api, &thing_dump, NULL, on_answer, on_done, &t), 0);
	say_hex(&t, ping_reply, ANSWER_CONTEXT, 2);
	wait_for(&t, &t.dones, 1);
	assert_int_equal(t.answers, 0);
	finish(&t);
}

static void bytes_may_come_one_by_one(void **state)
{
	struct buf reply = create_reply(0, 0), pong = unhex(ping_reply);
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ 0 });
	for (size_t i = 0; i < reply.n; i++) {
		say(&t, reply.p + i, 1);
		ev_run(t.loop, EVRUN_NOWAIT);
	}
	wait_for(&t, &t.ready, 1);
	set_context(&pong, ANSWER_CONTEXT, 1);
	vpp_api_call(t.api, &vpp_control_ping, NULL, on_answer, &t);
	for (size_t i = 0; i < pong.n; i++) {
		say(&t, pong.p + i, 1);
		ev_run(t.loop, EVRUN_NOWAIT);
	}
	wait_for(&t, &t.answers, 1);
	buf_free(&reply);
	buf_free(&pong);
	finish(&t);
}

static void an_answer_may_bring_the_next_request(void **state)
{
	struct test t = { .ask_again = true };

	begin(&t);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 1);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 2);
	wait_for(&t, &t.answers, 2);
	finish(&t);
}

/* VPP sends us answers for clients that use a wrong client index. */
static void what_nobody_asked_for_is_counted_and_forgotten(void **state)
{
	struct test t = { 0 };

	begin(&t);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 2);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 0);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 0xffffffff);
	say_hex(&t, ping_reply, ANSWER_CONTEXT, 1); /* the right context, another message */
	settle(&t);
	assert_int_equal(t.answers, 0);
	assert_int_equal(t.traced[VPP_RECEIVE_FAILED], 4);
	assert_string_equal(t.failed, "unexpected");
	say_hex(&t, version_reply, ANSWER_CONTEXT, 1);
	wait_for(&t, &t.answers, 1);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 1); /* a second time */
	settle(&t);
	assert_int_equal(t.answers, 1);
	assert_int_equal(t.ended, 0);
	finish(&t);
}

static void a_flood_keeps_nobody_else_from_the_loop(void **state)
{
	struct buf flood = { 0 };
	struct test t = { 0 };

	begin(&t);
	for (int i = 0; i < 10000; i++)
		buf_add(&flood, "\0\0\0\0\0\0\0\0\0\0\0\6\0\0\0\0\3\x50\0\0\0\x77", 22);
	say(&t, flood.p, flood.n);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 1);
	wait_for(&t, &t.answers, 1);
	assert_int_equal(t.traced[VPP_RECEIVE_FAILED], 10000);
	buf_free(&flood);
	finish(&t);
}

static void a_message_that_is_not_known_is_not_sent(void **state)
{
	struct test t = { 0 };

	begin(&t);
	assert_int_equal(vpp_api_call(t.api, &missing, NULL, on_answer, &t), -ENOENT);
	assert_int_equal(vpp_api_dump(t.api, &missing, NULL, on_answer, on_done, &t), -ENOENT);
	assert_int_equal(t.traced[VPP_SEND_FAILED], 2);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	expect_hex(&t, version, REQUEST_CONTEXT, 1);
	finish(&t);
}

static void requests_are_bounded_in_number_and_size(void **state)
{
	struct buf large = { 0 };
	struct test t = { 0 };
	int n = 0;

	begin(&t);
	while (vpp_api_call(t.api, &show_version, NULL, on_answer, &t) == 0)
		n++;
	assert_int_equal(n, VPP_API_PENDING_MAX);
	assert_int_equal(vpp_api_room(t.api), 0);
	assert_int_equal(vpp_api_call(t.api, &show_version, NULL, on_answer, &t), -ENOBUFS);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 1);
	wait_for(&t, &t.answers, 1);
	assert_int_equal(vpp_api_dump(t.api, &thing_dump, NULL, on_answer, on_done, &t), -ENOBUFS);
	buf_reserve(&large, VPP_API_REQUEST_MAX + 1);
	large.n = VPP_API_REQUEST_MAX + 1;
	assert_int_equal(vpp_api_call(t.api, &show_version, &large, on_answer, &t), -EMSGSIZE);
	buf_free(&large);
	finish(&t);
}

/* The ring wraps, and the contexts continue. */
static void thousands_of_requests_get_their_own_answers(void **state)
{
	struct test t = { 0 };

	begin(&t);
	for (uint32_t i = 1; i <= 3 * VPP_API_PENDING_MAX; i++) {
		assert_int_equal(vpp_api_call(t.api, &vpp_control_ping, NULL, on_answer, &t), 0);
		expect_hex(&t, ping, REQUEST_CONTEXT, i);
		say_hex(&t, ping_reply, ANSWER_CONTEXT, i);
		wait_for(&t, &t.answers, (int)i);
	}
	finish(&t);
}

static void an_answer_that_does_not_come_ends_the_connection(void **state)
{
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ .timeout = 30 * MS });
	greet(&t);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	assert_ended(&t, VPP_END_TIMEOUT,
		     "VPP did not send show_version_reply_c919bde1 within 30ms");
	assert_int_equal(t.answers, 0);
	assert_string_equal(t.failed, "show_version_reply_c919bde1");
	finish(&t);
}

static void a_greeting_that_is_not_answered_ends_the_connection(void **state)
{
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ .timeout = 30 * MS });
	assert_ended(&t, VPP_END_TIMEOUT,
		     "VPP did not send sockclnt_create_reply_35166268 within 30ms");
	assert_int_equal(t.ready, 0);
	finish(&t);
}

struct trickle {
	ev_timer timer;
	struct test *test;
};

static void on_trickle(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct trickle *trickle = w->data;

	say_hex(trickle->test, details[0], ANSWER_CONTEXT, 1);
}

/* Records that arrive slowly for ever do not restart the deadline. */
static void a_dump_without_end_ends_the_connection(void **state)
{
	struct test t = { 0 };
	struct trickle trickle = { .test = &t };

	begin_with(&t, (struct vpp_api_config){ .timeout = 60 * MS });
	greet(&t);
	vpp_api_dump(t.api, &thing_dump, NULL, on_answer, on_done, &t);
	ev_timer_init(&trickle.timer, on_trickle, 0., 0.005);
	trickle.timer.data = &trickle;
	ev_timer_start(t.loop, &trickle.timer);
	wait_for(&t, &t.ended, 1);
	ev_timer_stop(t.loop, &trickle.timer);
	assert_int_equal(t.why, VPP_END_TIMEOUT);
	assert_in_range(t.answers, 1, 2 * 60 / 5); /* outside: the test stalled */
	assert_int_equal(t.dones, 0);
	finish(&t);
}

/* The number of records is bounded, however fast they arrive. */
static void a_dump_of_too_many_records_ends_the_connection(void **state)
{
	struct test t = { 0 };
	struct buf some = { 0 };

	begin(&t);
	vpp_api_dump(t.api, &thing_dump, NULL, on_answer, on_done, &t);
	for (unsigned i = 0; i < 1024; i++) {
		size_t frame = vpp_frame_begin(&some);

		vpp_put_u16(&some, 106);
		vpp_put_u32(&some, 1);
		vpp_put_u32(&some, 0);
		vpp_frame_end(&some, frame);
	}
	for (size_t n = 0; n <= VPP_API_DETAILS_MAX; n += 1024)
		say(&t, some.p, some.n);
	assert_ended(&t, VPP_END_GARBAGE, "lb_vip_details_1329ec9b is not terminated");
	assert_int_equal(t.answers, VPP_API_DETAILS_MAX);
	buf_free(&some);
	finish(&t);
}

static void silence_is_asked_for_a_sign_of_life(void **state)
{
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ .keepalive = 10 * MS, .timeout = 50 * MS });
	greet(&t);
	for (uint32_t i = 1; i <= 3; i++) {
		expect_hex(&t, ping, REQUEST_CONTEXT, i);
		say_hex(&t, ping_reply, ANSWER_CONTEXT, i);
	}
	assert_int_equal(t.ended, 0);
	assert_ended(&t, VPP_END_TIMEOUT,
		     "VPP did not send control_ping_reply_f6b0b8ca within 50ms");
	finish(&t);
}

static void a_peer_that_closes_is_told(void **state)
{
	struct test t = { 0 };

	begin(&t);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	settle(&t);
	close(TAKE_FD(t.fd));
	wait_for(&t, &t.ended, 1);
	assert_int_equal(t.why, VPP_END_CLOSED);
	assert_int_equal(t.answers, 0);
	finish(&t);
}

static void a_peer_that_closes_in_the_middle_of_a_message_is_told(void **state)
{
	struct buf half = unhex(version_reply);
	struct test t = { 0 };

	begin(&t);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	expect_hex(&t, version, REQUEST_CONTEXT, 1);
	set_context(&half, ANSWER_CONTEXT, 1);
	say(&t, half.p, half.n / 2);
	settle(&t);
	shutdown(t.fd, SHUT_WR);
	assert_ended(&t, VPP_END_CLOSED, "VPP closed the connection in the middle of a message");
	assert_int_equal(t.answers, 0);
	buf_free(&half);
	finish(&t);
}

static void lengths_that_cannot_be_end_the_connection(void **state)
{
	static const struct {
		const char *header, *text;
	} rows[] = {
		{ GARBAGE "ff ff ff ff 00 00 00 00", "VPP sent a message of 4294967295 bytes" },
		{ GARBAGE "00 10 00 01 00 00 00 00", "VPP sent a message of 1048577 bytes" },
		{ GARBAGE "00 00 00 00 00 00 00 00", "VPP sent a message of 0 bytes" },
		{ GARBAGE "00 00 00 01 00 00 00 00", "VPP sent a message of 1 bytes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf header = unhex(rows[i].header);
		struct test t = { 0 };

		begin(&t);
		say(&t, header.p, header.n);
		assert_ended(&t, VPP_END_GARBAGE, rows[i].text);
		buf_free(&header);
		finish(&t);
	}
}

static void an_answer_that_is_too_short_ends_the_connection(void **state)
{
	struct test t = { 0 };

	begin(&t);
	vpp_api_call(t.api, &vpp_control_ping, NULL, on_answer, &t);
	say_hex(&t, GARBAGE "00 00 00 09 00 00 00 00 00 18 00 00 01 01 00 00 00", ANSWER_CONTEXT,
		1);
	assert_ended(&t, VPP_END_GARBAGE, "control_ping_reply_f6b0b8ca cannot be understood");
	assert_int_equal(t.answers, 0);
	finish(&t);
}

static void a_short_table_of_messages_ends_the_connection(void **state)
{
	struct buf reply = create_reply(0, 0);
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ 0 });
	reply.p[VPP_HEADER_SIZE + 19]++; /* one entry more than the message has */
	say(&t, reply.p, reply.n);
	assert_ended(&t, VPP_END_GARBAGE, "sockclnt_create_reply_35166268 is too short");
	assert_int_equal(t.ready, 0);
	buf_free(&reply);
	finish(&t);
}

static void a_client_that_is_not_taken_is_told(void **state)
{
	struct buf reply = create_reply(0, -9);
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ 0 });
	say(&t, reply.p, reply.n);
	assert_ended(&t, VPP_END_REFUSED, "VPP refused us as a client: -9");
	buf_free(&reply);
	finish(&t);
}

static void a_greeting_for_somebody_else_is_not_ours(void **state)
{
	struct buf reply = create_reply(5, 0);
	struct test t = { 0 };

	begin_with(&t, (struct vpp_api_config){ 0 });
	say(&t, reply.p, reply.n);
	settle(&t);
	assert_int_equal(t.ready + t.ended, 0);
	greet(&t);
	buf_free(&reply);
	finish(&t);
}

static void the_client_may_be_freed_when_it_has_ended(void **state)
{
	struct test t = { .free_at_end = true };

	begin(&t);
	close(TAKE_FD(t.fd));
	wait_for(&t, &t.ended, 1);
	assert_null(t.api);
	finish(&t);
}

static void a_client_freed_early_says_nothing_more(void **state)
{
	struct test t = { 0 };

	begin(&t);
	vpp_api_call(t.api, &show_version, NULL, on_answer, &t);
	say_hex(&t, version_reply, ANSWER_CONTEXT, 1);
	vpp_api_free(TAKE_PTR(t.api));
	settle(&t);
	assert_int_equal(t.answers + t.ended, 0);
	finish(&t);
}

/* ---- over a socket in the file system ---- */

static void connect_to(struct test *t, const char *path)
{
	const struct vpp_api_config config = { .path = path,
					       .client_name = "maglevd",
					       .ready = on_ready,
					       .ended = on_ended,
					       .user = t };

	t->loop = ev_loop_new(EVFLAG_AUTO);
	ev_timer_init(&t->patience, on_impatience, PATIENCE, 0.);
	ev_timer_start(t->loop, &t->patience);
	t->fd = -1;
	t->api = vpp_api_connect(t->loop, &config);
	assert_int_equal(t->ended, 0); /* not from within the call */
}

static void a_socket_that_is_not_there_is_told(void **state)
{
	char path[300];
	struct test t = { 0 };

	connect_to(&t, "/nonexistent/api.sock");
	assert_ended(&t, VPP_END_UNREACHABLE, "/nonexistent/api.sock: no such file or directory");
	finish(&t);

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	t = (struct test){ 0 };
	connect_to(&t, path);
	wait_for(&t, &t.ended, 1);
	assert_int_equal(t.why, VPP_END_UNREACHABLE);
	finish(&t);
}

static void a_socket_in_the_file_system_is_connected_to(void **state)
{
	char directory[] = "/tmp/maglev-vpp-XXXXXX";
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct test t = { 0 };
	int listener;

	assert_non_null(mkdtemp(directory));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/api.sock", directory);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	connect_to(&t, at.sun_path);
	t.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	greet(&t);
	finish(&t);
	close(listener);
	unlink(at.sun_path);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_ready_when_vpp_has_told_its_messages),
		cmocka_unit_test(a_request_and_its_answer_are_the_recorded_bytes),
		cmocka_unit_test(a_dump_ends_with_the_answer_to_the_ping_behind_it),
		cmocka_unit_test(an_empty_dump_is_done_at_once),
		cmocka_unit_test(bytes_may_come_one_by_one),
		cmocka_unit_test(an_answer_may_bring_the_next_request),
		cmocka_unit_test(what_nobody_asked_for_is_counted_and_forgotten),
		cmocka_unit_test(a_flood_keeps_nobody_else_from_the_loop),
		cmocka_unit_test(a_message_that_is_not_known_is_not_sent),
		cmocka_unit_test(requests_are_bounded_in_number_and_size),
		cmocka_unit_test(thousands_of_requests_get_their_own_answers),
		cmocka_unit_test(an_answer_that_does_not_come_ends_the_connection),
		cmocka_unit_test(a_greeting_that_is_not_answered_ends_the_connection),
		cmocka_unit_test(a_dump_without_end_ends_the_connection),
		cmocka_unit_test(a_dump_of_too_many_records_ends_the_connection),
		cmocka_unit_test(silence_is_asked_for_a_sign_of_life),
		cmocka_unit_test(a_peer_that_closes_is_told),
		cmocka_unit_test(a_peer_that_closes_in_the_middle_of_a_message_is_told),
		cmocka_unit_test(lengths_that_cannot_be_end_the_connection),
		cmocka_unit_test(an_answer_that_is_too_short_ends_the_connection),
		cmocka_unit_test(a_short_table_of_messages_ends_the_connection),
		cmocka_unit_test(a_client_that_is_not_taken_is_told),
		cmocka_unit_test(a_greeting_for_somebody_else_is_not_ours),
		cmocka_unit_test(the_client_may_be_freed_when_it_has_ended),
		cmocka_unit_test(a_client_freed_early_says_nothing_more),
		cmocka_unit_test(a_socket_that_is_not_there_is_told),
		cmocka_unit_test(a_socket_in_the_file_system_is_connected_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
