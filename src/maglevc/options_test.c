/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/cli/testing.h"
#include "src/maglevc/complete.h"

static struct options o;
static struct buf text;

static enum cli_verdict parse(const char *const args[])
{
	char *argv[CLI_ARGS_MAX];

	options_free(&o);
	text.n = 0;
	return options_parse(&o, cli_copy_args(args, argv), argv, &text);
}

#define PARSE(...) parse(CLI_ARGS("maglevc", ##__VA_ARGS__))

static int reset(void **state)
{
	static const char *const variables[] = { "MAGLEV_SERVER",   "MAGLEV_OUTPUT",
						 "MAGLEV_COLOR",    "MAGLEV_TIMEOUT",
						 "MAGLEV_TLS",	    "MAGLEV_TLS_CA",
						 "MAGLEV_TLS_CERT", "MAGLEV_TLS_KEY",
						 "MAGLEV_TLS_NAME", "MAGLEV_HISTORY" };

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		unsetenv(variables[i]);
	options_free(&o);
	buf_free(&text);
	return 0;
}

static void without_flags_the_server_is_here_and_text_has_no_colour(void **state)
{
	assert_int_equal(PARSE("show", "version"), CLI_OK);
	assert_string_equal(o.servers[SERVER_MAGLEVD], "localhost:9090");
	assert_string_equal(o.servers[SERVER_SPEAKER], "localhost:9095");
	assert_string_equal(o.servers[SERVER_ROUTER], "localhost:9096");
	assert_false(o.json || o.color || o.tls);
	assert_int_equal(o.timeout, 5 * NSEC_PER_SEC);
	assert_null(o.tls_files.ca);
	assert_null(o.tls_name);
	assert_int_equal(o.words.n, 2);
}

static void flags_stand_before_or_behind_the_command(void **state)
{
	assert_int_equal(PARSE("--server", "a:1", "show", "backends", "-o", "json", "--color"),
			 CLI_OK);
	assert_string_equal(o.servers[SERVER_MAGLEVD], "a:1");
	assert_true(o.json && o.color);
	assert_int_equal(o.words.n, 2);
	assert_string_equal(o.words.items[1], "backends");
}

/* NFR-5.1 */
static void the_environment_sets_what_flags_do_not(void **state)
{
	setenv("MAGLEV_SERVER", "b:2", 1);
	setenv("MAGLEV_OUTPUT", "json", 1);
	setenv("MAGLEV_COLOR", "true", 1);
	setenv("MAGLEV_TIMEOUT", "1s", 1);
	setenv("MAGLEV_TLS_CERT", "c.pem", 1);
	setenv("MAGLEV_TLS_KEY", "k.pem", 1);
	assert_int_equal(PARSE("--color=false"), CLI_OK);
	assert_string_equal(o.servers[SERVER_MAGLEVD], "b:2");
	assert_true(o.json && !o.color && o.tls);
	assert_int_equal(o.timeout, NSEC_PER_SEC);
	assert_string_equal(o.tls_files.certificate, "c.pem");
	assert_string_equal(o.tls_files.key, "k.pem");
}

static void whether_colour_was_said_is_known(void **state)
{
	assert_int_equal(PARSE(), CLI_OK);
	assert_false(o.color || o.color_given);
	assert_int_equal(PARSE("--color=false"), CLI_OK);
	assert_true(!o.color && o.color_given);
	setenv("MAGLEV_COLOR", "true", 1);
	assert_int_equal(PARSE(), CLI_OK);
	assert_true(o.color && o.color_given);
}

static void a_history_is_kept_where_it_is_said(void **state)
{
	assert_int_equal(PARSE(), CLI_OK);
	assert_false(o.history_given);
	setenv("MAGLEV_HISTORY", "", 1);
	assert_int_equal(PARSE(), CLI_OK);
	assert_true(o.history_given);
	assert_string_equal(o.history, "");
	assert_int_equal(PARSE("--history", "h"), CLI_OK);
	assert_string_equal(o.history, "h");
}

/* The candidates after the words, each followed by a blank; "-": a word of the command. */
static void check_typing(const char *const *words, size_t n, const char *expected)
{
	const struct typing t = { .words = words, .n = n - 1, .begin = words[n - 1] };
	_cleanup_(buf_free) struct buf found = { 0 };
	struct candidates c = { 0 };

	if (!options_complete(&t, &c))
		buf_addc(&found, '-');
	for (size_t i = 0; i < c.n; i++)
		buf_printf(&found, "%s ", *c.items[i].word ? c.items[i].word : c.items[i].help);
	assert_string_equal(buf_cstr(&found), expected);
	candidates_free(&c);
}

