/* SPDX-License-Identifier: Apache-2.0 */
/* References to a mux, hashes, and names that are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/tls/digest.h"
#include "src/mux/names.h"

static const struct mux_settings settings = { "svc-mux.nowake.ai", "svc-mux", tls_sha256 };

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

#define P "svc-mux.nowake.ai/"
#define LONG63 "a23456789012345678901234567890123456789012345678901234567890123"

/* loadBalancerClass: <prefix>/<mux>[.<namespace>], each a DNS label */
static void a_class_names_a_mux(void **state)
{
	static const struct {
		const char *class, *namespace, *name, *why;
	} rows[] = {
		{ P "mux", "svc-mux", "mux", NULL },
		{ P "mux.edge", "edge", "mux", NULL },
		{ P LONG63, "svc-mux", LONG63, NULL },
		{ P "a.b.c", NULL, NULL,
		  "Invalid LoadBalancerClass '" P "a.b.c'; expected svc-mux.nowake.ai/"
		  "<name>[.<namespace>]" },
		{ P "Bad_Name", NULL, NULL,
		  "Invalid multiplexer service name 'Bad_Name'; expected a Kubernetes DNS label" },
		{ P "-a", NULL, NULL,
		  "Invalid multiplexer service name '-a'; expected a Kubernetes DNS label" },
		{ P "", NULL, NULL,
		  "Invalid multiplexer service name ''; expected a Kubernetes DNS label" },
		{ P "mux.", NULL, NULL,
		  "Invalid multiplexer namespace ''; expected a Kubernetes DNS label" },
		{ P "mux.Edge", NULL, NULL,
		  "Invalid multiplexer namespace 'Edge'; expected a Kubernetes DNS label" },
		{ P LONG63 "4", NULL, NULL,
		  "Invalid multiplexer service name '" LONG63
		  "4'; expected a Kubernetes DNS label" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mux_reference ref;
		const char *why = NULL;
		int r = mux_class_parse(&settings, rows[i].class, *state, &ref, &why);

		assert_int_equal(r < 0, rows[i].why != NULL);
		if (r < 0) {
			assert_string_equal(why, rows[i].why);
			continue;
		}
		assert_string_equal(ref.namespace, rows[i].namespace);
		assert_string_equal(ref.name, rows[i].name);
	}
}

static void only_classes_with_the_prefix_are_ours(void **state)
{
	assert_true(mux_class_is_ours(&settings, P "x"));
	assert_true(mux_class_is_ours(&settings, P));
	assert_false(mux_class_is_ours(&settings, "svc-mux.nowake.ai"));
	assert_false(mux_class_is_ours(&settings, "svc-mux.nowake.aix/mux"));
	assert_false(mux_class_is_ours(&settings, NULL));
}

/* Names of ports: seven digits of SHA-256 over namespace/service/port name */
static void hashes_are_those_of_the_original(void **state)
{
	static const struct {
		const char *namespace, *service, *port, *hash;
	} rows[] = {
		{ "app", "api", "http", "bcaefde" },	{ "app", "a", "http", "f0ad37a" },
		{ "app", "b", "http", "0241458" },	{ "default", "echo", "http", "8dd0219" },
		{ "app", "dns", "dns-tcp", "fe258d1" }, { "app", "dns", "dns-udp", "8aca11d" },
	};
	char hash[MUX_NAME_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		mux_port_hash(&settings, rows[i].namespace, rows[i].service, rows[i].port, hash);
		assert_int_equal(strlen(hash), MUX_NAME_MAX);
		assert_memory_equal(hash, rows[i].hash, MUX_NAME_MIN);
	}
}

static struct mux_service mux_named(const char *name, const struct k8s_pair *notes, uint32_t n)
{
	return (struct mux_service){ .object = { .namespace = "svc-mux", .name = name, .uid = "" },
				     .annotations = { notes, n } };
}

/* State: <mux>-port-allocations, hashed above 63 characters, or the annotation */
static void the_state_has_a_name(void **state)
{
	const char *name46 = "m234567890123456789012345678901234567890123456";
	const char *name47 = "m2345678901234567890123456789012345678901234567";
	const struct k8s_pair note = { P "allocation-configmap", " custom " };
	const struct k8s_pair blank = { P "allocation-configmap", " " };
	struct mux_service s = mux_named("mux", NULL, 0);
	const char *made;

	assert_string_equal(mux_state_name(&settings, &s, *state), "mux-port-allocations");
	s = mux_named(name46, NULL, 0);
	made = mux_state_name(&settings, &s, *state);
	assert_int_equal(strlen(made), 63);
	assert_string_equal(made + 46, "-port-allocations");
	s = mux_named(name47, NULL, 0);
	made = mux_state_name(&settings, &s, *state);
	assert_int_equal(strlen(made), 47 + 9);
	assert_memory_equal(made, name47, 47);
	s = mux_named(LONG63, NULL, 0);
	made = mux_state_name(&settings, &s, *state);
	assert_int_equal(strlen(made), 63);
	assert_memory_equal(made, LONG63, 54);
	s = mux_named("mux", &note, 1);
	assert_string_equal(mux_state_name(&settings, &s, *state), "custom");
	s = mux_named("mux", &blank, 1);
	assert_string_equal(mux_state_name(&settings, &s, *state), "mux-port-allocations");
}

/* multiplexer: exactly "true" */
static void a_mux_says_true(void **state)
{
	static const struct {
		const char *value;
		enum mux_role role;
	} rows[] = { { "true", MUX_ROLE_MUX },
		     { "True", MUX_ROLE_NONE },
		     { "1", MUX_ROLE_NONE },
		     { "yes", MUX_ROLE_NONE },
		     { "", MUX_ROLE_NONE } };
	struct mux_reference ref;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct k8s_pair note = { P "multiplexer", rows[i].value };
		struct mux_service s = mux_named("mux", &note, 1);

		assert_int_equal(mux_role(&settings, &s, &ref), rows[i].role);
	}
}

