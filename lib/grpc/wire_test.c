/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, gzip, header values and descriptors: no sockets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/grpc/descriptor.h"
#include "lib/grpc/grpc_private.h"
#include "lib/grpc/testkit.h"

static void timeouts_are_read(void **state)
{
	static const struct {
		struct str text;
		int64_t ns;
	} rows[] = {
		{ STR("1n"), 1 },
		{ STR("25u"), 25000 },
		{ STR("100m"), 100 * NSEC_PER_MSEC },
		{ STR("0S"), 0 },
		{ STR("99999999S"), 99999999 * NSEC_PER_SEC },
		{ STR("2M"), 120 * NSEC_PER_SEC },
		{ STR("1H"), 3600 * NSEC_PER_SEC },
		{ STR("99999999H"), INT64_MAX / 2 },
	};
	static const struct str wrong[] = { STR(""),	STR("1"),   STR("S"),	STR("-1S"),
					    STR("1 S"), STR("1s"),  STR("+1S"), STR("100000000n"),
					    STR("1h"),	STR("1.5S") };
	int64_t ns = 42;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(grpc_timeout_parse(rows[i].text, &ns), 0);
		assert_int_equal(ns, rows[i].ns);
	}
	ns = 42;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(grpc_timeout_parse(wrong[i], &ns), -EINVAL);
	assert_int_equal(ns, 42);
}

static void timeouts_are_written_in_the_finest_unit_that_fits(void **state)
{
	char text[GRPC_TIMEOUT_STRLEN];

	assert_string_equal(grpc_timeout_format(1, text), "1n");
	assert_string_equal(grpc_timeout_format(99999999, text), "99999999n");
	assert_string_equal(grpc_timeout_format(100000000, text), "100000u");
	assert_string_equal(grpc_timeout_format(5 * NSEC_PER_SEC, text), "5000000u");
	assert_string_equal(grpc_timeout_format(1000 * NSEC_PER_SEC, text), "1000000m");
	assert_string_equal(grpc_timeout_format(INT64_MAX, text), "2562047H");
}

static void check_message(struct str text, const char *encoded, struct str back)
{
	struct buf out = { 0 }, again = { 0 };

	grpc__message_encode(text, &out);
	assert_string_equal(buf_cstr(&out), encoded);
	grpc__message_decode((struct str){ out.p, out.n }, &again);
	assert_int_equal(again.n, back.n);
	assert_memory_equal(again.p, back.p, back.n);
	buf_free(&out);
	buf_free(&again);
}

static void messages_are_percent_encoded(void **state)
{
	check_message(STR("plain ~ text"), "plain ~ text", STR("plain ~ text"));
	check_message(STR("100%\n"), "100%25%0A", STR("100%\n"));
	check_message(STR("\xe2\x82\xac"), "%E2%82%AC", STR("\xe2\x82\xac"));
	check_message(STR("a\xff"), "a%EF%BF%BD", STR("a\xef\xbf\xbd"));
}

