/* SPDX-License-Identifier: Apache-2.0 */
/* One question and one answer: over TCP, over UDP, and of DNS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/probe/internal.h"
#include "lib/probe/test_server.h"
#include "lib/regex/regex.h"

#define MS INT64_C(1000000)

/* ---- bytes over TCP ---- */

struct talk {
	const char *send, *expect, *regexp;
	const struct step *script;
	enum probe_stage stage;
	enum probe_error error;
	const char *reason; /* a part of it */
};

static const struct step greets[] = { STEP_WITH(SEND, "220 mail ready\r\n"), STEP(END) };
static const struct step answers[] = { STEP(REQUEST), STEP_WITH(SEND, "+PONG\r\n"), STEP(END) };
static const struct step refuses[] = { STEP(REQUEST), STEP_WITH(SEND, "-ERR no\r\n"), STEP(CLOSE) };
static const struct step trickles[] = { STEP_WITH(TRICKLE, "220 mail ready\r\n"), STEP(END) };
static const struct step closes[] = { STEP(CLOSE) };
static const struct step resets[] = { STEP(REQUEST), STEP(RESET) };
static const struct step silent[] = { STEP(END) };
static const struct step wrong[] = { STEP_WITH(SEND, "500 busy\r\n"), STEP(END) };
static const struct step babbles[] = { STEP_WITH(REPEAT, "0123456789abcdef0123456789abcdef") };

#define PASS PROBE_STAGE_DONE, PROBE_OK, ""
#define PING "PING\r\n\r\n"

static const struct talk talks[] = {
	{ NULL, "220 ", NULL, greets, PASS },
	{ NULL, NULL, "^220 .* ready", greets, PASS },
	{ NULL, "ready", "^220 ", trickles, PASS },
	{ PING, "+PONG", NULL, answers, PASS },
	{ PING, NULL, NULL, answers, PASS },
	{ PING, "+PONG", NULL, refuses, PROBE_STAGE_HTTP, PROBE_ERR_BODY,
	  "not the expected answer, but 9 bytes: -ERR no" },
	{ NULL, "220 ", NULL, wrong, PROBE_STAGE_HTTP, PROBE_ERR_BODY,
	  "not the expected answer, but 10 bytes: 500 busy" },
	{ NULL, "220 ", "^221", greets, PROBE_STAGE_HTTP, PROBE_ERR_BODY, "16 bytes: 220 mail" },
	{ NULL, "220 ", NULL, silent, PROBE_STAGE_HTTP, PROBE_ERR_TIMEOUT, "timed out after 80ms" },
	{ NULL, "220 ", NULL, closes, PROBE_STAGE_HTTP, PROBE_ERR_RESET, "closed by the server" },
	{ PING, "+PONG", NULL, resets, PROBE_STAGE_HTTP, PROBE_ERR_RESET, "connection reset" },
	{ NULL, "220 ", NULL, babbles, PROBE_STAGE_HTTP, PROBE_ERR_BODY, "65536 bytes: 0123" },
};

static struct str text_of(const char *text)
{
	return text ? str_of(text) : (struct str){ 0 };
}

static void ask_talk(struct bench *b, const struct talk *t)
{
	const struct probe_talk talk = { text_of(t->send), text_of(t->expect) };
	_cleanup_(regex_freep) struct regex *body = NULL;
	char why[REGEX_REASON_SIZE];
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, t->script);
	spec = bench_spec(b, PROBE_TCP);
	if (t->regexp)
		assert_int_equal(regex_compile(t->regexp, &body, why, sizeof(why)), 0);
	spec.talk = &talk;
	spec.body = body;
	/* the short time-out is only for the rows that need it, so that load cannot matter */
	if (t->error == PROBE_ERR_TIMEOUT || t->script == wrong || t->script == greets)
		spec.timeout = t->error == PROBE_OK ? spec.timeout : 80 * MS;
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	bench_expect(&b->outcome, t->stage, t->error);
	if (!strstr(b->outcome.reason, t->reason))
		print_message("# %s\n", b->outcome.reason);
	assert_non_null(strstr(b->outcome.reason, t->reason));
	assert_int_equal(b->outcome.answered, t->error == PROBE_OK && (t->expect || t->regexp));
	probe_free(p);
	server_stop(&b->server);
}

static void bytes_are_asked_and_judged(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(talks); i++)
		ask_talk(*state, &talks[i]);
}

static void a_port_that_refuses_is_a_failed_connection(void **state)
{
	const struct probe_talk talk = { .expect = STR("220") };
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, silent);
	spec = bench_spec(b, PROBE_TCP);
	spec.talk = &talk;
	server_stop(&b->server);
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);
	probe_free(p);
}

/* ---- datagrams ---- */

/* Answers every datagram with the same bytes; the first two are those of the question if echo. */
struct box {
	struct ev_loop *loop;
	ev_io io;
	struct endpoint at;
	unsigned char answer[512];
	size_t n;
	bool echo, quiet;
	unsigned char question[512];
	size_t n_question;
};

