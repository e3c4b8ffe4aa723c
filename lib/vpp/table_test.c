/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/vpp/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* As VPP sends them: unsorted. */
static struct vpp_table read_table(void)
{
	static const struct vpp_table_entry known[] = {
		{ "lb_as_set_weight_reply_e8d4e804", 102 },
		{ "control_ping_51077d14", 23 },
		{ "lb_as_set_weight_2d89bdbd", 101 },
		{ "lb_as_dump_1063f819", 107 },
	};
	struct vpp_table t = { 0 };
	struct buf b = { 0 };
	struct vpp_reader r;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		vpp_put_u16(&b, known[i].id);
		vpp_put_name(&b, known[i].name, VPP_NAME_SIZE);
	}
	r = vpp_reader_of(b.p, b.n);
	assert_true(vpp_table_read(&t, &r, ARRAY_SIZE(known)));
	assert_int_equal(r.n, 0);
	buf_free(&b);
	return t;
}

static void a_message_is_found_by_its_whole_name(void **state)
{
	struct vpp_table t = read_table();
	uint16_t id = 7;

	assert_int_equal(vpp_table_find(&t, "lb_as_set_weight_2d89bdbd", &id), 0);
	assert_int_equal(id, 101);
	assert_int_equal(vpp_table_find(&t, "control_ping_51077d14", &id), 0);
	assert_int_equal(id, 23);
	assert_int_equal(vpp_table_find(&t, "control_ping", &id), -ENOENT);
	assert_int_equal(vpp_table_find(&t, "control_ping_51077d15", &id), -ENOENT);
	assert_int_equal(vpp_table_find(&t, "zzz", &id), -ENOENT);
	assert_int_equal(id, 23);
	vpp_table_free(&t);
}

/* A reply's name begins with that of its request, but it is another message. */
static void another_checksum_is_told_from_another_message(void **state)
{
	struct vpp_table t = read_table();

	assert_string_equal(vpp_table_like(&t, "lb_as_set_weight"), "lb_as_set_weight_2d89bdbd");
	assert_string_equal(vpp_table_like(&t, "lb_as_dump"), "lb_as_dump_1063f819");
	assert_null(vpp_table_like(&t, "lb_as"));
	assert_null(vpp_table_like(&t, "lb_as_set"));
	assert_null(vpp_table_like(&t, "lb_conf"));
	vpp_table_free(&t);
}

static void a_plugin_is_known_by_its_prefix(void **state)
{
	struct vpp_table t = read_table(), none = { 0 };

	assert_true(vpp_table_has_prefix(&t, "lb_"));
	assert_false(vpp_table_has_prefix(&t, "nat_"));
	assert_false(vpp_table_has_prefix(&t, "z"));
	assert_false(vpp_table_has_prefix(&none, "lb_"));
	vpp_table_free(&t);
}

static void a_table_that_is_cut_is_refused(void **state)
{
	uint8_t bytes[2 * 66] = { 0 };
	struct vpp_table t = { 0 };
	struct vpp_reader r = vpp_reader_of(bytes, sizeof(bytes) - 1);

	assert_false(vpp_table_read(&t, &r, 2));
	r = vpp_reader_of(bytes, sizeof(bytes));
	assert_false(vpp_table_read(&t, &r, 65535));
	assert_null(t.entries);
}

static void a_name_without_end_is_cut(void **state)
{
	uint8_t bytes[66];
	struct vpp_table t = { 0 };
	struct vpp_reader r = vpp_reader_of(bytes, sizeof(bytes));

	memset(bytes, 'x', sizeof(bytes));
	assert_true(vpp_table_read(&t, &r, 1));
	assert_int_equal(strlen(t.entries[0].name), 63);
	vpp_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_found_by_its_whole_name),
		cmocka_unit_test(another_checksum_is_told_from_another_message),
		cmocka_unit_test(a_plugin_is_known_by_its_prefix),
		cmocka_unit_test(a_table_that_is_cut_is_refused),
		cmocka_unit_test(a_name_without_end_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
