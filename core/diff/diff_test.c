/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VIPs are written as "10.0.0.1=100 10.0.0.2=0! 10.0.0.3=0~": ! is flush (wanted, or done where
 * observed), ~ is hold. Operations are compared as they print, one a line.
 */
#include "core/diff/diff.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define VIP "198.51.100.10:80/tcp"

static struct addr ip(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

static struct lb_vip_key www(void)
{
	return (struct lb_vip_key){ ip("198.51.100.10"), IPPROTO_TCP, 80 };
}

/* "10.0.0.1=100!" */
static void put_as(struct lb_vip *v, struct str word)
{
	char text[64], *equals;
	struct lb_as *as;
	struct addr a;

	assert_true(word.n < sizeof(text));
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	equals = strchr(text, '=');
	*equals = '\0';
	a = ip(text);
	as = lb_vip_put_as(v, &a);
	as->weight = (uint8_t)strtoul(equals + 1, NULL, 10);
	as->flush = strchr(equals + 1, '!') != NULL;
	as->hold = strchr(equals + 1, '~') != NULL;
}

static struct lb_vip vip(const char *text)
{
	struct lb_vip v = { .key = www() };
	struct str rest = str_of(text), word;

	while (str_cut(&rest, ' ', &word))
		if (word.n)
			put_as(&v, word);
	return v;
}

static void print_ops(const struct lb_ops *ops, struct buf *out)
{
	for (size_t i = 0; i < ops->list.n; i++) {
		lb_op_print(&ops->list.items[i], out);
		buf_addc(out, '\n');
	}
}

static void free_ops(struct lb_ops *ops)
{
	vec_free(&ops->list);
}

static void assert_ops(const char *want_text, const char *have_text, const char *expected)
{
	_cleanup_(lb_vip_free) struct lb_vip want = vip(want_text);
	_cleanup_(lb_vip_free) struct lb_vip have = vip(have_text);
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	diff_vip(&want, &have, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

static void what_is_as_wanted_needs_nothing(void **state)
{
	assert_ops("10.0.0.1=100 10.0.0.2=0", "10.0.0.1=100 10.0.0.2=0", "");
	assert_ops("", "", "");
}

/* NFR-2.1 */
static void a_missing_vip_is_made_with_its_servers_in_numeric_order(void **state)
{
	_cleanup_(lb_vip_free) struct lb_vip want = vip("10.0.0.20=5 10.0.0.3=100 10.0.0.9=0");
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	want.src_ip_sticky = true;
	diff_vip(&want, NULL, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out), "vip-add " VIP " gre4 src-ip-sticky\n"
					    "as-add " VIP " 10.0.0.3 100\n"
					    "as-add " VIP " 10.0.0.9 0\n"
					    "as-add " VIP " 10.0.0.20 5\n");
}

/* a failover never passes through a state in which all weights are zero */
static void raises_come_before_lowers(void **state)
{
	assert_ops("10.0.0.1=0! 10.0.0.2=100", "10.0.0.1=100 10.0.0.2=0",
		   "as-weight " VIP " 10.0.0.2 0->100\n"
		   "as-weight " VIP " 10.0.0.1 100->0 flush\n");
}

/* the new address is added before the old one is removed, with flush */
static void a_server_that_moved_is_added_before_it_is_removed(void **state)
{
	assert_ops("10.0.0.9=100", "10.0.0.1=100",
		   "as-add " VIP " 10.0.0.9 100\n"
		   "as-del " VIP " 10.0.0.1 100 flush\n");
}

static void both_passes_run_in_numeric_order(void **state)
{
	assert_ops("10.0.0.1=1 10.0.0.3=30 10.0.0.5=5 10.0.0.7=0",
		   "10.0.0.2=2 10.0.0.3=3 10.0.0.4=4 10.0.0.5=50 10.0.0.7=7",
		   "as-add " VIP " 10.0.0.1 1\n"
		   "as-weight " VIP " 10.0.0.3 3->30\n"
		   "as-del " VIP " 10.0.0.2 2 flush\n"
		   "as-del " VIP " 10.0.0.4 4 flush\n"
		   "as-weight " VIP " 10.0.0.5 50->5\n"
		   "as-weight " VIP " 10.0.0.7 7->0\n");
}

/* FR-4.3: a graceful drain by default */
static void a_drain_does_not_flush(void **state)
{
	assert_ops("10.0.0.1=0", "10.0.0.1=100", "as-weight " VIP " 10.0.0.1 100->0\n");
}

/* a standby that is disabled has weight 0 already and still needs its flush */
static void a_wanted_flush_is_sent_even_at_weight_zero(void **state)
{
	assert_ops("10.0.0.1=0!", "10.0.0.1=0", "as-weight " VIP " 10.0.0.1 0->0 flush\n");
}

/* only once, so that the periodic sync has nothing to do */
static void a_flush_that_was_done_is_not_sent_again(void **state)
{
	assert_ops("10.0.0.1=0!", "10.0.0.1=0!", "");
	assert_ops("10.0.0.1=0", "10.0.0.1=0!", "");
}

static void a_server_added_with_a_wanted_flush_gets_it(void **state)
{
	assert_ops("10.0.0.1=0!", "",
		   "as-add " VIP " 10.0.0.1 0\n"
		   "as-weight " VIP " 10.0.0.1 0->0 flush\n");
}

/* the operator's flush beside a weight is sent whatever the weight does */
static void a_flush_for_once_goes_with_any_weight(void **state)
{
	assert_ops("10.0.0.1=50!", "10.0.0.1=50", "as-weight " VIP " 10.0.0.1 50->50 flush\n");
	assert_ops("10.0.0.1=60!", "10.0.0.1=50", "as-weight " VIP " 10.0.0.1 50->60 flush\n");
	assert_ops("10.0.0.1=40!", "10.0.0.1=50", "as-weight " VIP " 10.0.0.1 50->40 flush\n");
}

/* all-down guard: no lowering, and no flush but the operator's */
static void what_is_held_keeps_its_weight(void **state)
{
	assert_ops("10.0.0.1=0~ 10.0.0.2=0~ 10.0.0.3=0~", "10.0.0.1=100 10.0.0.2=0 10.0.0.3=0!",
		   "");
	assert_ops("10.0.0.1=0!~", "10.0.0.1=100", "as-weight " VIP " 10.0.0.1 100->100 flush\n");
}

static void what_is_held_and_absent_is_added_at_zero(void **state)
{
	assert_ops("10.0.0.1=0~", "", "as-add " VIP " 10.0.0.1 0\n");
}

static void another_encapsulation_tears_the_vip_down_and_makes_it_again(void **state)
{
	_cleanup_(lb_vip_free) struct lb_vip want = vip("2001:db8::1=9");
	_cleanup_(lb_vip_free) struct lb_vip have = vip("10.0.0.1=5 10.0.0.2=6");
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	want.encap = LB_ENCAP_GRE6;
	diff_vip(&want, &have, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out), "as-del " VIP " 10.0.0.1 5 flush\n"
					    "as-del " VIP " 10.0.0.2 6 flush\n"
					    "vip-del " VIP "\n"
					    "vip-add " VIP " gre6\n"
					    "as-add " VIP " 2001:db8::1 9\n");
}

/* the table length is fixed when a VIP is created, and a dump may not contain it */
static void another_length_of_table_makes_a_vip_again(void **state)
{
	_cleanup_(lb_vip_free) struct lb_vip want = vip("10.0.0.1=5"), have = vip("10.0.0.1=5");
	_cleanup_(free_ops) struct lb_ops ops = { 0 };

	want.table_length = 16384;
	have.table_length = 0;
	diff_vip(&want, &have, &ops);
	assert_int_equal(ops.list.n, 0);
	have.table_length = 16384;
	diff_vip(&want, &have, &ops);
	assert_int_equal(ops.list.n, 0);
	have.table_length = 1024;
	diff_vip(&want, &have, &ops);
	assert_int_equal(ops.list.n, 4);
	assert_int_equal(ops.list.items[1].kind, LB_OP_VIP_DEL);
	assert_int_equal(ops.list.items[2].kind, LB_OP_VIP_ADD);
	assert_int_equal(ops.list.items[2].table_length, 16384);
}

static void a_vip_of_another_kind_is_made_again(void **state)
{
	_cleanup_(lb_vip_free) struct lb_vip want = vip("10.0.0.1=5"), have = vip("");
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	have.encap = LB_ENCAP_OTHER;
	diff_vip(&want, &have, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out), "vip-del " VIP "\n"
					    "vip-add " VIP " gre4\n"
					    "as-add " VIP " 10.0.0.1 5\n");
}

