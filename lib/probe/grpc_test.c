/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of Health/Check to a server of lib/h2 that answers as each test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/h2/h2.h"
#include "lib/probe/internal.h"
#include "lib/probe/test_server.h"

#define MS INT64_C(1000000)
#define SHORT (120 * MS) /* a timeout that is meant to expire */

enum manner { ANSWER, ONLY_HEAD, SILENT, RESET, HANG_UP };

/* What the server does, and what the probe makes of it. */
struct row {
	const char *what;
	enum manner manner;
	const char *status, *content;
	size_t n;
	const char *code, *message; /* of the trailers, or of the head; NULL: none */
	enum probe_stage stage;
	enum probe_error error;
	const char *reason;
};

struct health {
	struct h2_host *host;
	const struct row *row;
	char head[512]; /* fields of the last request */
	struct buf body;
	unsigned lost;
};

/* ---- the server ---- */

static void on_header(struct h2_stream *s, struct str name, struct str value, void *user)
{
	struct health *h = user;
	size_t n = strlen(h->head);

	snprintf(h->head + n, sizeof(h->head) - n, "%.*s=%.*s ", (int)name.n, name.p, (int)value.n,
		 value.p);
}

static void on_data(struct h2_stream *s, struct str bytes, void *user)
{
	struct health *h = user;

	buf_add(&h->body, bytes.p, bytes.n);
	h2_consume(s, bytes.n);
}

static size_t fill(const struct row *r, struct field fields[static 2])
{
	size_t n = 0;

	if (r->code)
		fields[n++] = (struct field){ STR("grpc-status"), str_of(r->code) };
	if (r->message)
		fields[n++] = (struct field){ STR("grpc-message"), str_of(r->message) };
	return n;
}

static void on_end(struct h2_stream *s, void *user)
{
	struct health *h = user;
	const struct row *r = h->row;
	struct field head[4] = { { STR(":status"), str_of(r->status ?: "200") },
				 { STR("content-type"), STR("application/grpc") } };
	struct field trailers[2];

	switch (r->manner) {
	case SILENT:
		return;
	case RESET:
		h2_reset(s, H2_INTERNAL_ERROR);
		return;
	case HANG_UP:
		h2_abort(h2_stream_conn(s), H2_NO_ERROR, "test");
		return;
	case ONLY_HEAD:
		assert_int_equal(h2_respond(s, head, 2 + fill(r, head + 2), true), 0);
		return;
	case ANSWER:
		assert_int_equal(h2_respond(s, head, 2, false), 0);
		h2_send(s, (struct str){ r->content, r->n });
		assert_int_equal(h2_end(s, trailers, fill(r, trailers)), 0);
	}
}

static void on_lost(struct h2_conn *c, const char *why, void *user)
{
	((struct health *)user)->lost++;
}

static void serve(struct health *h, struct bench *b, const struct row *row)
{
	static const struct h2_events events = {
		.header = on_header, .data = on_data, .end = on_end, .lost = on_lost
	};
	const struct h2_config config = { .server = true, .events = &events, .user = h };
	struct endpoint at = { .port = 0 };

	*h = (struct health){ .row = row };
	assert_int_equal(addr_parse("127.0.0.1", &at.addr), 0);
	h->host = h2_host_new(b->loop, &config);
	assert_int_equal(h2_listen(h->host, at), 0);
	b->server.at = h2_endpoint(h->host);
}

static void stop(struct health *h)
{
	h2_host_free(h->host);
	buf_free(&h->body);
}

/* ---- what is asked, and how answers are judged ---- */

#define SERVING "\0\0\0\0\2\x08\1"
#define CONTENT(text) .content = (text), .n = sizeof(text) - 1
#define FAIL(e) .stage = PROBE_STAGE_HTTP, .error = PROBE_ERR_##e

