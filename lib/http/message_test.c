/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"

typedef int (*parse_fn)(const char *p, size_t n, size_t *scanned, struct http_head *ret);

static bool same_slice(struct str a, const char *base_a, struct str b, const char *base_b)
{
	return a.n == b.n && a.p - base_a == b.p - base_b;
}

static void assert_same_head(const struct http_head *a, const char *base_a,
			     const struct http_head *b, const char *base_b)
{
	assert_int_equal(a->response, b->response);
	assert_int_equal(a->minor, b->minor);
	assert_int_equal(a->n_headers, b->n_headers);
	assert_int_equal(a->keep_alive, b->keep_alive);
	assert_int_equal(a->chunked, b->chunked);
	assert_int_equal(a->has_length, b->has_length);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->upgrade, b->upgrade);
	assert_int_equal(a->expect_continue, b->expect_continue);
	assert_int_equal(a->expect_other, b->expect_other);
	for (size_t i = 0; i < a->n_headers; i++) {
		assert_true(same_slice(a->headers[i].name, base_a, b->headers[i].name, base_b));
		assert_true(same_slice(a->headers[i].value, base_a, b->headers[i].value, base_b));
	}
}

/*
 * Parses what comes in pieces, in memory that ends right behind the bytes that came (so that a
 * sanitizer sees a read too far). Head and result must be those of the whole text.
 */
static void parse_in_pieces(parse_fn parse, struct str text, size_t piece, int whole,
			    const struct http_head *want)
{
	size_t scanned = 0;
	size_t n = 0;
	int r = 0;

	while (r == 0 && n < text.n) {
		struct http_head head;
		char *copy;

		n = text.n - n < piece ? text.n : n + piece;
		copy = malloc(n);
		memcpy(copy, text.p, n);
		r = parse(copy, n, &scanned, &head);
		if (r > 0) {
			assert_int_equal(scanned, 0);
			assert_in_range(r, n < piece ? 1 : n - piece + 1, n);
			assert_same_head(want, text.p, &head, copy);
		}
		free(copy);
	}
	assert_int_equal(r, whole);
}

/* Parses in many ways of arrival, which must agree; gives the result and the head of the whole. */
static int parse_text(parse_fn parse, struct str text, struct http_head *ret)
{
	int whole = parse(text.p, text.n, NULL, ret);

	for (size_t piece = 1; piece < 24; piece++)
		parse_in_pieces(parse, text, piece, whole, ret);
	return whole;
}

static int request(const char *text, struct http_head *ret)
{
	return parse_text(http_parse_request, str_of(text), ret);
}

static int response(const char *text, struct http_head *ret)
{
	return parse_text(http_parse_response, str_of(text), ret);
}

#define assert_str(s, literal) assert_true(str_eq((s), STR(literal)))

static void a_request_is_read_in_place(void **state)
{
	const char text[] = "GET /a?b=c%20d HTTP/1.1\r\nHost: www.example.net:8080\r\n"
			    "Accept:\t */* \t\r\nX-Empty:\r\nx-high: caf\xc3\xa9\r\n\r\nrest";
	struct http_head h;

	assert_int_equal(request(text, &h), strlen(text) - strlen("rest"));
	assert_false(h.response);
	assert_int_equal(h.minor, 1);
	assert_str(h.method, "GET");
	assert_str(h.target, "/a?b=c%20d");
	assert_str(h.host, "www.example.net:8080");
	assert_int_equal(h.n_headers, 4);
	assert_str(h.headers[0].name, "Host");
	assert_str(h.headers[0].value, "www.example.net:8080");
	assert_str(h.headers[1].value, "*/*");
	assert_str(h.headers[2].value, "");
	assert_str(http_header(&h, STR("X-HIGH")), "caf\xc3\xa9");
	assert_null(http_header(&h, STR("absent")).p);
	assert_true(h.keep_alive);
	assert_false(h.chunked || h.has_length || h.upgrade || h.expect_continue || h.expect_other);
}

