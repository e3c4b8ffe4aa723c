/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/session.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/tls/testkit.h"
#include "src/maglevc/names.h"
#include "src/maglevc/testing_server.h"

#define PATIENCE (20 * NSEC_PER_SEC) /* more than any test takes */

static struct ev_loop *loop;
static struct testing_server server;
static struct options options;
static char *out, *err; /* the output of the last command */

static int start(void **state)
{
	loop = ev_loop_new(0);
	testing_server_start(&server, loop, NULL);
	options = (struct options){ .servers = { server.address, server.address },
				    .timeout = PATIENCE };
	return 0;
}

static int stop(void **state)
{
	testing_server_stop(&server);
	ev_loop_destroy(loop);
	free(out);
	free(err);
	out = err = NULL;
	return 0;
}

/* One command, given with single spaces, in a session of its own. */
static enum status run(const char *line)
{
	_cleanup_(cleanup_free) char *text = strdup(line);
	_cleanup_(buf_free) struct buf why = { 0 };
	struct session s = { .loop = loop, .options = &options };
	size_t out_size, err_size, n = 0;
	const char *words[16];
	enum status status;
	struct command c;

	for (char *rest = text; rest;)
		words[n++] = strsep(&rest, " ");
	if (command_parse(words, n, false, &c, &why) < 0)
		fail_msg("%s", buf_cstr(&why));
	free(out);
	free(err);
	s.out = open_memstream(&out, &out_size);
	s.err = open_memstream(&err, &err_size);
	status = session_run(&s, &c);
	session_end(&s);
	fclose(s.out);
	fclose(s.err);
	return status;
}

static void check_call(const char *line, enum act act, const char *request, const char *begin)
{
	assert_int_equal(run(line), STATUS_DONE);
	assert_string_equal(err, "");
	assert_int_equal(server.act, act);
	assert_string_equal(buf_cstr(&server.request), request);
	if (strncmp(out, begin, strlen(begin)) != 0)
		fail_msg("%s: printed \"%s\"", line, out);
}

static void each_command_asks_its_question_and_prints_the_answer(void **state)
{
	check_call("show frontends", ACT_FRONTENDS, "{}", "NAME  VIP ");
	check_call("show frontends www", ACT_FRONTEND, "{\"name\":\"www\"}",
		   "name           www\n");
	check_call("show backends", ACT_BACKENDS, "{}", "NAME   ADDRESS ");
	check_call("show backends web1", ACT_BACKEND, "{\"name\":\"web1\"}", "name         web1\n");
	check_call("show healthchecks", ACT_HEALTHCHECKS, "{}", "NAME  TYPE ");
	check_call("show healthchecks web", ACT_HEALTHCHECK, "{\"name\":\"web\"}",
		   "name                  web\n");
	check_call("show vpp info", ACT_VPP_INFO, "{}", "version       26.10-rc0\n");
	check_call("show lb state", ACT_LB_STATE, "{\"backend\":\"\"}",
		   "dataplane                vpp\n");
	check_call("show vpp lb counters", ACT_LB_COUNTERS, "{}", "dataplane ");
	check_call("show history backend web1", ACT_HISTORY,
		   "{\"frontends\":[],\"backends\":[\"web1\"],\"span\":\"hour\",\"points\":0,"
		   "\"lines\":[],\"leave_out\":false}",
		   "the last hour, a point every 10s, up to 2026-");
	check_call("sync lb state www plan", ACT_SYNC, "{\"frontend\":\"www\",\"plan\":true}",
		   "as-add 198.51.100.10:80/tcp");
	check_call("config reload", ACT_CONFIG_RELOAD, "{}", "configuration reloaded:\n");
	check_call("show announcements", ACT_ANNOUNCEMENTS, "{}", "NAME  ADDRESS ");
	check_call("show announcements www", ACT_ANNOUNCEMENT, "{\"vip\":\"www\"}",
		   "name           www\n");
	check_call("show sessions", ACT_SESSIONS, "{}", "PEER  ADDRESS ");
	check_call("show speaker", ACT_SPEAKER, "{}", "name          lb1\n");
}

