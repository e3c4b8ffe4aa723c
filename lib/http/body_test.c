/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/http/message.h"

struct result {
	ssize_t end; /* bytes consumed, or the error */
	bool done;
	struct buf content;
};

/* Feeds pieces of at most `piece` bytes. */
static struct result feed(struct http_body b, struct str text, size_t piece)
{
	struct result r = { 0 };

	while (!b.done && (size_t)r.end < text.n) {
		size_t rest = text.n - (size_t)r.end;
		struct str content;
		ssize_t n =
			http_body_feed(&b, text.p + r.end, rest < piece ? rest : piece, &content);

		if (n < 0) {
			r.end = n;
			break;
		}
		assert_true(n > 0);
		buf_add(&r.content, content.p, content.n);
		r.end += n;
	}
	r.done = b.done;
	return r;
}

/* Whole and in pieces of every small size: all must agree. */
static struct result feed_all_ways(const struct http_head *h, struct str method, struct str text)
{
	struct http_body b;
	struct result whole;

	http_body_init(&b, h, method);
	whole = feed(b, text, text.n);
	for (size_t piece = 1; piece < 20; piece++) {
		struct result r = feed(b, text, piece);

		assert_int_equal(r.end, whole.end);
		assert_int_equal(r.done, whole.done);
		assert_true(whole.end < 0 || (r.content.n == whole.content.n));
		assert_true(whole.end < 0 ||
			    !memcmp(buf_cstr(&r.content), buf_cstr(&whole.content), r.content.n));
		buf_free(&r.content);
	}
	return whole;
}

static struct result feed_chunked(const char *text)
{
	const struct http_head h = { .response = true, .minor = 1, .status = 200, .chunked = true };

	return feed_all_ways(&h, STR("GET"), str_of(text));
}

static void assert_chunked(const char *text, const char *content, size_t left_over)
{
	struct result r = feed_chunked(text);

	assert_true(r.done);
	assert_int_equal(r.end, strlen(text) - left_over);
	assert_string_equal(buf_cstr(&r.content), content);
	buf_free(&r.content);
}

static void chunks_are_joined(void **state)
{
	assert_chunked("0\r\n\r\n", "", 0);
	assert_chunked("5\r\nhello\r\n0\r\n\r\n", "hello", 0);
	assert_chunked("5\r\nhello\r\n1\r\n \r\n00A\r\n0123456789\r\n000\r\n\r\n",
		       "hello 0123456789", 0);
	assert_chunked("a\r\n0123456789\r\n0\r\n\r\nHTTP/1.1 200 OK", "0123456789", 15);
	assert_chunked("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0);
}

static void extensions_and_trailers_are_dropped(void **state)
{
	assert_chunked("5;a=b;c=\"d e\"\r\nhello\r\n0;last\r\n\r\n", "hello", 0);
	assert_chunked("5 ; a\r\nhello\r\n0 \t;\r\n\r\n", "hello", 0);
	assert_chunked("0\r\nTransfer-Encodings: v\r\nContent-Lengt: 1\r\n\r\n", "", 0);
	assert_chunked("1\r\nx\r\n0\r\nX-Trailer: v\xe9lue\r\nAnother:\r\n\r\nrest", "x", 4);
}

static void malformed_chunks_are_refused(void **state)
{
	static const char *const texts[] = {
		"\r\n",
		";a\r\n",
		" 5\r\nhello\r\n",
		"g\r\n",
		"-1\r\n",
		"+5\r\nhello\r\n",
		"0x5\r\nhello\r\n",
		"5\nhello\r\n",
		"5\r\r\nhello",
		"5 5\r\nhello",
		"5 \r\nhello",
		"5\r\nhello0\r\n\r\n",
		"5\r\nhello\n0\r\n\r\n",
		"5\r\nhelloo\r\n",
		"5;a\nb\r\nhello\r\n",
		"5;a\rb\r\nhello\r\n",
		"5;a\x01\r\nhello\r\n",
		"0\r\nX\r\n\r\n",
		"0\r\nX : y\r\n\r\n",
		"0\r\n folded\r\n\r\n",
		"0\r\nX: y\n\r\n",
		"0\r\nX: y\r\r\n\r\n",
		"0\r\n:\r\n\r\n",
		"0\r\n\rX",
		"0\r\n\n",
		"0\r\nContent-Length: 1\r\n\r\n",
		"0\r\nA: b\r\nTRANSFER-Encoding:chunked\r\n\r\n",
		"0\r\nhost: a\r\n\r\n",
		"8000000000000000\r\n",
		"ffffffffffffffff\r\n",
		"10000000000000000\r\n",
		"10000000000000005\r\nhello\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct result r = feed_chunked(texts[i]);

		assert_int_equal(r.end, -EBADMSG);
		assert_false(r.done);
		buf_free(&r.content);
	}
}

static void nul_in_framing_is_refused(void **state)
{
	const char text[] = "2;x\r\nhi\r\n0\r\nA: b\r\n\r\n";
	struct http_head h = { .response = true, .minor = 1, .status = 200, .chunked = true };

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		char copy[sizeof(text)];
		bool content = i == 5 || i == 6;
		struct result r;

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		r = feed_all_ways(&h, STR("GET"), (struct str){ copy, sizeof(text) - 1 });
		assert_int_equal(r.end < 0, !content);
		buf_free(&r.content);
	}
}