static void a_response_is_read_in_place(void **state)
{
	const char text[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\n\r\nhello world!";
	struct http_head h;

	assert_int_equal(response(text, &h), strlen(text) - 12);
	assert_true(h.response);
	assert_int_equal(h.status, 404);
	assert_str(h.reason, "Not Found");
	assert_true(h.has_length);
	assert_int_equal(h.length, 12);
}

static void a_reason_may_be_empty_or_missing(void **state)
{
	struct http_head h;

	assert_true(response("HTTP/1.1 200 \r\n\r\n", &h) > 0);
	assert_int_equal(h.reason.n, 0);
	assert_true(response("HTTP/1.0 999\r\n\r\n", &h) > 0);
	assert_int_equal(h.status, 999);
	assert_int_equal(h.reason.n, 0);
	assert_true(response("HTTP/1.1 200 d\xe9j\xe0\tvu\r\n\r\n", &h) > 0);
}

static void a_bare_lf_ends_a_line_in_responses_only(void **state)
{
	struct http_head h;

	assert_int_equal(response("HTTP/1.1 200 OK\nA: b\n\n", &h), 22);
	assert_str(h.headers[0].value, "b");
	assert_int_equal(response("HTTP/1.1 200 OK\r\nA: b\n\r\n", &h), 24);
	assert_int_equal(request("GET / HTTP/1.0\nHost: a\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.0\r\nHost: a\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.0\r\nHost: a\r\n\n", &h), -EBADMSG);
}

static void one_empty_line_before_a_request_is_forgiven(void **state)
{
	struct http_head h;

	assert_int_equal(request("\r\nGET / HTTP/1.0\r\n\r\n", &h), 20);
	assert_str(h.method, "GET");
	assert_int_equal(request("\r\n\r\nGET / HTTP/1.0\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("\nGET / HTTP/1.0\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("\rGET / HTTP/1.0\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(response("\r\nHTTP/1.0 200 OK\r\n\r\n", &h), -EBADMSG);
}

static void an_unfinished_head_needs_more(void **state)
{
	static const char *const texts[] = { "",
					     "\r",
					     "\r\n",
					     "G",
					     "GET ",
					     "GET / HTTP/1.",
					     "GET / HTTP/1.1\r",
					     "GET / HTTP/1.1\r\n",
					     "GET / HTTP/1.1\r\nHost: a\r\n",
					     "GET / HTTP/1.1\r\nHost: a\r\n\r" };
	struct http_head h;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(request(texts[i], &h), 0);
	assert_int_equal(response("HTT", &h), 0);
	assert_int_equal(response("HTTP/1.1 200 OK\r\nA: b\r\n", &h), 0);
}

static void malformed_request_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"GET  / HTTP/1.1",
		"GET / HTTP/1.1 ",
		"GET /  HTTP/1.1",
		" GET / HTTP/1.1",
		"GET\t/ HTTP/1.1",
		"GET /",
		"GET",
		"GET / HTTP/1.2",
		"GET / HTTP/2.0",
		"GET / HTTP/1.01",
		"GET / HTTP/11",
		"GET / http/1.1",
		"GET / HTTP/1.1\r",
		"GET /a b HTTP/1.1",
		"GET /#x HTTP/1.1",
		"GET /\x7f HTTP/1.1",
		"GET /\xe9 HTTP/1.1",
		"G@T / HTTP/1.1",
		"GET / FTP/1.1",
		"GET /\r HTTP/1.1",
		"G\x01T / HTTP/1.1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct buf text = { 0 };
		struct http_head h;

		buf_printf(&text, "%s\r\nHost: a\r\n\r\n", lines[i]);
		assert_int_equal(request(buf_cstr(&text), &h), -EBADMSG);
		buf_free(&text);
	}
}

static void malformed_status_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"HTTP/1.1 20 OK",  "HTTP/1.1 2000 OK", "HTTP/1.1 099 OK",     "HTTP/1.1  200 OK",
		"HTTP/1.1 2x0 OK", "HTTP/1.1 200\tOK", "HTTP/1.1200 OK",      "HTTP/1.1",
		"HTTP/2 200",	   "ICY 200 OK",       "HTTP/1.1 200 O\x01K", "HTTP/1.1 -20 OK",
		"HTTP/1.1 200OK",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct buf text = { 0 };
		struct http_head h;

		buf_printf(&text, "%s\r\n\r\n", lines[i]);
		assert_int_equal(response(buf_cstr(&text), &h), -EBADMSG);
		buf_free(&text);
	}
}

