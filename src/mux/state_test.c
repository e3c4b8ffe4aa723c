/* SPDX-License-Identifier: Apache-2.0 */
/* allocations.json: what is read, what is refused, and what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/mux/state.h"

static int set_up(void **state)
{
	*state = arena_new();
	return 0;
}

static int tear_down(void **state)
{
	arena_free(*state);
	return 0;
}

#define CLAIM                                                                                      \
	"{\"namespace\":\"app\",\"service\":\"api\",\"portName\":\"http\",\"protocol\":\"TCP\","   \
	"\"channelPort\":80,\"muxPort\":20000,\"port\":20000,\"source\":\"auto\",\"extra\":[]}"
#define STATIC_CLAIM                                                                               \
	"{\"namespace\":\"app\",\"service\":\"p2p\",\"portName\":\"p2p\",\"protocol\":\"TCP\","    \
	"\"channelPort\":30303,\"muxPort\":30303,\"port\":30303,\"source\":\"static\"}"

/* State: the text of the seed */
static void the_text_of_the_original_is_read(void **state)
{
	static const char text[] = "{\"schemaVersion\":1,\"mux\":{\"namespace\":\"svc-mux\","
				   "\"name\":\"mux\"},\"portClaims\":[" CLAIM "," STATIC_CLAIM
				   "],\"allocations\":[" CLAIM "]}";
	struct mux_state s;
	const char *why;

	assert_int_equal(mux_state_parse(text, *state, &s, &why), 0);
	assert_string_equal(s.namespace, "svc-mux");
	assert_string_equal(s.name, "mux");
	assert_false(s.migrated);
	assert_int_equal(s.n_claims, 2);
	assert_string_equal(s.claims[0].service, "api");
	assert_true(s.claims[0].automatic);
	assert_int_equal(s.claims[0].mux_port, 20000);
	assert_int_equal(s.claims[0].channel_port, 80);
	assert_false(s.claims[1].automatic);
}

/* State: allocations alone are migrated; port stands for muxPort, and the source is auto */
static void allocations_alone_are_migrated(void **state)
{
	static const char text[] = "{\"allocations\":[{\"namespace\":\"a\",\"service\":\"b\","
				   "\"portName\":\"c\",\"port\":7}]}";
	struct mux_state s;
	const char *why;

	assert_int_equal(mux_state_parse(text, *state, &s, &why), 0);
	assert_true(s.migrated);
	assert_int_equal(s.n_claims, 1);
	assert_int_equal(s.claims[0].mux_port, 7);
	assert_true(s.claims[0].automatic);
	assert_int_equal(s.claims[0].protocol, MUX_TCP);
}

/* State: if there are portClaims, allocations are ignored */
static void port_claims_hide_allocations(void **state)
{
	struct mux_state s;
	const char *why;

	assert_int_equal(mux_state_parse("{\"portClaims\":[],\"allocations\":[" CLAIM "]}", *state,
					 &s, &why),
			 0);
	assert_int_equal(s.n_claims, 0);
	assert_false(s.migrated);
}

static void nothing_is_an_empty_state(void **state)
{
	static const char *const texts[] = { NULL, "", "  " };
	struct mux_state s;
	const char *why;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(mux_state_parse(texts[i], *state, &s, &why), 0);
		assert_int_equal(s.n_claims, 0);
	}
}

/* State: another shape is never taken for an empty state */
static void another_shape_is_refused(void **state)
{
	static const char *const texts[] = {
		"{",
		"[]",
		"null",
		"\"x\"",
		"7",
		"{} {}",
		"{\"mux\":[]}",
		"{\"mux\":{\"name\":7}}",
		"{\"portClaims\":{}}",
		"{\"portClaims\":\"x\"}",
		"{\"portClaims\":[7]}",
		"{\"portClaims\":[null]}",
		"{\"portClaims\":[{}]}",
		"{\"portClaims\":[{\"namespace\":\"a\",\"service\":\"b\",\"portName\":\"c\"}]}",
		"{\"portClaims\":[{\"namespace\":\"a\",\"portName\":\"c\",\"muxPort\":1}]}",
		"{\"portClaims\":[{\"namespace\":\"\",\"service\":\"b\",\"portName\":\"c\","
		"\"muxPort\":1}]}",
		"{\"portClaims\":[{\"namespace\":\"a\",\"service\":\"b\",\"portName\":\"c\","
		"\"muxPort\":0}]}",
		"{\"portClaims\":[{\"namespace\":\"a\",\"service\":\"b\",\"portName\":\"c\","
		"\"muxPort\":65536}]}",
		"{\"portClaims\":[{\"namespace\":\"a\",\"service\":\"b\",\"portName\":\"c\","
		"\"muxPort\":1,\"protocol\":\"ICMP\"}]}",
		"{\"portClaims\":[{\"namespace\":\"a\",\"service\":\"b\",\"portName\":\"c\","
		"\"muxPort\":1,\"source\":\"mine\"}]}",
		"{\"portClaims\":[],\"released\":[" CLAIM "]}",
		"{\"portClaims\":[],\"portClaims\":[]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct mux_state s = { .n_claims = 77 };
		const char *why = NULL;

		if (mux_state_parse(texts[i], *state, &s, &why) == 0)
			fail_msg("accepted: %s", texts[i]);
		assert_non_null(why);
		assert_int_equal(s.n_claims, 77);
	}
}

static struct mux_state sample(struct mux_claim claims[2])
{
	claims[0] = (struct mux_claim){ "app", "api", "http", MUX_TCP, true, 80, 20000, 0 };
	claims[1] = (struct mux_claim){ "app", "dns", "dns", MUX_UDP, false, 53, 53, 0 };
	return (struct mux_state){
		.namespace = "svc-mux", .name = "mux", .claims = claims, .n_claims = 2
	};
}