static void on_datagram(struct ev_loop *loop, ev_io *io, int events)
{
	struct box *box = container_of(io, struct box, io);
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(io->fd, box->question, sizeof(box->question), 0,
			     (struct sockaddr *)&from, &len);

	assert_true(n > 0);
	box->n_question = (size_t)n;
	if (box->quiet)
		return;
	if (box->echo)
		memcpy(box->answer, box->question, 2);
	assert_int_equal(sendto(io->fd, box->answer, box->n, 0, (struct sockaddr *)&from, len),
			 box->n);
}

static void box_open(struct box *box, struct ev_loop *loop, int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage sa;
	socklen_t len;

	*box = (struct box){ .loop = loop };
	addr_parse(family == AF_INET ? "127.0.0.1" : "::1", &box->at.addr);
	len = endpoint_to_sockaddr(&box->at, &sa);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	getsockname(fd, (struct sockaddr *)&sa, &len);
	endpoint_from_sockaddr((struct sockaddr *)&sa, &box->at);
	ev_io_init(&box->io, on_datagram, fd, EV_READ);
	ev_io_start(loop, &box->io);
}

static void box_close(struct box *box)
{
	ev_io_stop(box->loop, &box->io);
	close(box->io.fd);
}

static void ask_box(struct bench *b, const struct box *box, struct probe_spec *spec)
{
	struct probe *p;

	spec->target = box->at;
	p = bench_probe(b, spec);
	bench_ask(b, p);
	probe_free(p);
}

static void a_datagram_is_answered_over_both_families(void **state)
{
	const int families[] = { AF_INET, AF_INET6 };
	struct bench *b = *state;

	for (size_t i = 0; i < 2; i++) {
		struct probe_talk talk = { .send = STR("pi\0ng") };
		struct probe_spec spec = { .kind = PROBE_UDP, .timeout = 2000 * MS, .talk = &talk };
		struct box box;

		box_open(&box, b->loop, families[i]);
		memcpy(box.answer, "pong", 4);
		box.n = 4;
		ask_box(b, &box, &spec);
		bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
		assert_false(b->outcome.answered);
		assert_int_equal(box.n_question, 5);
		assert_memory_equal(box.question, "pi\0ng", 5);
		talk.expect = STR("ong");
		ask_box(b, &box, &spec);
		bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
		assert_true(b->outcome.answered);
		talk.expect = STR("ping");
		ask_box(b, &box, &spec);
		bench_expect(&b->outcome, PROBE_STAGE_HTTP, PROBE_ERR_BODY);
		assert_non_null(strstr(b->outcome.reason, "4 bytes: pong"));
		box_close(&box);
	}
}

/* a datagram without bytes is an answer, too */
static void an_empty_datagram_is_an_answer(void **state)
{
	struct bench *b = *state;
	struct probe_talk talk = { .send = STR("x") };
	struct probe_spec spec = { .kind = PROBE_UDP, .timeout = 2000 * MS, .talk = &talk };
	struct box box;

	box_open(&box, b->loop, AF_INET);
	ask_box(b, &box, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_DONE, PROBE_OK);
	talk.expect = STR("y");
	ask_box(b, &box, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_HTTP, PROBE_ERR_BODY);
	box_close(&box);
}

/* the time-out is long: the ICMP error must end the question before it */
static void an_unreachable_port_fails_at_once(void **state)
{
	const int families[] = { AF_INET, AF_INET6 };
	struct bench *b = *state;

	for (size_t i = 0; i < 2; i++) {
		struct probe_talk talk = { .send = STR("x") };
		struct probe_spec spec = { .kind = PROBE_UDP, .timeout = 4000 * MS, .talk = &talk };
		struct box box;

		box_open(&box, b->loop, families[i]);
		box_close(&box);
		ask_box(b, &box, &spec);
		bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);
		assert_non_null(strstr(b->outcome.reason, "port unreachable"));
		assert_true(b->outcome.rtt < spec.timeout);
		assert_false(probe_outcome_is_local(&b->outcome));
	}
}

static void no_datagram_is_a_timeout_of_the_connection(void **state)
{
	struct bench *b = *state;
	struct probe_talk talk = { .send = STR("x") };
	struct probe_spec spec = { .kind = PROBE_UDP, .timeout = 80 * MS, .talk = &talk };
	struct box box;

	box_open(&box, b->loop, AF_INET);
	box.quiet = true;
	ask_box(b, &box, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_CONNECT, PROBE_ERR_TIMEOUT);
	assert_non_null(strstr(b->outcome.reason, "timed out after 80ms"));
	box_close(&box);
}

static void a_source_that_is_not_ours_is_a_local_failure(void **state)
{
	struct bench *b = *state;
	struct probe_talk talk = { .send = STR("x") };
	struct probe_spec spec = { .kind = PROBE_UDP, .timeout = 2000 * MS, .talk = &talk };
	struct box box;

	box_open(&box, b->loop, AF_INET);
	addr_parse("192.0.2.77", &spec.source);
	ask_box(b, &box, &spec);
	bench_expect(&b->outcome, PROBE_STAGE_LOCAL, PROBE_ERR_UNREACHABLE);
	assert_true(probe_outcome_is_local(&b->outcome));
	box_close(&box);
}