#define TYPING(expected, ...)                                                                      \
	check_typing((const char *const[]){ __VA_ARGS__ },                                         \
		     ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })), expected)

static void every_flag_can_be_completed(void **state)
{
	TYPING("--tls-ca --tls-cert ", "--tls-c");
	TYPING("--timeout --tls --tls-ca --tls-cert --tls-key --tls-name ", "show", "--t");
	TYPING("--history --help ", "--h");
	TYPING("--version ", "--server=x", "--v");
	TYPING("", "--nonsense");
	TYPING("-", "show");
	TYPING("-", "");
	TYPING("-", "--", "--t");
}

static void values_that_are_known_can_be_completed(void **state)
{
	TYPING("text json ", "--output", "");
	TYPING("json ", "show", "-o", "j");
	TYPING("--output=json ", "--output=j");
	TYPING("-output=text -output=json ", "-output=");
	TYPING("--color=true --color=false ", "--color=");
	TYPING("-", "--color", "");
	TYPING("", "--timeout", "");
	TYPING("", "--nonsense=");
	/* the word after a flag is its value, even if it looks like a flag */
	TYPING("text json ", "--tls-name", "--server", "-o", "");
	TYPING("-", "--tls-name", "-o", "");
}

static void where_a_file_is_wanted_that_is_said(void **state)
{
	TYPING("file ", "--tls-ca", "");
	TYPING("file ", "--tls-cert", "/etc/x");
	TYPING("file ", "--tls-key=/etc/x");
	TYPING("file ", "--history", "x");
}

static void any_flag_of_tls_means_tls(void **state)
{
	assert_int_equal(PARSE("--tls"), CLI_OK);
	assert_true(o.tls);
	assert_int_equal(PARSE("--tls-ca=ca.pem"), CLI_OK);
	assert_true(o.tls);
	assert_int_equal(PARSE("--tls-name=x"), CLI_OK);
	assert_true(o.tls);
	setenv("MAGLEV_TLS_CA", "", 1);
	assert_int_equal(PARSE(), CLI_OK);
	assert_false(o.tls);
	assert_null(o.tls_files.ca);
}

static void flags_that_make_no_sense_are_refused(void **state)
{
	assert_int_equal(PARSE("-o", "yaml"), CLI_EXIT_USAGE);
	assert_string_equal(
		buf_cstr(&text),
		"maglevc: --output: \"yaml\" is not text or json\nTry 'maglevc --help'.\n");
	assert_int_equal(PARSE("--timeout=0s", "show"), CLI_EXIT_USAGE);
	assert_int_equal(PARSE("--timeout=-1s"), CLI_EXIT_USAGE);
	assert_int_equal(PARSE("--tls-cert=c.pem"), CLI_EXIT_USAGE);
	assert_int_equal(PARSE("--tls-key=k.pem"), CLI_EXIT_USAGE);
	assert_int_equal(PARSE("--nonsense"), CLI_EXIT_USAGE);
}

static void help_shows_flags_and_commands(void **state)
{
	assert_int_equal(PARSE("--help"), CLI_EXIT_OK);
	assert_non_null(strstr(buf_cstr(&text), "\n  --server HOST[:PORT],..."));
	assert_non_null(strstr(buf_cstr(&text), "\n  -o, --output FORMAT"));
	assert_non_null(strstr(buf_cstr(&text), "\n  show frontends <name>  "));
	assert_null(strstr(buf_cstr(&text), "quit"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, reset, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_flags_the_server_is_here_and_text_has_no_colour),
		CASE(flags_stand_before_or_behind_the_command),
		CASE(the_environment_sets_what_flags_do_not),
		CASE(whether_colour_was_said_is_known),
		CASE(a_history_is_kept_where_it_is_said),
		CASE(every_flag_can_be_completed),
		CASE(values_that_are_known_can_be_completed),
		CASE(where_a_file_is_wanted_that_is_said),
		CASE(any_flag_of_tls_means_tls),
		CASE(flags_that_make_no_sense_are_refused),
		CASE(help_shows_flags_and_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
