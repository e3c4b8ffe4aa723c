/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/complete.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "src/maglevc/words.h"

static unsigned asked;

static void give_names(enum node_kind kind, const struct command *c, struct candidates *out,
		       void *user)
{
	static const char *const names[][4] = {
		[NODE_FRONTEND] = { "www", "wiki", "dns" },
		[NODE_BACKEND] = { "web1", "web2", "b\033]0;x\007" },
		[NODE_HEALTHCHECK] = { "ping" },
		[NODE_POOL] = { "primary", "spare" },
		[NODE_VIP] = { "mail", "www" },
	};

	asked++;
	for (size_t i = 0; kind < ARRAY_SIZE(names) && names[kind][i]; i++)
		candidates_add(out, names[kind][i], "");
	if (kind == NODE_POOL)
		candidates_add(out, c->args[SLOT_FRONTEND], "");
}

static struct typing typing(char *text, const char *words[16], const char *begin, bool shell)
{
	struct typing t = { .words = words, .begin = begin, .shell = shell };

	for (char *rest = text; rest && *rest;)
		words[t.n++] = strsep(&rest, " ");
	return t;
}

/* The candidates after the words, separated by single spaces. */
static void check(const char *line, const char *begin, const char *expected)
{
	_cleanup_(cleanup_free) char *text = strdup(line);
	_cleanup_(buf_free) struct buf got = { 0 };
	const char *words[16];
	struct typing t = typing(text, words, begin, true);
	struct candidates c;

	complete(&t, give_names, NULL, &c);
	for (size_t i = 0; i < c.n; i++)
		buf_printf(&got, "%s%s", i ? " " : "", c.items[i].word);
	candidates_free(&c);
	assert_string_equal(buf_cstr(&got), expected);
}

static void keywords_come_from_the_tree(void **state)
{
	check("", "", "show set watch explain config sync rollback help exit quit");
	check("", "s", "show set sync");
	check("show", "v", "version vpp");
	check("sh vp", "", "info lb");
	check("show version", "", "");
	check("nonsense", "", "");
}

static void names_come_from_the_server(void **state)
{
	check("show frontends", "", "www wiki dns state name");
	check("show frontends", "w", "www wiki");
	check("show healthchecks", "", "ping name");
	check("set frontend www pool", "", "primary spare www");
	check("set backend web1", "", "pause resume enable disable");
	check("show announcements", "", "mail www state name");
	check("set vip", "w", "www");
	check("set vip www drain", "", "reason wait");
}

/* Names with control characters are not offered. */
static void names_that_cannot_be_typed_are_left_out(void **state)
{
	check("show backends", "", "web1 web2 state name");
}

static void nobody_is_asked_where_no_name_can_stand(void **state)
{
	asked = 0;
	check("show", "f", "frontends");
	check("set backend web1 pause for", "", "");
	assert_int_equal(asked, 0);
	check("show frontends", "", "www wiki dns state name");
	assert_int_equal(asked, 1);
}

static void options_are_offered_until_they_are_used(void **state)
{
	check("sync lb state", "", "www wiki dns plan");
	check("sync lb state plan", "", "www wiki dns");
	check("sync lb state plan www", "", "");
	check("watch events log", "", "level num backend frontend config dataplane info probes");
	check("watch events log level", "", "debug info warn error");
	check("watch events log level", "e", "error");
}

static void behind_help_stands_what_can_be_said(void **state)
{
	check("help", "s", "show set sync");
	check("help show", "v", "version vpp");
	check("help help show lb", "", "state counters");
}

static void check_common(const char *a, const char *b, const char *expected)
{
	struct candidates c = { 0 };

	candidates_add(&c, a, "");
	if (b)
		candidates_add(&c, b, "");
	assert_int_equal(complete_common(&c), strlen(expected));
	assert_memory_equal(c.items[0].word, expected, strlen(expected));
	candidates_free(&c);
}

static void the_common_beginning_ends_with_a_whole_character(void **state)
{
	check_common("web1", NULL, "web1");
	check_common("web1", "web2", "web");
	check_common("a", "b", "");
	check_common("web", "web1", "web");
	check_common("w\xc3\xbc", "w\xc3\xb6", "w");
}

static void a_list_fills_its_lines(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct candidates c = { 0 };

	candidates_add(&c, "a", "");
	candidates_add(&c,
		       "b\xc3\xbc"
		       "b",
		       "");
	candidates_add(&c, "c", "");
	complete_list(&c, (struct area){ 10, 24 }, &out);
	assert_string_equal(buf_cstr(&out), "a    b\xc3\xbc"
					    "b\nc\n");
	out.n = 0;
	complete_list(&c, (struct area){ 1, 3 }, &out);
	assert_string_equal(buf_cstr(&out), "a\nb\xc3\xbc"
					    "b\nc\n");
	candidates_free(&c);
}

static void a_list_that_does_not_fit_is_cut(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct candidates c = { 0 };

	for (size_t i = 0; i < 10; i++)
		candidates_add(&c, "web", "");
	complete_list(&c, (struct area){ 10, 3 }, &out);
	assert_string_equal(buf_cstr(&out), "web  web\nweb  web\n... and 6 more\n");
	out.n = 0;
	complete_list(&c, (struct area){ 10, 5 }, &out);
	assert_string_equal(buf_cstr(&out), "web  web\nweb  web\nweb  web\nweb  web\nweb  web\n");
	out.n = 0;
	complete_list(&c, (struct area){ 10, 1 }, &out);
	assert_string_equal(buf_cstr(&out), "... and 10 more\n");
	candidates_free(&c);
}

