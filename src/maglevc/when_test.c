/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/when.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

/* Wednesday, 2026-04-15T09:30:00Z */
#define NOW (1776245400 * NSEC_PER_SEC)

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

static void check(const char *text, const char *expected)
{
	char time[TIME_STRLEN];
	int64_t at = -1;

	if (when_parse(text, NOW, &at) < 0) {
		assert_int_equal(at, -1);
		assert_string_equal("", expected);
		return;
	}
	if (strncmp(time_format(at, time), expected, 19) != 0)
		fail_msg("%s: %s instead of %s", text, time, expected);
}

static void a_clock_is_its_next_time(void **state)
{
	zone("UTC0");
	check("22:00", "2026-04-15T22:00:00");
	check("09:31", "2026-04-15T09:31:00");
	check("09:30:01", "2026-04-15T09:30:01");
	check("09:30", "2026-04-16T09:30:00");
	check("00:00", "2026-04-16T00:00:00");
}

static void without_a_zone_the_time_is_local(void **state)
{
	zone("CET-1CEST,M3.5.0,M10.5.0/3"); /* two hours ahead in April */
	check("22:00", "2026-04-15T20:00:00");
	check("11:00", "2026-04-16T09:00:00");
	check("2026-04-16T02:00", "2026-04-16T00:00:00");
	check("2026-12-24 18:00", "2026-12-24T17:00:00");
	zone("UTC0");
}

static void a_zone_can_be_given(void **state)
{
	zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check("2026-04-16T02:00:05Z", "2026-04-16T02:00:05");
	check("2026-04-16T02:00+02:00", "2026-04-16T00:00:00");
	check("2026-04-16T02:00:00-05:30", "2026-04-16T07:30:00");
	zone("UTC0");
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"22",
		"24:00",
		"22:60",
		"2:00",
		"22:00x",
		"22:00:5",
		"tomorrow",
		"1h",
		"2026-02-30T10:00",
		"2026-13-01T10:00",
		"2026-04-00T10:00",
		"2026-04-15",
		"2026-04-15T",
		"2026-04-15T10",
		"2026-04-15T10:00+2",
		"1969-12-31T10:00",
		"2026-04-15T10:00 Z",
		"2026-04-15T10:00Zx",
	};

	zone("UTC0");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check(texts[i], "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_is_its_next_time),
		cmocka_unit_test(without_a_zone_the_time_is_local),
		cmocka_unit_test(a_zone_can_be_given),
		cmocka_unit_test(what_is_no_time_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