/* Each command goes to its own server, over a connection of its own. */
static void the_speaker_is_another_server(void **state)
{
	options.servers[SERVER_MAGLEVD] = "127.0.0.1:1";
	assert_int_equal(run("show sessions"), STATUS_DONE);
	options.servers[SERVER_MAGLEVD] = server.address;
	options.servers[SERVER_SPEAKER] = "::::";
	assert_int_equal(run("show backends"), STATUS_DONE);
	assert_int_equal(run("show speaker"), STATUS_USAGE);
	assert_string_equal(err, "maglevc: --speaker: ::::: not of the form host:port\n");
}

static void each_act_names_its_backend(void **state)
{
	check_call("set backend web1 pause reason disk", ACT_PAUSE,
		   "{\"name\":\"web1\",\"reason\":\"disk\",\"until\":\"0\",\"from\":\"0\"}",
		   "backend web2: disabled ");
	check_call("set backend web1 resume", ACT_RESUME,
		   "{\"name\":\"web1\",\"reason\":\"\",\"until\":\"0\",\"from\":\"0\"}",
		   "backend web1: up\n");
	check_call("set backend web1 enable", ACT_ENABLE,
		   "{\"name\":\"web1\",\"reason\":\"\",\"until\":\"0\",\"from\":\"0\"}",
		   "backend web1: up\n");
	check_call("set backend web1 disable", ACT_DISABLE,
		   "{\"name\":\"web1\",\"reason\":\"\",\"until\":\"0\",\"from\":\"0\"}",
		   "backend web2: disabled ");
	check_call("set frontend www pool primary backend web2 weight 50 flush", ACT_WEIGHT,
		   "{\"frontend\":\"www\",\"pool\":\"primary\",\"backend\":\"web2\",\"weight\":50,"
		   "\"flush\":true,\"reason\":\"\"}",
		   "frontend www, pool primary, backend web2: weight 50, effective 0, flushed\n");
}

static void a_drain_names_its_vip(void **state)
{
	check_call("set vip www drain reason disk", ACT_DRAIN,
		   "{\"vip\":\"www\",\"reason\":\"disk\"}",
		   "vip www: still announced to tor1: drained, new kernel\n");
	check_call("set vip www undrain", ACT_UNDRAIN, "{\"vip\":\"www\"}", "vip www: ");
}

static void a_time_span_is_sent_as_its_end(void **state)
{
	int64_t before = loop_realtime() + 3600 * NSEC_PER_SEC, until;
	const char *at;

	assert_int_equal(run("set backend web1 pause for 1h"), STATUS_DONE);
	at = strstr(buf_cstr(&server.request), "\"until\":\"");
	assert_non_null(at);
	until = strtoll(at + strlen("\"until\":\""), NULL, 10);
	assert_true(until >= before && until <= loop_realtime() + 3600 * NSEC_PER_SEC);
}

/* The server answers that web1 has weight 100 and 17 flows, and that will not change. */
static void a_wait_ends_when_the_time_is_over(void **state)
{
	assert_int_equal(run("set backend web1 pause wait 50ms"), STATUS_TIME_OVER);
	assert_non_null(strstr(out, "backend web2: disabled"));
	assert_int_equal(server.act, ACT_LB_STATE);
	assert_string_equal(buf_cstr(&server.request), "{\"backend\":\"web1\"}");
	assert_string_equal(err, "maglevc: backend web1 is not drained, and the time is over: its "
				 "weight is 100\n");
}

/* The VIP of the server is draining, and stays so. */
static void a_wait_for_a_vip_asks_the_speaker(void **state)
{
	assert_int_equal(run("set vip www drain wait 50ms"), STATUS_TIME_OVER);
	assert_int_equal(server.act, ACT_ANNOUNCEMENT);
	assert_string_equal(buf_cstr(&server.request), "{\"vip\":\"www\"}");
	assert_string_equal(err, "maglevc: vip www is not drained, and the time is over: "
				 "draining\n");
}