static void malformed_header_lines_are_refused_both_ways(void **state)
{
	static const char *const lines[] = {
		"A : b",	" folded: b",  "\tfolded", "A",	     ": b",	 "A b: c",
		"A: b\rc",	"A: \x01",     "A: b\x7f", "A:b\r",  "A\xe9: b", "A: b\r\n c",
		"(comment): b", "A: b\r\n\tc", "\"A\": b", "A\r: b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct buf text = { 0 };
		struct http_head h;

		buf_printf(&text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", lines[i]);
		assert_int_equal(request(buf_cstr(&text), &h), -EBADMSG);
		text.n = 0;
		buf_printf(&text, "HTTP/1.1 200 OK\r\n%s\r\nB: c\r\n\r\n", lines[i]);
		assert_int_equal(response(buf_cstr(&text), &h), -EBADMSG);
		buf_free(&text);
	}
}

static void nul_is_refused_everywhere(void **state)
{
	const char text[] = "POST /path HTTP/1.1\r\nHost: abc\r\nX-Name: value\r\n\r\n";
	struct http_head h;

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char copy[sizeof(text)];

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		/* in the place of the last LF it leaves the head unfinished: the next LF tells */
		assert_int_equal(parse_text(http_parse_request,
					    (struct str){ copy, sizeof(text) - 1 }, &h),
				 i == sizeof(text) - 2 ? 0 : -EBADMSG);
	}
}

static void what_is_not_http_is_refused_at_once(void **state)
{
	struct http_head h;

	assert_int_equal(request("\x16\x03\x01", &h), -EBADMSG);
	assert_int_equal(response("SSH-2.0-", &h), -EBADMSG);
	assert_int_equal(response("HTTP/2", &h), -EBADMSG);
}

static void host_must_be_one_and_clean(void **state)
{
	struct http_head h;

	assert_int_equal(request("GET / HTTP/1.1\r\n\r\n", &h), -EBADMSG);
	assert_true(request("GET / HTTP/1.0\r\n\r\n", &h) > 0);
	assert_true(request("GET / HTTP/1.1\r\nHost:\r\n\r\n", &h) > 0);
	assert_true(request("GET / HTTP/1.1\r\nhOST: [2001:db8::1]:80\r\n\r\n", &h) > 0);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", &h), -EBADMSG);
	assert_true(request("GET / HTTP/1.1\r\nHost: a.example:\r\n\r\n", &h) > 0);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: []\r\n\r\n", &h), -EBADMSG);
	assert_int_equal(request("GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", &h), -EBADMSG);
	assert_true(response("HTTP/1.1 200 OK\r\n\r\n", &h) > 0);
	assert_true(response("HTTP/1.1 200 OK\r\nHost: not a host\r\n\r\n", &h) > 0);
}

static int response_with(const char *headers, struct http_head *ret)
{
	struct buf text = { 0 };
	struct http_head h;
	int r;

	buf_printf(&text, "HTTP/1.1 200 OK\r\n%s\r\n", headers);
	r = response(buf_cstr(&text), ret);
	text.n = 0;
	/* what frames a response frames a request alike */
	buf_printf(&text, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n", headers);
	assert_int_equal(request(buf_cstr(&text), &h) > 0, r > 0);
	buf_free(&text);
	return r;
}

static void lengths_are_plain_numbers(void **state)
{
	static const char *const bad[] = { "",
					   "+5",
					   "-5",
					   "5x",
					   "0x5",
					   "5 5",
					   "5,5",
					   "5;",
					   "1e3",
					   "5.0",
					   "\"5\"",
					   "9223372036854775808",
					   "18446744073709551616",
					   "99999999999999999999999999" };
	struct http_head h;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buf header = { 0 };

		buf_printf(&header, "Content-Length: %s\r\n", bad[i]);
		assert_int_equal(response_with(buf_cstr(&header), &h), -EBADMSG);
		buf_free(&header);
	}
	assert_true(response_with("content-length: 9223372036854775807\r\n", &h) > 0);
	assert_int_equal(h.length, INT64_MAX);
	assert_true(response_with("CONTENT-LENGTH:0007 \r\n", &h) > 0);
	assert_int_equal(h.length, 7);
}

