/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP responses, valid and invalid, at once and in pieces, and kept-alive connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/probe/internal.h"
#include "lib/probe/test_server.h"
#include "lib/regex/regex.h"

#define MS INT64_C(1000000)
#define SHORT (120 * MS) /* a timeout that is meant to expire */

#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define OK_SHORT OK_HEAD "Content-Length: 5\r\n\r\nhello"
#define OK_CHUNKED                                                                                 \
	OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n"
#define OK_CLOSE OK_HEAD "Connection: close\r\n\r\nhello"
#define KIB                                                                                        \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                         \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                         \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                         \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* One response: what the server does after the request, the spec, and the expected outcome. */
struct row {
	const char *what;
	struct step steps[4];
	const char *pattern;
	enum probe_stage stage;
	enum probe_error error;
	unsigned status;
	bool short_timeout;
	const char *reason;
};

static struct regex *compile(const char *pattern)
{
	char reason[REGEX_REASON_SIZE];
	struct regex *re;

	assert_int_equal(regex_compile(pattern, &re, reason, sizeof(reason)), 0);
	return re;
}

static void expect_row(struct bench *b, const struct row *row)
{
	struct step script[6] = { STEP(REQUEST) };
	_cleanup_(regex_freep) struct regex *re = row->pattern ? compile(row->pattern) : NULL;
	struct probe_spec spec;
	struct probe *p;

	memcpy(script + 1, row->steps, sizeof(row->steps));
	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_HTTP);
	spec.body = re;
	if (row->short_timeout)
		spec.timeout = SHORT;
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	if (b->outcome.stage != row->stage || b->outcome.error != row->error ||
	    b->outcome.status != row->status ||
	    (row->reason && !strstr(b->outcome.reason, row->reason)))
		fail_msg("%s: got %s/%s/%u (%s)", row->what, probe_stage_name(b->outcome.stage),
			 probe_error_name(b->outcome.error), b->outcome.status, b->outcome.reason);
	assert_true((b->outcome.rtt >= SHORT) == row->short_timeout);
	assert_false(probe_outcome_is_local(&b->outcome));
	probe_free(p);
	server_stop(&b->server);
}

#define PASS_WITH(code) .stage = PROBE_STAGE_DONE, .error = PROBE_OK, .status = (code)
#define PASS PASS_WITH(200)
#define HTTP_FAIL(e) .stage = PROBE_STAGE_HTTP, .error = PROBE_ERR_##e