static void json_is_the_message_of_the_api(void **state)
{
	options.json = true;
	check_call("sync lb state", ACT_SYNC, "{\"frontend\":\"\",\"plan\":false}",
		   "{\n"
		   "  \"dataplane\": \"vpp\",\n"
		   "  \"operations\": [\n"
		   "    \"as-add 198.51.100.10:80/tcp 10.0.0.12 50\",\n"
		   "    \"vip-remove [2001:db8::80]:443/udp\"\n"
		   "  ],\n"
		   "  \"withheld\": [\n"
		   "    \"dns: warm-up\"\n"
		   "  ]\n"
		   "}\n");
	check_call("show backends", ACT_BACKENDS, "{}", "{\n  \"backends\": [\n    {\n");
}

static void what_needs_no_server_asks_none(void **state)
{
	options.servers[SERVER_MAGLEVD] = "not a server";
	assert_int_equal(run("help watch"), STATUS_DONE);
	assert_memory_equal(out, "watch events [num <n>]", 22);
	assert_int_equal(run("help moon"), STATUS_USAGE);
	assert_string_equal(out, "");
	assert_memory_equal(err, "maglevc: unknown word \"moon\"; possible: show", 44);
}

static void the_version_is_that_of_client_and_servers(void **state)
{
	assert_int_equal(run("show version"), STATUS_DONE);
	assert_memory_equal(out, "maglevc ", 8);
	assert_non_null(strstr(out, "\nmaglevd 1.2.3 (abc, 2026-04-01) at 127.0.0.1:"));
	assert_null(strstr(out, "maglev-speaker"));
	options.given[SERVER_SPEAKER] = true;
	assert_int_equal(run("show version"), STATUS_DONE);
	assert_non_null(strstr(out, "\nmaglev-speaker "));
	assert_null(strstr(out, "\nmaglevd "));
	options.given[SERVER_MAGLEVD] = true;
	options.json = true;
	assert_int_equal(run("show version"), STATUS_DONE);
	assert_memory_equal(out, "{\n  \"version\": \"", 16);
	assert_non_null(strstr(out, "\"program\": \"maglevd\","));
	assert_non_null(strstr(out, "\"program\": \"maglev-speaker\","));
}

static void the_version_of_the_client_needs_no_server(void **state)
{
	options.servers[SERVER_MAGLEVD] = "127.0.0.1:1";
	assert_int_equal(run("show version"), STATUS_NO_SERVER);
	assert_memory_equal(out, "maglevc ", 8);
	assert_memory_equal(err, "maglevc: cannot reach 127.0.0.1:1: ", 35);
}

static void a_configuration_is_its_text_in_both_formats(void **state)
{
	check_call("show config", ACT_CONFIG, "{\"format\":\"yaml\"}",
		   "maglev:\n  dataplane: none\n");
	options.json = true;
	check_call("show config", ACT_CONFIG, "{\"format\":\"json\"}",
		   "maglev:\n  dataplane: none\n");
}

static void a_list_is_filtered_in_both_formats(void **state)
{
	check_call("show backends state disabled", ACT_BACKENDS, "{}", "NAME  ADDRESS ");
	assert_non_null(strstr(out, "\nweb2 "));
	assert_null(strstr(out, "\nweb1 "));
	options.json = true;
	check_call("show backends name web*", ACT_BACKENDS, "{}", "{\n  \"backends\": [");
	assert_non_null(strstr(out, "\"web2\""));
	assert_null(strstr(out, "\"spare\""));
}

