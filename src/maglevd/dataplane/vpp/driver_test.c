/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "src/maglevd/dataplane/vpp/internal.h"
#include "src/maglevd/dataplane/vpp/testkit.h"
#include "src/maglevd/testing.h"

#define VIP "198.51.100.10"

static struct lb_vip_key www(void)
{
	return (struct lb_vip_key){ kit_addr(VIP), IPPROTO_TCP, 80 };
}

static struct lb_op op(enum lb_op_kind kind, const char *as, uint8_t old, uint8_t weight)
{
	return (struct lb_op){ .kind = kind,
			       .vip = www(),
			       .as = as ? kit_addr(as) : (struct addr){ 0 },
			       .old_weight = old,
			       .weight = weight,
			       .table_length = 16384 };
}

static const struct dataplane_messages *messages(struct kit *k, const char *name)
{
	const struct dataplane_info *info = dataplane_vpp.info(k->dp);

	for (size_t i = 0; i < info->n_messages; i++)
		if (strncmp(info->messages[i].name, name, strlen(name)) == 0)
			return &info->messages[i];
	fail_msg("no messages called %s", name);
	return NULL;
}

static const char *problem(struct kit *k)
{
	return dataplane_vpp.info(k->dp)->problem;
}

/* ---- connecting and disconnecting ---- */

static void a_vpp_with_weights_is_up_and_known(void **state)
{
	const struct dataplane_info *info;
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	info = dataplane_vpp.info(k.dp);
	assert_string_equal(info->problem, "");
	assert_string_equal(info->version, "26.10");
	assert_string_equal(info->build_date, "today");
	assert_string_equal(info->build_directory, "/build");
	assert_int_equal(info->pid, 4712);
	assert_int_equal(info->boot_time, 1700000000 * NSEC_PER_SEC);
	assert_true(info->connect_time > 0);
	assert_int_equal(kit_count(&k, "lb_conf "), 0); /* nothing is written without a request */
	kit_end(&k);
}

/* FR-4.4 */
static void a_vpp_that_comes_later_is_found(void **state)
{
	struct kit k;

	kit_begin(&k);
	kit_die(&k);
	kit_start(&k);
	while (!strstr(problem(&k), "connection refused"))
		ev_run(k.loop, EVRUN_ONCE);
	assert_int_equal(dataplane_vpp.info(k.dp)->connect_time, 0);
	kit_revive(&k);
	kit_wait(&k, &k.ups, 1);
	assert_int_equal(k.downs, 0);
	assert_string_equal(problem(&k), "");
	kit_end(&k);
}

static void a_vpp_that_dies_is_down_and_comes_back_empty(void **state)
{
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	kit_die(&k);
	kit_wait(&k, &k.downs, 1);
	assert_string_equal(k.why, "VPP closed the connection");
	assert_int_equal(dataplane_vpp.info(k.dp)->pid, 0);
	assert_string_equal(dataplane_vpp.info(k.dp)->version, "");
	kit_revive(&k);
	kit_wait(&k, &k.ups, 2);
	assert_int_equal(dataplane_vpp.info(k.dp)->pid, 4713);
	kit_end(&k);
}

/* both sockets or none */
static void without_the_stats_segment_it_is_not_up(void **state)
{
	struct kit k;
	int segment;

	kit_begin(&k);
	segment = k.segment;
	k.segment = -1;
	kit_start(&k);
	while (!strstr(problem(&k), "without sending its stats segment") || k.accepted < 3)
		ev_run(k.loop, EVRUN_ONCE);
	assert_int_equal(k.ups + k.downs, 0);
	k.segment = segment;
	kit_wait(&k, &k.ups, 1);
	kit_end(&k);
}