static void a_length_said_twice_must_be_the_same(void **state)
{
	struct http_head h;

	assert_true(response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
			     &h) > 0);
	assert_int_equal(h.length, 5);
	assert_int_equal(h.lengths, 2);
	assert_int_equal(request("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
				 "Content-Length: 5\r\n\r\n",
				 &h),
			 -EBADMSG);
	assert_int_equal(response_with("Content-Length: 5\r\nContent-Length: 6\r\n", &h), -EBADMSG);
	assert_int_equal(response_with("Content-Length: 5, 5\r\n", &h), -EBADMSG);
}

static void chunked_stands_alone(void **state)
{
	static const char *const bad[] = {
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked, chunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: gzip\r\n",
		"Transfer-Encoding: identity\r\n",
		"Transfer-Encoding: xchunked\r\n",
		"Transfer-Encoding: chunked;q=1\r\n",
		"Transfer-Encoding:\r\n",
		"Transfer-Encoding: \"chunked\"\r\n",
	};
	struct http_head h;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(response_with(bad[i], &h), -EBADMSG);
	assert_true(response_with("Transfer-Encoding: Chunked\r\n", &h) > 0);
	assert_true(h.chunked);
	assert_int_equal(request("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", &h),
			 -EBADMSG);
	assert_int_equal(response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &h),
			 -EBADMSG);
}

