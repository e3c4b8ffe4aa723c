/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cli/cli.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/cli/testing.h"

static struct {
	const char *config, *metrics;
	struct cli_list servers;
	bool check, reflection;
	int64_t timeout;
	bool timeout_given;
	size_t most;
	enum log_level level;
} got;

static const struct cli_option options[] = {
	{ .name = "config",
	  .kind = CLI_STRING,
	  .env = "CLITEST_CONFIG",
	  .argument = "FILE",
	  .help = "configuration file",
	  .string = &got.config },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "CLITEST_METRICS_ADDR",
	  .fallback = ":9091",
	  .argument = "ADDR",
	  .help = "where to serve /metrics, /healthz and /readyz; an empty address means nowhere",
	  .string = &got.metrics },
	{ .name = "server",
	  .kind = CLI_LIST,
	  .env = "CLITEST_SERVER",
	  .help = "servers to ask",
	  .list = &got.servers },
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "CLITEST_CHECK",
	  .help = "check only",
	  .boolean = &got.check },
	{ .name = "reflection",
	  .kind = CLI_BOOL,
	  .fallback = "true",
	  .help = "serve reflection",
	  .boolean = &got.reflection },
	{ .name = "timeout",
	  .kind = CLI_DURATION,
	  .env = "CLITEST_TIMEOUT",
	  .fallback = "2s",
	  .help = "how long to wait",
	  .given = &got.timeout_given,
	  .duration = &got.timeout },
	{ .name = "log-level",
	  .kind = CLI_LEVEL,
	  .env = "CLITEST_LOG_LEVEL",
	  .fallback = "info",
	  .help = "least level that is logged",
	  .level = &got.level },
};

static const struct cli_program strict = {
	.name = "prog",
	.about = "Does nothing, and says so in a sentence that is long enough to be broken in two.",
	.options = options,
	.n_options = ARRAY_SIZE(options),
};

static const struct cli_program shell = {
	.name = "prog",
	.operands = "[command ...]",
	.about = "Takes words.",
	.options = options,
	.n_options = ARRAY_SIZE(options),
};

static struct cli_list words;

static const char *const two[] = { "text", "json", NULL };
static const char *const three[] = { "http", "https", "tcp", NULL };

static const struct cli_option tool_options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .kind = CLI_CHOICE,
	  .choices = two,
	  .fallback = "text",
	  .help = "how to answer",
	  .string = &got.config },
	{ .name = "scheme",
	  .kind = CLI_CHOICE,
	  .choices = three,
	  .env = "CLITEST_SCHEME",
	  .help = "how to ask",
	  .string = &got.metrics },
	{ .name = "most",
	  .kind = CLI_COUNT,
	  .fallback = "7",
	  .help = "how many",
	  .count = &got.most },
};

static const struct cli_program tool = {
	.name = "prog",
	.operands = "command ...",
	.about = "Takes words and flags as they come.",
	.more = "Commands:\n  show\n",
	.options = tool_options,
	.n_options = ARRAY_SIZE(tool_options),
	.words = &words,
};

static int rest;
static char text[4096];

static enum cli_verdict parse(const struct cli_program *p, const char *const args[])
{
	_cleanup_(buf_free) struct buf out = { 0 };
	char *argv[CLI_ARGS_MAX];
	int argc = cli_copy_args(args, argv);
	enum cli_verdict v = cli_parse(p, argc, argv, &rest, &out);

	snprintf(text, sizeof(text), "%s", buf_cstr(&out));
	return v;
}

#define ARGV(...) CLI_ARGS("prog", ##__VA_ARGS__)
#define OK(...) assert_int_equal(parse(&strict, ARGV(__VA_ARGS__)), CLI_OK)
#define REFUSED(want, ...)                                                                         \
	do {                                                                                       \
		assert_int_equal(parse(&strict, ARGV(__VA_ARGS__)), CLI_EXIT_USAGE);               \
		assert_string_equal(text, "prog: " want "\nTry 'prog --help'.\n");                 \
	} while (0)