static void times_that_contradict_each_other_are_2(void **state)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "set backend web1 pause for 1h until 22:00",
		  "maglevc: \"for\" and \"until\" exclude each other\n" },
		{ "set backend web1 pause until 2020-01-01T00:00Z",
		  "maglevc: until 2020-01-01T00:00Z lies in the past\n" },
		{ "set backend web1 pause from 2020-01-01T00:00Z",
		  "maglevc: from 2020-01-01T00:00Z lies in the past\n" },
		{ "set backend web1 pause from 2100-01-01T00:00Z until 2099-01-01T00:00Z",
		  "maglevc: until 2099-01-01T00:00Z lies before the beginning\n" },
		{ "set backend web1 pause from 22:00 wait",
		  "maglevc: \"from\" and \"wait\" exclude each other\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(run(cases[i].line), STATUS_USAGE);
		assert_string_equal(err, cases[i].why);
	}
	assert_int_equal(server.calls, 0);
}

/* ---- several servers ---- */

static struct testing_server second;

static int start_two(void **state)
{
	static char both[2 * ENDPOINT_STRLEN];

	start(state);
	testing_server_start(&second, loop, NULL);
	snprintf(both, sizeof(both), "%s,%s", server.address, second.address);
	options.servers[SERVER_MAGLEVD] = both;
	return 0;
}

static int stop_two(void **state)
{
	testing_server_stop(&second);
	return stop(state);
}

static void several_servers_answer_one_after_the_other(void **state)
{
	char head[128];

	assert_int_equal(run("show backends"), STATUS_DONE);
	assert_string_equal(err, "");
	snprintf(head, sizeof(head), "==> %s <==\nNAME   ADDRESS ", server.address);
	assert_memory_equal(out, head, strlen(head));
	snprintf(head, sizeof(head), "\n==> %s <==\nNAME   ADDRESS ", second.address);
	assert_non_null(strstr(out, head));
	assert_int_equal(run("set backend web1 pause"), STATUS_DONE);
	assert_int_equal(server.act, ACT_PAUSE);
	assert_int_equal(second.act, ACT_PAUSE);
}

static void a_server_that_fails_does_not_hide_the_others(void **state)
{
	char line[256];

	server.mood = MOOD_REFUSING;
	assert_int_equal(run("show backends"), STATUS_REFUSED);
	snprintf(line, sizeof(line), "maglevc: %s: backend \"web1\" is disabled: enable it first\n",
		 server.address);
	assert_string_equal(err, line);
	snprintf(line, sizeof(line), "==> %s <==\nNAME ", second.address);
	assert_memory_equal(out, line, strlen(line));
}

static void json_of_several_servers_is_one_document(void **state)
{
	char line[256];

	options.json = true;
	second.mood = MOOD_REFUSING;
	assert_int_equal(run("show backends"), STATUS_REFUSED);
	snprintf(line, sizeof(line),
		 "{\n  \"servers\": [\n    {\n      \"server\": \"%s\",\n      \"answer\": {\n",
		 server.address);
	assert_memory_equal(out, line, strlen(line));
	assert_non_null(strstr(out, "\n      \"error\": \"backend \\\"web1\\\" is disabled: "
				    "enable it first\"\n    }\n  ]\n}\n"));
}

static void a_wait_says_whose_backend_is_not_drained(void **state)
{
	char line[256];

	assert_int_equal(run("set backend web1 pause wait 50ms"), STATUS_TIME_OVER);
	snprintf(line, sizeof(line), "maglevc: backend web1 on %s is not drained, ",
		 server.address);
	assert_memory_equal(err, line, strlen(line));
}

/* Without a terminal nothing is asked. */
static void an_act_on_many_goes_to_all_servers(void **state)
{
	char head[128];

	assert_int_equal(run("set backends address 10.0.0.11 pause reason disk"), STATUS_DONE);
	assert_int_equal(server.calls, 1);
	assert_string_equal(buf_cstr(&second.request),
			    "{\"address\":\"10.0.0.11\",\"names\":[],\"act\":\"pause\",\"reason\":"
			    "\"disk\",\"until\":\"0\",\"from\":\"0\",\"dry_run\":false}");
	snprintf(head, sizeof(head), "==> %s <==\nBACKEND  ADDRESS ", server.address);
	assert_memory_equal(out, head, strlen(head));
	assert_int_equal(run("set backends web* resume"), STATUS_DONE);
	assert_non_null(strstr(buf_cstr(&second.request), "\"names\":[\"web*\"]"));
}