static void a_wrong_escape_stands_for_itself(void **state)
{
	static const char *const rows[][2] = {
		{ "%", "%" },
		{ "%4", "%4" },
		{ "%zz", "%zz" },
		{ "%41", "A" },
		{ "a%4x%42", "a%4xB" },
		{ "%e2%82%aC", "\xe2\x82\xac" },
		{ "%ff", "\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf out = { 0 };

		grpc__message_decode(str_of(rows[i][0]), &out);
		assert_string_equal(buf_cstr(&out), rows[i][1]);
		buf_free(&out);
	}
}

static void very_long_messages_are_cut(void **state)
{
	struct buf text = { 0 }, out = { 0 };

	for (int i = 0; i < 100000; i++)
		buf_addc(&text, 'x');
	grpc__message_encode((struct str){ text.p, text.n }, &out);
	assert_in_range(out.n, 1000, 4096);
	buf_free(&text);
	buf_free(&out);
}

static void content_types_are_told_apart(void **state)
{
	assert_true(grpc__is_grpc(STR("application/grpc")));
	assert_true(grpc__is_grpc(STR("application/grpc+proto")));
	assert_true(grpc__is_grpc(STR("Application/GRPC;charset=utf-8")));
	assert_true(grpc__is_grpc(STR("application/grpc+proto; x=y")));
	assert_true(grpc__is_grpc(STR("application/grpc ")));
	assert_false(grpc__is_grpc(STR("application/grpc+")));
	assert_false(grpc__is_grpc(STR("application/grpc+json")));
	assert_false(grpc__is_grpc(STR("application/grpc-web")));
	assert_false(grpc__is_grpc(STR("application/json")));
	assert_false(grpc__is_grpc(STR("")));
}

static void every_status_has_a_name(void **state)
{
	assert_string_equal(grpc_status_name(GRPC_OK), "OK");
	assert_string_equal(grpc_status_name(GRPC_NOT_FOUND), "NOT_FOUND");
	assert_string_equal(grpc_status_name(GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
	assert_string_equal(grpc_status_name((enum grpc_status)99), "UNKNOWN");
}

/* Three messages, cut in every place. */
static void messages_are_found_however_they_are_cut(void **state)
{
	static const char wire[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de";

	for (size_t piece = 1; piece < sizeof(wire); piece++) {
		struct grpc__reader r = { 0 };
		struct buf seen = { 0 };

		for (size_t at = 0; at < sizeof(wire) - 1; at += piece) {
			size_t left = sizeof(wire) - 1 - at;
			struct str bytes = { wire + at, left < piece ? left : piece };
			struct str content = { 0 };

			while (bytes.n) {
				if (grpc__read(&r, &bytes, 10) != 1)
					continue;
				assert_int_equal(grpc__content(&r, false, 10, &content), 0);
				buf_printf(&seen, "%.*s|", (int)content.n, content.p);
				grpc__next(&r);
			}
		}
		assert_string_equal(buf_cstr(&seen), "abc||de|");
		buf_free(&seen);
		grpc__reader_free(&r);
	}
}

static void a_length_over_the_limit_is_refused_before_it_comes(void **state)
{
	struct str bytes = STR("\0\xff\xff\xff\xff");
	struct grpc__reader r = { 0 };

	assert_int_equal(grpc__read(&r, &bytes, 1000), -EMSGSIZE);
	grpc__reader_free(&r);
}

static struct buf gzip(const void *p, size_t n)
{
	struct buf out = { 0 };
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)p, .avail_in = (unsigned)n };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	buf_reserve(&out, n + 1000);
	z.next_out = (unsigned char *)out.p;
	z.avail_out = (unsigned)out.cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.n = z.total_out;
	deflateEnd(&z);
	return out;
}

static void gzip_is_bounded_by_what_comes_out(void **state)
{
	size_t n = 1000000;
	char *zeros = calloc(1, n);
	struct buf packed = gzip(zeros, n), out = { 0 };

	assert_int_equal(grpc__gunzip((struct str){ packed.p, packed.n }, n, &out), 0);
	assert_int_equal(out.n, n);
	assert_memory_equal(out.p, zeros, n);
	out.n = 0;
	assert_int_equal(grpc__gunzip((struct str){ packed.p, packed.n }, n - 1, &out), -EMSGSIZE);
	free(zeros);
	buf_free(&packed);
	buf_free(&out);
}

static void what_is_not_gzip_is_refused(void **state)
{
	struct buf packed = gzip("hello", 5), out = { 0 };

	for (size_t n = 0; n < packed.n; n++) { /* cut off */
		out.n = 0;
		assert_int_equal(grpc__gunzip((struct str){ packed.p, n }, 100, &out), -EBADMSG);
	}
	buf_addc(&packed, 'x'); /* and more */
	assert_int_equal(grpc__gunzip((struct str){ packed.p, packed.n }, 100, &out), -EBADMSG);
	assert_int_equal(grpc__gunzip(STR("hello"), 100, &out), -EBADMSG);
	buf_free(&packed);
	buf_free(&out);
}

static void compression_must_have_been_announced(void **state)
{
	struct buf packed = gzip("hello", 5), wire = { 0 };
	struct grpc__reader r = { 0 };
	struct str bytes, content;

	grpc__frame_parts(&wire, (struct str){ packed.p, packed.n }, STR(""));
	wire.p[0] = 1;
	bytes = (struct str){ wire.p, wire.n };
	assert_int_equal(grpc__read(&r, &bytes, 100), 1);
	assert_int_equal(grpc__content(&r, false, 100, &content), -EPROTO);
	assert_int_equal(grpc__content(&r, true, 100, &content), 0);
	assert_true(str_eq(content, STR("hello")));
	grpc__reader_free(&r);
	buf_free(&packed);
	buf_free(&wire);
}

/* ---- descriptors ---- */

static struct str kit_set(void)
{
	return (struct str){ (const char *)kit_protoset, kit_protoset_size };
}

static void symbols_lead_to_their_file(void **state)
{
	static const char *const symbols[] = { "grpc_test.Test", "grpc_test.Test.Echo",
					       "grpc_test.Note", "grpc_test.Note.text" };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct grpc__descriptors *d = grpc__descriptors_new(arena);
	struct grpc__file *f;

	assert_int_equal(grpc__descriptors_add(d, kit_set()), 0);
	grpc__descriptors_add_own(d);
	f = grpc__file_by_name(d, "lib/grpc/grpc_test.proto");
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		assert_ptr_equal(grpc__file_of_symbol(d, symbols[i]), f);
	assert_null(grpc__file_of_symbol(d, "grpc_test"));
	assert_null(grpc__file_of_symbol(d, "grpc_test.Note.none"));
	assert_null(grpc__file_by_name(d, "grpc_test.proto"));
	f = grpc__file_of_symbol(d, "grpc.health.v1.HealthCheckResponse.ServingStatus");
	assert_string_equal(f->name, "grpc/health/v1/health.proto");
	f = grpc__file_of_symbol(d, "grpc.reflection.v1alpha.ServerReflection");
	assert_string_equal(f->name, "grpc/reflection/v1alpha/reflection.proto");
}

static void on_file(const struct grpc__file *f, void *arg)
{
	buf_adds(arg, f->name);
}

/* a imports b and c, b imports c, c imports a: each once. */
static void imports_are_walked_once_each(void **state)
{
	static const struct str set = STR("\x0a\x09\x0a\x01"
					  "a\x1a\x01"
					  "b\x1a\x01"
					  "c"
					  "\x0a\x06\x0a\x01"
					  "b\x1a\x01"
					  "c"
					  "\x0a\x06\x0a\x01"
					  "c\x1a\x01"
					  "a");
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct grpc__descriptors *d = grpc__descriptors_new(arena);

	assert_int_equal(grpc__descriptors_add(d, set), 0);
	for (int i = 0; i < 2; i++) {
		struct buf seen = { 0 };

		grpc__file_walk(d, grpc__file_by_name(d, "a"), on_file, &seen);
		assert_string_equal(buf_cstr(&seen), "abc");
		buf_free(&seen);
	}
}

static void what_is_no_descriptor_set_is_refused(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (size_t n = 1; n < kit_set().n; n += 7) {
		struct grpc__descriptors *d = grpc__descriptors_new(arena);
		char *copy = malloc(n);

		memcpy(copy, kit_set().p, n);
		assert_int_equal(grpc__descriptors_add(d, (struct str){ copy, n }), -EBADMSG);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeouts_are_read),
		cmocka_unit_test(timeouts_are_written_in_the_finest_unit_that_fits),
		cmocka_unit_test(messages_are_percent_encoded),
		cmocka_unit_test(a_wrong_escape_stands_for_itself),
		cmocka_unit_test(very_long_messages_are_cut),
		cmocka_unit_test(content_types_are_told_apart),
		cmocka_unit_test(every_status_has_a_name),
		cmocka_unit_test(messages_are_found_however_they_are_cut),
		cmocka_unit_test(a_length_over_the_limit_is_refused_before_it_comes),
		cmocka_unit_test(gzip_is_bounded_by_what_comes_out),
		cmocka_unit_test(what_is_not_gzip_is_refused),
		cmocka_unit_test(compression_must_have_been_announced),
		cmocka_unit_test(symbols_lead_to_their_file),
		cmocka_unit_test(imports_are_walked_once_each),
		cmocka_unit_test(what_is_no_descriptor_set_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
