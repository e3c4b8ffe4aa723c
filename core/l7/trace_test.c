/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

/* W3C Trace Context, 3.2.2 */
static const struct {
	const char *text;
	bool valid;
} fields[] = {
	{ "00-" ID "-" SPAN "-01", true },
	{ "00-" ID "-" SPAN "-00", true },
	{ "00-" ID "-" SPAN "-ff", true }, /* unknown flags */
	{ "cc-" ID "-" SPAN "-01", true }, /* a later version */
	{ "cc-" ID "-" SPAN "-01-what-comes", true },
	{ "cc-" ID "-" SPAN "-01.what-comes", false },
	{ "00-" ID "-" SPAN "-01-", false },
	{ "00-" ID "-" SPAN "-01-x", false },
	{ "ff-" ID "-" SPAN "-01", false },
	{ "0-" ID "-" SPAN "-01", false },
	{ "00-00000000000000000000000000000000-" SPAN "-01", false },
	{ "00-" ID "-0000000000000000-01", false },
	{ "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", false },
	{ "00-" ID "-00F067AA0BA902B7-01", false },
	{ "00-" ID "-" SPAN "-0", false },
	{ "00-" ID "-" SPAN "-0x", false },
	{ "00-" ID "-" SPAN " 01", false },
	{ "00_" ID "-" SPAN "-01", false },
	{ "00-" ID "_" SPAN "-01", false },
	{ "00-" ID "." SPAN ".01", false },
	{ " 00-" ID "-" SPAN "-01", false },
	{ "", false },
};

static void only_what_the_standard_allows_is_valid(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct l7_trace t = { .flags = 0x55 };

		if (l7_trace_parse(str_of(fields[i].text), &t) != fields[i].valid)
			fail_msg("%s", fields[i].text);
		if (!fields[i].valid)
			assert_int_equal(t.flags, 0x55);
	}
}

static void a_trace_survives_the_way_to_text_and_back(void **state)
{
	char text[L7_TRACE_SIZE], id[L7_TRACE_ID_SIZE];
	struct l7_trace t;

	assert_true(l7_trace_parse(STR("00-" ID "-" SPAN "-03"), &t));
	assert_int_equal(t.flags, L7_TRACE_SAMPLED | L7_TRACE_RANDOM);
	assert_string_equal(l7_trace_format(&t, text), "00-" ID "-" SPAN "-03");
	assert_string_equal(l7_trace_id(&t, id), ID);
}

static void a_new_trace_is_valid_whatever_the_numbers_are(void **state)
{
	static const uint64_t numbers[][3] = { { 0, 0, 0 }, { 1, 2, 3 }, { ~0UL, ~0UL, ~0UL } };
	char text[L7_TRACE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (int sampled = 0; sampled < 2; sampled++) {
			struct l7_trace t = l7_trace_new(numbers[i], sampled), back;

			assert_true(l7_trace_parse(str_of(l7_trace_format(&t, text)), &back));
			assert_int_equal(back.flags,
					 L7_TRACE_RANDOM | (sampled ? L7_TRACE_SAMPLED : 0));
			assert_memory_equal(back.id, t.id, sizeof(t.id));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_standard_allows_is_valid),
		cmocka_unit_test(a_trace_survives_the_way_to_text_and_back),
		cmocka_unit_test(a_new_trace_is_valid_whatever_the_numbers_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