static void events_of_several_servers_have_their_names(void **state)
{
	server.mood = second.mood = MOOD_ENDING;
	assert_int_equal(run("watch events"), STATUS_DONE);
	assert_non_null(strstr(out, server.address));
	assert_non_null(strstr(out, second.address));
	options.json = true;
	assert_int_equal(run("watch events num 1"), STATUS_DONE);
	assert_memory_equal(out, "{\"server\":\"127.0.0.1:", 21);
	assert_non_null(strstr(out, "\",\"event\":{\"seq\":\"1\","));
}

static void a_refusal_is_the_servers_words_and_1(void **state)
{
	server.mood = MOOD_REFUSING;
	assert_int_equal(run("set backend web1 pause"), STATUS_REFUSED);
	assert_string_equal(out, "");
	assert_string_equal(err, "maglevc: backend \"web1\" is disabled: enable it first\n");
	options.color = true;
	assert_int_equal(run("set backend web1 pause"), STATUS_REFUSED);
	assert_string_equal(
		err, "\033[31mmaglevc: backend \"web1\" is disabled: enable it first\033[0m\n");
}

/* UNAVAILABLE from a connected server is its own answer, not a lost connection. */
static void a_server_without_a_data_plane_is_still_a_server(void **state)
{
	server.mood = MOOD_WITHOUT_VPP;
	assert_int_equal(run("show vpp info"), STATUS_REFUSED);
	assert_string_equal(err, "maglevc: not connected to VPP\n");
}

static void a_configuration_with_mistakes_is_1(void **state)
{
	server.mood = MOOD_MISTAKEN;
	assert_int_equal(run("config check"), STATUS_REFUSED);
	assert_string_equal(out, "");
	assert_string_equal(err, "maglev.yaml:3:5: port: not a number\n");
	assert_int_equal(run("config reload"), STATUS_REFUSED);
	assert_string_equal(err, "maglev.yaml:3:5: port: not a number\n");
	options.json = true;
	assert_int_equal(run("config check"), STATUS_REFUSED);
	assert_memory_equal(out, "{\n  \"ok\": false,", 16);
	assert_string_equal(err, "");
}

static void a_good_configuration_is_0_with_its_warnings_aside(void **state)
{
	assert_int_equal(run("config check"), STATUS_DONE);
	assert_memory_equal(out, "configuration is good; a reload would change:\n", 46);
	assert_string_equal(err, "warning: maglev.yaml:3:5: weights sum above the table\n");
}

/* A port without a listener, or one that accepts connections and never answers. */
static int occupy(bool listening, char address[static ENDPOINT_STRLEN])
{
	struct sockaddr_storage sa;
	struct endpoint at;
	socklen_t size;
	int fd;

	assert_int_equal(endpoint_parse("127.0.0.1:0", &at), 0);
	size = endpoint_to_sockaddr(&at, &sa);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, size), 0);
	if (listening)
		assert_int_equal(listen(fd, 8), 0);
	size = sizeof(sa);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &size), 0);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&sa, &at), 0);
	endpoint_format(&at, address);
	return fd;
}

static void check_complaint(const char *want, const char *address)
{
	char line[256];

	snprintf(line, sizeof(line), "maglevc: %s %s", want, address);
	if (strncmp(err, line, strlen(line)) != 0)
		fail_msg("printed \"%s\"", err);
	assert_string_equal(out, "");
}