static void a_rebuilt_vip_keeps_the_weights_that_are_held(void **state)
{
	_cleanup_(lb_vip_free) struct lb_vip want = vip("10.0.0.1=0~ 10.0.0.2=0! 10.0.0.3=0~");
	_cleanup_(lb_vip_free) struct lb_vip have = vip("10.0.0.1=77 10.0.0.2=10");
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	have.src_ip_sticky = true;
	diff_vip(&want, &have, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out), "as-del " VIP " 10.0.0.1 77 flush\n"
					    "as-del " VIP " 10.0.0.2 10 flush\n"
					    "vip-del " VIP "\n"
					    "vip-add " VIP " gre4\n"
					    "as-add " VIP " 10.0.0.1 77\n"
					    "as-add " VIP " 10.0.0.2 0\n"
					    "as-add " VIP " 10.0.0.3 0\n"
					    "as-weight " VIP " 10.0.0.2 0->0 flush\n");
}

/* deleting only the VIP would leave its flows */
static void a_vip_is_removed_after_its_servers(void **state)
{
	_cleanup_(lb_vip_free) struct lb_vip have = vip("10.0.0.1=5 10.0.0.2=0!");
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	diff_remove_vip(&have, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out), "as-del " VIP " 10.0.0.1 5 flush\n"
					    "as-del " VIP " 10.0.0.2 0 flush\n"
					    "vip-del " VIP "\n");
}