/* State: two blanks, keys in the order of the alphabet, allocations are the automatic claims */
static void the_text_is_the_one_of_the_original(void **state)
{
	static const char claim[] =
		"    {\n      \"channelPort\": 80,\n      \"muxPort\": 20000,\n"
		"      \"namespace\": \"app\",\n      \"port\": 20000,\n"
		"      \"portName\": \"http\",\n      \"protocol\": \"TCP\",\n"
		"      \"service\": \"api\",\n      \"source\": \"auto\"\n    }";
	struct mux_claim claims[2];
	struct mux_state s = sample(claims);
	struct buf out = { 0 };
	const char *expected;

	s.n_claims = 1;
	mux_state_write(&s, &out);
	expected = arena_printf(*state,
				"{\n  \"allocations\": [\n%s\n  ],\n  \"mux\": {\n    \"name\": "
				"\"mux\",\n    \"namespace\": \"svc-mux\"\n  },\n  \"portClaims\": "
				"[\n%s\n  ],\n  \"schemaVersion\": 1\n}",
				claim, claim);
	assert_string_equal(buf_cstr(&out), expected);
	out.n = 0;
	s.n_claims = 0;
	mux_state_write(&s, &out);
	assert_string_equal(buf_cstr(&out),
			    "{\n  \"allocations\": [],\n  \"mux\": {\n    \"name\": \"mux\",\n"
			    "    \"namespace\": \"svc-mux\"\n  },\n  \"portClaims\": [],\n"
			    "  \"schemaVersion\": 1\n}");
	buf_free(&out);
}

static void what_is_written_is_read_back(void **state)
{
	struct mux_claim claims[2], released = { "x", "y", "z", MUX_SCTP, true, 1, 2, 0 };
	struct mux_state s = sample(claims), back;
	struct buf out = { 0 };
	const char *why;

	released.released = 1700000000 * (int64_t)1000000000 + 123456000;
	s.released = &released;
	s.n_released = 1;
	mux_state_write(&s, &out);
	assert_int_equal(mux_state_parse(buf_cstr(&out), *state, &back, &why), 0);
	assert_int_equal(back.n_claims, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(mux_claim_cmp(&back.claims[i], &claims[i]), 0);
		assert_int_equal(back.claims[i].mux_port, claims[i].mux_port);
		assert_int_equal(back.claims[i].automatic, claims[i].automatic);
	}
	assert_int_equal(back.n_released, 1);
	assert_int_equal(back.released[0].released, released.released);
	assert_int_equal(back.released[0].protocol, MUX_SCTP);
	buf_free(&out);
}

static struct mux_state many(struct arena *a, size_t n)
{
	struct mux_claim *claims = arena_array_of(a, n, struct mux_claim);

	for (size_t i = 0; i < n; i++)
		claims[i] = (struct mux_claim){ "namespace",
						arena_printf(a, "service-%zu", i),
						"http",
						MUX_TCP,
						true,
						80,
						(uint16_t)(i + 1),
						0 };
	return (struct mux_state){
		.namespace = "svc-mux", .name = "mux", .claims = claims, .n_claims = n
	};
}

/* A ConfigMap holds 1 MiB: the text becomes denser before it becomes too long */
static void a_large_state_is_denser(void **state)
{
	static const struct {
		size_t n;
		bool indented, allocations;
	} rows[] = { { 1000, true, true }, { 2500, false, true }, { 5000, false, false } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mux_state s = many(*state, rows[i].n), back;
		struct buf out = { 0 };
		size_t size = 0;
		const char *why;

		mux_state_write(&s, &out);
		assert_true(out.n <= MUX_STATE_MAX);
		assert_int_equal(out.p[1] == '\n', rows[i].indented);
		assert_int_equal(strstr(buf_cstr(&out), "\"allocations\"") != NULL,
				 rows[i].allocations);
		assert_int_equal(mux_state_parse(buf_cstr(&out), *state, &back, &why), 0);
		assert_int_equal(back.n_claims, rows[i].n);
		for (size_t j = 0; j < rows[i].n; j++)
			size += mux_claim_size(&s.claims[j]);
		if (!rows[i].allocations) /* the estimate is never below what is written */
			assert_true(size + 1000 >= out.n);
		buf_free(&out);
	}
}

/* State: sorted by PROTOCOL:namespace:service:portName */
static void claims_have_an_order(void **state)
{
	const struct mux_claim a = { "b", "b", "b", MUX_TCP, false, 0, 0, 0 };
	const struct mux_claim b = { "a", "a", "a", MUX_UDP, false, 0, 0, 0 };
	const struct mux_claim s = { "z", "z", "z", MUX_SCTP, false, 0, 0, 0 };
	const struct mux_claim d = { "b", "c", "a", MUX_TCP, false, 0, 0, 0 };

	assert_true(mux_claim_cmp(&a, &b) < 0);
	assert_true(mux_claim_cmp(&s, &a) < 0);
	assert_true(mux_claim_cmp(&a, &d) < 0);
	assert_int_equal(mux_claim_cmp(&a, &a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_of_the_original_is_read),
		cmocka_unit_test(allocations_alone_are_migrated),
		cmocka_unit_test(port_claims_hide_allocations),
		cmocka_unit_test(nothing_is_an_empty_state),
		cmocka_unit_test(another_shape_is_refused),
		cmocka_unit_test(the_text_is_the_one_of_the_original),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(a_large_state_is_denser),
		cmocka_unit_test(claims_have_an_order),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