static void no_server_is_3_and_says_which_and_why(void **state)
{
	char address[ENDPOINT_STRLEN];
	_cleanup_(cleanup_fd) int fd = occupy(false, address);

	assert_true(fd >= 0);
	options.servers[SERVER_MAGLEVD] = address;
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	check_complaint("cannot reach", address);
	assert_non_null(strcasestr(err, "refused"));
	assert_int_equal(run("watch events"), STATUS_NO_SERVER);
	check_complaint("cannot reach", address);
}

static void a_name_that_nobody_knows_is_3(void **state)
{
	options.servers[SERVER_MAGLEVD] = "no-such-host.invalid:9090";
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	check_complaint("cannot reach", "no-such-host.invalid:9090: ");
}

static void an_address_that_is_none_is_2(void **state)
{
	options.servers[SERVER_MAGLEVD] = "::::";
	assert_int_equal(run("show backends"), STATUS_USAGE);
	assert_memory_equal(err, "maglevc: --server: ::::: ", 25);
}

static void something_that_takes_connections_and_says_nothing_is_3(void **state)
{
	char address[ENDPOINT_STRLEN];
	_cleanup_(cleanup_fd) int fd = occupy(true, address);

	assert_true(fd >= 0);
	options.servers[SERVER_MAGLEVD] = address;
	options.timeout = 50 * NSEC_PER_MSEC;
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	assert_non_null(strstr(err, address));
	assert_string_equal(out, "");
}

static void a_server_that_hangs_is_3_after_the_timeout(void **state)
{
	server.mood = MOOD_HANGING;
	options.timeout = 100 * NSEC_PER_MSEC;
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	assert_int_equal(server.calls, 1);
	assert_non_null(strstr(err, "did not answer within 100ms\n"));
}

static void a_server_that_dies_on_us_is_3(void **state)
{
	server.mood = MOOD_GONE;
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	assert_int_equal(server.calls, 1);
	check_complaint("lost the connection to", server.address);
}

#define EVENT(seq)                                                                                 \
	"{\"seq\":\"" seq "\",\"at\":\"0\",\"frontend\":{\"frontend\":\"\",\"from\":\"\","         \
	"\"to\":\"\",\"replay\":false}}\n"

static void a_watch_ends_after_as_many_events_as_asked_for(void **state)
{
	options.json = true;
	check_call("watch events num 2 log level debug backend", ACT_WATCH,
		   "{\"log\":true,\"log_level\":\"debug\",\"backend\":true,\"frontend\":false,"
		   "\"config\":false,\"dataplane\":false,\"info\":false,\"probes\":false}",
		   EVENT("1"));
	assert_string_equal(out, EVENT("1") EVENT("2"));
	options.json = false;
	assert_int_equal(run("watch events num 1"), STATUS_DONE);
	assert_memory_equal(out, "1970-01-01T00:00:00Z  frontend ", 31);
}

static void a_watch_ends_when_the_server_ends_it(void **state)
{
	options.json = true;
	server.mood = MOOD_ENDING;
	assert_int_equal(run("watch events"), STATUS_DONE);
	assert_string_equal(out, EVENT("1") EVENT("2") EVENT("3"));
}

static void a_watch_is_not_over_after_the_timeout(void **state)
{
	options.json = true;
	server.mood = MOOD_LATE;
	options.timeout = 300 * NSEC_PER_MSEC;
	assert_int_equal(run("watch events"), STATUS_DONE);
	assert_string_equal(out, EVENT("1") EVENT("2") EVENT("3"));
}

static void a_watch_that_is_interrupted_was_good(void **state)
{
	server.mood = MOOD_INTERRUPTED;
	assert_int_equal(run("watch events"), STATUS_DONE);
	assert_string_equal(err, "");
}

static void a_watch_shows_why_the_server_ended_it(void **state)
{
	server.mood = MOOD_REFUSING;
	assert_int_equal(run("watch events"), STATUS_REFUSED);
	assert_string_equal(err, "maglevc: backend \"web1\" is disabled: enable it first\n");
}

