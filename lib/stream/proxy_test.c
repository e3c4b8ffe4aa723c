/* SPDX-License-Identifier: Apache-2.0 */
/* Headers from the specification, complete and cut after every byte. */
#include "lib/stream/proxy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/stream/proxy_private.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
/* 192.0.2.1:56324 to 198.51.100.10:443 */
#define IPV4 "\xc0\0\2\1\xc6\x33\x64\x0a\xdc\x04\x01\xbb"
#define SELF "2001:db8::1"

/* In memory of the exact size, so that the sanitizer detects a read past the end. */
static ssize_t parse(struct str in, struct stream_proxy *h, enum stream_proxy_fault *fault)
{
	char *copy = malloc(in.n ? in.n : 1);
	ssize_t r;

	memcpy(copy, in.p, in.n);
	r = stream_proxy_parse((struct str){ copy, in.n }, h, fault);
	free(copy);
	return r;
}

static void expect_endpoint(const struct endpoint *e, const char *text)
{
	char buf[ENDPOINT_STRLEN];

	assert_string_equal(endpoint_format(e, buf), text);
}

static void expect_text(struct str s, const char *text)
{
	assert_non_null(s.p);
	assert_int_equal(s.n, strlen(text));
	assert_memory_equal(s.p, text, s.n);
}

/* The complete header parses, also with bytes after it; every prefix needs more. */
static void expect_whole(struct str in, struct stream_proxy *h)
{
	enum stream_proxy_fault fault;
	struct buf more = { 0 };

	for (size_t n = 0; n < in.n; n++)
		assert_int_equal(parse((struct str){ in.p, n }, h, &fault), -EAGAIN);
	buf_add(&more, in.p, in.n);
	buf_adds(&more, "GET / HTTP/1.1\r\n\r\n");
	assert_int_equal(parse((struct str){ more.p, more.n }, h, &fault), in.n);
	buf_free(&more);
	assert_int_equal(stream_proxy_parse(in, h, &fault), in.n);
}

/* ---- version 1 ---- */