static int reset(void **state)
{
	cli_list_free(&got.servers);
	cli_list_free(&words);
	memset(&got, 0, sizeof(got));
	rest = -1;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].env)
			unsetenv(options[i].env);
	return 0;
}

static void without_arguments_the_fallbacks_apply(void **state)
{
	OK();
	assert_null(got.config);
	assert_string_equal(got.metrics, ":9091");
	assert_false(got.check);
	assert_true(got.reflection);
	assert_int_equal(got.timeout, 2 * NSEC_PER_SEC);
	assert_int_equal(got.level, LOG_INFO);
	assert_int_equal(got.servers.n, 0);
	assert_int_equal(rest, 1);
	assert_string_equal(text, "");
}

static void a_flag_is_written_in_four_ways(void **state)
{
	OK("--config", "a");
	assert_string_equal(got.config, "a");
	OK("--config=b=c");
	assert_string_equal(got.config, "b=c");
	OK("-config", "-d");
	assert_string_equal(got.config, "-d");
	OK("-config=");
	assert_string_equal(got.config, "");
}

static void booleans_take_the_words_of_go_behind_an_equals_sign_only(void **state)
{
	static const char *const yes[] = { "1", "t", "T", "TRUE", "true", "True" };
	static const char *const no[] = { "0", "f", "F", "FALSE", "false", "False" };
	char arg[32];

	OK("--check", "-reflection=false");
	assert_true(got.check);
	assert_false(got.reflection);
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		got.check = false;
		snprintf(arg, sizeof(arg), "--check=%s", yes[i]);
		OK(arg);
		assert_true(got.check);
		snprintf(arg, sizeof(arg), "--check=%s", no[i]);
		OK(arg);
		assert_false(got.check);
	}
	REFUSED("--check: \"yes\" is not true or false", "--check=yes");
	REFUSED("--check: \"\" is not true or false", "--check=");
	REFUSED("unexpected argument \"false\"", "--check", "false");
}

static void a_choice_is_one_of_its_words(void **state)
{
	assert_int_equal(parse(&tool, ARGV("-o", "json", "--scheme=tcp")), CLI_OK);
	assert_string_equal(got.config, "json");
	assert_string_equal(got.metrics, "tcp");
	assert_int_equal(parse(&tool, ARGV("-o", "JSON")), CLI_EXIT_USAGE);
	assert_string_equal(text,
			    "prog: --output: \"JSON\" is not text or json\nTry 'prog --help'.\n");
	setenv("CLITEST_SCHEME", "ftp", 1);
	assert_int_equal(parse(&tool, ARGV("show")), CLI_EXIT_USAGE);
	assert_string_equal(text, "prog: CLITEST_SCHEME: \"ftp\" is not http, https or tcp\n"
				  "Try 'prog --help'.\n");
	setenv("CLITEST_SCHEME", "", 1);
	got.metrics = NULL;
	assert_int_equal(parse(&tool, ARGV("show")), CLI_OK);
	assert_null(got.metrics);
	unsetenv("CLITEST_SCHEME");
}

/* As in other programs. Two dashes begin a long name. */
static void the_value_of_a_letter_may_follow_at_once(void **state)
{
	assert_int_equal(parse(&tool, ARGV("-ojson", "show")), CLI_OK);
	assert_string_equal(got.config, "json");
	assert_int_equal(parse(&tool, ARGV("-o=json")), CLI_OK);
	assert_string_equal(got.config, "json");
	assert_int_equal(parse(&tool, ARGV("-oyaml")), CLI_EXIT_USAGE);
	assert_string_equal(text,
			    "prog: --output: \"yaml\" is not text or json\nTry 'prog --help'.\n");
	assert_int_equal(parse(&tool, ARGV("--ojson")), CLI_EXIT_USAGE);
	assert_memory_equal(text, "prog: unknown flag --ojson", 26);
}

static void the_last_of_a_repeated_flag_counts(void **state)
{
	OK("--timeout=1s", "--timeout", "1m30s", "--check", "--check=0");
	assert_int_equal(got.timeout, 90 * NSEC_PER_SEC);
	assert_false(got.check);
}

