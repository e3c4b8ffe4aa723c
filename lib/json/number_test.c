/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "lib/json/json.h"
#include "lib/json/reader.h"

static void whole_numbers_are_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "-0.0e5", 0 },
		{ "0e999999999999999999999", 0 },
		{ "1", 1 },
		{ "-17", -17 },
		{ "9007199254740993", 9007199254740993 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
		{ "9223372036854775807.000", INT64_MAX },
		{ "1e3", 1000 },
		{ "1E+3", 1000 },
		{ "1.5e1", 15 },
		{ "-1.25e2", -125 },
		{ "100e-2", 1 },
		{ "1200.00e-2", 12 },
		{ "0.001e3", 1 },
		{ "0.000000000000000000000000001e27", 1 },
		{ "1000000000000000000000000000e-27", 1 },
		{ "922337203685477580700e-2", INT64_MAX },
		{ "9.223372036854775807e18", INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t v = 77;

		assert_int_equal(json_to_i64(str_of(rows[i].text), &v), 0);
		assert_true(v == rows[i].value);
	}
}

static void unsigned_numbers_reach_further(void **state)
{
	uint64_t u = 77;
	int64_t i = 77;

	assert_int_equal(json_to_u64(STR("18446744073709551615"), &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(json_to_u64(STR("1.8446744073709551615e19"), &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(json_to_u64(STR("-0"), &u), 0);
	assert_true(u == 0);
	assert_int_equal(json_to_u64(STR("18446744073709551616"), &u), -ERANGE);
	assert_int_equal(json_to_u64(STR("-1"), &u), -ERANGE);
	assert_int_equal(json_to_u64(STR("1e20"), &u), -ERANGE);
	assert_int_equal(json_to_i64(STR("9223372036854775808"), &i), -ERANGE);
	assert_int_equal(json_to_i64(STR("-9223372036854775809"), &i), -ERANGE);
	assert_int_equal(json_to_i64(STR("1e99999999999999999999999"), &i), -ERANGE);
	assert_true(u == 0 && i == 77);
}

static void fractions_are_no_whole_numbers(void **state)
{
	static const char *const texts[] = { "1.5",   "-0.1",	"1e-1",
					     "12e-2", "0.05e1", "1e-99999999999999999999999" };
	uint64_t u = 77;
	int64_t i = 77;

	for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
		assert_int_equal(json_to_i64(str_of(texts[k]), &i), -EINVAL);
		assert_int_equal(json_to_u64(str_of(texts[k]), &u), -EINVAL);
	}
	assert_true(u == 77 && i == 77);
}

static void other_texts_are_no_numbers(void **state)
{
	static const char *const texts[] = { "",    " 1", "1 ",	 "+1",	"01",  ".5",  "1.", "1e",
					     "0x1", "-",  "inf", "nan", "1,5", "--1", "1e+" };
	double d = 77;
	int64_t i = 77;

	for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
		assert_int_equal(json_to_i64(str_of(texts[k]), &i), -EINVAL);
		assert_int_equal(json_to_double(str_of(texts[k]), &d), -EINVAL);
	}
	assert_true(d == 77 && i == 77);
}

static void doubles_are_the_nearest(void **state)
{
	double v = 0;

	assert_int_equal(json_to_double(STR("0.1"), &v), 0);
	assert_true(v == 0.1);
	assert_int_equal(json_to_double(STR("-1.5e3"), &v), 0);
	assert_true(v == -1500);
	assert_int_equal(json_to_double(STR("-0"), &v), 0);
	assert_true(v == 0 && signbit(v));
	assert_int_equal(json_to_double(STR("1e-400"), &v), 0);
	assert_true(v == 0);
	assert_int_equal(json_to_double(STR("1.7976931348623157e308"), &v), 0);
	assert_int_equal(json_to_double(STR("1e309"), &v), -ERANGE);
	assert_int_equal(json_to_double(STR("-1e309"), &v), -ERANGE);
	assert_true(v == 1.7976931348623157e308);
}

static void what_the_writer_writes_reads_back(void **state)
{
	uint64_t dice = 20260415;

	for (int i = 0; i < 20000; i++) {
		_cleanup_(buf_free) struct buf out = { 0 };
		uint64_t bits = random_next(&dice);
		double v, back;

		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		json_write_double(&out, v);
		assert_int_equal(json_to_double((struct str){ out.p, out.n }, &back), 0);
		assert_memory_equal(&v, &back, sizeof(v));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_exact),
		cmocka_unit_test(unsigned_numbers_reach_further),
		cmocka_unit_test(fractions_are_no_whole_numbers),
		cmocka_unit_test(other_texts_are_no_numbers),
		cmocka_unit_test(doubles_are_the_nearest),
		cmocka_unit_test(what_the_writer_writes_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