/* facts 10: an old VPP interprets the same bytes differently */
static void an_old_vpp_is_never_told_anything(void **state)
{
	static const struct {
		const char *missing, *problem;
	} rows[] = {
		{ "lb_", "the lb plugin is not loaded in VPP" },
		{ "lb_as_set_weight",
		  "VPP has no lb_as_set_weight: it is too old, 26.10 or newer is needed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kit k;

		kit_begin(&k);
		k.leave_out = rows[i].missing;
		kit_start(&k);
		while (!dataplane_vpp.info(k.dp)->connect_time)
			ev_run(k.loop, EVRUN_ONCE);
		assert_string_equal(problem(&k), rows[i].problem);
		assert_string_equal(dataplane_vpp.info(k.dp)->version, "26.10");
		assert_int_equal(dataplane_vpp.info(k.dp)->boot_time, 1700000000 * NSEC_PER_SEC);
		for (int turns = 0; turns < 20; turns++)
			ev_run(k.loop, EVRUN_NOWAIT);
		assert_string_equal(buf_cstr(&k.heard), "show_version control_ping ");
		assert_int_equal(k.ups, 0);
		assert_int_equal(k.problems, 1); /* reported once */

		k.leave_out = NULL; /* a newer one is installed */
		kit_die(&k);
		kit_revive(&k);
		kit_wait(&k, &k.ups, 1);
		assert_string_equal(problem(&k), "");
		kit_end(&k);
	}
}

/* two problems do not alternate in the log forever */
static void an_old_vpp_is_known_without_its_segment(void **state)
{
	const struct dataplane_info *info;
	struct kit k;

	kit_begin(&k);
	cleanup_fd(&k.segment);
	k.segment = -1;
	k.leave_out = "lb_";
	kit_start(&k);
	info = dataplane_vpp.info(k.dp);
	while (!info->connect_time)
		ev_run(k.loop, EVRUN_ONCE);
	assert_string_equal(info->problem, "the lb plugin is not loaded in VPP");
	assert_string_equal(info->version, "26.10");
	assert_int_equal(k.accepted, 1);
	assert_int_equal(k.ups, 0);
	kit_end(&k);
}

static void an_answer_that_never_comes_is_a_vpp_that_is_down(void **state)
{
	struct lb_op weight = op(LB_OP_AS_WEIGHT, "10.0.0.1", 100, 0);
	struct kit k;

	kit_begin(&k);
	k.timeout = 300 * NSEC_PER_MSEC;
	kit_start_up(&k);
	k.silent = "lb_as_set_weight";
	kit_apply(&k, &weight, 1);
	kit_wait(&k, &k.downs, 1);
	assert_string_equal(k.why, "VPP did not send lb_as_set_weight_reply_e8d4e804 within 300ms");
	assert_int_equal(k.applied, 0); /* its outcome is not known */
	assert_int_equal(messages(&k, "lb_as_set_weight_reply")->receive_failures, 1);
	k.silent = NULL;
	kit_wait(&k, &k.ups, 2);
	kit_apply(&k, &weight, 1);
	kit_wait(&k, &k.applied, 1);
	assert_int_equal(k.err, 0);
	kit_end(&k);
}

static void a_connection_cut_in_the_middle_of_an_answer_heals(void **state)
{
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	k.cut = "lb_conf_get";
	kit_observe(&k);
	kit_wait(&k, &k.downs, 1);
	assert_int_equal(k.observed, 0);
	kit_wait(&k, &k.ups, 2);
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.err, 0);
	kit_end(&k);
}

static void a_vpp_that_is_silent_at_first_is_tried_again(void **state)
{
	struct kit k;

	kit_begin(&k);
	k.timeout = 300 * NSEC_PER_MSEC;
	k.silent = "control_ping";
	kit_start(&k);
	while (k.accepted < 3)
		ev_run(k.loop, EVRUN_ONCE);
	assert_int_equal(k.ups, 0);
	k.silent = NULL;
	kit_wait(&k, &k.ups, 1);
	kit_end(&k);
}

static void stopping_at_any_time_is_the_end_of_it(void **state)
{
	struct lb_op weight = op(LB_OP_AS_WEIGHT, "10.0.0.1", 100, 0);

	for (int turns = 0; turns < 12; turns++) {
		struct kit k;

		kit_begin(&k);
		kit_start(&k);
		for (int i = 0; i < turns; i++)
			ev_run(k.loop, EVRUN_NOWAIT);
		if (k.ups && turns % 2)
			kit_apply(&k, &weight, 1);
		else if (k.ups)
			kit_observe(&k);
		dataplane_vpp.stop(TAKE_PTR(k.dp));
		for (int i = 0; i < 10; i++)
			ev_run(k.loop, EVRUN_NOWAIT);
		assert_int_equal(k.observed + k.applied + k.downs, 0);
		kit_end(&k);
	}
}

