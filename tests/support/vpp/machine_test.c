/* SPDX-License-Identifier: Apache-2.0 */
/* Messages beyond the recorded ones: what VPP ignores, what it gets wrong, and other VPPs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/support/vpp/machine.h"

#define OWN 0x80000001

static struct machine m;
static struct buf got; /* the replies, one after the other */
static uint32_t went_to;
static unsigned replies;

static int set_up(void **state)
{
	machine_init(&m, PERSONALITY_NEW, 1);
	return 0;
}

static int tear_down(void **state)
{
	machine_free(&m);
	buf_free(&got);
	return 0;
}

static void become(enum personality who)
{
	machine_free(&m);
	machine_init(&m, who, 1);
}

static void on_reply(void *user, uint32_t to, struct str message)
{
	went_to = to;
	replies++;
	buf_add(&got, message.p, message.n);
}

static void put(struct buf *b, uint64_t v, unsigned n)
{
	while (n--)
		buf_addc(b, (char)(v >> 8 * n));
}

/* Sends a message; returns its kind. The answer is in got and replies. */
static enum msg ask_bytes(struct buf *b)
{
	struct machine_request request = { .bytes = { b->p, b->n },
					   .own_index = OWN,
					   .reply = on_reply };
	enum msg kind;

	buf_free(&got);
	replies = 0;
	kind = machine_handle(&m, &request);
	buf_free(b);
	return kind;
}

static struct buf header(enum msg kind)
{
	struct buf b = { 0 };

	put(&b, m.table.ids[kind], 2);
	put(&b, OWN, 4);
	put(&b, 0xc0ffee, 4);
	return b;
}

static enum msg ask(enum msg kind)
{
	struct buf b = header(kind);

	return ask_bytes(&b);
}

/* 192.0.2.1/32 TCP 80 */
static void put_vip(struct buf *b)
{
	put(b, 0, 1);
	put(b, 0xc0000201, 4);
	put(b, 0, 8);
	put(b, 0, 4);
	put(b, 32, 1);
	put(b, 6, 1);
	put(b, 80, 2);
}

