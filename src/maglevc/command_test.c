/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/command.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define WORDS_MAX 24

/* The result of one line of words: the act, and "slot=value" for each argument. */
struct line {
	const char *words; /* "_" stands for a space, "~" for an empty word */
	enum act act;
	struct {
		enum slot slot;
		const char *value;
	} args[5];
};

struct split {
	char text[512];
	const char *words[WORDS_MAX];
	size_t n;
};

static void split(const char *words, struct split *ret)
{
	char *at = ret->text;

	ret->n = 0;
	snprintf(ret->text, sizeof(ret->text), "%s", words);
	while (*at) {
		char *end = at + strcspn(at, " ");
		bool more = *end;

		assert_true(ret->n < WORDS_MAX);
		*end = '\0';
		ret->words[ret->n++] = strcmp(at, "~") == 0 ? "" : at;
		for (char *c = at; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		at = end + more;
	}
}

static int parse(const char *words, bool shell, struct split *s, struct command *ret,
		 struct buf *why)
{
	split(words, s);
	return command_parse(s->words, s->n, shell, ret, why);
}

static void check_line(const struct line *l)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	const char *want[SLOTS] = { 0 };
	struct command c;
	struct split s;

	if (parse(l->words, false, &s, &c, &why) < 0)
		fail_msg("%s: %s", l->words, buf_cstr(&why));
	if (c.act != l->act)
		fail_msg("%s: act %u, not %u", l->words, c.act, l->act);
	for (size_t i = 0; i < ARRAY_SIZE(l->args); i++)
		want[l->args[i].slot] = l->args[i].value;
	for (size_t i = 1; i < SLOTS; i++) {
		if (!want[i] != !c.args[i])
			fail_msg("%s: slot %zu is %s", l->words, i, c.args[i]);
		if (want[i])
			assert_string_equal(want[i], c.args[i]);
	}
}

