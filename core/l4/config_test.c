/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "base/cleanup.h"
#include "core/l4/config.h"

static const struct l4_check checks[] = { { .name = "conn" },
					  { .name = "ping" },
					  { .name = "web" } };
static const struct l4_backend backends[] = { { .name = "Web" }, { .name = "web1" } };
static const struct l4_frontend frontends[] = { { .name = "www" } };
static const struct l4_config config = {
	.checks = checks,
	.n_checks = ARRAY_SIZE(checks),
	.backends = backends,
	.n_backends = ARRAY_SIZE(backends),
	.frontends = frontends,
	.n_frontends = ARRAY_SIZE(frontends),
};

static void every_name_is_found_where_it_is(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		assert_ptr_equal(l4_config_check(&config, checks[i].name), &checks[i]);
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		assert_int_equal(l4_config_backend(&config, backends[i].name), i);
	assert_int_equal(l4_config_frontend(&config, "www"), 0);
}

static void names_that_are_not_there_are_not_found(void **state)
{
	static const struct l4_config empty;

	assert_null(l4_config_check(&config, "a"));
	assert_null(l4_config_check(&config, "pin"));
	assert_null(l4_config_check(&config, "webb"));
	assert_int_equal(l4_config_backend(&config, "WEB"), SIZE_MAX);
	assert_int_equal(l4_config_backend(&config, ""), SIZE_MAX);
	assert_int_equal(l4_config_frontend(&config, "web1"), SIZE_MAX);
	assert_null(l4_config_check(&empty, "web"));
	assert_int_equal(l4_config_backend(&empty, "web1"), SIZE_MAX);
	assert_int_equal(l4_config_frontend(&empty, "www"), SIZE_MAX);
}

static void a_walk_goes_on_behind_a_name_that_may_be_gone(void **state)
{
	assert_int_equal(l4_config_backend_behind(&config, NULL), 0);
	assert_int_equal(l4_config_backend_behind(&config, "A"), 0);
	assert_int_equal(l4_config_backend_behind(&config, "Web"), 1);
	assert_int_equal(l4_config_backend_behind(&config, "Webby"), 1);
	assert_int_equal(l4_config_backend_behind(&config, "web1"), 2);
	assert_int_equal(l4_config_frontend_behind(&config, "ww"), 0);
	assert_int_equal(l4_config_frontend_behind(&config, "www"), 1);
}

static void words_are_those_of_the_file(void **state)
{
	assert_string_equal(l4_check_type_name(L4_CHECK_ICMP), "icmp");
	assert_string_equal(l4_check_type_name(L4_CHECK_TCP), "tcp");
	assert_string_equal(l4_check_type_name(L4_CHECK_HTTP), "http");
	assert_string_equal(l4_check_type_name(L4_CHECK_HTTPS), "https");
	assert_string_equal(l4_protocol_name(L4_PROTOCOL_ANY), "any");
	assert_string_equal(l4_protocol_name(IPPROTO_TCP), "tcp");
	assert_string_equal(l4_protocol_name(IPPROTO_UDP), "udp");
	assert_string_equal(l4_dataplane_name(L4_DATAPLANE_VPP), "vpp");
	assert_string_equal(l4_dataplane_name(L4_DATAPLANE_XDP), "xdp");
	assert_string_equal(l4_dataplane_name(L4_DATAPLANE_NONE), "none");
}

static const struct l4_code_range codes[] = { { 200, 299 }, { 304, 304 } };

static const struct l4_check full = {
	.name = "web",
	.type = L4_CHECK_HTTPS,
	.port = 443,
	.schedule = { 2, 3, 4 },
	.rule = { 2, 3 },
	.timeout = 1,
	.keep_alive = true,
	.src4 = { AF_INET, { 192, 0, 2, 1 } },
	.src6 = { AF_INET6, { 0x20, 0x01 } },
	.http = { "/",
		  "www",
		  "sni",
		  "^OK",
		  { codes, ARRAY_SIZE(codes) },
		  true,
		  { "/ca.pem", "text" } },
	.talk = { .expect = "220" },
	.dns = { .name = "www" },
};

/* FR-5.3: a check that would be probed the same way does not restart its workers */
static void a_copy_under_another_name_is_equal(void **state)
{
	struct l4_code_range same_codes[] = { { 200, 299 }, { 304, 304 } };
	char path[] = "/", host[] = "www", sni[] = "sni", regexp[] = "^OK";
	struct l4_check copy = full;

	copy.name = "other";
	copy.http = (struct l4_http_params){
		path, host, sni, regexp, { same_codes, 2 }, true, { "/ca.pem", "text" }
	};
	assert_true(l4_check_equal(&full, &copy));
	assert_true(l4_check_equal(&checks[0], &checks[1]));
}

#define DIFFERS(change)                                                                            \
	do {                                                                                       \
		struct l4_check c = full;                                                          \
		c.change;                                                                          \
		assert_false(l4_check_equal(&full, &c));                                           \
		assert_false(l4_check_equal(&c, &full));                                           \
	} while (0)

/* FR-5.3: every difference that affects a probe makes checks unequal */
static void each_difference_that_probing_sees_counts(void **state)
{
	static const struct l4_code_range other_first[] = { { 201, 299 }, { 304, 304 } };
	static const struct l4_code_range other_last[] = { { 200, 299 }, { 304, 305 } };

	DIFFERS(type = L4_CHECK_HTTP);
	DIFFERS(port = 80);
	DIFFERS(schedule.interval++);
	DIFFERS(schedule.fast_interval++);
	DIFFERS(schedule.down_interval++);
	DIFFERS(rule.rise++);
	DIFFERS(rule.fall++);
	DIFFERS(timeout++);
	DIFFERS(keep_alive = false);
	DIFFERS(src4.bytes[3]++);
	DIFFERS(src4 = (struct addr){ 0 });
	DIFFERS(src6.bytes[15]++);
	DIFFERS(http.path = "/x");
	DIFFERS(http.host = NULL);
	DIFFERS(http.host = "ww");
	DIFFERS(http.server_name = NULL);
	DIFFERS(http.regexp = NULL);
	DIFFERS(http.codes.items = other_first);
	DIFFERS(http.codes.items = other_last);
	DIFFERS(http.codes.n = 1);
	DIFFERS(http.insecure_skip_verify = false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_is_found_where_it_is),
		cmocka_unit_test(names_that_are_not_there_are_not_found),
		cmocka_unit_test(a_walk_goes_on_behind_a_name_that_may_be_gone),
		cmocka_unit_test(words_are_those_of_the_file),
		cmocka_unit_test(a_copy_under_another_name_is_equal),
		cmocka_unit_test(each_difference_that_probing_sees_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