/* ---- reading back ---- */

static void what_is_programmed_is_read_back(void **state)
{
	const struct lb_vip_key key = www();
	const struct lb_vip *vip;
	struct kit k;

	kit_begin(&k);
	kit_put_vip(&k, VIP, 80, 32, 0);
	kit_put_vip(&k, "2001:db8::1", 0, 128, 1);
	kit_put_as(&k, VIP, 80, "10.0.0.2", 50, true);
	kit_put_as(&k, VIP, 80, "10.0.0.1", 100, true);
	kit_put_as(&k, VIP, 80, "10.0.0.3", 100, false);       /* waits for garbage collection */
	kit_put_as(&k, "192.0.2.99", 80, "10.0.0.3", 1, true); /* of a VIP that does not exist */
	k.text = " ip4-gre4 [1] " VIP "/32 src_ip_sticky\n  protocol:6 port:80\n";
	kit_start_up(&k);
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.err, 0);
	assert_true(k.state.has_conf);
	assert_int_equal(k.state.conf.flow_timeout_s, 60);
	assert_int_equal(k.state.vips.n, 2);
	vip = lb_state_vip(&k.state, &key);
	assert_non_null(vip);
	assert_int_equal(vip->encap, LB_ENCAP_GRE4);
	assert_int_equal(vip->table_length, 16384);
	assert_true(vip->src_ip_sticky);
	assert_int_equal(vip->as.n, 2);
	assert_int_equal(vip->as.items[0].weight, 100);
	assert_int_equal(vip->as.items[1].weight, 50);
	assert_int_equal(k.state.vips.items[1].encap, LB_ENCAP_GRE6);
	assert_int_equal(k.state.vips.items[1].key.protocol, 0);
	kit_end(&k);
}

static void vips_of_others_are_left_alone_or_told_apart(void **state)
{
	struct kit k;

	kit_begin(&k);
	kit_put_vip(&k, "198.51.100.0", 80, 24, 0);
	kit_put_vip(&k, VIP, 80, 32, 3); /* NAT */
	kit_start_up(&k);
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.state.vips.n, 1);
	assert_int_equal(k.state.vips.items[0].encap, LB_ENCAP_OTHER);
	kit_end(&k);
}

/* the text is for people: if it does not say whether a VIP is sticky, no VIP is replaced for it */
static void expect_as_sticky_as_configured(const char *text)
{
	struct l4_frontend frontend = { .name = "www",
					.address = kit_addr(VIP),
					.protocol = IPPROTO_TCP,
					.port = 80,
					.src_ip_sticky = true };
	static const size_t by_vip[] = { 0 };
	struct kit k;

	kit_begin(&k);
	k.config = (struct l4_config){ .frontends = &frontend, .n_frontends = 1, .by_vip = by_vip };
	k.text = text;
	kit_put_vip(&k, VIP, 80, 32, 0);
	kit_put_vip(&k, "192.0.2.77", 80, 32, 0); /* not configured */
	kit_start_up(&k);
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.state.vips.n, 2);
	assert_false(k.state.vips.items[0].src_ip_sticky);
	assert_true(k.state.vips.items[1].src_ip_sticky);
	kit_end(&k);
}

static void a_vip_that_the_text_does_not_have_is_as_sticky_as_configured(void **state)
{
	expect_as_sticky_as_configured("this VPP prints something else");
}

static void a_vip_in_words_that_are_not_known_is_as_sticky_as_configured(void **state)
{
	expect_as_sticky_as_configured(" ip4-gre4 [1] " VIP "/32 sticky:src-ip\n"
				       "  protocol:6 port:80\n");
}

static void a_vpp_without_a_command_line_is_read_all_the_same(void **state)
{
	struct kit k;

	kit_begin(&k);
	k.leave_out = "cli_inband";
	kit_put_vip(&k, VIP, 80, 32, 0);
	kit_start_up(&k);
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.err, 0);
	assert_int_equal(k.state.vips.n, 1);
	kit_end(&k);
}

