/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "lib/pb/pb_test.pb-c.h"

#define TREE (&pbtest__tree__descriptor)

/* Decodes a literal; returns the result, and the path if there is one. */
static int decode(struct str bytes, const char **ret_where)
{
	struct arena *arena = arena_new();
	ProtobufCMessage *message = NULL;
	const char *where = NULL;
	static char path[256];
	int r = pb_decode(TREE, bytes, NULL, arena, &message, &where);

	assert_true((r == 0) == (message != NULL));
	snprintf(path, sizeof(path), "%s", where ? where : "");
	*ret_where = path;
	arena_free(arena);
	return r;
}

#define assert_decodes(bytes)                                                                      \
	do {                                                                                       \
		const char *where_;                                                                \
		assert_int_equal(decode(STR(bytes), &where_), 0);                                  \
	} while (0)

#define assert_refused(bytes, error, where)                                                        \
	do {                                                                                       \
		const char *where_;                                                                \
		assert_int_equal(decode(STR(bytes), &where_), -(error));                           \
		assert_string_equal(where_, where);                                                \
	} while (0)

static void no_bytes_are_an_empty_message(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	ProtobufCMessage *message;
	const Pbtest__Tree *tree;

	assert_int_equal(pb_decode(TREE, (struct str){ NULL, 0 }, NULL, arena, &message, NULL), 0);
	tree = (const Pbtest__Tree *)message;
	assert_string_equal(tree->name, "");
	assert_null(tree->left);
}

static void fields_come_out_as_they_went_in(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	ProtobufCMessage *message;
	const Pbtest__Tree *tree;

	assert_int_equal(pb_decode(TREE, STR("\x0a\x02hi\x12\x03\x0a\x01x"), NULL, arena, &message,
				   NULL),
			 0);
	tree = (const Pbtest__Tree *)message;
	assert_string_equal(tree->name, "hi");
	assert_string_equal(tree->left->name, "x");
}

static void a_string_must_be_utf8(void **state)
{
	assert_decodes("\x0a\x04gr\xc3\xbc");
	assert_refused("\x0a\x03gr\xfc", EILSEQ, "name");
	assert_refused("\x0a\x02\xc3", EBADMSG, "");
	assert_refused("\x0a\x03\xed\xa0\x80", EILSEQ, "name");
}

static void a_string_must_not_have_a_nul(void **state)
{
	assert_refused("\x0a\x03"
		       "a\0b",
		       EILSEQ, "name");
	assert_refused("\x0a\x01\0", EILSEQ, "name");
}

static void the_place_of_a_bad_string_is_named(void **state)
{
	/* left { lists { strings: ok, bad } } */
	assert_refused("\x12\x08\x32\x06\x42\x01k\x42\x01\xff", EILSEQ, "left.lists.strings");
	/* maps { by_name { value: bad } } */
	assert_refused("\x3a\x05\x0a\x03\x12\x01\xff", EILSEQ, "maps.by_name.value");
}

static void bytes_may_be_anything(void **state)
{
	/* choice { blob }; choice has the largest field number */
	assert_decodes("\xfa\xff\xff\xff\x0f\x04\x32\x02\0\xff");
}

/* Clients may be newer than this program and send fields that it does not know. */
static void unknown_fields_are_let_through(void **state)
{
	assert_decodes("\xc0\x3e\x01\xca\x3e\x02\xff\0\xd1\x3e"
		       "12345678\xdd\x3e"
		       "1234");
}

static void what_is_cut_short_is_refused(void **state)
{
	static const char whole[] = "\x0a\x02hi\x12\x03\x0a\x01x\xfa\xff\xff\xff\x0f\x02\x18\x05";
	const char *where;

	assert_int_equal(decode((struct str){ whole, sizeof(whole) - 1 }, &where), 0);
	for (size_t n = 1; n < sizeof(whole) - 1; n++) {
		bool between_fields = n == 4 || n == 9;

		assert_int_equal(decode((struct str){ whole, n }, &where),
				 between_fields ? 0 : -EBADMSG);
	}
}

static void what_is_no_message_is_refused(void **state)
{
	assert_refused("\x02\x00", EBADMSG, "");		      /* field 0 */
	assert_refused("\x0b\x0c", EBADMSG, "");		      /* a group */
	assert_refused("\x0e", EBADMSG, "");			      /* no such wire type */
	assert_refused("\x08\x01", EBADMSG, "");		      /* a number for a string */
	assert_refused("\x8a\x80\x80\x80\x80\x00\x01x", EBADMSG, ""); /* key of six bytes */
	assert_refused("\xfa\xff\xff\xff\x7f\x00", EBADMSG, "");      /* number above 2^29 */
	assert_refused("\x0a\xff\xff\xff\xff\x0fx", EBADMSG, "");     /* length beyond the end */
	assert_refused("\x80\x7d\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", EBADMSG, "");
}

/* The upper bits of a long key must not be read as another field than protobuf-c reads. */
static void a_key_written_long_is_the_same_field(void **state)
{
	assert_decodes("\x8a\x00\x01x");
	assert_refused("\x8a\x00\x01\xff", EILSEQ, "name");
	assert_refused("\x8a\x80\x80\x80\x00\x01\xff", EILSEQ, "name");
}

static void nest(struct buf *out, int depth)
{
	struct buf inner = { 0 };

	for (int i = 1; i < depth; i++) {
		struct buf outer = { 0 };

		buf_addc(&outer, 0x12);
		for (size_t n = inner.n; n >= 0x80 || (buf_addc(&outer, (char)n), false); n >>= 7)
			buf_addc(&outer, (char)(n | 0x80));
		buf_add(&outer, inner.p, inner.n);
		buf_free(&inner);
		inner = outer;
	}
	*out = inner;
}