static void a_list_grows_with_each_flag_and_at_each_comma(void **state)
{
	setenv("CLITEST_SERVER", "not:1,used:2", 1);
	OK("--server=a:1,b:2,", "--server", "c:3");
	assert_int_equal(got.servers.n, 3);
	assert_string_equal(got.servers.items[0], "a:1");
	assert_string_equal(got.servers.items[1], "b:2");
	assert_string_equal(got.servers.items[2], "c:3");
	cli_list_free(&got.servers);

	OK();
	assert_int_equal(got.servers.n, 2);
	assert_string_equal(got.servers.items[1], "used:2");
}

/* NFR-5.1 */
static void the_environment_sets_what_no_flag_sets(void **state)
{
	setenv("CLITEST_CONFIG", "from-env", 1);
	setenv("CLITEST_CHECK", "true", 1);
	setenv("CLITEST_LOG_LEVEL", "WARN", 1);
	setenv("CLITEST_TIMEOUT", "broken but not asked", 1);
	OK("--config=from-flag", "--timeout=5s");
	assert_string_equal(got.config, "from-flag");
	assert_true(got.check);
	assert_int_equal(got.level, LOG_WARN);

	OK("--check=false", "--timeout=5s");
	assert_string_equal(got.config, "from-env");
	assert_false(got.check);
}

static void what_was_said_can_be_told_from_the_fallback(void **state)
{
	OK();
	assert_int_equal(got.timeout, 2 * NSEC_PER_SEC);
	assert_false(got.timeout_given);
	OK("--timeout=2s");
	assert_true(got.timeout_given);
	got.timeout_given = false;
	setenv("CLITEST_TIMEOUT", "2s", 1);
	OK();
	assert_true(got.timeout_given);
}

static void an_empty_variable_is_a_value_for_strings_only(void **state)
{
	setenv("CLITEST_METRICS_ADDR", "", 1);
	setenv("CLITEST_TIMEOUT", "", 1);
	setenv("CLITEST_CHECK", "", 1);
	OK();
	assert_string_equal(got.metrics, "");
	assert_int_equal(got.timeout, 2 * NSEC_PER_SEC);
	assert_false(got.check);
}

static void a_count_is_digits_within_bounds(void **state)
{
	static const char *const wrong[] = { "",   "0",	 "-1",	    "+1",
					     " 1", "1x", "1000001", "99999999999999999999" };

	assert_int_equal(parse(&tool, ARGV("show")), CLI_OK);
	assert_int_equal(got.most, 7);
	assert_int_equal(parse(&tool, ARGV("--most=1000000", "show")), CLI_OK);
	assert_int_equal(got.most, 1000000);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(parse(&tool, ARGV("--most", wrong[i], "show")), CLI_EXIT_USAGE);
		assert_non_null(strstr(text, "is not a number from 1 to 1000000"));
	}
	cli_list_free(&words);
}

static void an_error_names_the_flag_or_the_variable(void **state)
{
	REFUSED("--timeout: \"5\" is not a duration such as 1m30s or 200ms", "-timeout", "5");
	REFUSED("--log-level: \"loud\" is not a level (debug, info, warn, error)",
		"--log-level=loud");
	REFUSED("--config needs a value", "--check", "--config");
	setenv("CLITEST_LOG_LEVEL", "loud", 1);
	REFUSED("CLITEST_LOG_LEVEL: \"loud\" is not a level (debug, info, warn, error)");
}

static void an_unknown_flag_is_refused_with_the_nearest_known_one(void **state)
{
	REFUSED("unknown flag --confg; did you mean --config?", "--confg", "x");
	REFUSED("unknown flag --metric-addr; did you mean --metrics-addr?", "-metric-addr=x");
	REFUSED("unknown flag --vresion; did you mean --version?", "--vresion");
	REFUSED("unknown flag --hlep; did you mean --help?", "-hlep");
	REFUSED("unknown flag --zzzzzz", "--zzzzzz");
	REFUSED("unknown flag --x", "-x");
	REFUSED("unknown flag --", "--=x");
	REFUSED("unknown flag ---config; did you mean --config?", "---config=x");
	REFUSED("unknown flag --a-flag-with-a-name-that-is-longer-than-any-that-we-have",
		"--a-flag-with-a-name-that-is-longer-than-any-that-we-have");
}