static void a_refused_body_stays_refused(void **state)
{
	struct http_head h = { .minor = 1, .chunked = true };
	struct http_body b;
	struct str content;

	http_body_init(&b, &h, STR("POST"));
	assert_int_equal(http_body_feed(&b, "x", 1, &content), -EBADMSG);
	assert_int_equal(http_body_feed(&b, "0\r\n\r\n", 5, &content), -EBADMSG);
	assert_false(http_body_eof(&b));
}

static void the_largest_chunk_is_counted_down(void **state)
{
	struct http_head h = { .minor = 1, .chunked = true };
	struct http_body b;
	struct str content;

	http_body_init(&b, &h, STR("POST"));
	assert_int_equal(http_body_feed(&b, "7fffffffffffffff\r\nabc", 21, &content), 21);
	assert_true(str_eq(content, STR("abc")));
	assert_true(b.left == INT64_MAX - 3);
}

/* n bytes of something between two texts */
static struct buf padded(const char *before, size_t n, const char *after)
{
	struct buf text = { 0 };

	buf_adds(&text, before);
	for (size_t i = 0; i < n; i++)
		buf_addc(&text, 'x');
	buf_adds(&text, after);
	return text;
}

static void chunk_lines_and_trailers_are_bounded(void **state)
{
	static const struct {
		const char *before;
		size_t n;
		const char *after;
		bool fine;
	} rows[] = {
		{ "1;", HTTP_CHUNK_LINE_MAX - 4, "\r\na\r\n0\r\n\r\n", true },
		{ "1;", HTTP_CHUNK_LINE_MAX - 3, "\r\na\r\n0\r\n\r\n", false },
		{ "1\r\na\r\n1;", HTTP_CHUNK_LINE_MAX - 4, "\r\na\r\n0\r\n\r\n", true },
		{ "0\r\nA:", HTTP_TRAILERS_MAX - 6, "\r\n\r\n", true },
		{ "0\r\nA:", HTTP_TRAILERS_MAX - 5, "\r\n\r\n", false },
		{ "0\r\nA: b\r\nC:", HTTP_TRAILERS_MAX - 11, "\r\n\r\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf text = padded(rows[i].before, rows[i].n, rows[i].after);
		struct result r = feed_chunked(buf_cstr(&text));

		assert_int_equal(r.end, rows[i].fine ? (ssize_t)text.n : -EBADMSG);
		buf_free(&r.content);
		buf_free(&text);
	}
}

static void endless_leading_zeros_are_bounded(void **state)
{
	struct buf text = { 0 };
	struct result r;

	for (size_t i = 0; i < HTTP_CHUNK_LINE_MAX; i++)
		buf_addc(&text, '0');
	r = feed_chunked(buf_cstr(&text));
	assert_int_equal(r.end, HTTP_CHUNK_LINE_MAX);
	buf_free(&r.content);
	buf_addc(&text, '0');
	r = feed_chunked(buf_cstr(&text));
	assert_int_equal(r.end, -EBADMSG);
	buf_free(&r.content);
	buf_free(&text);
}

static void a_length_ends_the_body(void **state)
{
	struct http_head h = { .minor = 1, .has_length = true, .length = 5 };
	struct result r = feed_all_ways(&h, STR("POST"), STR("helloGET /"));
	struct http_body b;

	assert_int_equal(r.end, 5);
	assert_true(r.done);
	assert_string_equal(buf_cstr(&r.content), "hello");
	buf_free(&r.content);

	http_body_init(&b, &h, STR("POST"));
	assert_false(http_body_eof(&b));
	h.length = 0;
	http_body_init(&b, &h, STR("POST"));
	assert_true(b.done);
}

static void without_length_a_response_ends_with_the_connection(void **state)
{
	struct http_head h = { .response = true, .minor = 1, .status = 200 };
	struct result r = feed_all_ways(&h, STR("GET"), STR("anything"));
	struct http_body b;

	assert_int_equal(r.end, 8);
	assert_false(r.done);
	buf_free(&r.content);
	http_body_init(&b, &h, STR("GET"));
	assert_int_equal(b.kind, HTTP_BODY_CLOSE);
	assert_true(http_body_eof(&b));
	assert_true(b.done);
}

static void an_unfinished_chunked_body_is_not_whole(void **state)
{
	struct http_head h = { .response = true, .minor = 1, .status = 200, .chunked = true };
	struct http_body b;
	struct str content;

	http_body_init(&b, &h, STR("GET"));
	assert_int_equal(http_body_feed(&b, "1\r\na\r\n0\r\n", 9, &content), 4);
	assert_int_equal(http_body_feed(&b, "\r\n0\r\n", 5, &content), 5);
	assert_false(http_body_eof(&b));
	assert_int_equal(http_body_feed(&b, "\r\n", 2, &content), 2);
	assert_true(http_body_eof(&b));
}

/* RFC 9112 §6.3 */
static void some_messages_never_have_a_body(void **state)
{
	static const struct {
		bool response;
		unsigned status;
		const char *method;
		enum http_body_kind kind;
	} rows[] = {
		{ false, 0, "GET", HTTP_BODY_LENGTH },
		{ true, 200, "GET", HTTP_BODY_LENGTH },
		{ true, 200, "HEAD", HTTP_BODY_NONE },
		{ true, 404, "HEAD", HTTP_BODY_NONE },
		{ true, 200, "head", HTTP_BODY_LENGTH },
		{ true, 100, "GET", HTTP_BODY_NONE },
		{ true, 101, "GET", HTTP_BODY_NONE },
		{ true, 199, "GET", HTTP_BODY_NONE },
		{ true, 204, "GET", HTTP_BODY_NONE },
		{ true, 304, "GET", HTTP_BODY_NONE },
		{ true, 205, "GET", HTTP_BODY_LENGTH },
		{ true, 200, "CONNECT", HTTP_BODY_NONE },
		{ true, 407, "CONNECT", HTTP_BODY_LENGTH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_head h = { .response = rows[i].response,
				       .minor = 1,
				       .status = rows[i].status,
				       .has_length = true,
				       .length = 5 };
		struct http_body b;

		http_body_init(&b, &h, str_of(rows[i].method));
		assert_int_equal(b.kind, rows[i].kind);
		assert_int_equal(b.done, rows[i].kind == HTTP_BODY_NONE);
	}
}

static void a_request_without_length_has_no_body(void **state)
{
	struct http_head h = { .minor = 1 };
	struct http_body b;
	struct str content;

	http_body_init(&b, &h, STR("POST"));
	assert_int_equal(b.kind, HTTP_BODY_NONE);
	assert_true(b.done);
	assert_int_equal(http_body_feed(&b, "x", 1, &content), 0);
	assert_true(http_body_eof(&b));
}

/* Every cut of the bytes yields the same trailer lines. */
static void trailer_lines_can_be_kept(void **state)
{
	static const char text[] = "3\r\nabc\r\n0\r\nX-A: 1\r\nX-B:2 \r\n\r\nGET";
	const struct http_head h = { .minor = 1, .chunked = true };

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct field found[HTTP_HEADERS_MAX];
		struct buf lines = { 0 };
		struct http_body b;
		size_t at = 0;

		http_body_init(&b, &h, STR("PUT"));
		while (!b.done) {
			size_t left = sizeof(text) - 1 - at;
			struct str content;
			ssize_t r = http_body_feed(&b, text + at, left < piece ? left : piece,
						   &content);

			assert_true(r > 0);
			buf_add(&lines, b.trailer.p, b.trailer.n);
			at += (size_t)r;
		}
		assert_string_equal(text + at, "GET");
		assert_string_equal(buf_cstr(&lines), "X-A: 1\r\nX-B:2 \r\n\r\n");
		assert_int_equal(http_parse_trailers(lines.p, lines.n, found), 2);
		assert_true(str_eq(found[1].name, STR("X-B")));
		assert_true(str_eq(found[1].value, STR("2")));
		buf_free(&lines);
	}
}

static void trailers_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{ "", 0 },
		{ "\r\n", 0 },
		{ "a:\r\n\r\n", 1 },
		{ "a: b\r\n", -EBADMSG },
		{ "a: b", -EBADMSG },
		{ "a b: c\r\n\r\n", -EBADMSG },
		{ "a: b\n\r\n", -EBADMSG },
		{ "\r\nx", -EBADMSG },
		{ "Content-Length: 1\r\n\r\n", -EBADMSG },
		{ "transfer-encoding: chunked\r\n\r\n", -EBADMSG },
		{ "HOST: a\r\n\r\n", -EBADMSG },
		{ "a: b\r\nAuthorization: c\r\n\r\n", -EBADMSG },
	};
	struct field found[HTTP_HEADERS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(http_parse_trailers(rows[i].text, strlen(rows[i].text), found),
				 rows[i].want);
}