static void an_answer_that_cannot_be_written_is_1(void **state)
{
	struct session s = { .loop = loop, .options = &options, .err = stderr };
	struct command c = { .act = ACT_BACKENDS };
	_cleanup_(cleanup_free) char *text = NULL;
	size_t size;

	s.out = fopen("/dev/full", "w");
	s.err = open_memstream(&text, &size);
	assert_int_equal(session_run(&s, &c), STATUS_REFUSED);
	session_end(&s);
	fclose(s.out);
	fclose(s.err);
	assert_string_equal(text, "maglevc: cannot write the answer: No space left on device\n");
}

static void a_session_keeps_its_connection(void **state)
{
	struct session s = { .loop = loop, .options = &options };
	struct command c = { .act = ACT_BACKENDS };

	s.out = s.err = fopen("/dev/null", "w");
	assert_int_equal(session_run(&s, &c), STATUS_DONE);
	assert_int_equal(session_run(&s, &c), STATUS_DONE);
	assert_int_equal(grpc_server_stats(server.server)->accepted, 1);
	session_end(&s);
	fclose(s.out);
}

/* The names that completion gets for a kind, after these words. */
static void check_names(enum node_kind kind, const struct command *c, const char *expected)
{
	struct session s = { .loop = loop, .options = &options };
	_cleanup_(buf_free) struct buf got = { 0 };
	struct candidates names = { 0 };

	s.out = s.err = fopen("/dev/null", "w");
	names_ask(kind, c, &names, &s);
	for (size_t i = 0; i < names.n; i++)
		buf_printf(&got, "%s%s", i ? " " : "", names.items[i].word);
	assert_string_equal(buf_cstr(&got), expected);
	candidates_free(&names);
	session_end(&s);
	fclose(s.out);
}

static void names_are_the_servers(void **state)
{
	struct command c = { .args = { [SLOT_FRONTEND] = "www" } };

	check_names(NODE_FRONTEND, &c, "dns www");
	check_names(NODE_BACKEND, &c, "spare web1 web2");
	check_names(NODE_HEALTHCHECK, &c, "ping web");
	check_names(NODE_VIP, &c, "dns www");
	check_names(NODE_POOL, &c, "primary fallback");
	assert_string_equal(buf_cstr(&server.request), "{\"name\":\"www\"}");
	c.args[SLOT_POOL] = "fallback";
	check_names(NODE_BACKEND, &c, "spare-with-a-name");
}

static void without_an_answer_there_are_no_names(void **state)
{
	struct command c = { .act = ACT_NONE };

	server.mood = MOOD_REFUSING;
	check_names(NODE_FRONTEND, &c, "");
	server.mood = MOOD_GONE;
	check_names(NODE_FRONTEND, &c, "");
}

/* In a script the line number is named; in the shell the name of the program is left out. */
static void a_complaint_of_the_shell_is_only_the_sentence(void **state)
{
	struct session s = { .loop = loop, .options = &options, .shell = true };
	size_t size;

	free(err);
	s.err = open_memstream(&err, &size);
	s.line = 3;
	session_complain(&s, "no");
	s.line = 0;
	session_complain(&s, "no");
	fclose(s.err);
	assert_string_equal(err, "maglevc: line 3: no\nno\n");
}

/* ---- TLS ---- */

static struct pki pki;
static struct tls_context *server_tls;

static int start_tls(void **state)
{
	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, NULL, "other");
	pki_issue(&pki, "ca", "server");
	pki_issue(&pki, "ca", "operator");
	server_tls = pki_server(&pki, "server", "ca.pem", "h2");
	loop = ev_loop_new(0);
	testing_server_start(&server, loop, server_tls);
	options = (struct options){ .servers = { server.address, server.address },
				    .timeout = PATIENCE,
				    .tls = true };
	return 0;
}

static int stop_tls(void **state)
{
	stop(state);
	tls_context_free(server_tls);
	pki_remove(&pki);
	return 0;
}