static void a_configuration_that_cannot_be_read_is_a_failure(void **state)
{
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	k.no = "lb_conf_get";
	k.retval = -1;
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.err, -EREMOTEIO);
	assert_int_equal(messages(&k, "lb_conf_get_reply")->receive_failures, 1);
	assert_int_equal(messages(&k, "lb_conf_get_reply")->received, 0);
	kit_end(&k);
}

/* ---- writing ---- */

static void operations_are_carried_out_in_order(void **state)
{
	const struct lb_op ops[] = {
		{ .kind = LB_OP_CONF,
		  .conf = { kit_addr("10.99.0.2"), kit_addr("2001:db8::2"), 1024, 40 } },
		op(LB_OP_VIP_ADD, NULL, 0, 0),
		op(LB_OP_AS_ADD, "10.0.0.1", 0, 100),
		op(LB_OP_AS_WEIGHT, "10.0.0.1", 100, 50),
		op(LB_OP_AS_DEL, "10.0.0.1", 50, 0),
		op(LB_OP_VIP_DEL, NULL, 0, 0),
	};
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	kit_wait_counters(&k);
	k.heard.n = 0;
	kit_apply(&k, ops, ARRAY_SIZE(ops));
	kit_wait(&k, &k.applied, 1);
	assert_int_equal(k.err, 0);
	assert_int_equal(k.n_done, ARRAY_SIZE(ops));
	assert_non_null(strstr(buf_cstr(&k.heard), "lb_conf lb_add_del_vip_v2 lb_add_del_as_v2 "
						   "lb_as_set_weight lb_add_del_as_v2 "
						   "lb_add_del_vip_v2 "));
	kit_end(&k);
}

/* a failed addition must not be followed by the removal of what it was to replace */
static void nothing_is_taken_away_behind_a_refused_add(void **state)
{
	const struct lb_op ops[] = {
		op(LB_OP_AS_ADD, "10.0.0.1", 0, 100),	 op(LB_OP_AS_ADD, "10.0.0.2", 0, 100),
		op(LB_OP_AS_WEIGHT, "10.0.0.3", 10, 20), op(LB_OP_AS_WEIGHT, "10.0.0.4", 100, 0),
		op(LB_OP_AS_DEL, "10.0.0.5", 100, 0),
	};
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	k.no = "lb_add_del_as_v2";
	k.yes = 1;
	k.retval = -97;
	kit_apply(&k, ops, ARRAY_SIZE(ops));
	kit_wait(&k, &k.applied, 1);
	assert_int_equal(k.err, -EAFNOSUPPORT);
	assert_int_equal(k.n_done, 1);
	assert_int_equal(kit_count(&k, "lb_add_del_as_v2"), 2);
	assert_int_equal(kit_count(&k, "lb_as_set_weight"), 1); /* the raise */
	assert_int_equal(messages(&k, "lb_add_del_as_v2_reply")->receive_failures, 1);
	assert_int_equal(messages(&k, "lb_add_del_as_v2_reply")->received, 1);
	kit_end(&k);
}

static void a_vip_with_many_servers_takes_few_round_trips(void **state)
{
	struct lb_op ops[200];
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	kit_wait_counters(&k);
	ops[0] = op(LB_OP_VIP_ADD, NULL, 0, 0);
	for (size_t i = 1; i < ARRAY_SIZE(ops); i++) {
		ops[i] = op(LB_OP_AS_ADD, "10.0.0.1", 0, 100);
		ops[i].as.bytes[3] = (uint8_t)i;
	}
	k.most_under_way = 0;
	kit_apply(&k, ops, ARRAY_SIZE(ops));
	kit_wait(&k, &k.applied, 1);
	assert_int_equal(k.err, 0);
	assert_int_equal(k.n_done, ARRAY_SIZE(ops));
	assert_in_range(k.most_under_way, 32, 70);
	kit_end(&k);
}

static void what_is_gone_needs_no_deletion(void **state)
{
	const struct lb_op ops[] = { op(LB_OP_AS_DEL, "10.0.0.1", 5, 0),
				     op(LB_OP_VIP_DEL, NULL, 0, 0) };
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	k.no = "lb_add_del_as_v2";
	k.retval = -6;
	kit_apply(&k, ops, ARRAY_SIZE(ops));
	kit_wait(&k, &k.applied, 1);
	assert_int_equal(k.err, 0);
	assert_int_equal(k.n_done, 2);
	kit_end(&k);
}