static void the_status_of_the_service_decides(void **state)
{
	static const char long_text[2048];
	static const struct row rows[] = {
		{ "serving", ANSWER, CONTENT(SERVING), .code = "0", .stage = PROBE_STAGE_DONE },
		{ "not serving", ANSWER, CONTENT("\0\0\0\0\2\x08\2"), .code = "0", FAIL(STATUS),
		  .reason = "NOT_SERVING" },
		{ "unknown", ANSWER, CONTENT("\0\0\0\0\0"), .code = "0", FAIL(STATUS),
		  .reason = "UNKNOWN" },
		{ "no service", ONLY_HEAD, .code = "5", .message = "unknown service", FAIL(STATUS),
		  .reason = "grpc-status 5: unknown service" },
		{ "code after content", ANSWER, CONTENT(SERVING), .code = "14", FAIL(STATUS),
		  .reason = "grpc-status 14: " },
		{ "not a number", ONLY_HEAD, .code = "x", FAIL(STATUS), .reason = "999" },
		{ "http status", ONLY_HEAD, .status = "404", FAIL(STATUS), .reason = "status 404" },
		{ "no code", ANSWER, CONTENT(SERVING), FAIL(MALFORMED),
		  .reason = "answer has no grpc-status" },
		{ "no message", ANSWER, CONTENT(""), .code = "0", FAIL(MALFORMED),
		  .reason = "answer is no HealthCheckResponse" },
		{ "cut off", ANSWER, CONTENT("\0\0\0\0\2\x08"), .code = "0", FAIL(MALFORMED) },
		{ "varint without end", ANSWER, CONTENT("\0\0\0\0\2\x08\xff"), .code = "0",
		  FAIL(MALFORMED) },
		{ "other field", ANSWER, CONTENT("\0\0\0\0\2\x10\1"), .code = "0",
		  FAIL(MALFORMED) },
		{ "other value", ANSWER, CONTENT("\0\0\0\0\2\x08\7"), .code = "0",
		  FAIL(MALFORMED) },
		{ "compressed", ANSWER, CONTENT("\1\0\0\0\2\x08\1"), .code = "0", FAIL(MALFORMED) },
		{ "large", ANSWER, .content = long_text, .n = sizeof(long_text), .code = "0",
		  FAIL(TOO_LARGE) },
		{ "reset", RESET, FAIL(RESET), .reason = "error 2 of HTTP/2" },
		{ "hung up", HANG_UP, FAIL(RESET) },
		{ "silent", SILENT, FAIL(TIMEOUT), .reason = "timed out" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct health h;
		struct probe_spec spec;
		struct probe *p;

		serve(&h, b, &rows[i]);
		spec = bench_spec(b, PROBE_GRPC);
		if (rows[i].error == PROBE_ERR_TIMEOUT)
			spec.timeout = SHORT;
		p = bench_probe(b, &spec);
		bench_ask(b, p);
		if (b->outcome.stage != rows[i].stage || b->outcome.error != rows[i].error ||
		    (rows[i].reason && !strstr(b->outcome.reason, rows[i].reason)))
			fail_msg("%s: got %s/%s (%s)", rows[i].what,
				 probe_stage_name(b->outcome.stage),
				 probe_error_name(b->outcome.error), b->outcome.reason);
		probe_free(p);
		bench_run_until(b, &h.lost, 1); /* the connection ends with the question */
		stop(&h);
	}
}

static void the_call_names_the_service(void **state)
{
	static const struct row row = { .manner = ANSWER, CONTENT(SERVING), .code = "0" };
	struct bench *b = *state;
	struct health h;
	struct probe_spec spec;
	struct probe *p;

	serve(&h, b, &row);
	spec = bench_spec(b, PROBE_GRPC);
	spec.service = "a.B";
	spec.host = "www.example.com";
	spec.user_agent = "test";
	p = bench_probe(b, &spec);
	for (unsigned i = 1; i <= 2; i++) { /* each on a connection of its own */
		h.head[0] = '\0';
		h.body.n = 0;
		bench_expect(bench_ask(b, p), PROBE_STAGE_DONE, PROBE_OK);
		assert_int_equal(b->outcome.status, 200);
		assert_string_equal(h.head, ":method=POST :scheme=http "
					    ":path=/grpc.health.v1.Health/Check "
					    ":authority=www.example.com "
					    "content-type=application/grpc te=trailers "
					    "user-agent=test ");
		assert_int_equal(h.body.n, 10);
		assert_memory_equal(h.body.p, "\0\0\0\0\5\x0a\3a.B", 10);
		bench_run_until(b, &h.lost, i);
	}
	probe_free(p);
	stop(&h);
}

static void a_call_can_be_dropped(void **state)
{
	static const struct row row = { .manner = SILENT };
	struct bench *b = *state;
	struct health h;
	struct probe_spec spec;
	struct probe *p;

	serve(&h, b, &row);
	spec = bench_spec(b, PROBE_GRPC);
	p = bench_probe(b, &spec);
	probe_start(p);
	while (!h.body.n)
		bench_turns(b, 1);
	probe_cancel(p);
	assert_false(probe_in_flight(p));
	bench_run_until(b, &h.lost, 1);
	probe_start(p);
	while (h.body.n < 10)
		bench_turns(b, 1);
	probe_free(p);
	bench_run_until(b, &h.lost, 2);
	assert_int_equal(b->answers, 0);
	stop(&h);
}

static void what_is_not_http_2_fails(void **state)
{
	static const struct step script[] = { STEP_WITH(SEND, "HTTP/1.1 400 Bad Request\r\n"
							      "Content-Length: 0\r\n\r\n"),
					      STEP(CLOSE) };
	struct bench *b = *state;
	struct probe_spec spec;
	struct probe *p;

	server_start(&b->server, b->loop, AF_INET, script);
	spec = bench_spec(b, PROBE_GRPC);
	p = bench_probe(b, &spec);
	bench_expect(bench_ask(b, p), PROBE_STAGE_HTTP, PROBE_ERR_RESET);
	probe_free(p);
	server_stop(&b->server);
	spec.timeout = 2000 * MS;
	p = bench_probe(b, &spec);
	bench_expect(bench_ask(b, p), PROBE_STAGE_CONNECT, PROBE_ERR_REFUSED);
	probe_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_status_of_the_service_decides, bench_setup,
						bench_teardown),
		cmocka_unit_test_setup_teardown(the_call_names_the_service, bench_setup,
						bench_teardown),
		cmocka_unit_test_setup_teardown(a_call_can_be_dropped, bench_setup, bench_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_http_2_fails, bench_setup,
						bench_teardown),
	};

	return cmocka_run_group_tests_name("lib/probe/grpc", tests, NULL, NULL);
}