static void filters_and_times_are_arguments(void **state)
{
	static const struct line lines[] = {
		{ "show backends state down", ACT_BACKENDS, { { SLOT_FILTER_STATE, "down" } } },
		{ "show backends name web* state dow",
		  ACT_BACKENDS,
		  { { SLOT_FILTER_NAME, "web*" }, { SLOT_FILTER_STATE, "down" } } },
		{ "show backends name state", ACT_BACKENDS, { { SLOT_FILTER_NAME, "state" } } },
		{ "show sessions state up", ACT_SESSIONS, { { SLOT_FILTER_STATE, "up" } } },
		{ "set backend web1 pause until 2026-04-15T23:00Z",
		  ACT_PAUSE,
		  { { SLOT_BACKEND, "web1" }, { SLOT_UNTIL, "2026-04-15T23:00Z" } } },
		{ "set backend web1 pause from 22:00 until 23:00",
		  ACT_PAUSE,
		  { { SLOT_BACKEND, "web1" }, { SLOT_FROM, "22:00" }, { SLOT_UNTIL, "23:00" } } },
		{ "set backends address 10.0.0.1 pause reason disk",
		  ACT_MANY,
		  { { SLOT_ADDRESS, "10.0.0.1" },
		    { SLOT_ACT, "pause" },
		    { SLOT_REASON, "disk" } } },
		{ "set backends web* disable",
		  ACT_MANY,
		  { { SLOT_NAMES, "web*" }, { SLOT_ACT, "disable" } } },
		{ "set backends web* resume plan",
		  ACT_MANY,
		  { { SLOT_NAMES, "web*" }, { SLOT_ACT, "resume" }, { SLOT_PLAN, "plan" } } },
		{ "set ba web1 pause", ACT_PAUSE, { { SLOT_BACKEND, "web1" } } },
		{ "set backen web1 pause", ACT_PAUSE, { { SLOT_BACKEND, "web1" } } },
		{ "show overrides name w*", ACT_OVERRIDES, { { SLOT_FILTER_NAME, "w*" } } },
		{ "show routes name a*", ACT_ROUTES, { { SLOT_FILTER_NAME, "a*" } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_line(&lines[i]);
}

static void commands_lead_to_their_act_and_arguments(void **state)
{
	static const struct line lines[] = {
		{ "show version", ACT_VERSION, { { 0 } } },
		{ "show frontends", ACT_FRONTENDS, { { 0 } } },
		{ "show frontends www", ACT_FRONTEND, { { SLOT_FRONTEND, "www" } } },
		{ "show frontend www", ACT_FRONTEND, { { SLOT_FRONTEND, "www" } } },
		{ "show backends", ACT_BACKENDS, { { 0 } } },
		{ "show backends web1", ACT_BACKEND, { { SLOT_BACKEND, "web1" } } },
		{ "show config", ACT_CONFIG, { { 0 } } },
		{ "show healthchecks", ACT_HEALTHCHECKS, { { 0 } } },
		{ "show healthchecks h", ACT_HEALTHCHECK, { { SLOT_HEALTHCHECK, "h" } } },
		{ "show vpp info", ACT_VPP_INFO, { { 0 } } },
		{ "show lb state", ACT_LB_STATE, { { 0 } } },
		{ "show lb counters", ACT_LB_COUNTERS, { { 0 } } },
		{ "show vpp lb state", ACT_LB_STATE, { { 0 } } },
		{ "show vpp lb counters", ACT_LB_COUNTERS, { { 0 } } },
		{ "sync lb state", ACT_SYNC, { { 0 } } },
		{ "sync lb state www", ACT_SYNC, { { SLOT_FRONTEND, "www" } } },
		{ "sync lb state plan", ACT_SYNC, { { SLOT_PLAN, "plan" } } },
		{ "sync lb state www plan",
		  ACT_SYNC,
		  { { SLOT_FRONTEND, "www" }, { SLOT_PLAN, "plan" } } },
		{ "sync vpp lb state plan www",
		  ACT_SYNC,
		  { { SLOT_FRONTEND, "www" }, { SLOT_PLAN, "plan" } } },
		{ "set backend web1 pause", ACT_PAUSE, { { SLOT_BACKEND, "web1" } } },
		{ "set backend web1 resume", ACT_RESUME, { { SLOT_BACKEND, "web1" } } },
		{ "set backend web1 resume reason ok",
		  ACT_RESUME,
		  { { SLOT_BACKEND, "web1" }, { SLOT_REASON, "ok" } } },
		{ "set backend web1 enable for 5m",
		  ACT_ENABLE,
		  { { SLOT_BACKEND, "web1" }, { SLOT_FOR, "5m" } } },
		{ "set backend web1 disable reason new_disk for 1h",
		  ACT_DISABLE,
		  { { SLOT_BACKEND, "web1" }, { SLOT_REASON, "new disk" }, { SLOT_FOR, "1h" } } },
		{ "set backend web1 pause for 90s reason for",
		  ACT_PAUSE,
		  { { SLOT_BACKEND, "web1" }, { SLOT_REASON, "for" }, { SLOT_FOR, "90s" } } },
		{ "set frontend www pool primary backend web1 weight 0",
		  ACT_WEIGHT,
		  { { SLOT_FRONTEND, "www" },
		    { SLOT_POOL, "primary" },
		    { SLOT_BACKEND, "web1" },
		    { SLOT_WEIGHT, "0" } } },
		{ "set frontend www pool primary backend web1 weight 100 flush",
		  ACT_WEIGHT,
		  { { SLOT_FRONTEND, "www" },
		    { SLOT_POOL, "primary" },
		    { SLOT_BACKEND, "web1" },
		    { SLOT_WEIGHT, "100" },
		    { SLOT_FLUSH, "flush" } } },
		{ "watch events", ACT_WATCH, { { 0 } } },
		{ "watch events num 3 log level debug backend frontend",
		  ACT_WATCH,
		  { { SLOT_COUNT, "3" },
		    { SLOT_LOG, "log" },
		    { SLOT_LEVEL, "debug" },
		    { SLOT_WATCH_BACKEND, "backend" },
		    { SLOT_WATCH_FRONTEND, "frontend" } } },
		{ "watch events config probes dataplane info",
		  ACT_WATCH,
		  { { SLOT_WATCH_CONFIG, "config" },
		    { SLOT_WATCH_DATAPLANE, "dataplane" },
		    { SLOT_WATCH_INFO, "info" },
		    { SLOT_WATCH_PROBES, "probes" } } },
		{ "watch events frontend log num 1",
		  ACT_WATCH,
		  { { SLOT_COUNT, "1" },
		    { SLOT_LOG, "log" },
		    { SLOT_WATCH_FRONTEND, "frontend" } } },
		{ "config check", ACT_CONFIG_CHECK, { { 0 } } },
		{ "config reload", ACT_CONFIG_RELOAD, { { 0 } } },
		{ "help", ACT_HELP, { { 0 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_line(&lines[i]);
}

static void commands_of_the_speaker_lead_to_theirs(void **state)
{
	static const struct line lines[] = {
		{ "show announcements", ACT_ANNOUNCEMENTS, { { 0 } } },
		{ "show announcements www", ACT_ANNOUNCEMENT, { { SLOT_VIP, "www" } } },
		{ "show sessions", ACT_SESSIONS, { { 0 } } },
		{ "show speaker", ACT_SPEAKER, { { 0 } } },
		{ "set vip www drain", ACT_DRAIN, { { SLOT_VIP, "www" } } },
		{ "set vip www drain reason new_disk wait 1m",
		  ACT_DRAIN,
		  { { SLOT_VIP, "www" },
		    { SLOT_REASON, "new disk" },
		    { SLOT_WAIT, "wait" },
		    { SLOT_WAIT_TIME, "1m" } } },
		{ "set vip www undrain", ACT_UNDRAIN, { { SLOT_VIP, "www" } } },
		{ "watch announcements num 2", ACT_WATCH_SPEAKER, { { SLOT_COUNT, "2" } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_line(&lines[i]);
}

static void commands_of_the_router_lead_to_theirs(void **state)
{
	static const struct line lines[] = {
		{ "show router", ACT_ROUTER, { { 0 } } },
		{ "show listeners", ACT_LISTENERS, { { 0 } } },
		{ "show routes", ACT_ROUTES, { { 0 } } },
		{ "show streams", ACT_STREAMS, { { 0 } } },
		{ "show routes api", ACT_ROUTE, { { SLOT_ROUTE, "api" } } },
		{ "show pools", ACT_POOLS, { { 0 } } },
		{ "show pools blue", ACT_ROUTER_POOL, { { SLOT_ROUTER_POOL, "blue" } } },
		{ "show generations", ACT_GENERATIONS, { { 0 } } },
		{ "show generations 7", ACT_GENERATION, { { SLOT_GENERATION, "7" } } },
		{ "explain 198.51.100.10:80/tcp",
		  ACT_EXPLAIN,
		  { { SLOT_WAY, "198.51.100.10:80/tcp" } } },
		{ "explain a.example/x method POST header X-A:1 listener http",
		  ACT_EXPLAIN,
		  { { SLOT_WAY, "a.example/x" },
		    { SLOT_METHOD, "POST" },
		    { SLOT_HEADER, "X-A:1" },
		    { SLOT_LISTENER, "http" } } },
		{ "show route-for GET a.example /x header X-A:1 listener http",
		  ACT_ROUTE_FOR,
		  { { SLOT_METHOD, "GET" },
		    { SLOT_HOST, "a.example" },
		    { SLOT_PATH, "/x" },
		    { SLOT_HEADER, "X-A:1" },
		    { SLOT_LISTENER, "http" } } },
		{ "rollback router", ACT_ROLLBACK, { { 0 } } },
		{ "rollback router to 7", ACT_ROLLBACK, { { SLOT_GENERATION, "7" } } },
		{ "watch router rates num 2",
		  ACT_WATCH_ROUTER,
		  { { SLOT_RATES, "rates" }, { SLOT_COUNT, "2" } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_line(&lines[i]);
}

static void a_keyword_may_be_short_as_long_as_it_is_the_only_one(void **state)
{
	static const struct line lines[] = {
		{ "sh ba nginx0", ACT_BACKEND, { { SLOT_BACKEND, "nginx0" } } },
		{ "sh f", ACT_FRONTENDS, { { 0 } } },
		{ "sho ver", ACT_VERSION, { { 0 } } },
		{ "sy v l s", ACT_SYNC, { { 0 } } },
		{ "c r", ACT_CONFIG_RELOAD, { { 0 } } },
		{ "se b web1 p r why",
		  ACT_PAUSE,
		  { { SLOT_BACKEND, "web1" }, { SLOT_REASON, "why" } } },
		{ "sh an www", ACT_ANNOUNCEMENT, { { SLOT_VIP, "www" } } },
		{ "sh se", ACT_SESSIONS, { { 0 } } },
		{ "se v www d w", ACT_DRAIN, { { SLOT_VIP, "www" }, { SLOT_WAIT, "wait" } } },
		{ "w a", ACT_WATCH_SPEAKER, { { 0 } } },
		{ "w e l l d", ACT_WATCH, { { SLOT_LOG, "log" }, { SLOT_LEVEL, "debug" } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		check_line(&lines[i]);
}

/* A half-typed "plan" must never become a sync of everything. */
static void beside_a_name_a_keyword_has_to_be_written_out(void **state)
{
	check_line(&(struct line){ "sync lb state pla", ACT_SYNC, { { SLOT_FRONTEND, "pla" } } });
}

static void names_that_look_like_keywords_are_names(void **state)
{
	check_line(&(struct line){
		"set backend pause pause", ACT_PAUSE, { { SLOT_BACKEND, "pause" } } });
	check_line(
		&(struct line){ "show backends show", ACT_BACKEND, { { SLOT_BACKEND, "show" } } });
}

static void a_wrong_word_is_named_with_what_was_possible(void **state)
{
	static const struct {
		const char *words, *why;
	} lines[] = {
		{ "",
		  "no command; possible: show, set, watch, explain, config, sync, rollback, help" },
		{ "foo", "unknown word \"foo\"; possible: show, set, watch, explain, config, "
			 "sync, rollback, help" },
		{ "~", "unknown word \"\"; possible: show, set, watch, explain, config, sync, "
		       "rollback, help" },
		{ "s", "ambiguous word \"s\"; possible: show, set, sync" },
		{ "show v", "ambiguous word \"v\" after \"show\"; possible: version, vpp" },
		{ "show lb x", "unknown word \"x\" after \"show lb\"; possible: state, counters" },
		{ "show",
		  "\"show\" is not complete; possible: version, frontends, backends, "
		  "healthchecks, config, overrides, lb, vpp, history, announcements, sessions, "
		  "speaker, router, listeners, routes, streams, pools, generations, route-for" },
		{ "show version now", "unexpected word \"now\" after \"show version\"" },
		{ "show backends a b", "unexpected word \"b\" after \"show backends a\"" },
		{ "show backends state down a",
		  "unknown word \"a\" after \"show backends state down\"; possible: name" },
		{ "show backends state good", "bad word \"good\" after \"show backends state\", "
					      "expected up, down, unknown, paused or disabled" },
		{ "set backends address x pause",
		  "bad word \"x\" after \"set backends address\", expected an IP address" },
		{ "set backend a pause until soon",
		  "bad word \"soon\" after \"set backend a pause until\", expected a time such as "
		  "22:00 or 2026-04-15T22:00" },
		{ "set backend", "\"set backend\" is not complete; possible: <name>" },
		{ "set backend a",
		  "\"set backend a\" is not complete; possible: pause, resume, enable, disable" },
		{ "set backend a resume for 1s",
		  "unknown word \"for\" after \"set backend a resume\"; possible: reason" },
		{ "set backend a pause for",
		  "\"set backend a pause for\" is not complete; possible: <duration>" },
		{ "set backend a pause for 5",
		  "bad word \"5\" after \"set backend a pause for\", expected a duration such as "
		  "90s or 1h30m" },
		{ "set backend a pause for -5s",
		  "bad word \"-5s\" after \"set backend a pause for\", expected a duration such as "
		  "90s or 1h30m" },
		{ "set backend a pause for 1s for 2s",
		  "unknown word \"for\" after \"set backend a "
		  "pause for 1s\"; possible: reason, from, until, wait" },
		{ "set frontend f pool p backend b weight 101",
		  "bad word \"101\" after \"set frontend f pool p backend b weight\", expected a "
		  "number from 0 to 100" },
		{ "set frontend f pool p backend b weight 5 flush flush",
		  "unknown word \"flush\" after \"set frontend f pool p backend b weight 5 "
		  "flush\"; possible: reason" },
		{ "watch events num 0",
		  "bad word \"0\" after \"watch events num\", expected a number from 1 to "
		  "4294967295" },
		{ "watch events level debug",
		  "unknown word \"level\" after \"watch events\"; possible: num, log, backend, "
		  "frontend, config, dataplane, info, probes" },
		{ "watch events log level loud",
		  "bad word \"loud\" after \"watch events log level\", expected debug, "
		  "info, warn or error" },
		{ "watch events log backend level info",
		  "unknown word \"level\" after \"watch events log backend\"; possible: num, "
		  "frontend, config, dataplane, info, probes" },
		{ "sync lb state ~",
		  "bad word \"\" after \"sync lb state\", expected the name of a frontend" },
		{ "show backends \xff",
		  "bad word \"\xff\" after \"show backends\", expected the name of a backend" },
		{ "exit", "unknown word \"exit\"; possible: show, set, watch, explain, config, "
			  "sync, rollback, help" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_(buf_free) struct buf why = { 0 };
		struct command c;
		struct split s;

		assert_int_equal(parse(lines[i].words, false, &s, &c, &why), -EINVAL);
		assert_string_equal(buf_cstr(&why), lines[i].why);
	}
}

static void exit_and_quit_are_words_of_the_shell(void **state)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct command c;
	struct split s;

	assert_int_equal(parse("exit", true, &s, &c, &why), 0);
	assert_int_equal(c.act, ACT_EXIT);
	assert_int_equal(parse("q", true, &s, &c, &why), 0);
	assert_int_equal(c.act, ACT_EXIT);
}

static void help_takes_the_words_that_are_left(void **state)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct command c;
	struct split s;

	assert_int_equal(parse("help sh ba", false, &s, &c, &why), 0);
	assert_int_equal(c.act, ACT_HELP);
	assert_int_equal(c.n_words, 2);
	assert_string_equal(c.words[0], "sh");
	assert_string_equal(c.words[1], "ba");
}

static void check_help(const char *words, const char *want)
{
	_cleanup_(buf_free) struct buf out = { 0 }, why = { 0 };
	struct split s;

	split(words, &s);
	assert_int_equal(command_help(s.words, s.n, false, &out, &why), 0);
	assert_string_equal(buf_cstr(&out), want);
}

/* What help has between "show" and "watch". */
#define HELP_OF_SET                                                                                \
	"set backend <name> pause [reason <text>] [from <time>] [for <duration>] "                 \
	"[until <time>] [wait [<duration>]]\n"                                                     \
	"                              no probes, no new flows; flows stay\n"                      \
	"set backend <name> resume [reason <text>]\n"                                              \
	"                              end a pause: probe again\n"                                 \
	"set backend <name> enable [reason <text>] [for <duration>] [until <time>]\n"              \
	"                              use it, whatever the file says\n"                           \
	"set backend <name> disable [reason <text>] [for <duration>] [until <time>] "              \
	"[wait [<duration>]]\n"                                                                    \
	"                              take it out and tear its flows down\n"                      \
	"set backends address <address> pause [reason <text>] [from <time>] [for "                 \
	"<duration>] [until <time>] [plan]\n"                                                      \
	"                              no probes, no new flows; flows stay\n"                      \
	"set backends address <address> resume [reason <text>] [plan]\n"                           \
	"                              end pauses: probe again\n"                                  \
	"set backends address <address> enable [reason <text>] [for <duration>] [until "           \
	"<time>] [plan]\n"                                                                         \
	"                              use them, whatever the file says\n"                         \
	"set backends address <address> disable [reason <text>] [for <duration>] [until "          \
	"<time>] [plan]\n"                                                                         \
	"                              take them out and tear their flows down\n"                  \
	"set backends <glob> pause [reason <text>] [from <time>] [for <duration>] [until "         \
	"<time>] [plan]\n"                                                                         \
	"                              no probes, no new flows; flows stay\n"                      \
	"set backends <glob> resume [reason <text>] [plan]\n"                                      \
	"                              end pauses: probe again\n"                                  \
	"set backends <glob> enable [reason <text>] [for <duration>] [until <time>] [plan]\n"      \
	"                              use them, whatever the file says\n"                         \
	"set backends <glob> disable [reason <text>] [for <duration>] [until <time>] [plan]\n"     \
	"                              take them out and tear their flows down\n"                  \
	"set frontend <name> pool <pool> backend <name> weight <0-100> [reason <text>] "           \
	"[flush]\n"                                                                                \
	"                              set the weight of a backend in a pool\n"                    \
	"set vip <name> drain [reason <text>] [wait [<duration>]]\n"                               \
	"                              announce graceful shutdown, then withdraw\n"                \
	"set vip <name> undrain        end a drain: announce it again\n"

static void help_shows_every_command_with_its_options(void **state)
{
	check_help(
		"",
		"show version                  versions of maglevc and of the servers\n"
		"show frontends [state <state>] [name <glob>]\n"
		"                              all frontends\n"
		"show frontends <name>         one frontend, its pools and backends\n"
		"show backends [state <state>] [name <glob>]\n"
		"                              all backends\n"
		"show backends <name>          one backend, its probes and transitions\n"
		"show healthchecks [name <glob>]\n"
		"                              all health checks\n"
		"show healthchecks <name>      one health check\n"
		"show config                   the configuration in force, with all defaults\n"
		"show overrides [name <glob>]  what operators have set at run time, and who\n"
		"show lb state                 what the data plane has, and should have\n"
		"show lb counters              packets and bytes of the data plane\n"
		"show vpp info                 version and age of the VPP we are connected to\n"
		"show vpp lb state             what the data plane has, and should have\n"
		"show vpp lb counters          packets and bytes of the data plane\n"
		"show history [frontend <name>] [backend <name>] [day]\n"
		"                              what maglevd has recorded of a frontend or backend\n"
		"show announcements [state <state>] [name <glob>]\n"
		"                              VIPs of the speaker\n"
		"show announcements <name>     one VIP, and why it is announced or not\n"
		"show sessions [state <state>] [name <glob>]\n"
		"                              BGP and BFD sessions of the speaker\n"
		"show speaker                  the speaker, its maglevds and FRR\n"
		"show router                   the router: figures, configuration\n"
		"show listeners [name <glob>]  listeners of the router\n"
		"show routes [name <glob>]     routes of the router, with rates\n"
		"show routes <name>            one route: its rules, and where they lead\n"
		"show streams [name <glob>]    streams of the router, with figures\n"
		"show pools [name <glob>]      pools of the router, with rates\n"
		"show pools <name>             one pool and its servers\n"
		"show generations              the last configurations of the router\n"
		"show generations <number>     what one of them has changed\n"
		"show route-for <method> <host> <path> [header <text>] [listener <name>]\n"
		"                              where a request would go, and why\n" HELP_OF_SET
		"watch events [num <n>] [log [level <level>]] [backend] [frontend] [config] "
		"[dataplane] [info] [probes]\n"
		"                              states, then what happens\n"
		"watch announcements [num <n>]\n"
		"                              VIPs and sessions of the speaker\n"
		"watch router [num <n>] [rates]\n"
		"                              listeners, routes and pools of the router\n"
		"explain <VIP|HOST/PATH|name> [method <method>] [header <text>] "
		"[listener <name>]\n"
		"                              the way of a packet, and where it is broken\n"
		"config check                  is the file good, what would a reload change\n"
		"config reload                 have the server read its file again\n"
		"sync lb state [<frontend>] [plan]\n"
		"                              make the data plane what it should be, now\n"
		"sync vpp lb state [<frontend>] [plan]\n"
		"                              make the data plane what it should be, now\n"
		"rollback router [to <number>]\n"
		"                              apply an earlier configuration of the router again\n"
		"help [<command>]              what can be said\n");
}

static void help_shows_what_follows_some_words(void **state)
{
	check_help("set ba",
		   "set backend <name> pause [reason <text>] [from <time>] [for <duration>] "
		   "[until <time>] [wait [<duration>]]\n"
		   "                              no probes, no new flows; flows stay\n"
		   "set backend <name> resume [reason <text>]\n"
		   "                              end a pause: probe again\n"
		   "set backend <name> enable [reason <text>] [for <duration>] [until <time>]\n"
		   "                              use it, whatever the file says\n"
		   "set backend <name> disable [reason <text>] [for <duration>] [until <time>] "
		   "[wait [<duration>]]\n"
		   "                              take it out and tear its flows down\n");
	check_help("show fr", "show frontends [state <state>] [name <glob>]\n"
			      "                              all frontends\n"
			      "show frontends <name>         one frontend, its pools and backends\n"
			      "  state <state>               only those in that state\n"
			      "  name <glob>                 only those whose name matches\n");
}

static void help_of_one_command_explains_its_options(void **state)
{
	static const char want[] =
		"watch events [num <n>] [log [level <level>]] [backend] [frontend] [config] "
		"[dataplane] [info] [probes]\n"
		"                              states, then what happens\n"
		"  num <n>                     end after that many events\n"
		"  log [level <level>]         lines of the log (from info up)\n"
		"  backend                     transitions of backends\n"
		"  frontend                    transitions of frontends\n"
		"  config                      files taken and refused\n"
		"  dataplane                   connections, syncs and problems\n"
		"  info                        all about what changed\n"
		"  probes                      results, once a second\n";

	check_help("watch events", want);
	check_help("watch events log level", want);
}

static void help_for_nothing_we_know_is_an_error(void **state)
{
	_cleanup_(buf_free) struct buf out = { 0 }, why = { 0 };
	static const char *const words[] = { "show", "moon" };

	assert_int_equal(command_help(words, 2, false, &out, &why), -EINVAL);
	assert_int_equal(out.n, 0);
	assert_memory_equal(why.p, "unknown word \"moon\" after \"show\"; possible: version", 51);
}

static void completion_can_ask_what_comes_next(void **state)
{
	const struct node *next[WALK_NEXT_MAX];
	struct walk w;

	walk_start(&w, true);
	assert_int_equal(walk_next(&w, next), 10);
	assert_int_equal(walk_step(&w, "sync"), WALK_OK);
	assert_int_equal(walk_step(&w, "lb"), WALK_OK);
	assert_false(walk_is_complete(&w));
	assert_int_equal(walk_step(&w, "state"), WALK_OK);
	assert_true(walk_is_complete(&w));
	assert_int_equal(walk_next(&w, next), 2);
	assert_int_equal(next[0]->kind, NODE_FRONTEND);
	assert_string_equal(next[1]->word, "plan");
	assert_int_equal(walk_step(&w, "plan"), WALK_OK);
	assert_int_equal(walk_next(&w, next), 1);
	assert_int_equal(walk_step(&w, "www"), WALK_OK);
	assert_int_equal(walk_next(&w, next), 0);
	assert_int_equal(walk_step(&w, "more"), WALK_TRAILING);
}

static const char *example_of(const struct node *node)
{
	static const char *const examples[] = {
		[NODE_FRONTEND] = "www",     [NODE_BACKEND] = "web1", [NODE_HEALTHCHECK] = "ping",
		[NODE_POOL] = "primary",     [NODE_NUMBER] = "7",     [NODE_TIME] = "22:00",
		[NODE_ADDRESS] = "10.0.0.1", [NODE_VIP] = "www",      [NODE_DURATION] = "1s",
		[NODE_TEXT] = "some words",  [NODE_REST] = "show",    [NODE_ROUTE] = "api",
		[NODE_ROUTER_POOL] = "blue",
	};

	if (node->kind == NODE_CHOICE)
		return node->choices[0];
	return node->kind == NODE_KEYWORD ? node->word : examples[node->kind];
}

/* Walks every continuation; counts the places where a command may end. */
static void walk_on(const struct walk *from, size_t *ends)
{
	const struct node *next[WALK_NEXT_MAX];
	size_t n = walk_next(from, next);

	*ends += walk_is_complete(from);
	assert_true(n || walk_is_complete(from));
	assert_true(!walk_is_complete(from) || from->command.act);
	for (size_t i = 0; i < n; i++) {
		struct walk w = *from;

		assert_int_equal(walk_step(&w, example_of(next[i])), WALK_OK);
		assert_ptr_equal(w.path[w.n_path - 1], next[i]);
		assert_non_null(next[i]->help);
		walk_on(&w, ends);
	}
}

static void every_word_that_may_come_next_is_taken_and_leads_to_a_command(void **state)
{
	struct walk w;
	size_t ends = 0;

	walk_start(&w, true);
	walk_on(&w, &ends);
	assert_true(ends > 100); /* every order of the options counts */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_and_times_are_arguments),
		cmocka_unit_test(commands_lead_to_their_act_and_arguments),
		cmocka_unit_test(commands_of_the_speaker_lead_to_theirs),
		cmocka_unit_test(commands_of_the_router_lead_to_theirs),
		cmocka_unit_test(a_keyword_may_be_short_as_long_as_it_is_the_only_one),
		cmocka_unit_test(beside_a_name_a_keyword_has_to_be_written_out),
		cmocka_unit_test(names_that_look_like_keywords_are_names),
		cmocka_unit_test(a_wrong_word_is_named_with_what_was_possible),
		cmocka_unit_test(exit_and_quit_are_words_of_the_shell),
		cmocka_unit_test(help_takes_the_words_that_are_left),
		cmocka_unit_test(help_shows_every_command_with_its_options),
		cmocka_unit_test(help_shows_what_follows_some_words),
		cmocka_unit_test(help_of_one_command_explains_its_options),
		cmocka_unit_test(help_for_nothing_we_know_is_an_error),
		cmocka_unit_test(completion_can_ask_what_comes_next),
		cmocka_unit_test(every_word_that_may_come_next_is_taken_and_leads_to_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