static void lines_have_their_addresses(void **state)
{
	static const struct {
		struct str in;
		const char *source, *destination;
	} rows[] = {
		{ STR("PROXY TCP4 192.0.2.1 198.51.100.10 56324 443\r\n"), "192.0.2.1:56324",
		  "198.51.100.10:443" },
		{ STR("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"),
		  "255.255.255.255:65535", "255.255.255.255:65535" },
		{ STR("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n"), "0.0.0.0:0", "0.0.0.0:0" },
		{ STR("PROXY TCP6 " SELF " ::ffff:1.2.3.4 1 80\r\n"), "[2001:db8::1]:1",
		  "[::ffff:1.2.3.4]:80" },
		{ STR("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
		      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
		  "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
		  "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stream_proxy h;

		expect_whole(rows[i].in, &h);
		assert_int_equal(h.version, 1);
		assert_int_equal(h.kind, STREAM_PROXY_IP);
		expect_endpoint(&h.source, rows[i].source);
		expect_endpoint(&h.destination, rows[i].destination);
	}
}

/* The longest line that the specification allows is 107 bytes. */
static void unknown_lines_are_skipped_up_to_their_bound(void **state)
{
	static const struct str rows[] = {
		STR("PROXY UNKNOWN\r\n"),
		STR("PROXY UNKNOWN whatever  it says\r\n"),
		STR("PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
	};

	assert_int_equal(rows[2].n, STREAM_PROXY_V1_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stream_proxy h;

		expect_whole(rows[i], &h);
		assert_int_equal(h.kind, STREAM_PROXY_NONE);
		assert_false(h.local);
	}
}

static void malformed_lines_have_exact_faults(void **state)
{
	static const struct {
		struct str in;
		enum stream_proxy_fault fault;
	} rows[] = {
		{ STR("G"), STREAM_PROXY_NO_HEADER },
		{ STR("PROXX"), STREAM_PROXY_NO_HEADER },
		{ STR("proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n"), STREAM_PROXY_NO_HEADER },
		{ STR("PROXY\tTCP4"), STREAM_PROXY_NO_HEADER },
		{ STR("PROXY UNKNOWN\rx"), STREAM_PROXY_BAD_LINE },
		{ STR("PROXY TCP4\r\n"), STREAM_PROXY_BAD_LINE },
		{ STR("PROXY TCP4 1.2.3.4\r\n"), STREAM_PROXY_BAD_LINE },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4\r\n"), STREAM_PROXY_BAD_LINE },
		{ STR("PROXY \r\n"), STREAM_PROXY_BAD_FAMILY },
		{ STR("PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_FAMILY },
		{ STR("PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_FAMILY },
		{ STR("PROXY UNKNOWNS\r\n"), STREAM_PROXY_BAD_FAMILY },
		{ STR("PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_ADDRESS },
		{ STR("PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_ADDRESS },
		{ STR("PROXY TCP4 1.2.3.4\0 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_ADDRESS },
		{ STR("PROXY TCP4 ::1 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_ADDRESS },
		{ STR("PROXY TCP6 ::1 1.2.3.4 1 2\r\n"), STREAM_PROXY_BAD_ADDRESS },
		{ STR("PROXY TCP6 0000000000000000000000000000000000000000000000001 ::1 1 2\r\n"),
		  STREAM_PROXY_BAD_ADDRESS },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n"), STREAM_PROXY_BAD_PORT },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n"), STREAM_PROXY_BAD_PORT },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4 1 02\r\n"), STREAM_PROXY_BAD_PORT },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4 1 -2\r\n"), STREAM_PROXY_BAD_PORT },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n"), STREAM_PROXY_BAD_PORT },
		{ STR("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n\r\n"), STREAM_PROXY_BAD_PORT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum stream_proxy_fault fault = STREAM_PROXY_FAULTS;
		struct stream_proxy h = { .version = 77 };

		if (parse(rows[i].in, &h, &fault) != -EPROTO || fault != rows[i].fault)
			fail_msg("%zu: %d", i, (int)fault);
		assert_int_equal(h.version, 77);
	}
}

static void a_line_without_end_is_refused_at_its_bound(void **state)
{
	enum stream_proxy_fault fault;
	struct stream_proxy h;
	char line[200];

	memset(line, 'x', sizeof(line));
	memcpy(line, "PROXY UNKNOWN ", 14);
	assert_int_equal(parse((struct str){ line, 106 }, &h, &fault), -EAGAIN);
	assert_int_equal(parse((struct str){ line, 107 }, &h, &fault), -EPROTO);
	assert_int_equal(fault, STREAM_PROXY_TOO_LONG);
	memcpy(line + 106, "\r\n", 2); /* one byte too many */
	assert_int_equal(parse((struct str){ line, 108 }, &h, &fault), -EPROTO);
	assert_int_equal(fault, STREAM_PROXY_TOO_LONG);
	memcpy(line + 105, "\r\n", 2);
	assert_int_equal(parse((struct str){ line, 107 }, &h, &fault), 107);
}

/* ---- version 2 ---- */

static void blocks_have_their_addresses(void **state)
{
	struct stream_proxy h;

	expect_whole(STR(SIGNATURE "\x21\x11\0\x0c" IPV4), &h);
	assert_int_equal(h.version, 2);
	assert_int_equal(h.kind, STREAM_PROXY_IP);
	assert_false(h.local || h.datagram || h.checksum || h.ssl.present);
	expect_endpoint(&h.source, "192.0.2.1:56324");
	expect_endpoint(&h.destination, "198.51.100.10:443");
	assert_null(h.authority.p);

	expect_whole(STR(SIGNATURE "\x21\x22\0\x24"
				   "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
				   "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2"
				   "\x00\x35\xff\xff"),
		     &h);
	assert_true(h.datagram);
	expect_endpoint(&h.source, "[2001:db8::1]:53");
	expect_endpoint(&h.destination, "[2001:db8::2]:65535");
}

static void the_proxys_own_connections_have_none(void **state)
{
	struct stream_proxy h;

	/* HAProxy's health checks; whatever family and rest they have is skipped */
	expect_whole(STR(SIGNATURE "\x20\x00\0\0"), &h);
	assert_true(h.local);
	assert_int_equal(h.kind, STREAM_PROXY_NONE);
	expect_whole(STR(SIGNATURE "\x20\x99\0\2\xff\xff"), &h);
	assert_true(h.local);
	expect_whole(STR(SIGNATURE "\x21\x00\0\0"), &h);
	assert_false(h.local);
	assert_int_equal(h.kind, STREAM_PROXY_NONE);
}

static void paths_end_before_their_padding(void **state)
{
	struct buf b = { 0 };
	char paths[216] = "/run/client";
	struct stream_proxy h;

	memcpy(paths + 108, "\0abstract", 9);
	buf_add(&b, SIGNATURE "\x21\x31\0\xd8", 16);
	buf_add(&b, paths, sizeof(paths));
	expect_whole((struct str){ b.p, b.n }, &h);
	assert_int_equal(h.kind, STREAM_PROXY_UNIX);
	expect_text(h.source_path, "/run/client");
	assert_int_equal(h.destination_path.n, 9);
	assert_memory_equal(h.destination_path.p, "\0abstract", 9);
	buf_free(&b);
}

static void fields_are_found_and_unknown_ones_skipped(void **state)
{
	struct stream_proxy h;

	expect_whole(STR(SIGNATURE "\x21\x11\0\x48" IPV4 "\x01\0\2h2"
				   "\xe0\0\5\0\1\2\3\4" /* unknown */
				   "\x04\0\1\0"		/* padding */
				   "\x02\0\xbwww.example"
				   "\x05\0\3\0\xff\x80"
				   "\x20\0\x14\x05\0\0\0\1"
				   "\x21\0\7TLSv1.3"
				   "\x22\0\2me"),
		     &h);
	expect_text(h.alpn, "h2");
	expect_text(h.authority, "www.example");
	assert_int_equal(h.unique_id.n, 3);
	assert_memory_equal(h.unique_id.p, "\0\xff\x80", 3);
	assert_true(h.ssl.present);
	assert_int_equal(h.ssl.client, STREAM_PROXY_OVER_TLS | STREAM_PROXY_CERT_SESSION);
	assert_int_equal(h.ssl.verify, 1);
	expect_text(h.ssl.version, "TLSv1.3");
	expect_text(h.ssl.cn, "me");
	assert_null(h.ssl.cipher.p);
}

static void an_empty_field_is_there(void **state)
{
	struct stream_proxy h;

	expect_whole(STR(SIGNATURE "\x21\x00\0\3\x02\0\0"), &h);
	expect_text(h.authority, "");
	assert_null(h.alpn.p);
}

static void malformed_blocks_have_exact_faults(void **state)
{
	static const struct {
		struct str in;
		enum stream_proxy_fault fault;
	} rows[] = {
		{ STR("\r\n\r\n\0\r\nQUIT\r"), STREAM_PROXY_NO_HEADER },
		{ STR("\r\n\r\nG"), STREAM_PROXY_NO_HEADER },
		{ STR(SIGNATURE "\x11"), STREAM_PROXY_BAD_COMMAND },
		{ STR(SIGNATURE "\x31"), STREAM_PROXY_BAD_COMMAND },
		{ STR(SIGNATURE "\x22"), STREAM_PROXY_BAD_COMMAND },
		{ STR(SIGNATURE "\x2f"), STREAM_PROXY_BAD_COMMAND },
		{ STR(SIGNATURE "\x21\x11\xff\xff"), STREAM_PROXY_TOO_LONG },
		{ STR(SIGNATURE "\x21\x11\x07\xf1"), STREAM_PROXY_TOO_LONG },
		{ STR(SIGNATURE "\x21\x10\0\x0c" IPV4), STREAM_PROXY_BAD_FAMILY },
		{ STR(SIGNATURE "\x21\x01\0\x0c" IPV4), STREAM_PROXY_BAD_FAMILY },
		{ STR(SIGNATURE "\x21\x13\0\x0c" IPV4), STREAM_PROXY_BAD_FAMILY },
		{ STR(SIGNATURE "\x21\x41\0\x0c" IPV4), STREAM_PROXY_BAD_FAMILY },
		{ STR(SIGNATURE "\x21\x11\0\x0b" IPV4), STREAM_PROXY_SHORT_ADDRESS },
		{ STR(SIGNATURE "\x21\x21\0\x0c" IPV4), STREAM_PROXY_SHORT_ADDRESS },
		{ STR(SIGNATURE "\x21\x31\0\0"), STREAM_PROXY_SHORT_ADDRESS },
		{ STR(SIGNATURE "\x21\x00\0\2\x01\0"), STREAM_PROXY_BAD_FIELD },
		{ STR(SIGNATURE "\x21\x00\0\3\x01\0\1"), STREAM_PROXY_BAD_FIELD },
		{ STR(SIGNATURE "\x21\x00\0\3\x99\xff\xff"), STREAM_PROXY_BAD_FIELD },
		/* the same twice */
		{ STR(SIGNATURE "\x21\x00\0\6\x02\0\0\x02\0\0"), STREAM_PROXY_BAD_FIELD },
		{ STR(SIGNATURE "\x21\x00\0\x10\x20\0\5\1\0\0\0\0\x20\0\5\1\0\0\0\0"),
		  STREAM_PROXY_BAD_FIELD },
		/* TLS: too short, and a field inside that ends outside */
		{ STR(SIGNATURE "\x21\x00\0\7\x20\0\4\1\0\0\0"), STREAM_PROXY_BAD_FIELD },
		{ STR(SIGNATURE "\x21\x00\0\x0e\x20\0\x08\1\0\0\0\0\x22\0\3abc"),
		  STREAM_PROXY_BAD_FIELD },
		/* a checksum of three bytes, and a wrong one */
		{ STR(SIGNATURE "\x21\x00\0\6\x03\0\3\0\0\0"), STREAM_PROXY_BAD_FIELD },
		{ STR(SIGNATURE "\x21\x00\0\7\x03\0\4\0\0\0\0"), STREAM_PROXY_BAD_CHECKSUM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum stream_proxy_fault fault = STREAM_PROXY_FAULTS;
		struct stream_proxy h = { .version = 77 };

		if (parse(rows[i].in, &h, &fault) != -EPROTO || fault != rows[i].fault)
			fail_msg("%zu: %d", i, (int)fault);
		assert_int_equal(h.version, 77);
	}
}

static void every_fault_has_words(void **state)
{
	for (int i = 0; i < STREAM_PROXY_FAULTS; i++)
		assert_true(strlen(stream_proxy_fault_word((enum stream_proxy_fault)i)) > 10);
}

/* RFC 3720, appendix B.4, and the usual check value. */
static void the_checksum_is_castagnolis(void **state)
{
	char bytes[32];

	assert_int_equal(stream__proxy_checksum(STR("123456789"), 9), 0xe3069283u);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(stream__proxy_checksum((struct str){ bytes, 32 }, 32), 0x62a8ab43u);
	for (int i = 0; i < 32; i++)
		bytes[i] = (char)i;
	assert_int_equal(stream__proxy_checksum((struct str){ bytes, 32 }, 32), 0x46dd794eu);
	/* the hole counts as zeros */
	assert_int_equal(stream__proxy_checksum(STR("1234xxxx9"), 4),
			 stream__proxy_checksum(STR("1234\0\0\0\0"
						    "9"),
						9));
}

/* ---- writing ---- */

static const struct stream_proxy ipv4 = {
	.version = 2,
	.kind = STREAM_PROXY_IP,
	.source = { { AF_INET, { 192, 0, 2, 1 } }, 56324 },
	.destination = { { AF_INET, { 198, 51, 100, 10 } }, 443 },
};

static void expect_format(const struct stream_proxy *h, struct str bytes)
{
	struct buf out = { 0 };

	buf_adds(&out, "before");
	assert_int_equal(stream_proxy_format(h, &out), 0);
	assert_int_equal(out.n, bytes.n + 6);
	assert_memory_equal(out.p + 6, bytes.p, bytes.n);
	buf_free(&out);
}

static void what_is_written_is_what_the_specification_has(void **state)
{
	struct stream_proxy h = ipv4;

	expect_format(&h, STR(SIGNATURE "\x21\x11\0\x0c" IPV4));
	h.alpn = STR("h2");
	expect_format(&h, STR(SIGNATURE "\x21\x11\0\x11" IPV4 "\x01\0\2h2"));
	h.local = true;
	expect_format(&h, STR(SIGNATURE "\x20\x00\0\0"));
	h = ipv4;
	h.version = 1;
	expect_format(&h, STR("PROXY TCP4 192.0.2.1 198.51.100.10 56324 443\r\n"));
	h.datagram = true;
	expect_format(&h, STR("PROXY UNKNOWN\r\n"));
	h = ipv4;
	h.version = 1;
	addr_parse(SELF, &h.source.addr);
	addr_parse("2001:db8::2", &h.destination.addr);
	expect_format(&h, STR("PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n"));
}

static void everything_comes_back_with_its_checksum(void **state)
{
	struct stream_proxy h = ipv4, back;
	enum stream_proxy_fault fault;
	struct buf out = { 0 };

	h.checksum = true;
	h.authority = STR("www.example.net");
	h.unique_id = STR("id-1");
	h.ssl = (struct stream_proxy_ssl){ true,	  1,	      7,	  STR("TLSv1.3"),
					   STR("client"), STR("AES"), STR("SHA"), STR("RSA") };
	assert_int_equal(stream_proxy_format(&h, &out), 0);
	assert_int_equal(parse((struct str){ out.p, out.n }, &back, &fault), out.n);
	stream_proxy_parse((struct str){ out.p, out.n }, &back, &fault);
	assert_true(back.checksum);
	expect_text(back.authority, "www.example.net");
	expect_text(back.unique_id, "id-1");
	assert_int_equal(back.ssl.verify, 7);
	expect_text(back.ssl.cn, "client");
	expect_text(back.ssl.key, "RSA");
	/* any bit that flips is noticed */
	for (size_t i = 16; i < out.n; i++) {
		out.p[i] ^= 1;
		assert_int_equal(parse((struct str){ out.p, out.n }, &back, &fault), -EPROTO);
		out.p[i] ^= 1;
	}
	buf_free(&out);
}

static void what_does_not_fit_is_not_written(void **state)
{
	static char text[0x10000];
	struct stream_proxy h = ipv4;
	struct buf out = { 0 };

	h.authority = (struct str){ text, STREAM_PROXY_MAX - 16 - 12 - 3 };
	assert_int_equal(stream_proxy_format(&h, &out), 0);
	assert_int_equal(out.n, STREAM_PROXY_MAX);
	h.authority.n++;
	assert_int_equal(stream_proxy_format(&h, &out), -EMSGSIZE);
	assert_int_equal(out.n, STREAM_PROXY_MAX);
	h.authority.n = sizeof(text);
	assert_int_equal(stream_proxy_format(&h, &out), -EINVAL);
	h = ipv4;
	h.unique_id = (struct str){ text, STREAM_PROXY_ID_MAX + 1 };
	assert_int_equal(stream_proxy_format(&h, &out), -EINVAL);
	h = ipv4;
	addr_parse(SELF, &h.source.addr);
	assert_int_equal(stream_proxy_format(&h, &out), -EINVAL);
	h = ipv4;
	h.version = 3;
	assert_int_equal(stream_proxy_format(&h, &out), -EINVAL);
	h = (struct stream_proxy){ .version = 2, .kind = STREAM_PROXY_UNIX };
	h.source_path = (struct str){ text, STREAM_PROXY_PATH_MAX + 1 };
	assert_int_equal(stream_proxy_format(&h, &out), -EINVAL);
	assert_int_equal(out.n, STREAM_PROXY_MAX);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_their_addresses),
		cmocka_unit_test(unknown_lines_are_skipped_up_to_their_bound),
		cmocka_unit_test(malformed_lines_have_exact_faults),
		cmocka_unit_test(a_line_without_end_is_refused_at_its_bound),
		cmocka_unit_test(blocks_have_their_addresses),
		cmocka_unit_test(the_proxys_own_connections_have_none),
		cmocka_unit_test(paths_end_before_their_padding),
		cmocka_unit_test(fields_are_found_and_unknown_ones_skipped),
		cmocka_unit_test(an_empty_field_is_there),
		cmocka_unit_test(malformed_blocks_have_exact_faults),
		cmocka_unit_test(every_fault_has_words),
		cmocka_unit_test(the_checksum_is_castagnolis),
		cmocka_unit_test(what_is_written_is_what_the_specification_has),
		cmocka_unit_test(everything_comes_back_with_its_checksum),
		cmocka_unit_test(what_does_not_fit_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