/* ---- DNS ---- */

#define QUESTION "\3www\7example\3net\0\0\1\0\1"
#define RECORD "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\7" /* 192.0.2.7 */
#define HEAD(flags, answers) "\0\0\x81" flags "\0\1\0" answers "\0\0\0\0"

struct dns_row {
	const char *bytes;
	size_t n;
	uint16_t rcode;
	const char *address; /* NULL: any */
	enum probe_stage stage;
	enum probe_error error;
	const char *reason;
};

#define BYTES(text) text, sizeof(text) - 1

static const struct dns_row dns_rows[] = {
	{ BYTES(HEAD("\x80", "\1") QUESTION RECORD), 0, NULL, PASS },
	{ BYTES(HEAD("\x80", "\1") QUESTION RECORD), 0, "192.0.2.7", PASS },
	{ BYTES(HEAD("\x80", "\0") QUESTION), 0, NULL, PASS },
	{ BYTES(HEAD("\x83", "\0") QUESTION), 3, NULL, PASS },
	{ BYTES(HEAD("\x80", "\1") QUESTION RECORD), 0, "192.0.2.8", PROBE_STAGE_HTTP,
	  PROBE_ERR_BODY, "192.0.2.8 is not among the 1 addresses of www.example.net" },
	{ BYTES(HEAD("\x82", "\0") QUESTION), 0, NULL, PROBE_STAGE_HTTP, PROBE_ERR_STATUS,
	  "SERVFAIL (2) for www.example.net, not NOERROR" },
	{ BYTES(HEAD("\x85", "\0") QUESTION), 0, NULL, PROBE_STAGE_HTTP, PROBE_ERR_STATUS,
	  "REFUSED (5)" },
	{ BYTES(HEAD("\x80", "\1") QUESTION RECORD), 3, NULL, PROBE_STAGE_HTTP, PROBE_ERR_STATUS,
	  "NOERROR (0) for www.example.net, not NXDOMAIN" },
	{ BYTES("hello"), 0, NULL, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED,
	  "5 bytes that are no answer" },
	{ BYTES(HEAD("\x80", "\1") QUESTION), 0, NULL, PROBE_STAGE_HTTP, PROBE_ERR_MALFORMED,
	  "no answer to the question" },
	{ BYTES("\0\0\x83\x80\0\1\0\0\0\0\0\0" QUESTION), 0, "192.0.2.7", PROBE_STAGE_HTTP,
	  PROBE_ERR_BODY, "truncated" },
};

static void answers_of_dns_are_judged(void **state)
{
	struct bench *b = *state;
	struct box box;

	box_open(&box, b->loop, AF_INET);
	box.echo = true;
	for (size_t i = 0; i < ARRAY_SIZE(dns_rows); i++) {
		const struct dns_row *row = &dns_rows[i];
		struct probe_dns dns = { .name = "www.example.net",
					 .type = 1,
					 .rcode = row->rcode };
		struct probe_spec spec = { .kind = PROBE_DNS, .timeout = 2000 * MS, .dns = &dns };

		memcpy(box.answer, row->bytes, row->n);
		box.n = row->n;
		if (row->address)
			addr_parse(row->address, &dns.address);
		ask_box(b, &box, &spec);
		if (!strstr(b->outcome.reason, row->reason))
			print_message("# row %zu: %s\n", i, b->outcome.reason);
		bench_expect(&b->outcome, row->stage, row->error);
		assert_non_null(strstr(b->outcome.reason, row->reason));
		assert_memory_equal(box.question + 12, QUESTION, sizeof(QUESTION) - 1);
	}
	box_close(&box);
}

/* an answer to another question is none */
static void an_answer_with_another_id_is_refused(void **state)
{
	struct bench *b = *state;
	struct probe_dns dns = { .name = "www.example.net", .type = 1 };
	struct probe_spec spec = { .kind = PROBE_DNS, .timeout = 2000 * MS, .dns = &dns };
	struct box box;
	unsigned refused = 0;

	box_open(&box, b->loop, AF_INET);
	memcpy(box.answer, dns_rows[0].bytes, dns_rows[0].n);
	box.n = dns_rows[0].n;
	for (int i = 0; i < 4; i++) { /* one of 65536 ids would be that of the answer */
		ask_box(b, &box, &spec);
		refused += b->outcome.error == PROBE_ERR_MALFORMED;
	}
	assert_true(refused >= 3);
	box_close(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
		CASE(bytes_are_asked_and_judged),
		CASE(a_port_that_refuses_is_a_failed_connection),
		CASE(a_datagram_is_answered_over_both_families),
		CASE(an_empty_datagram_is_an_answer),
		CASE(an_unreachable_port_fails_at_once),
		CASE(no_datagram_is_a_timeout_of_the_connection),
		CASE(a_source_that_is_not_ours_is_a_local_failure),
		CASE(answers_of_dns_are_judged),
		CASE(an_answer_with_another_id_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
