/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/metrics.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void samples_are_lines(void **state)
{
	const struct metrics_label labels[] = { { "backend", STR("web1") },
						{ "code", STR("L7OK") } };
	struct buf out = { 0 };

	metrics_family(&out, "probe_total", METRICS_COUNTER, "Probes \\ by\nresult, \"all\".");
	metrics_u64(&out, "probe_total", labels, 2, UINT64_MAX);
	metrics_u64(&out, "up", NULL, 0, 0);
	metrics_double(&out, "ratio", labels, 1, -0.25);
	assert_string_equal(buf_cstr(&out),
			    "# HELP probe_total Probes \\\\ by\\nresult, \"all\".\n"
			    "# TYPE probe_total counter\n"
			    "probe_total{backend=\"web1\",code=\"L7OK\"} 18446744073709551615\n"
			    "up 0\n"
			    "ratio{backend=\"web1\"} -0.25\n");
	buf_free(&out);
}

static void label_values_may_hold_anything(void **state)
{
	static const struct {
		struct str value;
		const char *text;
	} rows[] = {
		{ { "", 0 }, "" },
		{ { "a\"b\\c\nd", 7 }, "a\\\"b\\\\c\\nd" },
		{ { "gr\xc3\xbc\xc3\x9f", 6 }, "gr\xc3\xbc\xc3\x9f" },
		{ { "a\xff\xfe"
		    "b",
		    4 },
		  "a\xef\xbf\xbd\xef\xbf\xbd"
		  "b" },
		{ { "\xe2\x82", 2 }, "\xef\xbf\xbd\xef\xbf\xbd" },		   /* cut short */
		{ { "\xed\xa0\x80", 3 }, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
		{ { "\xf0\x9f\x98\x80", 4 }, "\xf0\x9f\x98\x80" },
		{ { "\t\x01\x7f", 3 }, "\t\x01\x7f" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct metrics_label label = { "l", rows[i].value };
		struct buf out = { 0 };
		struct buf want = { 0 };

		metrics_u64(&out, "m", &label, 1, 1);
		buf_printf(&want, "m{l=\"%s\"} 1\n", rows[i].text);
		assert_string_equal(buf_cstr(&out), buf_cstr(&want));
		assert_true(utf8_valid(out.p, out.n));
		buf_free(&out);
		buf_free(&want);
	}
}

static void a_nul_in_a_label_does_not_cut_it(void **state)
{
	const struct metrics_label label = { "l", { "a\0b", 3 } };
	struct buf out = { 0 };

	metrics_u64(&out, "m", &label, 1, 1);
	assert_int_equal(out.n, strlen("m{l=\"a?b\"} 1\n"));
	assert_memory_equal(out.p, "m{l=\"a\0b\"} 1\n", out.n);
	buf_free(&out);
}

static void assert_double(double v, const char *text)
{
	struct buf out = { 0 };

	metrics_add_double(&out, v);
	assert_string_equal(buf_cstr(&out), text);
	buf_free(&out);
}

static void doubles_are_written_short(void **state)
{
	assert_double(0, "0");
	assert_double(-0.0, "0");
	assert_double(1, "1");
	assert_double(-3, "-3");
	assert_double(0.1, "0.1");
	assert_double(0.1 + 0.2, "0.30000000000000004");
	assert_double(1.0 / 3, "0.3333333333333333");
	assert_double(0.0025, "0.0025");
	assert_double(-12.5, "-12.5");
	assert_double(1755273600.123, "1755273600.123");
	assert_double(9007199254740991, "9007199254740991");
	assert_double(1e15, "1000000000000000");
	assert_double(1e300, "1e+300");
	assert_double(5e-324, "5e-324");
	assert_double(1.7976931348623157e308, "1.7976931348623157e+308");
	assert_double(NAN, "NaN");
	assert_double(INFINITY, "+Inf");
	assert_double(-INFINITY, "-Inf");
}

/* Significant digits: without sign, point, exponent and the zeros at both ends. */
static size_t significant(const char *text)
{
	char digits[64];
	size_t n = 0;

	for (const char *p = text; *p && *p != 'e'; p++)
		if (*p >= '0' && *p <= '9' && (n || *p != '0'))
			digits[n++] = *p;
	while (n && digits[n - 1] == '0')
		n--;
	return n;
}

static size_t shortest(double v)
{
	char text[64];
	int precision = 0;

	do {
		snprintf(text, sizeof(text), "%.*e", precision, v);
	} while (strtod(text, NULL) != v && precision++ < 17);
	return significant(text);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void assert_round_trip(double v)
{
	struct buf out = { 0 };

	metrics_add_double(&out, v);
	assert_true(strtod(buf_cstr(&out), NULL) == v);
	assert_int_equal(significant(buf_cstr(&out)), shortest(v));
	buf_free(&out);
}

static void every_double_reads_back_and_is_shortest(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	for (int i = 0; i < 30000; i++) {
		uint64_t bits = next_random(&seed);
		double any;

		memcpy(&any, &bits, sizeof(any));
		if (isfinite(any))
			assert_round_trip(any);
		assert_round_trip((double)(bits >> 40) / 1000.0);
		assert_round_trip((double)(bits >> 11) / 9007199254740992.0);
		assert_round_trip((double)(bits >> 34) / 1e9);
	}
}

static const double latency[] = { 0.001, 0.0025, 0.5, 1 };
static const struct metrics_bounds bounds = { latency, ARRAY_SIZE(latency) };

static void a_histogram_is_cumulative_and_bounds_include(void **state)
{
	const struct metrics_label label = { "backend", STR("b") };
	struct metrics_histogram h;
	struct buf out = { 0 };

	metrics_histogram_init(&h, &bounds);
	metrics_observe(&h, 0.001);
	metrics_observe(&h, 0.002);
	metrics_observe(&h, 0.5);
	metrics_observe(&h, 7);
	metrics_observe(&h, -1);
	metrics_histogram(&out, "d_seconds", &label, 1, &h);
	assert_string_equal(buf_cstr(&out), "d_seconds_bucket{backend=\"b\",le=\"0.001\"} 2\n"
					    "d_seconds_bucket{backend=\"b\",le=\"0.0025\"} 3\n"
					    "d_seconds_bucket{backend=\"b\",le=\"0.5\"} 4\n"
					    "d_seconds_bucket{backend=\"b\",le=\"1\"} 4\n"
					    "d_seconds_bucket{backend=\"b\",le=\"+Inf\"} 5\n"
					    "d_seconds_sum{backend=\"b\"} 6.503\n"
					    "d_seconds_count{backend=\"b\"} 5\n");
	out.n = 0;
	metrics_histogram(&out, "x", NULL, 0, &h);
	assert_int_equal(strncmp(buf_cstr(&out), "x_bucket{le=\"0.001\"} 2\n", 23), 0);
	assert_non_null(strstr(out.p, "\nx_count 5\n"));
	buf_free(&out);
}

/* The value of a sample without labels in a page, or NaN. */
static double value_of(struct buf *page, const char *name)
{
	struct buf line = { 0 };
	const char *at;
	double v = NAN;

	buf_printf(&line, "\n%s ", name);
	at = strstr(buf_cstr(page), buf_cstr(&line));
	if (at)
		v = strtod(at + line.n, NULL);
	buf_free(&line);
	return v;
}

static void the_process_is_described(void **state)
{
	struct buf page = { 0 };
	double now = (double)time(NULL);

	prctl(PR_SET_NAME, "a) R 1 (b");
	metrics_process(&page);
	assert_true(value_of(&page, "process_cpu_seconds_total") >= 0);
	assert_true(value_of(&page, "process_cpu_seconds_total") < 600);
	assert_true(value_of(&page, "process_resident_memory_bytes") > 100000);
	assert_true(value_of(&page, "process_virtual_memory_bytes") >=
		    value_of(&page, "process_resident_memory_bytes"));
	assert_true(value_of(&page, "process_max_fds") >= value_of(&page, "process_open_fds"));
	assert_true(value_of(&page, "process_start_time_seconds") > now - 3600);
	assert_true(value_of(&page, "process_start_time_seconds") <= now + 2);
	buf_free(&page);
}

static void open_descriptors_are_counted(void **state)
{
	struct buf page = { 0 };
	double before;
	int fd;

	metrics_process(&page);
	before = value_of(&page, "process_open_fds");
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	page.n = 0;
	metrics_process(&page);
	assert_true(value_of(&page, "process_open_fds") == before + 1);
	close(fd);
	buf_free(&page);
}

/* Feeds the page to promtool, which must not complain. */
static int check_with_promtool(struct buf *page, const char *command)
{
	FILE *tool = popen(command, "w");

	assert_non_null(tool);
	assert_int_equal(fwrite(page->p, 1, page->n, tool), page->n);
	return pclose(tool);
}

static void promtool_accepts_the_page(void **state)
{
	const struct metrics_label odd[] = { { "backend", STR("a\"\\\n\xff\xc3\xbc") },
					     { "type", STR("http") } };
	struct metrics_histogram h;
	struct buf page = { 0 };

	if (system("command -v promtool >/dev/null 2>&1") != 0)
		skip();
	metrics_process(&page);
	metrics_family(&page, "maglev_probe_total", METRICS_COUNTER, "Probes.\nBy \\ result.");
	metrics_u64(&page, "maglev_probe_total", odd, 2, 12);
	metrics_family(&page, "maglev_weight_ratio", METRICS_GAUGE, "Weight.");
	metrics_double(&page, "maglev_weight_ratio", odd, 1, NAN);
	metrics_double(&page, "maglev_weight_ratio", NULL, 0, -1e-300);
	metrics_histogram_init(&h, &bounds);
	metrics_observe(&h, 0.3);
	metrics_family(&page, "maglev_probe_duration_seconds", METRICS_HISTOGRAM, "Time.");
	metrics_histogram(&page, "maglev_probe_duration_seconds", odd, 2, &h);
	assert_int_equal(check_with_promtool(&page, "promtool check metrics >&2"), 0);
	/* promtool does report errors */
	buf_adds(&page, "maglev_weight_ratio{ 1\n");
	assert_int_not_equal(check_with_promtool(&page, "promtool check metrics >&2 2>/dev/null"),
			     0);
	buf_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_lines),
		cmocka_unit_test(label_values_may_hold_anything),
		cmocka_unit_test(a_nul_in_a_label_does_not_cut_it),
		cmocka_unit_test(doubles_are_written_short),
		cmocka_unit_test(every_double_reads_back_and_is_shortest),
		cmocka_unit_test(a_histogram_is_cumulative_and_bounds_include),
		cmocka_unit_test(the_process_is_described),
		cmocka_unit_test(open_descriptors_are_counted),
		cmocka_unit_test(promtool_accepts_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