/* VPP would crash */
static void what_may_not_be_said_is_not_sent(void **state)
{
	struct lb_op ops[] = { op(LB_OP_VIP_ADD, NULL, 0, 0), op(LB_OP_VIP_ADD, NULL, 0, 0) };
	struct kit k;

	kit_begin(&k);
	kit_start_up(&k);
	ops[0].table_length = 0;
	kit_apply(&k, ops, 2);
	kit_wait(&k, &k.applied, 1);
	assert_int_equal(k.err, -EINVAL);
	assert_int_equal(k.n_done, 0);
	assert_int_equal(kit_count(&k, "lb_add_del_vip_v2"), 0);
	ops[0].table_length = 1024;
	ops[1].table_length = 0;
	kit_apply(&k, ops, 2);
	kit_wait(&k, &k.applied, 2);
	assert_int_equal(k.err, -EINVAL);
	assert_int_equal(k.n_done, 1);
	assert_int_equal(kit_count(&k, "lb_add_del_vip_v2"), 1);
	k.no = "lb_add_del_vip_v2"; /* the first in order is reported */
	k.retval = -81;
	kit_apply(&k, ops, 2);
	kit_wait(&k, &k.applied, 3);
	assert_int_equal(k.err, -EEXIST);
	assert_int_equal(k.n_done, 0);
	kit_end(&k);
}

/* ---- counters ---- */

static const char counted[] = " ip4-gre4 [3] " VIP "/32\n"
			      "  new_size:16384\n"
			      "  protocol:6 port:80\n"
			      "    10.0.0.1 weight:100 buckets:10000 flows:7 dpo:1 used\n"
			      "    10.0.0.2 weight:50 buckets:6384 flows:2 dpo:2 used\n";

static void counters_are_those_of_the_text_and_the_segment(void **state)
{
	const struct lb_vip_key key = www();
	const struct lb_vip_counters *vip;
	const struct lb_counters *c;
	struct kit k;
	int64_t begin;

	kit_begin(&k);
	k.text = counted;
	kit_set_packets(&k, LB_PACKETS_NEXT, 3, 20);
	kit_set_packets(&k, LB_PACKETS_FIRST, 3, 10);
	kit_set_packets(&k, LB_PACKETS_UNTRACKED, 3, 4);
	kit_set_packets(&k, LB_PACKETS_NO_SERVER, 3, 2);
	kit_set_packets(&k, LB_PACKETS_NO_SERVER, 0, 99);
	kit_set_route(&k, false, 10, 30, 3000); /* to the VIP, whose address ends in .10 */
	kit_set_route(&k, true, 1, 21, 2100);
	kit_set_route(&k, true, 2, 9, 900);
	begin = loop_monotonic();
	kit_start(&k);
	assert_null(dataplane_vpp.counters(k.dp));
	kit_wait(&k, &k.ups, 1);
	kit_wait_counters(&k);
	c = dataplane_vpp.counters(k.dp);
	assert_in_range(c->flows_since, begin, loop_monotonic());
	assert_int_equal(c->has, LB_HAS_VIP_BYTES | LB_HAS_AS_BUCKETS | LB_HAS_AS_FLOWS |
					 LB_HAS_SERVER_TRAFFIC);
	assert_int_equal(c->vips.n, 1);
	vip = lb_counters_vip(c, &key);
	assert_non_null(vip);
	assert_int_equal(vip->packets[LB_PACKETS_NEXT], 20);
	assert_int_equal(vip->packets[LB_PACKETS_FIRST], 10);
	assert_int_equal(vip->packets[LB_PACKETS_UNTRACKED], 4);
	assert_int_equal(vip->packets[LB_PACKETS_NO_SERVER], 2);
	assert_int_equal(vip->bytes, 3000);
	assert_int_equal(vip->buckets, 16384);
	assert_int_equal(vip->as.n, 2);
	assert_int_equal(vip->as.items[0].buckets, 10000);
	assert_int_equal(vip->as.items[0].flows, 7);
	assert_int_equal(c->servers.n, 2);
	assert_int_equal(c->servers.items[0].packets, 21);
	assert_int_equal(c->servers.items[1].bytes, 900);
	assert_int_equal(c->events.n, 1);
	assert_string_equal(c->events.items[0].name, "no-vip");
	assert_int_equal(c->events.items[0].packets, 99);
	kit_end(&k);
}