static void messages_nest_so_deep_and_no_deeper(void **state)
{
	_cleanup_(buf_free) struct buf deep = { 0 }, deeper = { 0 };
	const char *where;

	nest(&deep, 32);
	nest(&deeper, 33);
	assert_int_equal(decode((struct str){ deep.p, deep.n }, &where), 0);
	assert_int_equal(decode((struct str){ deeper.p, deeper.n }, &where), -EBADMSG);
}

/* Two bytes of input make protobuf-c allocate a message of about a hundred. */
static void few_bytes_cannot_take_much_memory(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf flood = { 0 };
	ProtobufCMessage *message;

	for (size_t i = 0; i < (size_t)1 << 20; i++)
		buf_add_lit(&flood, "\x82\x97\x22\x00");
	assert_int_equal(pb_decode(TREE, (struct str){ flood.p, flood.n / 16 }, NULL, arena,
				   &message, NULL),
			 0);
	arena_reset(arena);
	assert_int_equal(pb_decode(TREE, (struct str){ flood.p, flood.n }, NULL, arena, &message,
				   NULL),
			 -E2BIG);
	assert_true(arena_used(arena) < 1024);
}

static void bounds_are_checked_before_anything_is_allocated(void **state)
{
	static const struct pb_bounds few = { .memory = 1000 }, brief = { .text = 2 };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf children = { 0 };
	ProtobufCMessage *message;

	for (size_t i = 0; i < 10; i++)
		buf_add_lit(&children, "\x82\x97\x22\x00"); /* each costs more than 88 bytes */
	assert_int_equal(
		pb_decode(TREE, (struct str){ children.p, 3 * 4 }, &few, arena, &message, NULL), 0);
	arena_reset(arena);
	assert_int_equal(pb_decode(TREE, (struct str){ children.p, children.n }, &few, arena,
				   &message, NULL),
			 -E2BIG);
	assert_int_equal(pb_decode(TREE, STR("\x0a\x02hi"), &brief, arena, &message, NULL), 0);
	arena_reset(arena);
	assert_int_equal(pb_decode(TREE, STR("\x0a\x03hey"), &brief, arena, &message, NULL),
			 -E2BIG);
	assert_int_equal(arena_used(arena), 0);
}

/* Lists { int32s: 7, 8; strings: "a"; scalars: { a_int32: 1 }, { a_int32: 2 } }, in mixed order. */
static void a_list_can_be_read_in_pieces(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct pb_pieces pieces = { .type = &pbtest__lists__descriptor,
				    .bytes = STR("\x0a\x01\x07\x52\x02\x08\x01\x42\x01"
						 "a\x52\x02\x08\x02\x0a\x01\x08") };
	const ProtobufCFieldDescriptor *field;
	ProtobufCMessage *one;
	const Pbtest__Lists *rest;

	for (int i = 1; i <= 2; i++) {
		assert_int_equal(pb_pieces_next(&pieces, arena, &field, &one), 1);
		assert_string_equal(field->name, "scalars");
		assert_int_equal(((const Pbtest__Scalars *)one)->a_int32, i);
	}
	assert_int_equal(pb_pieces_next(&pieces, arena, &field, &one), 0);
	assert_int_equal(pb_pieces_others(&pieces, arena, &one), 0);
	rest = (const Pbtest__Lists *)one;
	assert_int_equal(rest->n_int32s, 2);
	assert_int_equal(rest->int32s[1], 8);
	assert_string_equal(rest->strings[0], "a");
	assert_int_equal(rest->n_scalars, 0);
	pb_pieces_free(&pieces);
}

static void a_piece_that_is_none_is_refused(void **state)
{
	static const struct {
		struct str bytes;
		int result;
	} cases[] = {
		{ STR("\x52\x05\x08\x01"), -EBADMSG },	  /* length beyond the end */
		{ STR("\x52\x02\x08\x80"), -EBADMSG },	  /* invalid inside */
		{ STR("\x52\x03\x7a\x01\xff"), -EILSEQ }, /* a_string */
		{ STR("\x0b"), -EBADMSG },
	};
	_cleanup_(arena_freep) struct arena *arena = arena_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pb_pieces pieces = {
			&pbtest__lists__descriptor, cases[i].bytes, { 0 }, NULL
		};
		const ProtobufCFieldDescriptor *field;
		ProtobufCMessage *one;

		assert_int_equal(pb_pieces_next(&pieces, arena, &field, &one), cases[i].result);
		pb_pieces_free(&pieces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_bytes_are_an_empty_message),
		cmocka_unit_test(fields_come_out_as_they_went_in),
		cmocka_unit_test(a_string_must_be_utf8),
		cmocka_unit_test(a_string_must_not_have_a_nul),
		cmocka_unit_test(the_place_of_a_bad_string_is_named),
		cmocka_unit_test(bytes_may_be_anything),
		cmocka_unit_test(unknown_fields_are_let_through),
		cmocka_unit_test(what_is_cut_short_is_refused),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(a_key_written_long_is_the_same_field),
		cmocka_unit_test(messages_nest_so_deep_and_no_deeper),
		cmocka_unit_test(few_bytes_cannot_take_much_memory),
		cmocka_unit_test(bounds_are_checked_before_anything_is_allocated),
		cmocka_unit_test(a_list_can_be_read_in_pieces),
		cmocka_unit_test(a_piece_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