static void trailers_are_counted(void **state)
{
	struct field found[HTTP_HEADERS_MAX];
	struct buf lines = { 0 };

	for (size_t i = 0; i < HTTP_HEADERS_MAX; i++)
		buf_adds(&lines, "a: b\r\n");
	buf_adds(&lines, "\r\n");
	assert_int_equal(http_parse_trailers(lines.p, lines.n, found), HTTP_HEADERS_MAX);
	lines.n -= 2;
	buf_adds(&lines, "a: b\r\n\r\n");
	assert_int_equal(http_parse_trailers(lines.p, lines.n, found), -E2BIG);
	buf_free(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_joined),
		cmocka_unit_test(extensions_and_trailers_are_dropped),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(nul_in_framing_is_refused),
		cmocka_unit_test(a_refused_body_stays_refused),
		cmocka_unit_test(the_largest_chunk_is_counted_down),
		cmocka_unit_test(chunk_lines_and_trailers_are_bounded),
		cmocka_unit_test(endless_leading_zeros_are_bounded),
		cmocka_unit_test(a_length_ends_the_body),
		cmocka_unit_test(without_length_a_response_ends_with_the_connection),
		cmocka_unit_test(an_unfinished_chunked_body_is_not_whole),
		cmocka_unit_test(some_messages_never_have_a_body),
		cmocka_unit_test(a_request_without_length_has_no_body),
		cmocka_unit_test(trailer_lines_can_be_kept),
		cmocka_unit_test(trailers_that_cannot_be_are_refused),
		cmocka_unit_test(trailers_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