static void with_tls_both_sides_show_their_certificate(void **state)
{
	options.tls_files = (struct tls_files){ .certificate = pki_file(&pki, "operator.pem"),
						.key = pki_file(&pki, "operator.key"),
						.ca = pki_file(&pki, "ca.pem") };
	assert_int_equal(run("show backends"), STATUS_DONE);
	options.tls_name = "localhost";
	assert_int_equal(run("show backends"), STATUS_DONE);
	options.tls_name = "www.example.net";
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	check_complaint("cannot reach", server.address);
}

static void a_server_that_nobody_vouches_for_is_3(void **state)
{
	options.tls_files = (struct tls_files){ .ca = pki_file(&pki, "other.pem") };
	assert_int_equal(run("show backends"), STATUS_NO_SERVER);
	check_complaint("cannot reach", server.address);
}

static void a_certificate_that_is_not_there_is_2(void **state)
{
	options.tls_files = (struct tls_files){ .ca = pki_file(&pki, "absent.pem") };
	assert_int_equal(run("show backends"), STATUS_USAGE);
	assert_memory_equal(err, "maglevc: TLS: ", 14);
	assert_non_null(strstr(err, "absent.pem"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)
#define TWO_CASE(f) cmocka_unit_test_setup_teardown(f, start_two, stop_two)
#define TLS_CASE(f) cmocka_unit_test_setup_teardown(f, start_tls, stop_tls)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_command_asks_its_question_and_prints_the_answer),
		CASE(the_speaker_is_another_server),
		CASE(each_act_names_its_backend),
		CASE(a_drain_names_its_vip),
		CASE(a_time_span_is_sent_as_its_end),
		CASE(a_wait_ends_when_the_time_is_over),
		CASE(a_wait_for_a_vip_asks_the_speaker),
		CASE(json_is_the_message_of_the_api),
		CASE(what_needs_no_server_asks_none),
		CASE(the_version_is_that_of_client_and_servers),
		CASE(the_version_of_the_client_needs_no_server),
		CASE(a_configuration_is_its_text_in_both_formats),
		CASE(a_list_is_filtered_in_both_formats),
		CASE(times_that_contradict_each_other_are_2),
		TWO_CASE(several_servers_answer_one_after_the_other),
		TWO_CASE(a_server_that_fails_does_not_hide_the_others),
		TWO_CASE(json_of_several_servers_is_one_document),
		TWO_CASE(a_wait_says_whose_backend_is_not_drained),
		TWO_CASE(an_act_on_many_goes_to_all_servers),
		TWO_CASE(events_of_several_servers_have_their_names),
		CASE(a_refusal_is_the_servers_words_and_1),
		CASE(a_server_without_a_data_plane_is_still_a_server),
		CASE(a_configuration_with_mistakes_is_1),
		CASE(a_good_configuration_is_0_with_its_warnings_aside),
		CASE(no_server_is_3_and_says_which_and_why),
		CASE(a_name_that_nobody_knows_is_3),
		CASE(an_address_that_is_none_is_2),
		CASE(something_that_takes_connections_and_says_nothing_is_3),
		CASE(a_server_that_hangs_is_3_after_the_timeout),
		CASE(a_server_that_dies_on_us_is_3),
		CASE(a_watch_ends_after_as_many_events_as_asked_for),
		CASE(a_watch_ends_when_the_server_ends_it),
		CASE(a_watch_is_not_over_after_the_timeout),
		CASE(a_watch_that_is_interrupted_was_good),
		CASE(a_watch_shows_why_the_server_ended_it),
		CASE(an_answer_that_cannot_be_written_is_1),
		CASE(a_session_keeps_its_connection),
		CASE(names_are_the_servers),
		CASE(without_an_answer_there_are_no_names),
		CASE(a_complaint_of_the_shell_is_only_the_sentence),
		TLS_CASE(with_tls_both_sides_show_their_certificate),
		TLS_CASE(a_server_that_nobody_vouches_for_is_3),
		TLS_CASE(a_certificate_that_is_not_there_is_2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
