/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/vpp/text.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct lb_vip_key key(const char *text, uint8_t protocol, uint16_t port)
{
	struct lb_vip_key k = { .protocol = protocol, .port = port };

	assert_int_equal(addr_parse(text, &k.address), 0);
	return k;
}

static struct vpplb_text parse(const char *text)
{
	struct vpplb_text t = { 0 };

	vpplb_text_parse(str_of(text), &t);
	return t;
}

static const char sample[] = " ip4-gre4 [3] 192.0.2.10/32 src_ip_sticky\n"
			     "  new_size:1024\n"
			     "  protocol:17 port:443\n"
			     "  counters:\n"
			     "    packet from existing sessions: 20\n"
			     "    first session packet: 10\n"
			     "    untracked packet: 0\n"
			     "    no server configured: 0\n"
			     "  #as:3\n"
			     "    10.0.0.2 weight:100 buckets:512 flows:11 dpo:17 used\n"
			     "    10.0.0.1 weight:50 buckets:256 flows:7 dpo:18 used\n"
			     "    10.0.0.3 weight:50 buckets:0 flows:2 dpo:19 removed\n"
			     "\n"
			     " ip6-gre6 [1] 2001:db8::1/128\n"
			     "  new_size:16384\n"
			     "  counters:\n"
			     "    2001:db8:a::1 weight:1 buckets:16384 flows:0 dpo:20 used\n"
			     "\n"
			     " ip4-gre6 [2] 198.51.100.0/24\n"
			     "  new_size:1024\n"
			     "    2001:db8:a::2 weight:1 buckets:1024 flows:0 dpo:21 used\n"
			     "\n"
			     " ip4-gre4 [4] 192.0.2.10/32 removed\n"
			     "  new_size:2048\n"
			     "  protocol:17 port:443\n"
			     "    10.0.0.9 weight:1 buckets:5 flows:0 dpo:22 removed\n";

static void what_dumps_lack_is_read(void **state)
{
	struct lb_vip_key udp = key("192.0.2.10", IPPROTO_UDP, 443);
	struct lb_vip_key all = key("2001:db8::1", 0, 0);
	struct vpplb_text t = parse(sample);
	const struct vpplb_text_vip *v = vpplb_text_find(&t, &udp);

	assert_int_equal(t.vips.n, 2);
	assert_non_null(v);
	assert_int_equal(v->index, 3);
	assert_int_equal(v->buckets, 1024);
	assert_true(v->sticky_told && v->src_ip_sticky);
	assert_int_equal(v->n_as, 2);
	assert_int_equal(t.as.items[v->as_first].address.bytes[3], 1); /* in order */
	assert_int_equal(t.as.items[v->as_first].buckets, 256);
	assert_int_equal(t.as.items[v->as_first].flows, 7);
	assert_int_equal(t.as.items[v->as_first + 1].flows, 11);

	v = vpplb_text_find(&t, &all);
	assert_non_null(v);
	assert_int_equal(v->index, 1);
	assert_true(v->sticky_told && !v->src_ip_sticky);
	assert_int_equal(v->n_as, 1);
	vpplb_text_free(&t);
}

static void a_removed_vip_is_not_there(void **state)
{
	struct lb_vip_key www = key("192.0.2.10", IPPROTO_TCP, 80);
	struct vpplb_text t = parse(" ip4-gre4 [4] 192.0.2.10/32 src_ip_sticky removed\n"
				    "  protocol:6 port:80\n"
				    "    10.0.0.9 weight:1 buckets:5 flows:0 dpo:22 used\n");

	assert_null(vpplb_text_find(&t, &www));
	assert_int_equal(t.as.n, 0);
	vpplb_text_free(&t);
}

