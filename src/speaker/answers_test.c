/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of bgpd and bfdd of FRR 8.4.4 and 10.3, as they were recorded: they are the first inputs
 * of the fuzzer of this room. Of the five peers, three have a session; the router of a VRF that
 * does not exist is idle.
 */
#include "src/speaker/answers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"

enum { TOR, NOBODY, TOR6, SPINE, RED, ABSENT, PEERS };

static const struct bgp_peer peers[PEERS] = {
	[TOR] = { .frr = { .name = "tor", .address = { AF_INET, { 10, 0, 0, 2 } } } },
	[NOBODY] = { .frr = { .name = "nobody", .address = { AF_INET, { 10, 0, 0, 9 } } } },
	[TOR6] = { .frr = { .name = "tor6", .address = { AF_INET6, { 0xfd, [15] = 2 } } } },
	[SPINE] = { .frr = { .name = "spine", .interface = "uplink" } },
	[RED] = { .frr = { .name = "red", .address = { AF_INET, { 10, 1, 0, 2 } } }, .vrf = "red" },
	[ABSENT] = { .frr = { .name = "absent", .address = { AF_INET, { 10, 0, 0, 2 } } },
		     .vrf = "red" },
};
static const struct bgp_config config = { .peers = peers, .n_peers = PEERS };
static const char *const versions[] = { "8.4", "10.3" };

typedef int (*read_fn)(struct str text, const struct bgp_config *c, struct session *list);

/* Reads the recorded answer `name` of a version. */
static void read_recorded(read_fn read, const char *name, const char *version, struct session *list)
{
	_cleanup_(cleanup_free) char *text = mem_alloc(64 * 1024);
	char path[512];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s-%s", ANSWERS, name, version);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(text, 1, 64 * 1024, file);
	fclose(file);
	assert_int_equal(read((struct str){ text, n }, &config, list), 0);
}

static void a_bgp_session_is_found_by_vrf_and_address_or_interface(void **state)
{
	for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
		struct session list[PEERS] = { 0 };

		read_recorded(answers_bgp, "neighbors", versions[v], list);
		assert_string_equal(list[TOR].state, "Established");
		assert_string_equal(list[TOR6].state, "Established");
		assert_string_equal(list[SPINE].state, "Established");
		assert_string_not_equal(list[NOBODY].state, "Established");
		assert_string_equal(list[RED].state, "Idle");
		assert_true(list[NOBODY].known && list[RED].known);
		assert_false(list[ABSENT].known);
		assert_string_equal(list[ABSENT].state, "");
		assert_int_equal(list[TOR].prefixes, 2);
		assert_int_equal(list[TOR6].prefixes, 1);
		assert_int_equal(list[SPINE].prefixes, 3); /* of both families */
		assert_int_equal(list[NOBODY].prefixes, 0);
	}
}

static void the_end_of_a_session_has_a_reason(void **state)
{
	struct session list[PEERS] = { [ABSENT] = { .last_error = "old" } };

	read_recorded(answers_bgp, "neighbors", "8.4", list);
	assert_string_equal(list[TOR].last_error, "BFD down received");
	assert_string_equal(list[NOBODY].last_error, "Waiting for peer OPEN");
	assert_string_equal(list[SPINE].last_error, ""); /* it has not ended yet */
	assert_string_equal(list[ABSENT].last_error, "");
	read_recorded(answers_bgp, "neighbors", "10.3", list);
	assert_string_equal(list[TOR].last_error, "BGP Notification received: Cease/Unspecific");
	assert_string_equal(list[SPINE].last_error, "");
}

static void messages_are_counted(void **state)
{
	static const uint64_t tor_8[SESSION_COUNTS] = { 4, 0, 2, 2, 0, 2, 2, 0, 8, 6 },
			      spine_10[SESSION_COUNTS] = { 4, 4, 1, 1, 0, 1, 1, 0, 6, 6 };
	struct session list[PEERS] = { 0 };

	read_recorded(answers_bgp, "neighbors", "8.4", list);
	assert_memory_equal(list[TOR].counts, tor_8, sizeof(tor_8));
	read_recorded(answers_bgp, "neighbors", "10.3", list);
	assert_memory_equal(list[SPINE].counts, spine_10, sizeof(spine_10));
}

static void a_bfd_session_is_up_or_not_or_unknown(void **state)
{
	for (size_t v = 0; v < ARRAY_SIZE(versions); v++) {
		struct session list[PEERS] = { [RED] = { .bfd_known = true, .bfd_up = true } };

		read_recorded(answers_bfd, "bfd", versions[v], list);
		assert_true(list[TOR].bfd_known && list[TOR].bfd_up);
		assert_true(list[SPINE].bfd_known && list[SPINE].bfd_up);
		assert_true(list[NOBODY].bfd_known && !list[NOBODY].bfd_up);
		assert_string_equal(list[TOR].bfd_state, "Up");
		assert_string_equal(list[NOBODY].bfd_state, "Down");
		assert_string_equal(list[ABSENT].bfd_state, "");
		assert_false(list[TOR6].bfd_known || list[TOR6].bfd_up);
		assert_false(list[RED].bfd_known || list[RED].bfd_up);
		assert_false(list[ABSENT].bfd_known || list[ABSENT].bfd_up);
	}
}