static void a_usage_error_leaves_every_value_as_it_was(void **state)
{
	got.timeout = 7;
	REFUSED("unknown flag --nonsense", "--config=x", "--timeout=1s", "--server=a",
		"--nonsense");
	assert_null(got.config);
	assert_int_equal(got.timeout, 7);
	assert_int_equal(got.servers.n, 0);
	assert_int_equal(rest, -1);
}

static void operands_begin_at_the_first_word_or_behind_two_dashes(void **state)
{
	assert_int_equal(parse(&shell, ARGV("--check", "show", "--config")), CLI_OK);
	assert_int_equal(rest, 2);
	assert_null(got.config);
	assert_int_equal(parse(&shell, ARGV("--", "--check")), CLI_OK);
	assert_int_equal(rest, 2);
	assert_int_equal(parse(&shell, ARGV("-")), CLI_OK);
	assert_int_equal(rest, 1);
	assert_int_equal(parse(&shell, (const char *[]){ NULL }), CLI_OK);
	assert_int_equal(rest, 0);
	OK("--");
	REFUSED("unexpected argument \"show\"", "show");
	REFUSED("unexpected argument \"--check\"", "--", "--check");
}

static void flags_may_stand_among_the_words_of_a_program_that_says_so(void **state)
{
	assert_int_equal(parse(&tool, ARGV("show", "-o", "json", "backends", "--", "-o")), CLI_OK);
	assert_string_equal(got.config, "json");
	assert_int_equal(words.n, 3);
	assert_string_equal(words.items[0], "show");
	assert_string_equal(words.items[1], "backends");
	assert_string_equal(words.items[2], "-o");
	assert_int_equal(rest, 7);
	cli_list_free(&words);

	assert_int_equal(parse(&tool, ARGV("show", "--nonsense")), CLI_EXIT_USAGE);
	assert_int_equal(words.n, 0);
	assert_int_equal(parse(&tool, ARGV()), CLI_OK);
	assert_string_equal(got.config, "text");
	assert_int_equal(words.n, 0);
}

static void help_shows_the_letter_of_a_flag_and_what_the_program_has_to_add(void **state)
{
	assert_int_equal(parse(&tool, ARGV("show", "--help")), CLI_EXIT_OK);
	assert_string_equal(text,
			    "Usage: prog [flags] command ...\n"
			    "\n"
			    "Takes words and flags as they come.\n"
			    "\n"
			    "Flags:\n"
			    "  -o, --output TEXT  how to answer (default text)\n"
			    "  --scheme TEXT      how to ask (env CLITEST_SCHEME)\n"
			    "  --most N           how many (default 7)\n"
			    "  --help             show this text and exit\n"
			    "  --version          show the version and exit\n"
			    "\n"
			    "A flag may be written --x VALUE or --x=VALUE, with one dash or two, "
			    "and wins\n"
			    "over its environment variable.\n"
			    "\n"
			    "Commands:\n"
			    "  show\n");
}

static void help_shows_each_flag_with_its_default_and_variable(void **state)
{
	assert_int_equal(parse(&strict, ARGV("--config=x", "--help", "--nonsense")), CLI_EXIT_OK);
	assert_string_equal(
		text,
		"Usage: prog [flags]\n"
		"\n"
		"Does nothing, and says so in a sentence that is long enough to be broken in two.\n"
		"\n"
		"Flags:\n"
		"  --config FILE        configuration file (env CLITEST_CONFIG)\n"
		"  --metrics-addr ADDR  where to serve /metrics, /healthz and /readyz; an empty\n"
		"                       address means nowhere (default :9091; env\n"
		"                       CLITEST_METRICS_ADDR)\n"
		"  --server TEXT,...    servers to ask (env CLITEST_SERVER)\n"
		"  --check              check only (env CLITEST_CHECK)\n"
		"  --reflection         serve reflection (default true)\n"
		"  --timeout DURATION   how long to wait (default 2s; env CLITEST_TIMEOUT)\n"
		"  --log-level LEVEL    least level that is logged (default info; env\n"
		"                       CLITEST_LOG_LEVEL)\n"
		"  --help               show this text and exit\n"
		"  --version            show the version and exit\n"
		"\n"
		"A flag may be written --x VALUE or --x=VALUE, with one dash or two, and wins\n"
		"over its environment variable.\n");
	assert_null(got.config);
	assert_int_equal(parse(&shell, ARGV("-h")), CLI_EXIT_OK);
	assert_memory_equal(text, "Usage: prog [flags] [command ...]\n", 33);
	OK("--help=false");
}