static void a_vip_or_server_told_twice_is_there_once(void **state)
{
	struct vpplb_text t = parse(" ip4-gre4 [4] 192.0.2.10/32\n"
				    "    10.0.0.9 weight:1 buckets:5 flows:0 dpo:22 used\n"
				    "    10.0.0.9 weight:1 buckets:6 flows:0 dpo:22 used\n"
				    " ip4-gre4 [5] 192.0.2.10/32\n");

	assert_int_equal(t.vips.n, 1);
	vpplb_text_free(&t);
	t = parse(" ip4-gre4 [4] 192.0.2.10/32\n"
		  "    10.0.0.9 weight:1 buckets:5 flows:0 dpo:22 used\n"
		  "    10.0.0.9 weight:1 buckets:6 flows:0 dpo:22 used\n");
	assert_int_equal(t.vips.items[0].n_as, 1);
	vpplb_text_free(&t);
}

/* VPP prints the ports of a NAT VIP differently; this must not affect its neighbours */
static void what_is_not_understood_is_left_out(void **state)
{
	static const char *const rows[] = {
		"",
		"\n\n\n",
		"no such command\n",
		" ip4-gre4\n",
		" ip4-gre4 [x] 192.0.2.1/32\n",
		" ip4-gre4 [] 192.0.2.1/32\n",
		" ip4-gre4 [4294967296] 192.0.2.1/32\n",
		" ip4-gre4 [-1] 192.0.2.1/32\n",
		" ip4-gre4 [1 192.0.2.1/32\n",
		" ip4-gre4 [1]\n",
		" ip4-gre4 [1] 192.0.2.1\n",
		" ip4-gre4 [1] 192.0.2.1/33\n",
		" ip4-gre4 [1] 192.0.2.1/128\n",
		" ip4-gre4 [1] 192.0.2.256/32\n",
		" ip4-gre4 [1] 2001:db8:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:1/128\n",
		"    10.0.0.9 weight:1 buckets:5 flows:0 dpo:22 used\n",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct vpplb_text t = parse(rows[i]);

		assert_int_equal(t.vips.n, 0);
		assert_int_equal(t.as.n, 0);
		vpplb_text_free(&t);
	}
}

static void numbers_that_cannot_be_are_left_out(void **state)
{
	struct vpplb_text t = parse(" ip4-gre4 [4] 192.0.2.10/32\n"
				    "  new_size:-5\n"
				    "  protocol:256 port:80\n"
				    "    10.0.0.1 weight:1 buckets:99999999999 flows:0 used\n"
				    "    10.0.0.2 weight:1 flows:0 used\n"
				    "    10.0.0.3 buckets:1 flows:99999999999 used\n"
				    "    10.0.0.4 buckets:1 flows:1 unheard-of used\n"
				    "    10.0.0.5 buckets:1 flows:1\n");

	assert_int_equal(t.vips.n, 1);
	assert_int_equal(t.vips.items[0].buckets, 0);
	assert_int_equal(t.vips.items[0].key.protocol, 0);
	assert_int_equal(t.vips.items[0].n_as, 2);
	assert_int_equal(t.as.items[0].address.bytes[3], 3);
	assert_int_equal(t.as.items[0].flows, 0);
	assert_int_equal(t.as.items[1].address.bytes[3], 4);
	vpplb_text_free(&t);
}

/* the text may end anywhere */
static void every_beginning_of_the_text_is_harmless(void **state)
{
	for (size_t n = 0; n < sizeof(sample); n++) {
		struct vpplb_text t = { 0 };
		char *cut = mem_copy(sample, n); /* exactly n bytes: a read past the end is seen */

		vpplb_text_parse((struct str){ cut, n }, &t);
		assert_true(t.vips.n <= 3);
		vpplb_text_free(&t);
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_dumps_lack_is_read),
		cmocka_unit_test(a_removed_vip_is_not_there),
		cmocka_unit_test(a_vip_or_server_told_twice_is_there_once),
		cmocka_unit_test(what_is_not_understood_is_left_out),
		cmocka_unit_test(numbers_that_cannot_be_are_left_out),
		cmocka_unit_test(every_beginning_of_the_text_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