static void packets_of_bfd_are_counted(void **state)
{
	static const uint64_t tor_8[SESSION_BFD_COUNTS] = { 3, 2, 0, 0, 1, 0, 2 },
			      nobody_8[SESSION_BFD_COUNTS] = { 0, 6, 0, 0, 0, 0, 1 },
			      spine_10[SESSION_BFD_COUNTS] = { 5, 6, 0, 0, 1, 0, 3 },
			      none[SESSION_BFD_COUNTS] = { 0 };
	struct session list[PEERS] = { [RED] = { .bfd_counts = { 1, 2, 3 } } };

	read_recorded(answers_bfd_counters, "bfd-counters", "8.4", list);
	assert_memory_equal(list[TOR].bfd_counts, tor_8, sizeof(tor_8));
	assert_memory_equal(list[NOBODY].bfd_counts, nobody_8, sizeof(nobody_8));
	assert_memory_equal(list[RED].bfd_counts, none, sizeof(none));
	read_recorded(answers_bfd_counters, "bfd-counters", "10.3", list);
	assert_memory_equal(list[SPINE].bfd_counts, spine_10, sizeof(spine_10));
}

/* bfdd also names the interface of a session with an address. */
static void an_unnumbered_bfd_session_has_a_link_local_address(void **state)
{
	static const char text[] = "[{\"peer\":\"10.0.0.2\",\"vrf\":\"default\",\"interface\":"
				   "\"uplink\",\"status\":\"down\"},"
				   "{\"peer\":\"fe80::1\",\"vrf\":\"default\",\"interface\":"
				   "\"uplink\",\"status\":\"up\"}]";
	struct session list[PEERS] = { 0 };

	assert_int_equal(answers_bfd(str_of(text), &config, list), 0);
	assert_true(list[SPINE].bfd_up && !list[TOR].bfd_up && list[TOR].bfd_known);
}

static void what_is_no_answer_makes_every_peer_unknown(void **state)
{
	static const char *const texts[] = { "", "%", "null", "1", "\"x\"", "{", "[", "{}{}" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct session list[PEERS] = { [TOR] = { .known = true,
							 .state = "Established",
							 .prefixes = 1,
							 .bfd_known = true,
							 .bfd_up = true,
							 .bfd_counts = { 1 } } };

		assert_int_equal(answers_bgp(str_of(texts[i]), &config, list), -EINVAL);
		assert_int_equal(answers_bfd(str_of(texts[i]), &config, list), -EINVAL);
		assert_int_equal(answers_bfd_counters(str_of(texts[i]), &config, list), -EINVAL);
		assert_false(list[TOR].known || list[TOR].bfd_known || list[TOR].bfd_up);
		assert_string_equal(list[TOR].state, "");
		assert_int_equal(list[TOR].prefixes + list[TOR].bfd_counts[0], 0);
	}
}

/* A later FRR may have other kinds of values. */
static void values_of_other_kinds_count_as_absent(void **state)
{
	static const char text[] =
		"{\"default\":{\"10.0.0.2\":{\"bgpState\":7,\"messageStats\":[1],"
		"\"addressFamilyInfo\":{\"a\":{\"sentPrefixCounter\":-1},\"b\":3}},"
		"\"10.0.0.9\":\"x\",\"fd00::2\":{\"bgpState\":"
		"\"a word that is longer than any state of a session\"}},\"red\":[]}";
	struct session list[PEERS] = { 0 };

	assert_int_equal(answers_bgp(str_of(text), &config, list), 0);
	assert_true(list[TOR].known && !list[NOBODY].known && !list[RED].known);
	assert_string_equal(list[TOR].state, "");
	assert_int_equal(list[TOR].prefixes, 0);
	assert_string_equal(list[TOR6].state, "a word that is longer than any ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bgp_session_is_found_by_vrf_and_address_or_interface),
		cmocka_unit_test(the_end_of_a_session_has_a_reason),
		cmocka_unit_test(messages_are_counted),
		cmocka_unit_test(a_bfd_session_is_up_or_not_or_unknown),
		cmocka_unit_test(packets_of_bfd_are_counted),
		cmocka_unit_test(an_unnumbered_bfd_session_has_a_link_local_address),
		cmocka_unit_test(what_is_no_answer_makes_every_peer_unknown),
		cmocka_unit_test(values_of_other_kinds_count_as_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