static void version_names_program_version_commit_and_date(void **state)
{
	char want[256];

	assert_int_equal(parse(&strict, ARGV("-version")), CLI_EXIT_OK);
	snprintf(want, sizeof(want), "prog %s (%s, %s)\n", cli_version.version, cli_version.commit,
		 cli_version.date);
	assert_string_equal(text, want);
	assert_true(cli_version.version[0] >= '0' && cli_version.version[0] <= '9');
	assert_true(*cli_version.commit && *cli_version.date);
}

/* The output on fd of a child that runs cli_parse_or_exit(), and its status. */
static int run_child(const char *const args[], int fd, struct buf *ret_printed)
{
	int ends[2], status;
	char chunk[512];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		char *argv[CLI_ARGS_MAX];
		int argc = cli_copy_args(args, argv);

		dup2(ends[1], fd);
		close(ends[0]);
		_exit(cli_parse_or_exit(&strict, argc, argv) + 100);
	}
	close(ends[1]);
	while ((n = read(ends[0], chunk, sizeof(chunk))) > 0)
		buf_add(ret_printed, chunk, (size_t)n);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_text_that_does_not_arrive_is_a_failure(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), status;
	pid_t pid = fork();

	if (pid == 0) {
		char *argv[CLI_ARGS_MAX];
		int argc = cli_copy_args(ARGV("--version"), argv);

		dup2(full, STDOUT_FILENO);
		cli_parse_or_exit(&strict, argc, argv);
		_exit(99);
	}
	close(full);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void a_program_exits_with_0_for_texts_and_64_for_usage_errors(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 }, err = { 0 }, none = { 0 };

	assert_int_equal(run_child(ARGV("--version"), STDOUT_FILENO, &out), 0);
	assert_memory_equal(out.p, "prog ", 5);
	assert_int_equal(run_child(ARGV("--nonsense"), STDERR_FILENO, &err), 64);
	assert_memory_equal(err.p, "prog: unknown flag", 18);
	assert_int_equal(run_child(ARGV("--check"), STDERR_FILENO, &none), 102);
	assert_int_equal(none.n, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, reset, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_arguments_the_fallbacks_apply),
		CASE(a_flag_is_written_in_four_ways),
		CASE(booleans_take_the_words_of_go_behind_an_equals_sign_only),
		CASE(a_choice_is_one_of_its_words),
		CASE(the_value_of_a_letter_may_follow_at_once),
		CASE(the_last_of_a_repeated_flag_counts),
		CASE(a_list_grows_with_each_flag_and_at_each_comma),
		CASE(the_environment_sets_what_no_flag_sets),
		CASE(what_was_said_can_be_told_from_the_fallback),
		CASE(an_empty_variable_is_a_value_for_strings_only),
		CASE(a_count_is_digits_within_bounds),
		CASE(an_error_names_the_flag_or_the_variable),
		CASE(an_unknown_flag_is_refused_with_the_nearest_known_one),
		CASE(a_usage_error_leaves_every_value_as_it_was),
		CASE(operands_begin_at_the_first_word_or_behind_two_dashes),
		CASE(flags_may_stand_among_the_words_of_a_program_that_says_so),
		CASE(help_shows_the_letter_of_a_flag_and_what_the_program_has_to_add),
		CASE(help_shows_each_flag_with_its_default_and_variable),
		CASE(version_names_program_version_commit_and_date),
		CASE(a_text_that_does_not_arrive_is_a_failure),
		CASE(a_program_exits_with_0_for_texts_and_64_for_usage_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
