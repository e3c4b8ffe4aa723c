/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>
#include <limits.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define US NSEC_PER_USEC
#define MS NSEC_PER_MSEC
#define S NSEC_PER_SEC
#define M (60 * S)
#define H (60 * M)

static void durations_read_as_go_reads_them(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "+0", 0 },
		{ "0s", 0 },
		{ "5s", 5 * S },
		{ "30s", 30 * S },
		{ "1478s", 1478 * S },
		{ "-5s", -5 * S },
		{ "+5s", 5 * S },
		{ "5.0s", 5 * S },
		{ "5.6s", 5 * S + 600 * MS },
		{ "5.s", 5 * S },
		{ ".5s", 500 * MS },
		{ "1.004s", S + 4 * MS },
		{ "100.00100s", 100 * S + MS },
		{ "10ns", 10 },
		{ "11us", 11 * US },
		{ "12µs", 12 * US },
		{ "12μs", 12 * US },
		{ "13ms", 13 * MS },
		{ "14s", 14 * S },
		{ "15m", 15 * M },
		{ "16h", 16 * H },
		{ "3h30m", 3 * H + 30 * M },
		{ "10.5s4m", 4 * M + 10 * S + 500 * MS },
		{ "-2m3.4s", -(2 * M + 3 * S + 400 * MS) },
		{ "1h2m3s4ms5us6ns", H + 2 * M + 3 * S + 4 * MS + 5 * US + 6 },
		{ "52763797000ns", 52763797000 },
		{ "0.3333333333333333333h", 20 * M },
		{ "0.100000000000000000000h", 6 * M },
		{ "0.830103483285477580700h", 49 * M + 48 * S + 372539827 },
		{ "9007199254740993ns", ((int64_t)1 << 53) + 1 },
		{ "9223372036854775807ns", INT64_MAX },
		{ "9223372036854775.807us", INT64_MAX },
		{ "9223372036s854ms775us807ns", INT64_MAX },
		{ "-9223372036854775808ns", INT64_MIN },
		{ "-9223372036854775.808us", INT64_MIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 4242;

		if (duration_parse(rows[i].text, &ns) != 0 || ns != rows[i].ns)
			fail_msg("%s: %lld", rows[i].text, (long long)ns);
	}
}

static void what_go_refuses_is_refused(void **state)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{ "", -EINVAL },
		{ "3", -EINVAL },
		{ "30", -EINVAL },
		{ "-", -EINVAL },
		{ "s", -EINVAL },
		{ ".", -EINVAL },
		{ "-.", -EINVAL },
		{ ".s", -EINVAL },
		{ "+.s", -EINVAL },
		{ "1d", -EINVAL },
		{ "1S", -EINVAL },
		{ "1 s", -EINVAL },
		{ " 1s", -EINVAL },
		{ "1s ", -EINVAL },
		{ "1s-1s", -EINVAL },
		{ "--1s", -EINVAL },
		{ "1.2.3s", -EINVAL },
		{ "1e3s", -EINVAL },
		{ "1msx", -EINVAL },
		{ "\x85\x85", -EINVAL },
		{ "3000000h", -ERANGE },
		{ "9223372036854775808ns", -ERANGE },
		{ "9223372036854775.808us", -ERANGE },
		{ "9223372036854ms775us808ns", -ERANGE },
		{ "-9223372036854775809ns", -ERANGE },
		{ "-9223372036854775808ns9223372036854775808ns", -ERANGE },
		{ "99999999999999999999s", -ERANGE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 4242;

		if (duration_parse(rows[i].text, &ns) != rows[i].r || ns != 4242)
			fail_msg("%s: %lld", rows[i].text, (long long)ns);
	}
}

static void durations_print_as_go_prints_them(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1100, "1.1µs" },
		{ 1000, "1µs" },
		{ 2200 * US, "2.2ms" },
		{ 200 * MS, "200ms" },
		{ 3300 * MS, "3.3s" },
		{ 1500 * MS, "1.5s" },
		{ S + 1, "1.000000001s" },
		{ 59 * S + 999999999, "59.999999999s" },
		{ M, "1m0s" },
		{ 90 * S, "1m30s" },
		{ 4 * M + 5 * S, "4m5s" },
		{ 4 * M + 5001 * MS, "4m5.001s" },
		{ 59 * M + 59 * S, "59m59s" },
		{ H, "1h0m0s" },
		{ 5 * H + 6 * M + 7001 * MS, "5h6m7.001s" },
		{ 8 * M + 1, "8m0.000000001s" },
		{ -1, "-1ns" },
		{ -90 * S, "-1m30s" },
		{ INT64_MAX, "2562047h47m16.854775807s" },
		{ INT64_MIN, "-2562047h47m16.854775808s" },
	};
	char buf[DURATION_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(duration_format(rows[i].ns, buf), rows[i].text);
}

static void what_is_printed_reads_back_the_same(void **state)
{
	uint64_t random = 42;
	char buf[DURATION_STRLEN];

	for (int i = 0; i < 20000; i++) {
		int64_t ns, back;

		random = random * 6364136223846793005u + 1442695040888963407u;
		ns = (int64_t)random >> (i % 64);
		if (duration_parse(duration_format(ns, buf), &back) != 0 || back != ns)
			fail_msg("%lld -> %s -> %lld", (long long)ns, buf, (long long)back);
	}
}

static void times_print_as_rfc_3339_in_utc(void **state)
{
	static const struct {
		int64_t unix_ns;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000000000Z" },
		{ 1776245400 * S + 1, "2026-04-15T09:30:00.000000001Z" },
		{ 951782399 * S + 999999999, "2000-02-28T23:59:59.999999999Z" },
		{ 951782400 * S, "2000-02-29T00:00:00.000000000Z" },
		{ -1, "1969-12-31T23:59:59.999999999Z" },
		{ -S, "1969-12-31T23:59:59.000000000Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145224192Z" },
	};
	char buf[TIME_STRLEN];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(time_format(rows[i].unix_ns, buf), rows[i].text);
}

/* A time of each day that the type can hold. */
static void times_agree_with_the_c_library(void **state)
{
	const int64_t day_ns = 24 * 3600 * S;
	char ours[TIME_STRLEN], theirs[TIME_STRLEN];

	for (int64_t day = INT64_MIN / day_ns; day < INT64_MAX / day_ns; day++) {
		int64_t at = day * day_ns + (day & 1 ? 86399 : 45296) * S;
		time_t second = (time_t)(at / S);
		struct tm tm;

		gmtime_r(&second, &tm);
		strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%S.000000000Z", &tm);
		assert_string_equal(time_format(at, ours), theirs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_read_as_go_reads_them),
		cmocka_unit_test(what_go_refuses_is_refused),
		cmocka_unit_test(durations_print_as_go_prints_them),
		cmocka_unit_test(what_is_printed_reads_back_the_same),
		cmocka_unit_test(times_print_as_rfc_3339_in_utc),
		cmocka_unit_test(times_agree_with_the_c_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