static void a_channel_is_a_load_balancer_with_our_class(void **state)
{
	struct mux_service s = mux_named("api", NULL, 0);
	const struct k8s_pair left = { P "ports", "http:80->80" };
	struct mux_reference ref;

	s.class = P "mux.edge";
	assert_int_equal(mux_role(&settings, &s, &ref), MUX_ROLE_NONE);
	s.type = "LoadBalancer";
	assert_int_equal(mux_role(&settings, &s, &ref), MUX_ROLE_CHANNEL);
	assert_string_equal(ref.namespace, "edge");
	s.class = P "a.b.c";
	assert_int_equal(mux_role(&settings, &s, &ref), MUX_ROLE_STRAY);
	s.class = "other.example/x";
	assert_int_equal(mux_role(&settings, &s, &ref), MUX_ROLE_NONE);
	s.annotations = (struct k8s_list){ &left, 1 };
	assert_int_equal(mux_role(&settings, &s, &ref), MUX_ROLE_STRAY);
}

static void slices_are_named_after_their_source(void **state)
{
	const char *a = mux_slice_name(&settings, "mux", "app", "api", "api-x", *state);
	const char *b = mux_slice_name(&settings, "mux", "app", "api", "api-y", *state);

	assert_int_equal(strlen(a), 4 + 32);
	assert_memory_equal(a, "mux-", 4);
	assert_string_not_equal(a, b);
	assert_string_equal(a, mux_slice_name(&settings, "mux", "app", "api", "api-x", *state));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_names_a_mux),
		cmocka_unit_test(only_classes_with_the_prefix_are_ours),
		cmocka_unit_test(hashes_are_those_of_the_original),
		cmocka_unit_test(the_state_has_a_name),
		cmocka_unit_test(a_mux_says_true),
		cmocka_unit_test(a_channel_is_a_load_balancer_with_our_class),
		cmocka_unit_test(slices_are_named_after_their_source),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