static void answers_without_a_pattern_are_judged_by_their_head(void **state)
{
	static const struct row rows[] = {
		{ "length", { STEP_WITH(SEND, OK_SHORT) }, PASS },
		{ "chunked", { STEP_WITH(SEND, OK_CHUNKED) }, PASS },
		{ "until close", { STEP_WITH(SEND, OK_CLOSE), STEP(CLOSE) }, PASS },
		{ "HTTP/1.0", { STEP_WITH(SEND, "HTTP/1.0 200 OK\r\n\r\nx"), STEP(CLOSE) }, PASS },
		{ "bare LF", { STEP_WITH(SEND, "HTTP/1.1 200 OK\n\nx"), STEP(CLOSE) }, PASS },
		{ "a body that never comes",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 9999999\r\n\r\n") },
		  PASS },
		{ "a body cut short",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 9\r\n\r\nabc"), STEP(RESET) },
		  PASS },
		{ "a body without end",
		  { STEP_WITH(SEND, OK_HEAD "\r\n"), STEP_WITH(REPEAT, KIB) },
		  PASS },
		{ "interim answers",
		  { STEP_WITH(SEND, "HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n"
				    "HTTP/1.1 100 Continue\r\n\r\n" OK_SHORT) },
		  PASS },
		{ "interim answers in bytes",
		  { STEP_WITH(TRICKLE, "HTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 100 C\r\n\r\n"),
		    STEP_WITH(TRICKLE, OK_SHORT) },
		  PASS },
		{ "redirect",
		  { STEP_WITH(SEND, "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n") },
		  PASS_WITH(302) },
		{ "503",
		  { STEP_WITH(SEND, "HTTP/1.1 503 Sorry\r\nContent-Length: 0\r\n\r\n") },
		  HTTP_FAIL(STATUS),
		  .status = 503,
		  .reason = "status 503 not in 200-399" },
		{ "101",
		  { STEP_WITH(SEND, "HTTP/1.1 101 Up\r\n\r\n") },
		  HTTP_FAIL(STATUS),
		  .status = 101 },
		{ "404 in bytes",
		  { STEP_WITH(TRICKLE, "HTTP/1.1 404 No\r\n\r\n") },
		  HTTP_FAIL(STATUS),
		  .status = 404 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_row(*state, &rows[i]);
}

static void bad_answers_each_end_in_their_own_word(void **state)
{
	static const struct row rows[] = {
		{ "closed at once",
		  { STEP(CLOSE) },
		  HTTP_FAIL(RESET),
		  .reason = "closed by the server" },
		{ "reset at once", { STEP(RESET) }, HTTP_FAIL(RESET), .reason = "reset by peer" },
		{ "closed in the status line",
		  { STEP_WITH(SEND, "HTTP/1.1 20"), STEP(CLOSE) },
		  HTTP_FAIL(RESET) },
		{ "closed in the head",
		  { STEP_WITH(SEND, OK_HEAD "A: b\r\n"), STEP(CLOSE) },
		  HTTP_FAIL(RESET) },
		{ "reset in the head",
		  { STEP_WITH(TRICKLE, OK_HEAD "A: b\r\n"), STEP(RESET) },
		  HTTP_FAIL(RESET) },
		{ "garbage",
		  { STEP_WITH(SEND, "SSH-2.0-OpenSSH_9.2\r\n\r\n") },
		  HTTP_FAIL(MALFORMED),
		  .reason = "answer is not HTTP" },
		{ "zero bytes", { STEP_WITH(SEND, "\0\0\0\0\r\n\r\n") }, HTTP_FAIL(MALFORMED) },
		{ "two lengths",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 1\r\nContent-Length: 2\r\n\r\n") },
		  HTTP_FAIL(MALFORMED) },
		{ "a head without end",
		  { STEP_WITH(SEND, OK_HEAD), STEP_WITH(REPEAT, "a: b\r\n" KIB) },
		  HTTP_FAIL(TOO_LARGE) },
		{ "a head too large",
		  { STEP_WITH(SEND, OK_HEAD "A: "), STEP_WITH(REPEAT, KIB) },
		  HTTP_FAIL(TOO_LARGE),
		  .reason = "header block too large" },
		{ "interim answers for ever",
		  { STEP_WITH(REPEAT, "HTTP/1.1 100 Continue\r\n\r\n") },
		  HTTP_FAIL(MALFORMED),
		  .reason = "too many interim answers" },
		{ "silence",
		  { STEP(END) },
		  HTTP_FAIL(TIMEOUT),
		  .short_timeout = true,
		  .reason = "timed out after 120ms" },
		{ "half a head, then silence",
		  { STEP_WITH(TRICKLE, OK_HEAD "A: b") },
		  HTTP_FAIL(TIMEOUT),
		  .short_timeout = true },
		{ "only interim answers",
		  { STEP_WITH(SEND, "HTTP/1.1 100 C\r\n\r\n") },
		  HTTP_FAIL(TIMEOUT),
		  .short_timeout = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_row(*state, &rows[i]);
}

static void a_pattern_is_looked_for_in_the_body(void **state)
{
	static const struct row rows[] = {
		{ "length", { STEP_WITH(SEND, OK_SHORT) }, "^hello$", PASS },
		{ "chunked", { STEP_WITH(SEND, OK_CHUNKED) }, "^hello$", PASS },
		{ "until close", { STEP_WITH(SEND, OK_CLOSE), STEP(CLOSE) }, "^hello$", PASS },
		{ "length in bytes", { STEP_WITH(TRICKLE, OK_SHORT) }, "^hello$", PASS },
		{ "chunked in bytes", { STEP_WITH(TRICKLE, OK_CHUNKED) }, "^hello$", PASS },
		{ "until close in bytes",
		  { STEP_WITH(TRICKLE, OK_CLOSE), STEP(CLOSE) },
		  "^hello$",
		  PASS },
		{ "empty body",
		  { STEP_WITH(SEND, "HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n") },
		  "^$",
		  PASS },
		{ "no body", { STEP_WITH(SEND, "HTTP/1.1 204 x\r\n\r\n") }, "^$", PASS_WITH(204) },
		{ "not there",
		  { STEP_WITH(SEND, OK_SHORT) },
		  "goodbye",
		  HTTP_FAIL(BODY),
		  .status = 200,
		  .reason = "pattern not found in 5 bytes" },
		{ "what follows the body is not of it",
		  { STEP_WITH(SEND, OK_SHORT "world") },
		  "world",
		  HTTP_FAIL(BODY),
		  .status = 200 },
		{ "too costly",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 40\r\n\r\n"
					    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!") },
		  "^(a+)+$",
		  HTTP_FAIL(BODY),
		  .status = 200,
		  .reason = "too costly" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_row(*state, &rows[i]);
}

static void a_body_that_is_not_whole_is_judged_by_its_end(void **state)
{
	static const struct row rows[] = {
		{ "endless, with it in the first 64 KiB",
		  { STEP_WITH(SEND, OK_HEAD "\r\nneedle"), STEP_WITH(REPEAT, KIB) },
		  "^needle",
		  PASS },
		{ "endless, without it",
		  { STEP_WITH(SEND, OK_HEAD "\r\n"), STEP_WITH(REPEAT, KIB) },
		  "needle",
		  HTTP_FAIL(BODY),
		  .status = 200,
		  .reason = "65536 bytes" },
		{ "cut short",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 9\r\n\r\nhello"), STEP(CLOSE) },
		  "hello",
		  HTTP_FAIL(RESET),
		  .status = 200 },
		{ "reset",
		  { STEP_WITH(TRICKLE, OK_HEAD "\r\nhello"), STEP(RESET) },
		  "hello",
		  HTTP_FAIL(RESET),
		  .status = 200 },
		{ "chunk malformed",
		  { STEP_WITH(SEND, OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello") },
		  "hello",
		  HTTP_FAIL(MALFORMED),
		  .status = 200 },
		{ "chunks cut short",
		  { STEP_WITH(SEND, OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
		    STEP(CLOSE) },
		  "hello",
		  HTTP_FAIL(RESET),
		  .status = 200 },
		{ "slow, and not there yet",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 9\r\n\r\nhel"), STEP(END) },
		  "hello",
		  HTTP_FAIL(TIMEOUT),
		  .status = 200,
		  .short_timeout = true,
		  .reason = "3 bytes" },
		{ "slow, and there already",
		  { STEP_WITH(SEND, OK_HEAD "Content-Length: 9\r\n\r\nhello"), STEP(END) },
		  "hello",
		  PASS,
		  .short_timeout = true },
		{ "a status not wanted needs no body",
		  { STEP_WITH(SEND, "HTTP/1.1 500 x\r\nContent-Length: 9\r\n\r\n") },
		  "hello",
		  HTTP_FAIL(STATUS),
		  .status = 500 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect_row(*state, &rows[i]);
}

/* Cut in two at each byte, with a turn of the loop between. */
static void where_an_answer_is_cut_does_not_matter(void **state)
{
	static const char answer[] = "HTTP/1.1 100 C\r\n\r\n" OK_CHUNKED;
	_cleanup_(regex_freep) struct regex *re = compile("^hello$");
	struct bench *b = *state;

	for (size_t cut = 1; cut < sizeof(answer) - 1; cut++) {
		const struct step script[] = {
			STEP(REQUEST),
			{ .kind = STEP_SEND, .bytes = answer, .n = cut - 1 },
			{ .kind = STEP_TRICKLE, .bytes = answer + cut - 1, .n = 1 },
			{ .kind = STEP_SEND, .bytes = answer + cut, .n = sizeof(answer) - 1 - cut },
			STEP(END),
		};
		struct probe_spec spec;
		struct probe *p;

		server_start(&b->server, b->loop, AF_INET, script);
		spec = bench_spec(b, PROBE_HTTP);
		spec.body = re;
		p = bench_probe(b, &spec);
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		probe_free(p);
		server_stop(&b->server);
	}
}

static const struct step serve_once[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT), STEP(END) };

static void the_request_says_what_the_spec_says(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;
	char wanted[256];

	server_start(&b->server, b->loop, AF_INET, serve_once);
	spec = bench_spec(b, PROBE_HTTP);
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	snprintf(wanted, sizeof(wanted),
		 "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n",
		 spec.target.port);
	assert_string_equal(b->server.request, wanted);

	spec.path = "/health?x=1";
	spec.host = "www.example.net";
	spec.user_agent = "maglev/1";
	spec.keep_alive = true;
	probe_set_spec(p, &spec);
	bench_ask(b, p);
	assert_string_equal(b->server.request,
			    "GET /health?x=1 HTTP/1.1\r\n"
			    "Host: www.example.net\r\nUser-Agent: maglev/1\r\n\r\n");
	probe_free(p);
}

static void an_ipv6_address_stands_in_brackets(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;
	char wanted[64];

	server_start(&b->server, b->loop, AF_INET6, serve_once);
	spec = bench_spec(b, PROBE_HTTP);
	p = bench_probe(b, &spec);
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	snprintf(wanted, sizeof(wanted), "\r\nHost: [::1]:%u\r\n", spec.target.port);
	assert_non_null(strstr(b->server.request, wanted));
	probe_free(p);
}

static void check_header(struct bench *b, const struct step *script, const char *expected)
{
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_HTTP);
	spec.header = "X-Backend";
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	assert_string_equal(b->outcome.header, expected);
	probe_free(p);
	server_stop(&b->server);
}

/* Also of a response with an unwanted status. Control characters are replaced, it is cut. */
static void a_header_can_be_asked_for(void **state)
{
	static const struct step good[] = { STEP(REQUEST),
					    STEP_WITH(SEND, OK_HEAD "x-backend:  web1 \r\n\r\n"),
					    STEP(END) };
	static const struct step bad[] = {
		STEP(REQUEST),
		STEP_WITH(SEND, "HTTP/1.1 503 No\r\nX-Backend: web\x80 2\xc2\x9b\xc2\xa9\r\n\r\n"),
		STEP(END)
	};
	static const struct step none[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT), STEP(END) };
	static const struct step large[] = { STEP(REQUEST),
					     STEP_WITH(SEND, OK_HEAD "X-Backend: " KIB "\r\n\r\n"),
					     STEP(END) };

	check_header(*state, good, "web1");
	check_header(*state, bad, "web\\x80 2\\u009b\xc2\xa9");
	check_header(*state, none, "");
	check_header(*state, large,
		     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde");
}

static void codes_may_be_several_ranges(void **state)
{
	static const struct probe_code_range codes[] = { { 200, 200 }, { 404, 404 }, { 500, 502 } };
	static const struct {
		const char *answer;
		bool wanted;
	} rows[] = {
		{ "HTTP/1.1 200 x\r\n\r\n", true },  { "HTTP/1.1 201 x\r\n\r\n", false },
		{ "HTTP/1.1 404 x\r\n\r\n", true },  { "HTTP/1.1 499 x\r\n\r\n", false },
		{ "HTTP/1.1 500 x\r\n\r\n", true },  { "HTTP/1.1 502 x\r\n\r\n", true },
		{ "HTTP/1.1 503 x\r\n\r\n", false },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct step script[] = {
			STEP(REQUEST),
			{ .kind = STEP_SEND, .bytes = rows[i].answer, .n = strlen(rows[i].answer) },
			STEP(END),
		};
		struct probe_spec spec;
		struct probe *p;

		server_start(&b->server, b->loop, AF_INET, script);
		spec = bench_spec(b, PROBE_HTTP);
		spec.codes = codes;
		spec.n_codes = ARRAY_SIZE(codes);
		p = bench_probe(b, &spec);
		bench_ask(b, p);
		assert_true((b->outcome.error == PROBE_OK) == rows[i].wanted);
		if (!rows[i].wanted)
			assert_non_null(strstr(b->outcome.reason, "not in 200,404,500-502"));
		probe_free(p);
		server_stop(&b->server);
	}
}

static void a_connection_ends_by_reset(void **state)
{
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, serve_once);
	spec = bench_spec(b, PROBE_HTTP);
	p = bench_probe(b, &spec);
	bench_ask(b, p);
	bench_run_until(b, &b->server.gone, 1);
	assert_true(b->server.was_reset);
	probe_free(p);
}

/* ---- keep-alive ---- */

static const struct step serve_on[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT), STEP(AGAIN) };

static struct probe *keeper(struct bench *b, const struct step *script)
{
	struct probe_spec spec;

	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_HTTP);
	spec.keep_alive = true;
	return bench_probe(b, &spec);
}

static void a_kept_connection_serves_ten_questions(void **state)
{
	struct bench *b = *state;
	struct probe *p = keeper(b, serve_on);

	for (unsigned i = 0; i < 25; i++) {
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		assert_int_equal(b->outcome.reused, i % 10 != 0);
		assert_int_equal(b->server.accepted, i / 10 + 1);
		/* the last one says so */
		assert_int_equal(strstr(b->server.request, "Connection: close") != NULL,
				 i % 10 == 9);
	}
	probe_free(p);
	bench_run_until(b, &b->server.gone, 3);
}

/* The server's second write waits for our ACK of the first (Nagle), which must not wait as well. */
static void an_answer_in_small_writes_is_not_held_up(void **state)
{
	static const struct step script[] = { STEP(REQUEST), STEP_WITH(SEND, OK_HEAD),
					      STEP_WITH(SEND, "A: b\r\n"), STEP_WITH(SEND, "\r\n"),
					      STEP(END) };
	struct bench *b = *state;
	struct probe_spec spec;
	int64_t best = INT64_MAX;

	server_start(&b->server, b->loop, AF_INET, script);
	b->server.nagle = true;
	spec = bench_spec(b, PROBE_HTTP);
	for (unsigned i = 0; i < 5; i++) {
		struct probe *p = bench_probe(b, &spec);

		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		if (b->outcome.rtt < best)
			best = b->outcome.rtt;
		probe_free(p);
	}
	assert_true(best < 30 * MS); /* a delayed ACK takes 40 at least */
}

/* close() is expensive: ten thousand at once would block the loop for a fraction of a second. */
static void connections_let_go_are_closed_in_later_turns(void **state)
{
	enum { MANY = 100 };
	struct bench *b = *state;
	struct probe *probes[MANY];
	struct probe_spec spec;
	size_t descriptors;

	probes[0] = keeper(b, serve_on);
	spec = bench_spec(b, PROBE_HTTP);
	spec.keep_alive = true;
	for (size_t i = 0; i < MANY; i++) {
		if (i)
			probes[i] = bench_probe(b, &spec);
		bench_expect(bench_ask(b, probes[i]), PROBE_STAGE_DONE, PROBE_OK);
	}
	descriptors = count_descriptors();
	for (size_t i = 0; i < MANY; i++)
		probe_free(probes[i]);
	assert_int_equal(count_descriptors(), descriptors);
	bench_run_until(b, &b->server.gone, MANY);
	assert_true(b->server.was_reset);
}

/* In a child process: exits with 0 if the second probe got a descriptor. */
static int connect_without_room(struct bench *b, struct probe *kept)
{
	struct probe_spec spec = bench_spec(b, PROBE_TCP);
	struct probe *p = bench_probe(b, &spec);
	struct rlimit limit;
	int next = dup(STDERR_FILENO);

	close(next);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &limit);
	bench_ask(b, p);
	if (b->outcome.error != PROBE_ERR_SOCKET)
		return 1;
	probe_free(kept);
	bench_ask(b, p);
	return b->outcome.error == PROBE_OK ? 0 : 2;
}

static void connections_let_go_make_room_when_descriptors_run_out(void **state)
{
	struct bench *b = *state;
	struct probe *p = keeper(b, serve_on);
	int status;
	pid_t pid;

	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	pid = fork();
	if (pid == 0) {
		ev_loop_fork(b->loop);
		_exit(connect_without_room(b, p));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	probe_free(p);
}

static void a_kept_connection_serves_after_a_chunked_body_in_pieces(void **state)
{
	static const struct step script[] = { STEP(REQUEST), STEP_WITH(TRICKLE, OK_CHUNKED),
					      STEP(AGAIN) };
	struct bench *b = *state;
	struct probe *p = keeper(b, script);

	for (unsigned i = 0; i < 5; i++)
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_int_equal(b->server.accepted, 1);
	probe_free(p);
}

static void a_kept_connection_closed_in_between_is_no_failure(void **state)
{
	struct bench *b = *state;
	struct probe *p = keeper(b, serve_on);

	bench_ask(b, p);
	server_drop_all(&b->server);
	bench_turns(b, 3); /* seen while idle */
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_false(b->outcome.reused);

	server_drop_all(&b->server); /* not seen before the next question */
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_false(b->outcome.reused);
	assert_int_equal(b->server.accepted, 3);
	probe_free(p);
}

/* The server closes on the second request: the race that every kept-alive connection has. */
static void a_kept_connection_that_dies_unanswered_is_asked_once_more(void **state)
{
	static const struct step closing[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT),
					       STEP(REQUEST), STEP(CLOSE) };
	static const struct step resetting[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT),
						 STEP(REQUEST), STEP(RESET) };
	const struct step *const scripts[] = { closing, resetting };
	struct bench *b = *state;

	for (size_t i = 0; i < 2; i++) {
		struct probe *p = keeper(b, scripts[i]);

		bench_ask(b, p);
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		assert_false(b->outcome.reused);
		assert_int_equal(b->server.accepted, 2);
		assert_int_equal(b->server.requests, 3);
		probe_free(p);
		server_stop(&b->server);
	}
}

static void a_farewell_on_a_kept_connection_is_no_answer(void **state)
{
	static const struct step script[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT),
					      STEP(REQUEST),
					      STEP_WITH(SEND, "HTTP/1.1 408 Timeout\r\n"
							      "Connection: close\r\n\r\n"),
					      STEP(CLOSE) };
	struct bench *b = *state;
	struct probe *p = keeper(b, script);

	bench_ask(b, p);
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_int_equal(b->outcome.status, 200);
	assert_int_equal(b->server.accepted, 2);
	probe_free(p);
}

static void a_kept_connection_that_dies_in_its_answer_is_a_failure(void **state)
{
	static const struct step script[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT),
					      STEP(REQUEST), STEP_WITH(SEND, "HTTP/1.1 2"),
					      STEP(CLOSE) };
	struct bench *b = *state;
	struct probe *p = keeper(b, script);

	bench_ask(b, p);
	bench_expect(bench_ask(b, p), PROBE_STAGE_HTTP, PROBE_ERR_RESET);
	assert_true(b->outcome.reused);
	assert_int_equal(b->server.accepted, 1);
	probe_free(p);
}

static void a_server_that_is_gone_refuses_the_second_try_too(void **state)
{
	struct bench *b = *state;
	struct probe *p = keeper(b, serve_on);

	bench_ask(b, p);
	server_stop(&b->server);
	bench_expect(bench_ask(b, p), PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);
	probe_free(p);
}

static void what_cannot_be_kept_is_not(void **state)
{
	static const struct step says_close[] = {
		STEP(REQUEST),
		STEP_WITH(SEND, OK_HEAD "Connection: close\r\nContent-Length: 1\r\n\r\nx"),
		STEP(AGAIN)
	};
	static const struct step says_too_much[] = { STEP(REQUEST), STEP_WITH(SEND, OK_SHORT "x"),
						     STEP(AGAIN) };
	static const struct step old[] = {
		STEP(REQUEST), STEP_WITH(SEND, "HTTP/1.0 200 x\r\nContent-Length: 1\r\n\r\nx"),
		STEP(AGAIN)
	};
	static const struct step until_close[] = { STEP(REQUEST), STEP_WITH(SEND, OK_HEAD "\r\nx"),
						   STEP(AGAIN) };
	static const struct step endless[] = {
		STEP(REQUEST), STEP_WITH(SEND, OK_HEAD "Content-Length: 999999\r\n\r\n"),
		STEP_WITH(REPEAT, KIB)
	};
	static const struct step bad_chunk[] = {
		STEP(REQUEST), STEP_WITH(SEND, OK_HEAD "Transfer-Encoding: chunked\r\n\r\nhello"),
		STEP(AGAIN)
	};
	static const struct step unwanted[] = {
		STEP(REQUEST), STEP_WITH(SEND, "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"),
		STEP(AGAIN)
	};
	const struct step *const scripts[] = { says_close,  says_too_much, old,
					       until_close, endless,	   bad_chunk };
	struct bench *b = *state;
	struct probe *p;

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		p = keeper(b, scripts[i]);
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		assert_false(b->outcome.reused);
		assert_int_equal(b->server.accepted, 2);
		probe_free(p);
		server_stop(&b->server);
	}
	p = keeper(b, unwanted);
	bench_expect(bench_ask(b, p), PROBE_STAGE_HTTP, PROBE_ERR_STATUS);
	bench_expect(bench_ask(b, p), PROBE_STAGE_HTTP, PROBE_ERR_STATUS);
	assert_int_equal(b->server.accepted, 2);
	probe_free(p);
}

static void a_body_too_slow_to_keep_the_connection_does_not_fail(void **state)
{
	static const struct step script[] = { STEP(REQUEST),
					      STEP_WITH(SEND, OK_HEAD "Content-Length: 9\r\n\r\nx"),
					      STEP(END) };
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_HTTP);
	spec.keep_alive = true;
	spec.timeout = SHORT;
	p = bench_probe(b, &spec);
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	bench_run_until(b, &b->server.gone, 1);
	probe_free(p);
}