static void routes_are_looked_up_until_something_moves(void **state)
{
	const struct lb_op weight = op(LB_OP_AS_WEIGHT, "10.0.0.1", 100, 50);
	const struct lb_op add = op(LB_OP_AS_ADD, "10.0.0.9", 0, 50);
	struct kit k;

	kit_begin(&k);
	k.text = counted;
	kit_start_up(&k);
	kit_wait_counters(&k);
	assert_int_equal(kit_count(&k, "ip_route_lookup"), 3);
	kit_apply(&k, &weight, 1);
	kit_wait(&k, &k.applied, 1);
	kit_wait_counters(&k);
	assert_int_equal(kit_count(&k, "ip_route_lookup"), 3);
	kit_apply(&k, &add, 1);
	kit_wait(&k, &k.applied, 2);
	kit_wait_counters(&k);
	assert_int_equal(kit_count(&k, "ip_route_lookup"), 6);
	kit_end(&k);
}

/* the columns belong to one incarnation of a route, which another program may end */
static void routes_are_looked_up_again_after_a_while(void **state)
{
	struct kit k;

	kit_begin(&k);
	k.text = counted;
	kit_start_up(&k);
	kit_wait_counters(&k);
	assert_true(k.dp->gather.routes_next > loop_monotonic() + 20 * NSEC_PER_SEC);
	k.dp->gather.routes_next = loop_monotonic(); /* make it due */
	kit_wait_counters(&k);
	kit_wait_counters(&k);
	assert_int_equal(kit_count(&k, "ip_route_lookup"), 6);
	kit_end(&k);
}

/* a new VIP is counted before a whole period has passed */
static void what_is_new_is_counted_soon(void **state)
{
	const struct lb_op add = op(LB_OP_AS_ADD, "10.0.0.9", 0, 50);
	struct kit k;

	kit_begin(&k);
	k.reading = 3600 * NSEC_PER_SEC;
	kit_start_up(&k);
	while (!dataplane_vpp.counters(k.dp))
		ev_run(k.loop, EVRUN_ONCE);
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.n, 0);
	k.text = counted;
	kit_apply(&k, &add, 1);
	kit_wait(&k, &k.applied, 1);
	while (!dataplane_vpp.counters(k.dp)->vips.n)
		ev_run(k.loop, EVRUN_ONCE);
	kit_end(&k);
}

static void make_long(struct buf *text, size_t n)
{
	while (text->n < n)
		buf_adds(text, "something that nobody understands, to make it long\n");
}

/* VPP forwards nothing while it prints */
static void a_long_text_is_asked_for_less_often(void **state)
{
	struct buf text = { 0 };
	struct kit k;
	size_t asked;

	kit_begin(&k);
	buf_adds(&text, counted);
	make_long(&text, 1000000); /* good for 20 s */
	k.text = buf_cstr(&text);
	kit_start_up(&k);
	kit_wait_counters(&k);
	asked = kit_count(&k, "cli_inband");
	for (int i = 0; i < 5; i++)
		kit_wait_counters(&k);
	assert_int_equal(kit_count(&k, "cli_inband"), asked);
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.n, 1);
	k.text = "";
	kit_end(&k);
	buf_free(&text);
}

/* clients of the API cannot have it printed at any rate either */
static void a_long_text_is_not_printed_for_everybody_who_looks(void **state)
{
	const struct lb_op add = op(LB_OP_AS_ADD, "10.0.0.9", 0, 50);
	struct buf text = { 0 };
	struct kit k;
	size_t asked;

	kit_begin(&k);
	kit_put_vip(&k, VIP, 80, 32, 0);
	buf_adds(&text, " ip4-gre4 [1] " VIP "/32 src_ip_sticky\n  protocol:6 port:80\n");
	make_long(&text, 1000000); /* good for 20 s */
	k.text = buf_cstr(&text);
	kit_start_up(&k);
	kit_wait_counters(&k);
	asked = kit_count(&k, "cli_inband");
	for (int i = 1; i <= 5; i++) {
		kit_observe(&k);
		kit_wait(&k, &k.observed, i);
		assert_int_equal(k.err, 0);
		assert_int_equal(k.state.vips.n, 1);
		assert_true(k.state.vips.items[0].src_ip_sticky); /* as the last text said */
	}
	assert_int_equal(kit_count(&k, "cli_inband"), asked);
	/* but after our own change it is read again */
	buf_free(&text);
	k.text = " ip4-gre4 [1] " VIP "/32\n  protocol:6 port:80\n";
	kit_apply(&k, &add, 1);
	kit_wait(&k, &k.applied, 1);
	kit_observe(&k);
	kit_wait(&k, &k.observed, 6);
	assert_false(k.state.vips.items[0].src_ip_sticky);
	kit_end(&k);
}

