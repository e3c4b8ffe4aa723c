/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/pb/pb.h"
#include "lib/pb/pb_test.pb-c.h"

static void a_message_is_appended(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	Pbtest__Tree tree;
	char name[] = "hi";

	pbtest__tree__init(&tree);
	tree.name = name;
	buf_adds(&out, "before");
	pb_encode(&tree.base, &out);
	assert_int_equal(out.n, 10);
	assert_memory_equal(out.p, "before\x0a\x02hi", 10);
}

static void an_empty_message_is_no_bytes(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	Pbtest__Tree tree;

	pbtest__tree__init(&tree);
	pb_encode(&tree.base, &out);
	assert_int_equal(out.n, 0);
	tree.name = NULL;
	pb_encode(&tree.base, &out);
	assert_int_equal(out.n, 0);
}

/* Invalid strings are repaired everywhere: nested, repeated, in a map, in a oneof. */
static void broken_text_is_mended_on_its_way_out(void **state)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf out = { 0 };
	char good[] = "gr\xc3\xbcn", bad[] = "gr\xfcn", *strings[] = { good, bad };
	Pbtest__Tree tree, left;
	Pbtest__Lists lists;
	Pbtest__Maps maps;
	Pbtest__Maps__ByNameEntry entry, *entries[] = { &entry };
	Pbtest__Choice choice;
	ProtobufCMessage *message;
	const Pbtest__Tree *back;

	pbtest__tree__init(&tree);
	pbtest__tree__init(&left);
	pbtest__lists__init(&lists);
	pbtest__maps__init(&maps);
	pbtest__maps__by_name_entry__init(&entry);
	pbtest__choice__init(&choice);
	tree.left = &left;
	tree.lists = &lists;
	tree.maps = &maps;
	left.name = good;
	left.choice = &choice;
	lists.n_strings = 2;
	lists.strings = strings;
	maps.n_by_name = 1;
	maps.by_name = entries;
	entry.key = good;
	entry.value = bad;
	choice.which_case = PBTEST__CHOICE__WHICH_TEXT;
	choice.text = bad;

	pb_encode(&tree.base, &out);
	assert_int_equal(pb_decode(tree.base.descriptor, (struct str){ out.p, out.n }, NULL, arena,
				   &message, NULL),
			 0);
	back = (const Pbtest__Tree *)message;
	assert_string_equal(back->left->name, "gr\xc3\xbcn");
	assert_string_equal(back->left->choice->text, "gr" UTF8_REPLACEMENT "n");
	assert_string_equal(back->lists->strings[0], "gr\xc3\xbcn");
	assert_string_equal(back->lists->strings[1], "gr" UTF8_REPLACEMENT "n");
	assert_string_equal(back->maps->by_name[0]->value, "gr" UTF8_REPLACEMENT "n");
	assert_string_equal(bad, "gr\xfcn");
	assert_ptr_equal(choice.text, bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_appended),
		cmocka_unit_test(an_empty_message_is_no_bytes),
		cmocka_unit_test(broken_text_is_mended_on_its_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