static void a_long_name_makes_only_its_own_list_wide(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 };
	struct candidates c = { 0 };

	for (size_t i = 0; i < 10; i++)
		candidates_add(&c, "web", "");
	candidates_add(&c, "a-long-name", "");
	complete_list(&c, (struct area){ 16, 3 }, &out);
	assert_string_equal(buf_cstr(&out), "web  web  web\nweb  web  web\n... and 5 more\n");
	out.n = 0;
	complete_list(&c, (struct area){ 26, 24 }, &out);
	assert_non_null(strstr(buf_cstr(&out), "web          web\na-long-name\n"));
	candidates_free(&c);
}

/* Help for words matters more than names, which get the remaining lines. */
static void names_take_what_help_leaves(void **state)
{
	const char *const words[] = { "show", "frontends" };
	const struct typing t = { .words = words, .n = 2, .begin = "", .shell = true };
	_cleanup_(buf_free) struct buf out = { 0 };

	complete_explain(&t, give_names, NULL, (struct area){ 12, 7 }, &out);
	assert_string_equal(buf_cstr(&out), "  <name>   one frontend, its pools and backends\n"
					    "  state    only those in that state\n"
					    "  name     only those whose name matches\n"
					    "  <Enter>  all frontends\n"
					    "  |        only some of the lines, or their number\n"
					    "    www\n"
					    "    ... and 2 more\n");
}

static void check_help(const char *line, const char *begin, const char *expected)
{
	_cleanup_(cleanup_free) char *text = strdup(line);
	_cleanup_(buf_free) struct buf out = { 0 };
	const char *words[16];
	struct typing t = typing(text, words, begin, true);

	complete_explain(&t, give_names, NULL, (struct area){ 80, 24 }, &out);
	assert_string_equal(buf_cstr(&out), expected);
}

static void help_tells_what_each_word_is_for(void **state)
{
	check_help("config", "",
		   "  check   is the file good, what would a reload change\n"
		   "  reload  have the server read its file again\n");
	check_help("config", "r", "  reload  have the server read its file again\n");
	check_help("show version", "",
		   "  <Enter>  versions of maglevc and of the servers\n"
		   "  |        only some of the lines, or their number\n");
}

static void help_shows_names_where_one_may_stand(void **state)
{
	check_help("show frontends", "",
		   "  <name>   one frontend, its pools and backends\n"
		   "  state    only those in that state\n"
		   "  name     only those whose name matches\n"
		   "  <Enter>  all frontends\n"
		   "  |        only some of the lines, or their number\n"
		   "    www   wiki  dns\n");
	check_help("set frontend www pool primary backend web1 weight", "",
		   "  <0-100>  set the weight of a backend in a pool\n");
}

/* The bar is a word of its own only as words_split() makes it. */
static void behind_a_bar_there_are_words_of_its_own(void **state)
{
	const char *const words[] = { "show", "backends", words_bar, "match" };
	struct typing t = { .words = words, .n = 3, .begin = "", .shell = true };
	_cleanup_(buf_free) struct buf out = { 0 };
	struct candidates c;

	complete(&t, give_names, NULL, &c);
	assert_int_equal(c.n, 3);
	assert_string_equal(c.items[0].word, "match");
	candidates_free(&c);
	complete_explain(&t, give_names, NULL, (struct area){ 80, 24 }, &out);
	assert_string_equal(buf_cstr(&out), "  match   only lines that match\n"
					    "  except  only lines that do not match\n"
					    "  count   how many lines there are\n");
	t.n = 4;
	complete(&t, give_names, NULL, &c);
	assert_int_equal(c.n, 0);
	candidates_free(&c);
}

static void filters_are_offered_but_not_with_a_name(void **state)
{
	check("show backends web1", "", "");
	check("show backends state", "", "up down unknown paused disabled");
	check("show backends state up", "", "name");
	check("show backends name w* state", "p", "paused");
	check("show sessions state", "", "up down");
}

static void help_says_why_there_is_none(void **state)
{
	check_help("show lb x", "",
		   "  unknown word \"x\" after \"show lb\"; possible: state, counters\n");
	check_help("show", "x", "  nothing here begins with \"x\"\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keywords_come_from_the_tree),
		cmocka_unit_test(names_come_from_the_server),
		cmocka_unit_test(names_that_cannot_be_typed_are_left_out),
		cmocka_unit_test(nobody_is_asked_where_no_name_can_stand),
		cmocka_unit_test(options_are_offered_until_they_are_used),
		cmocka_unit_test(behind_help_stands_what_can_be_said),
		cmocka_unit_test(the_common_beginning_ends_with_a_whole_character),
		cmocka_unit_test(a_list_fills_its_lines),
		cmocka_unit_test(a_list_that_does_not_fit_is_cut),
		cmocka_unit_test(a_long_name_makes_only_its_own_list_wide),
		cmocka_unit_test(names_take_what_help_leaves),
		cmocka_unit_test(help_tells_what_each_word_is_for),
		cmocka_unit_test(help_shows_names_where_one_may_stand),
		cmocka_unit_test(behind_a_bar_there_are_words_of_its_own),
		cmocka_unit_test(filters_are_offered_but_not_with_a_name),
		cmocka_unit_test(help_says_why_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