/* the configuration is sent only if it differs */
static void the_configuration_is_set_once(void **state)
{
	struct lb_conf want = { ip("192.0.2.1"), ip("2001:db8::1"), 1024, 40 };
	struct lb_state have = { 0 };
	_cleanup_(free_ops) struct lb_ops ops = { 0 };
	_cleanup_(buf_free) struct buf out = { 0 };

	diff_conf(&want, &have, &ops);
	print_ops(&ops, &out);
	assert_string_equal(buf_cstr(&out),
			    "conf 192.0.2.1 2001:db8::1 buckets 1024 timeout 40s\n");
	assert_true(lb_state_apply(&have, &ops.list.items[0]));
	diff_conf(&want, &have, &ops);
	assert_int_equal(ops.list.n, 1);
	want.flow_timeout_s = 41;
	diff_conf(&want, &have, &ops);
	assert_int_equal(ops.list.n, 2);
}

static bool apply_as(struct lb_state *s, enum lb_op_kind kind, uint8_t weight, bool flush)
{
	struct lb_op op = { .kind = kind, .vip = www(), .as = ip("10.0.0.1") };

	op.weight = weight;
	op.flush = flush;
	return lb_state_apply(s, &op);
}

static void an_operation_that_does_not_fit_changes_nothing(void **state)
{
	_cleanup_(lb_state_free) struct lb_state s = { 0 };
	struct lb_op add = { .kind = LB_OP_VIP_ADD, .vip = www() };
	struct lb_op del = { .kind = LB_OP_VIP_DEL, .vip = www() };

	assert_false(lb_state_apply(&s, &del));
	assert_false(apply_as(&s, LB_OP_AS_ADD, 1, false));
	assert_false(apply_as(&s, LB_OP_AS_WEIGHT, 1, false));
	assert_false(apply_as(&s, LB_OP_AS_DEL, 0, true));
	assert_int_equal(s.vips.n, 0);
	assert_true(lb_state_apply(&s, &add));
	assert_false(lb_state_apply(&s, &add));
	assert_false(apply_as(&s, LB_OP_AS_DEL, 0, true));
	assert_false(apply_as(&s, LB_OP_AS_WEIGHT, 1, true));
	assert_true(apply_as(&s, LB_OP_AS_ADD, 1, false));
	assert_false(apply_as(&s, LB_OP_AS_ADD, 2, false));
	assert_int_equal(s.vips.items[0].as.items[0].weight, 1);
	assert_false(lb_state_apply(&s, &del));
	assert_true(apply_as(&s, LB_OP_AS_DEL, 0, true));
	assert_true(lb_state_apply(&s, &del));
}

static void a_flush_is_remembered_until_flows_may_come_again(void **state)
{
	_cleanup_(lb_state_free) struct lb_state s = { 0 };
	struct lb_op add = { .kind = LB_OP_VIP_ADD, .vip = www() };
	const struct lb_as *as;

	lb_state_apply(&s, &add);
	apply_as(&s, LB_OP_AS_ADD, 0, false);
	as = &s.vips.items[0].as.items[0];
	assert_false(as->flush);
	apply_as(&s, LB_OP_AS_WEIGHT, 0, true);
	assert_true(as->flush);
	apply_as(&s, LB_OP_AS_WEIGHT, 10, false);
	assert_false(as->flush);
	apply_as(&s, LB_OP_AS_WEIGHT, 5, true); /* flows keep coming at weight 5 */
	assert_false(as->flush);
	apply_as(&s, LB_OP_AS_WEIGHT, 0, true);
	apply_as(&s, LB_OP_AS_DEL, 0, true);
	apply_as(&s, LB_OP_AS_ADD, 0, false);
	assert_false(s.vips.items[0].as.items[0].flush);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_as_wanted_needs_nothing),
		cmocka_unit_test(a_missing_vip_is_made_with_its_servers_in_numeric_order),
		cmocka_unit_test(raises_come_before_lowers),
		cmocka_unit_test(a_server_that_moved_is_added_before_it_is_removed),
		cmocka_unit_test(both_passes_run_in_numeric_order),
		cmocka_unit_test(a_drain_does_not_flush),
		cmocka_unit_test(a_wanted_flush_is_sent_even_at_weight_zero),
		cmocka_unit_test(a_flush_that_was_done_is_not_sent_again),
		cmocka_unit_test(a_server_added_with_a_wanted_flush_gets_it),
		cmocka_unit_test(a_flush_for_once_goes_with_any_weight),
		cmocka_unit_test(what_is_held_keeps_its_weight),
		cmocka_unit_test(what_is_held_and_absent_is_added_at_zero),
		cmocka_unit_test(another_encapsulation_tears_the_vip_down_and_makes_it_again),
		cmocka_unit_test(another_length_of_table_makes_a_vip_again),
		cmocka_unit_test(a_vip_of_another_kind_is_made_again),
		cmocka_unit_test(a_rebuilt_vip_keeps_the_weights_that_are_held),
		cmocka_unit_test(a_vip_is_removed_after_its_servers),
		cmocka_unit_test(the_configuration_is_set_once),
		cmocka_unit_test(an_operation_that_does_not_fit_changes_nothing),
		cmocka_unit_test(a_flush_is_remembered_until_flows_may_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