/* printing a short one costs VPP little, and shows at once what other programs changed */
static void a_short_text_is_asked_for_by_everybody_who_looks(void **state)
{
	struct buf text = { 0 };
	struct kit k;
	size_t asked;

	kit_begin(&k);
	make_long(&text, 40000); /* good for 0.8 s */
	k.text = buf_cstr(&text);
	k.reading = 3600 * NSEC_PER_SEC;
	kit_start_up(&k);
	while (!dataplane_vpp.counters(k.dp))
		ev_run(k.loop, EVRUN_ONCE);
	asked = kit_count(&k, "cli_inband");
	kit_observe(&k);
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(kit_count(&k, "cli_inband"), asked + 1);
	kit_end(&k);
	buf_free(&text);
}

/* 1,000 threads of 500 VIPs are some million numbers */
static void a_large_segment_is_read_in_slices(void **state)
{
	const struct lb_counters *c;
	struct buf text = { 0 };
	struct testing_turns turns;
	struct kit k;

	kit_begin(&k);
	for (unsigned i = 0; i < 500; i++)
		buf_printf(&text, " ip4-gre4 [%u] 192.0.2.1/32\n  protocol:6 port:%u\n",
			   i % KIT_COLUMNS, i + 1);
	k.text = buf_cstr(&text);
	kit_set_threads(&k, 1000);
	kit_set_packets(&k, LB_PACKETS_FIRST, 3, 7);
	kit_set_route(&k, false, 1, 2, 3);
	kit_start_up(&k);
	testing_turns_begin(&turns, k.loop);
	kit_wait_counters(&k);
	assert_in_range(testing_turns_end(&turns, k.loop), 0, 10 * NSEC_PER_MSEC);
	c = dataplane_vpp.counters(k.dp);
	assert_int_equal(c->vips.n, 500);
	assert_int_equal(c->vips.items[2].packets[LB_PACKETS_FIRST], 0);
	assert_int_equal(c->vips.items[3].packets[LB_PACKETS_FIRST], 7000);
	assert_int_equal(c->vips.items[499].packets[LB_PACKETS_FIRST], 7000);
	assert_int_equal(c->vips.items[499].bytes, 3000);
	kit_end(&k);
	buf_free(&text);
}

static void a_segment_that_is_being_changed_is_read_later(void **state)
{
	const struct lb_counters *c;
	struct kit k;
	int64_t at;

	kit_begin(&k);
	k.text = counted;
	kit_start_up(&k);
	kit_wait_counters(&k);
	at = dataplane_vpp.counters(k.dp)->at;
	k.image[3] = 1; /* in progress */
	kit_set_packets(&k, LB_PACKETS_FIRST, 3, 5);
	kit_observe(&k); /* everything else continues */
	kit_wait(&k, &k.observed, 1);
	assert_int_equal(k.err, 0);
	c = dataplane_vpp.counters(k.dp);
	assert_true(c->at - at < NSEC_PER_SEC);
	assert_int_equal(c->vips.items[0].packets[LB_PACKETS_FIRST], 0);
	k.image[3] = 0;
	kit_wait_counters(&k);
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.items[0].packets[LB_PACKETS_FIRST], 5);
	kit_end(&k);
}