static int retval(void)
{
	const uint8_t *p = (const uint8_t *)got.p + 6;

	assert_true(got.n >= 10);
	return (int)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

static struct buf vip_message(uint32_t encap, uint8_t dscp, uint32_t type, uint16_t target_port)
{
	struct buf b = header(MSG_LB_ADD_DEL_VIP_V2);

	put_vip(&b);
	put(&b, encap, 4);
	put(&b, dscp, 1);
	put(&b, type, 4);
	put(&b, target_port, 2);
	put(&b, 0, 2);
	put(&b, 65536, 4);
	put(&b, 0, 2);
	return b;
}

static int add_vip(uint32_t encap, uint8_t dscp, uint32_t type, uint16_t target_port)
{
	struct buf b = vip_message(encap, dscp, type, target_port);

	ask_bytes(&b);
	return retval();
}

static void dump_vips(void)
{
	struct buf b = header(MSG_LB_VIP_DUMP);

	for (unsigned i = 0; i < 23; i++)
		put(&b, 0xee, 1); /* junk makes no difference */
	ask_bytes(&b);
}

/* ---- messages that VPP does not answer ---- */

static void an_unknown_message_is_not_answered(void **state)
{
	struct buf b = { 0 };

	put(&b, 5000, 2);
	put(&b, 0, 8);
	assert_int_equal(ask_bytes(&b), MSG_KNOWN);
	assert_int_equal(replies, 0);
}

static void a_truncated_message_is_not_answered_and_a_longer_one_is(void **state)
{
	struct buf b = header(MSG_CONTROL_PING);

	b.n--;
	assert_int_equal(ask_bytes(&b), MSG_KNOWN);
	assert_int_equal(replies, 0);
	b = header(MSG_CONTROL_PING);
	put(&b, 0, 7);
	assert_int_equal(ask_bytes(&b), MSG_CONTROL_PING);
	assert_int_equal(replies, 1);
}

static void the_reply_goes_to_whom_the_request_names_and_is_carried_out(void **state)
{
	struct buf b = vip_message(PLUGIN_GRE4, 0, 0, 0);

	b.p[5] = 7;
	ask_bytes(&b);
	assert_int_equal(went_to, 0x80000007);
	assert_int_equal(m.plugin.vip_pool.n, 2);
}

static void a_dump_of_nothing_is_no_reply_at_all(void **state)
{
	dump_vips();
	assert_int_equal(replies, 0);
}

static void api_versions_are_none(void **state)
{
	ask(MSG_API_VERSIONS);
	assert_int_equal(got.n, 14);
	assert_int_equal(retval(), 0);
}

static void an_unknown_interface_is_refused(void **state)
{
	struct buf b = header(MSG_LB_ADD_DEL_INTF_NAT4);

	put(&b, 1, 1);
	put(&b, 9, 4);
	ask_bytes(&b);
	assert_int_equal(retval(), -2);
}

/* ---- bugs of VPP ---- */

static void a_table_of_65536_shows_as_none(void **state)
{
	assert_int_equal(add_vip(PLUGIN_GRE4, 0, 0, 0), 0);
	dump_vips();
	assert_int_equal(got.n, 40);
	assert_int_equal(got.p[38], 0);
	assert_int_equal(got.p[39], 0);
}

static void dscp_is_masked_and_stays_behind_in_the_next_tenant(void **state)
{
	struct plugin_key key = { .plen = 128, .protocol = 6, .port = 80 };

	memcpy(key.prefix.b + 12, "\xc0\x00\x02\x01", 4);
	assert_int_equal(add_vip(PLUGIN_L3DSR, 70, 0, 0), 0);
	dump_vips();
	assert_int_equal(got.p[31], 6);
	assert_int_equal(plugin_vip_del(&m.plugin, 0, &key), 0);
	machine_advance(&m, 120);
	assert_int_equal(add_vip(PLUGIN_GRE4, 0, 0, 0), 0);
	dump_vips();
	assert_int_equal(got.p[31], 6);
}

static void a_service_type_loses_its_value_and_the_target_port_its_order(void **state)
{
	assert_int_equal(add_vip(PLUGIN_NAT4, 0, 1, 8080), 0);
	assert_int_equal(m.plugin.vips.items[1].dscp_or_srv_type, 0);
	dump_vips();
	assert_int_equal((uint8_t)got.p[36], 0x90);
	assert_int_equal((uint8_t)got.p[37], 0x1f);
}

static void an_ordinary_ipv4_filter_matches_nothing(void **state)
{
	struct plugin_as_args as = { .vip = { .plen = 128, .protocol = 6, .port = 80 },
				     .weight = 1 };
	struct buf b;

	memcpy(as.vip.prefix.b + 12, "\xc0\x00\x02\x01", 4);
	as.address.b[15] = 1;
	assert_int_equal(add_vip(PLUGIN_GRE4, 0, 0, 0), 0);
	assert_int_equal(plugin_as_add(&m.plugin, 0, &as), 0);
	b = header(MSG_LB_AS_V2_DUMP);
	put_vip(&b);
	ask_bytes(&b);
	assert_int_equal(replies, 0);
	b = header(MSG_LB_AS_V2_DUMP);
	for (unsigned i = 0; i < 21; i++)
		put(&b, 0, 1);
	ask_bytes(&b);
	assert_int_equal(replies, 1);
}

static void removed_vips_are_collected_by_the_timer_of_every_minute(void **state)
{
	struct plugin_key key = { .plen = 128, .protocol = 6, .port = 80 };

	memcpy(key.prefix.b + 12, "\xc0\x00\x02\x01", 4);
	assert_int_equal(add_vip(PLUGIN_GRE4, 0, 0, 0), 0);
	assert_int_equal(plugin_vip_del(&m.plugin, 0, &key), 0);
	dump_vips();
	assert_int_equal(replies, 0); /* not listed, though still there */
	machine_advance(&m, 59);
	assert_int_equal(m.plugin.vip_pool.n, 2);
	machine_advance(&m, 60);
	assert_int_equal(m.plugin.vip_pool.n, 1);
}

/* ---- other versions of VPP ---- */

static bool has_name(const char *name)
{
	for (size_t i = 0; i < m.table.entries.n; i++)
		if (strcmp(m.table.entries.items[i].name, name) == 0)
			return true;
	return false;
}

static void every_number_of_the_table_is_there_once(void **state)
{
	bool seen[1000] = { false };

	for (size_t i = 0; i < m.table.entries.n; i++) {
		assert_false(seen[m.table.entries.items[i].id]);
		seen[m.table.entries.items[i].id] = true;
	}
	assert_int_equal(m.table.entries.n, 865);
}

static void without_the_plugin_its_names_are_gone_and_numbers_move(void **state)
{
	become(PERSONALITY_NO_PLUGIN);
	for (size_t i = 0; i < m.table.entries.n; i++)
		assert_int_not_equal(strncmp(m.table.entries.items[i].name, "lb_", 3), 0);
	assert_int_equal(m.table.ids[MSG_SHOW_VERSION], 822);
	assert_int_equal(m.table.ids[MSG_CONTROL_PING], 23);
}

static void an_old_vpp_lacks_the_weights_and_nothing_else(void **state)
{
	become(PERSONALITY_OLD);
	assert_true(has_name("lb_add_del_vip_v2_7c520e0f"));
	assert_false(has_name("lb_as_set_weight_2d89bdbd"));
	assert_false(has_name("lb_conf_get_51077d14"));
	assert_false(has_name("lb_add_del_as_v2_2f1d3b0e"));
	assert_false(has_name("lb_as_v2_dump_1063f819"));
	assert_int_equal(m.table.entries.n, 865 - 8);
}

static void an_old_vpp_makes_a_hijacking_vip_of_an_honest_request(void **state)
{
	char text[IP46_STRLEN];

	become(PERSONALITY_OLD);
	assert_int_equal(add_vip(PLUGIN_GRE4, 0, 0, 0), 0);
	assert_string_equal(ip46_format_prefix(&m.plugin.vips.items[1].key.prefix,
					       m.plugin.vips.items[1].key.plen, text),
			    "::/32");
	assert_int_equal(add_vip(PLUGIN_GRE4, 0, 0, 0), PLUGIN_VALUE_EXIST);
}

/* The prefix length plus 96, the encapsulation in host order. */
static void an_old_vpp_has_its_own_encoding_and_lists_what_it_deleted(void **state)
{
	struct buf b;

	become(PERSONALITY_OLD);
	b = vip_message(0x01000000, 0, 0, 0);
	b.p[27] = (char)128;
	ask_bytes(&b);
	assert_int_equal(retval(), 0);
	assert_int_equal(m.plugin.vips.items[1].type, PLUGIN_IP4_GRE6);
	for (unsigned deleted = 0; deleted < 2; deleted++) {
		dump_vips();
		assert_int_equal(replies, 1);
		assert_int_equal((uint8_t)got.p[23], 128);
		assert_int_equal(got.p[24], 0); /* protocol */
		assert_int_equal(got.p[30], PLUGIN_IP4_GRE6);
		assert_int_equal(got.p[38] | got.p[39], 0);
		plugin_vip_del(&m.plugin, 0, &m.plugin.vips.items[1].key);
	}
	machine_advance(&m, 1000);
	assert_int_equal(m.plugin.vip_pool.n, 2);
}

static void another_crc_has_the_same_name(void **state)
{
	become(PERSONALITY_OTHER_CRC);
	assert_false(has_name("lb_as_set_weight_2d89bdbd"));
	assert_true(has_name("lb_as_set_weight_2c72979e"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_unknown_message_is_not_answered),
		CASE(a_truncated_message_is_not_answered_and_a_longer_one_is),
		CASE(the_reply_goes_to_whom_the_request_names_and_is_carried_out),
		CASE(a_dump_of_nothing_is_no_reply_at_all),
		CASE(api_versions_are_none),
		CASE(an_unknown_interface_is_refused),
		CASE(a_table_of_65536_shows_as_none),
		CASE(dscp_is_masked_and_stays_behind_in_the_next_tenant),
		CASE(a_service_type_loses_its_value_and_the_target_port_its_order),
		CASE(an_ordinary_ipv4_filter_matches_nothing),
		CASE(removed_vips_are_collected_by_the_timer_of_every_minute),
		CASE(every_number_of_the_table_is_there_once),
		CASE(without_the_plugin_its_names_are_gone_and_numbers_move),
		CASE(an_old_vpp_lacks_the_weights_and_nothing_else),
		CASE(an_old_vpp_makes_a_hijacking_vip_of_an_honest_request),
		CASE(an_old_vpp_has_its_own_encoding_and_lists_what_it_deleted),
		CASE(another_crc_has_the_same_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
