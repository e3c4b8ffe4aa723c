/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/cli/testing.h"

static struct options o;
static struct buf text;

static enum cli_verdict parse(const char *const args[])
{
	char *argv[CLI_ARGS_MAX];

	options_free(&o);
	text.n = 0;
	return options_parse(&o, cli_copy_args(args, argv), argv, &text);
}

#define PARSE(...) parse(CLI_ARGS("maglevt", ##__VA_ARGS__))

static int reset(void **state)
{
	unsetenv("MAGLEVT_CONFIG");
	unsetenv("MAGLEVT_URI");
	unsetenv("MAGLEVT_MIN_SUCCESS");
	options_free(&o);
	buf_free(&text);
	return 0;
}

static void without_flags_all_have_their_defaults(void **state)
{
	assert_int_equal(PARSE(), CLI_OK);
	assert_int_equal(o.configs.n, 1);
	assert_int_equal(o.interval, 100 * NSEC_PER_MSEC);
	assert_int_equal(o.timeout, 2 * NSEC_PER_SEC);
	assert_null(o.uri);
	assert_string_equal(o.header, "X-IPng-Frontend");
	assert_false(o.insecure || o.keepalive || o.batch || o.json || o.dns);
	assert_null(o.scheme);
	assert_null(o.filter);
	assert_true(o.min_success == 1 && o.max_p99 == 0);
}

static void several_files_may_be_given(void **state)
{
	assert_int_equal(PARSE("--config", "a,b", "-config=c"), CLI_OK);
	assert_int_equal(o.configs.n, 3);
	assert_string_equal(o.configs.items[2], "c");
}

static void the_path_has_two_names(void **state)
{
	assert_int_equal(PARSE("--path", "/x"), CLI_OK);
	assert_string_equal(o.uri, "/x");
	assert_int_equal(PARSE("--uri", "/y"), CLI_OK);
	assert_string_equal(o.uri, "/y");
}

/* NFR-5.1 */
static void the_environment_sets_what_flags_do_not(void **state)
{
	setenv("MAGLEVT_CONFIG", "x", 1);
	setenv("MAGLEVT_URI", "/z", 1);
	setenv("MAGLEVT_MIN_SUCCESS", "99.5%", 1);
	assert_int_equal(PARSE(), CLI_OK);
	assert_string_equal(o.configs.items[0], "x");
	assert_string_equal(o.uri, "/z");
	assert_true(o.min_success == 0.995);
}

static void check_refused(const char *flag, const char *expected)
{
	assert_int_equal(PARSE(flag), CLI_EXIT_USAGE);
	if (!strstr(buf_cstr(&text), expected))
		fail_msg("%s: %s", flag, buf_cstr(&text));
}

static void flags_that_make_no_sense_are_refused(void **state)
{
	check_refused("--output=yaml", "\"yaml\" is not text or json");
	check_refused("--output=json", "needs --batch");
	check_refused("--min-success=101", "from 0 to 100");
	check_refused("--min-success=x", "from 0 to 100");
	check_refused("--min-success=nan", "from 0 to 100");
	check_refused("--interval=0s", "more than 0");
	check_refused("--duration=-1s", "more than 0");
	check_refused("--scheme=ftp", "\"ftp\" is not http, https or tcp");
	check_refused("--uri=x", "begins with a /");
	setenv("MAGLEVT_CA", "x", 1);
	check_refused("--insecure", "exclude each other");
	unsetenv("MAGLEVT_CA");
	check_refused("word", "unexpected argument");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, reset, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_flags_all_have_their_defaults),
		CASE(several_files_may_be_given),
		CASE(the_path_has_two_names),
		CASE(the_environment_sets_what_flags_do_not),
		CASE(flags_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