static void a_broken_segment_leaves_the_last_counters(void **state)
{
	struct kit k;
	uint64_t directory;
	int64_t at;

	kit_begin(&k);
	k.text = counted;
	kit_set_packets(&k, LB_PACKETS_FIRST, 3, 5);
	kit_start_up(&k);
	kit_wait_counters(&k);
	at = dataplane_vpp.counters(k.dp)->at;
	directory = k.image[4];
	k.image[4] = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		kit_observe(&k);
		kit_wait(&k, &k.observed, i + 1);
		assert_int_equal(k.err, 0);
	}
	assert_int_equal(k.downs, 0);
	assert_true(dataplane_vpp.counters(k.dp)->at - at < NSEC_PER_SEC);
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.items[0].packets[LB_PACKETS_FIRST], 5);
	k.image[4] = directory;
	kit_wait_counters(&k);
	kit_end(&k);
}

static void counters_stay_when_vpp_has_gone(void **state)
{
	struct kit k;

	kit_begin(&k);
	k.text = counted;
	kit_set_packets(&k, LB_PACKETS_FIRST, 3, 5);
	kit_start_up(&k);
	kit_wait_counters(&k);
	kit_die(&k);
	kit_wait(&k, &k.downs, 1);
	assert_non_null(dataplane_vpp.counters(k.dp));
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.items[0].packets[LB_PACKETS_FIRST], 5);
	kit_end(&k);
}

static void without_routes_there_are_packets_all_the_same(void **state)
{
	struct kit k;

	kit_begin(&k);
	k.text = counted;
	k.leave_out = "ip_route_lookup";
	kit_set_packets(&k, LB_PACKETS_FIRST, 3, 5);
	kit_start_up(&k);
	kit_wait_counters(&k);
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.items[0].packets[LB_PACKETS_FIRST], 5);
	assert_int_equal(dataplane_vpp.counters(k.dp)->vips.items[0].bytes, 0);
	kit_end(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vpp_with_weights_is_up_and_known),
		cmocka_unit_test(a_vpp_that_comes_later_is_found),
		cmocka_unit_test(a_vpp_that_dies_is_down_and_comes_back_empty),
		cmocka_unit_test(without_the_stats_segment_it_is_not_up),
		cmocka_unit_test(an_old_vpp_is_never_told_anything),
		cmocka_unit_test(an_old_vpp_is_known_without_its_segment),
		cmocka_unit_test(an_answer_that_never_comes_is_a_vpp_that_is_down),
		cmocka_unit_test(a_connection_cut_in_the_middle_of_an_answer_heals),
		cmocka_unit_test(a_vpp_that_is_silent_at_first_is_tried_again),
		cmocka_unit_test(stopping_at_any_time_is_the_end_of_it),
		cmocka_unit_test(what_is_programmed_is_read_back),
		cmocka_unit_test(vips_of_others_are_left_alone_or_told_apart),
		cmocka_unit_test(a_vip_that_the_text_does_not_have_is_as_sticky_as_configured),
		cmocka_unit_test(a_vip_in_words_that_are_not_known_is_as_sticky_as_configured),
		cmocka_unit_test(a_vpp_without_a_command_line_is_read_all_the_same),
		cmocka_unit_test(a_configuration_that_cannot_be_read_is_a_failure),
		cmocka_unit_test(operations_are_carried_out_in_order),
		cmocka_unit_test(nothing_is_taken_away_behind_a_refused_add),
		cmocka_unit_test(a_vip_with_many_servers_takes_few_round_trips),
		cmocka_unit_test(what_is_gone_needs_no_deletion),
		cmocka_unit_test(what_may_not_be_said_is_not_sent),
		cmocka_unit_test(counters_are_those_of_the_text_and_the_segment),
		cmocka_unit_test(routes_are_looked_up_until_something_moves),
		cmocka_unit_test(routes_are_looked_up_again_after_a_while),
		cmocka_unit_test(what_is_new_is_counted_soon),
		cmocka_unit_test(a_long_text_is_asked_for_less_often),
		cmocka_unit_test(a_long_text_is_not_printed_for_everybody_who_looks),
		cmocka_unit_test(a_short_text_is_asked_for_by_everybody_who_looks),
		cmocka_unit_test(a_large_segment_is_read_in_slices),
		cmocka_unit_test(a_segment_that_is_being_changed_is_read_later),
		cmocka_unit_test(a_broken_segment_leaves_the_last_counters),
		cmocka_unit_test(counters_stay_when_vpp_has_gone),
		cmocka_unit_test(without_routes_there_are_packets_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