static void a_new_spec_drops_the_kept_connection(void **state)
{
	struct bench *b = *state;
	struct probe *p = keeper(b, serve_on);
	struct probe_spec spec = bench_spec(b, PROBE_HTTP);

	bench_ask(b, p);
	spec.keep_alive = true;
	probe_set_spec(p, &spec);
	bench_run_until(b, &b->server.gone, 1);
	bench_ask(b, p);
	assert_false(b->outcome.reused);
	probe_free(p);
}

static void a_large_request_is_sent_in_pieces(void **state)
{
	static char path[3 * 1024];
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	server_start(&b->server, b->loop, AF_INET, serve_once);
	spec = bench_spec(b, PROBE_HTTP);
	spec.path = path;
	p = bench_probe(b, &spec);
	bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
	assert_int_equal(strspn(b->server.request + 5, "x"), sizeof(path) - 2);
	probe_free(p);
}

#define ON_BENCH(f) cmocka_unit_test_setup_teardown(f, bench_setup, bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(answers_without_a_pattern_are_judged_by_their_head),
		ON_BENCH(bad_answers_each_end_in_their_own_word),
		ON_BENCH(a_pattern_is_looked_for_in_the_body),
		ON_BENCH(a_body_that_is_not_whole_is_judged_by_its_end),
		ON_BENCH(where_an_answer_is_cut_does_not_matter),
		ON_BENCH(the_request_says_what_the_spec_says),
		ON_BENCH(an_ipv6_address_stands_in_brackets),
		ON_BENCH(a_header_can_be_asked_for),
		ON_BENCH(codes_may_be_several_ranges),
		ON_BENCH(a_connection_ends_by_reset),
		ON_BENCH(a_kept_connection_serves_ten_questions),
		ON_BENCH(a_kept_connection_serves_after_a_chunked_body_in_pieces),
		ON_BENCH(an_answer_in_small_writes_is_not_held_up),
		ON_BENCH(connections_let_go_are_closed_in_later_turns),
		ON_BENCH(connections_let_go_make_room_when_descriptors_run_out),
		ON_BENCH(a_kept_connection_closed_in_between_is_no_failure),
		ON_BENCH(a_kept_connection_that_dies_unanswered_is_asked_once_more),
		ON_BENCH(a_farewell_on_a_kept_connection_is_no_answer),
		ON_BENCH(a_kept_connection_that_dies_in_its_answer_is_a_failure),
		ON_BENCH(a_server_that_is_gone_refuses_the_second_try_too),
		ON_BENCH(what_cannot_be_kept_is_not),
		ON_BENCH(a_body_too_slow_to_keep_the_connection_does_not_fail),
		ON_BENCH(a_new_spec_drops_the_kept_connection),
		ON_BENCH(a_large_request_is_sent_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