/* RFC 9112 §9.3 */
static void keep_alive_follows_version_and_connection(void **state)
{
	static const struct {
		unsigned minor;
		const char *headers;
		bool keep_alive;
	} rows[] = {
		{ 1, "", true },
		{ 1, "Connection: close\r\n", false },
		{ 1, "Connection: keep-alive\r\n", true },
		{ 1, "Connection: foo , CLOSE\r\n", false },
		{ 1, "Connection: keep-alive\r\nConnection: close\r\n", false },
		{ 1, "Connection: closed\r\n", true },
		{ 1, "Connection: ,,\r\n", true },
		{ 0, "", false },
		{ 0, "Connection: Keep-Alive\r\n", true },
		{ 0, "Connection: x,keep-alive\r\n", true },
		{ 0, "Connection: keep-alive, close\r\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf text = { 0 };
		struct http_head h;

		buf_printf(&text, "HTTP/1.%u 200 OK\r\n%s\r\n", rows[i].minor, rows[i].headers);
		assert_true(response(buf_cstr(&text), &h) > 0);
		assert_int_equal(h.keep_alive, rows[i].keep_alive);
		buf_free(&text);
	}
}

static void upgrade_and_expect_are_seen(void **state)
{
	struct http_head h;

	assert_true(response_with("Connection: Upgrade, keep-alive\r\n", &h) > 0);
	assert_true(h.upgrade && h.keep_alive);
	assert_true(request("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n", &h) > 0);
	assert_true(h.expect_continue && !h.expect_other);
	assert_true(request("PUT / HTTP/1.0\r\nExpect: 100-continue, x\r\n\r\n", &h) > 0);
	assert_false(h.expect_continue || h.expect_other);
	assert_true(request("PUT / HTTP/1.1\r\nHost: a\r\nExpect: x, 100-continue\r\n\r\n", &h) >
		    0);
	assert_true(h.expect_continue && h.expect_other);
	assert_true(request("PUT / HTTP/1.1\r\nHost: a\r\nExpect: ,100-continue \r\n\r\n", &h) > 0);
	assert_true(h.expect_continue && !h.expect_other);
}

static void too_many_headers_are_too_big(void **state)
{
	struct buf text = { 0 };
	struct http_head h;

	buf_adds(&text, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < HTTP_HEADERS_MAX; i++)
		buf_adds(&text, "A: b\r\n");
	buf_adds(&text, "\r\n");
	assert_int_equal(response(buf_cstr(&text), &h), text.n);
	assert_int_equal(h.n_headers, HTTP_HEADERS_MAX);

	text.n -= 2;
	buf_adds(&text, "A: b\r\n\r\n");
	assert_int_equal(response(buf_cstr(&text), &h), -E2BIG);
	buf_free(&text);
}

/* A response whose head is n bytes, padded in one header, and a little of its body. */
static struct buf response_of_size(size_t n)
{
	struct buf text = { 0 };

	buf_adds(&text, "HTTP/1.1 200 OK\r\nA: ");
	while (text.n < n - 4)
		buf_addc(&text, 'x');
	buf_adds(&text, "\r\n\r\nbody");
	return text;
}

static void a_head_of_the_limit_is_fine_and_one_byte_more_is_too_big(void **state)
{
	struct buf fits = response_of_size(HTTP_HEAD_MAX);
	struct buf over = response_of_size(HTTP_HEAD_MAX + 1);
	struct http_head h;

	assert_int_equal(response(buf_cstr(&fits), &h), HTTP_HEAD_MAX);
	assert_int_equal(response(buf_cstr(&over), &h), -E2BIG);
	/* no end in sight: known as soon as the limit is reached */
	assert_int_equal(http_parse_response(over.p, HTTP_HEAD_MAX - 1, NULL, &h), 0);
	assert_int_equal(http_parse_response(over.p, HTTP_HEAD_MAX, NULL, &h), -E2BIG);
	buf_free(&fits);
	buf_free(&over);
}

static void every_byte_is_judged_where_it_may_stand(void **state)
{
	static const char token[] = "!#$%&'*+-.^_`|~";

	for (unsigned c = 0; c < 256; c++) {
		char name[] = "HTTP/1.1 200 OK\r\nX?X: value\r\n\r\n";
		char value[] = "HTTP/1.1 200 OK\r\nXX: v?alue\r\n\r\n";
		bool alnum =
			(c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
		bool in_name = alnum || (c && strchr(token, (int)c)) || c == ':';
		bool in_value = c == '\t' || (c >= ' ' && c != 0x7f);
		struct http_head h;

		*strchr(name, '?') = (char)c;
		*strchr(value, '?') = (char)c;
		assert_int_equal(http_parse_response(name, sizeof(name) - 1, NULL, &h) > 0,
				 in_name);
		assert_int_equal(http_parse_response(value, sizeof(value) - 1, NULL, &h) > 0,
				 in_value);
	}
}

/* Values are read in words: each byte at each place of a value, also beside a tab. */
static void every_byte_of_a_long_value_is_judged(void **state)
{
	static const char start[] = "GET / HTTP/1.1\r\nHost: a\r\nX:";

	for (unsigned at = 0; at < 24; at++)
		for (unsigned c = 0; c < 512; c++) {
			char text[] =
				"GET / HTTP/1.1\r\nHost: a\r\nX:abcdefghijklmnopqrstuvwx\r\n\r\n";
			unsigned char byte = c & 255;
			bool fine = byte == '\t' || (byte >= ' ' && byte != 0x7f);
			struct http_head h;

			text[sizeof(start) - 1 + at] = (char)byte;
			if (c >= 256)
				text[sizeof(start) - 1 + (at + 3) % 24] = '\t';
			assert_int_equal(http_parse_request(text, sizeof(text) - 1, NULL, &h) > 0,
					 fine);
			if (fine && byte > ' ' && c < 256)
				assert_int_equal(h.headers[1].value.n, 24);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_read_in_place),
		cmocka_unit_test(a_response_is_read_in_place),
		cmocka_unit_test(a_reason_may_be_empty_or_missing),
		cmocka_unit_test(a_bare_lf_ends_a_line_in_responses_only),
		cmocka_unit_test(one_empty_line_before_a_request_is_forgiven),
		cmocka_unit_test(an_unfinished_head_needs_more),
		cmocka_unit_test(malformed_request_lines_are_refused),
		cmocka_unit_test(malformed_status_lines_are_refused),
		cmocka_unit_test(malformed_header_lines_are_refused_both_ways),
		cmocka_unit_test(nul_is_refused_everywhere),
		cmocka_unit_test(what_is_not_http_is_refused_at_once),
		cmocka_unit_test(host_must_be_one_and_clean),
		cmocka_unit_test(lengths_are_plain_numbers),
		cmocka_unit_test(a_length_said_twice_must_be_the_same),
		cmocka_unit_test(chunked_stands_alone),
		cmocka_unit_test(keep_alive_follows_version_and_connection),
		cmocka_unit_test(upgrade_and_expect_are_seen),
		cmocka_unit_test(too_many_headers_are_too_big),
		cmocka_unit_test(a_head_of_the_limit_is_fine_and_one_byte_more_is_too_big),
		cmocka_unit_test(every_byte_is_judged_where_it_may_stand),
		cmocka_unit_test(every_byte_of_a_long_value_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
