/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mux/web.h"

#include <arpa/inet.h>
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/daemon/daemon.h"
#include "lib/http/server.h"
#include "lib/http/testkit.h"
#include "lib/page/files.h"
#include "src/mux/show.h"
#include "src/mux/show_world_test.h"
#include "src/mux/web_private.h"

static const unsigned char page[] = "<p>page</p>";
static const struct page_file files[] = {
	{ "mux.html", "text/html", page, sizeof(page) - 1, NULL, 0 },
	{ "assets/a.js", "text/javascript", page, sizeof(page) - 1, NULL, 0 },
};
const struct page_files page_files = { files, ARRAY_SIZE(files) };

struct site {
	struct kit kit;
	struct daemon daemon;
	struct show *show;
	struct web *web;
	struct web_options options;
};

static void open_site(struct site *s, bool actions, const char *token)
{
	memset(s, 0, sizeof(*s));
	world_reset();
	s->daemon.loop = s->kit.loop = ev_loop_new(0);
	s->options =
		(struct web_options){ true, actions, "127.0.0.1:0", token, false, false, false };
	s->show = show_new(&world_source, 1);
	assert_int_equal(web_new(&s->daemon, s->show, &s->options, &s->web), 0);
	assert(s->web); /* for the analyser, which does not know cmocka */
	s->kit.server = s->web->server;
}

static void close_site(struct site *s)
{
	web_free(s->web);
	show_free(s->show);
	ev_loop_destroy(s->kit.loop);
}

/* The whole answer; the caller frees the client. */
static struct client *ask(struct site *s, const char *path, const char *lines)
{
	struct client *c = client_new(&s->kit);
	char text[512];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n",
		 path, lines);
	client_send(c, text);
	client_expect_close(c);
	return c;
}

static void expect(struct site *s, const char *path, const char *lines, const char *const *texts)
{
	struct client *c = ask(s, path, lines);

	for (; *texts; texts++)
		if (!strstr(client_text(c), *texts))
			fail_msg("no \"%s\" in the answer to %s: %s", *texts, path, client_text(c));
	client_free(c);
}

#define EXPECT(s, path, lines, ...)                                                                \
	expect(s, path, lines, (const char *const[]){ __VA_ARGS__, NULL })

static void every_path_answers(void **state)
{
	struct site s;

	open_site(&s, false, "");
	EXPECT(&s, "/", "", "200 OK", "<p>page</p>", "text/html");
	EXPECT(&s, "/assets/a.js", "", "200 OK", "text/javascript");
	EXPECT(&s, "/healthz", "", "200 OK", "{\"status\":\"ok\"}");
	EXPECT(&s, "/api/state", "", "200 OK", "\"mux_services\":{\"lb/edge\"", "application/json");
	EXPECT(&s, "/api/topology", "", "200 OK", "{\"lb/edge\":{\"mux_external_dns\"");
	EXPECT(&s, "/api/config", "", "200 OK", "{\"actions_enabled\":false}");
	EXPECT(&s, "/docs", "", "404 Not Found", "{\"detail\":\"Not Found\"}");
	EXPECT(&s, "/assets/b.js", "", "404 Not Found");
	close_site(&s);
}

static void every_answer_has_the_headers(void **state)
{
	static const char *const paths[] = { "/", "/healthz", "/api/state", "/none" };
	struct site s;

	open_site(&s, false, "");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		EXPECT(&s, paths[i], "", "Cache-Control: no-store\r\n",
		       "Referrer-Policy: no-referrer\r\n", "X-Content-Type-Options: nosniff\r\n",
		       "X-Frame-Options: DENY\r\n", "Content-Security-Policy: default-src 'none'",
		       "Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n");
	close_site(&s);
}

static void a_known_version_is_not_sent_again(void **state)
{
	static const char head[] = "ETag: ";
	struct client *c;
	char line[128];
	const char *tag;
	struct site s;

	open_site(&s, false, "");
	c = ask(&s, "/api/state", "");
	tag = strstr(client_text(c), head) + strlen(head);
	snprintf(line, sizeof(line), "If-None-Match: %.*s\r\n", (int)strcspn(tag, "\r"), tag);
	client_free(c);
	EXPECT(&s, "/api/state", line, "304 Not Modified");
	show_changed(s.show);
	EXPECT(&s, "/api/state", line, "200 OK");
	close_site(&s);
}

static void only_the_probe_needs_no_token(void **state)
{
	static const char *const paths[] = { "/",	    "/api/state",    "/api/topology",
					     "/api/config", "/api/test-tcp", "/assets/a.js",
					     "/none" };
	struct site s;

	open_site(&s, false, "s3cret");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		EXPECT(&s, paths[i], "", "401 Unauthorized",
		       "Basic realm=\"Service LoadBalancer Multiplexer Debug UI\"",
		       "Unauthorized - authentication required", "X-Frame-Options: DENY\r\n");
	EXPECT(&s, "/healthz", "", "200 OK");
	EXPECT(&s, "/api/config", "Authorization: Basic eDpzM2NyZXQ=\r\n", "200 OK");
	EXPECT(&s, "/api/config", "Authorization: Basic OnMzY3JldA==\r\n", "200 OK");
	close_site(&s);
}

static void a_wrong_token_is_answered_late(void **state)
{
	struct site s;
	ev_tstamp start;

	open_site(&s, false, "s3cret");
	start = ev_time();
	EXPECT(&s, "/api/config", "Authorization: Basic eDp3cm9uZw==\r\n", "401 Unauthorized");
	assert_true(ev_time() - start >= 1.9);
	close_site(&s);
}

#define TEST "/api/test-tcp?"

static void a_test_needs_leave_and_a_published_address(void **state)
{
	struct site s;

	open_site(&s, false, "");
	EXPECT(&s, TEST "host=10.0.0.1&port=8080", "", "403 Forbidden",
	       "{\"success\":false,\"error\":\"Debug actions are disabled\"}");
	EXPECT(&s, TEST, "", "403 Forbidden", "Debug actions are disabled");
	close_site(&s);
	open_site(&s, true, "");
	EXPECT(&s, "/api/config", "", "{\"actions_enabled\":true}");
	EXPECT(&s, TEST, "", "400 Bad Request", "\"Missing host or port\"");
	EXPECT(&s, TEST "host=10.0.0.1", "", "400 Bad Request", "\"Missing host or port\"");
	EXPECT(&s, TEST "host=10.0.0.1&port=x", "", "400 Bad Request", "\"Invalid port\"");
	EXPECT(&s, TEST "host=10.0.0.1&port=-1", "", "400 Bad Request", "\"Invalid port\"");
	EXPECT(&s, TEST "host=10.0.0.1&port=0", "", "400 Bad Request", "\"Port out of range\"");
	EXPECT(&s, TEST "host=10.0.0.1&port=65536", "", "400 Bad Request", "\"Port out of range\"");
	EXPECT(&s, TEST "host=10.0.0.1&port=22", "", "403 Forbidden",
	       "Neither an address of a mux");
	EXPECT(&s, TEST "host=127.0.0.1&port=8080", "", "403 Forbidden");
	EXPECT(&s, TEST "host=10.0.0.1&port=8080", "Sec-Fetch-Site: cross-site\r\n",
	       "403 Forbidden", "another site");
	close_site(&s);
}

/* A socket of this machine stands for an endpoint; closed, it refuses. */
static uint16_t listen_here(int *fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(*fd, 1), 0);
	assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &n), 0);
	return ntohs(at.sin_port);
}

static void a_test_says_whether_the_connection_came_about(void **state)
{
	char path[64], connected[64];
	struct site s;
	int fd;

	open_site(&s, true, "");
	world_listen(listen_here(&fd));
	snprintf(path, sizeof(path), TEST "host=127.0.0.1&port=%u", world_port());
	snprintf(connected, sizeof(connected),
		 "{\"success\":true,\"message\":\"Connected to 127.0.0.1:%u\"}", world_port());
	EXPECT(&s, path, "", "200 OK", connected);
	close(fd);
	EXPECT(&s, path, "Sec-Fetch-Site: same-origin\r\n", "200 OK",
	       "{\"success\":false,\"error\":\"Connection failed with error code 111\"}");
	EXPECT(&s, "/api/state", "",
	       "ConnectionTest: ", "\"type\":\"Warning\",\"resource\":\"app/api\"");
	close_site(&s);
}

/* A client that goes away ends its test; the server that ends does so as well. */
static void a_test_ends_with_its_client(void **state)
{
	struct client *c;
	struct site s;

	open_site(&s, true, "");
	world_listen(1);
	c = client_new(&s.kit);
	client_send(c, "GET " TEST "host=192.0.2.1&port=8080 HTTP/1.1\r\nHost: a\r\n\r\n");
	while (!s.web->n_tests)
		ev_run(s.kit.loop, EVRUN_ONCE);
	client_free(c);
	while (s.web->n_tests)
		ev_run(s.kit.loop, EVRUN_ONCE);
	c = client_new(&s.kit);
	client_send(c, "GET " TEST "host=192.0.2.1&port=8080 HTTP/1.1\r\nHost: a\r\n\r\n");
	while (!s.web->n_tests)
		ev_run(s.kit.loop, EVRUN_ONCE);
	web_free(s.web);
	s.web = NULL;
	client_free(c);
	close_site(&s);
}

static void the_variables_of_the_original_count_where_ours_are_absent(void **state)
{
	struct web_options o = { .enabled = true, .listen = ":8080" };
	struct buf text = { 0 };

	setenv("DEBUG_WEB_ENABLED", "no", 1);
	setenv("DEBUG_WEB_PORT", "9000", 1);
	setenv("DEBUG_WEB_ACTIONS_ENABLED", "Yes", 1);
	setenv("DEBUG_WEB_AUTH_TOKEN", "", 1);
	setenv("AUTH_TOKEN", "t", 1);
	assert_null(web_options_read(&o, &text));
	assert_false(o.enabled);
	assert_true(o.actions);
	assert_string_equal(o.listen, ":9000");
	assert_string_equal(o.token, "t"); /* an empty one does not switch the token off */

	o = (struct web_options){ true, false, ":1", NULL, true, true, true };
	setenv("DEBUG_WEB_AUTH_TOKEN", "own", 1);
	assert_null(web_options_read(&o, &text));
	assert_true(o.enabled);
	assert_false(o.actions);
	assert_string_equal(o.listen, ":1");
	assert_string_equal(o.token, "own");

	o.listen_given = false;
	setenv("DEBUG_WEB_PORT", "70000", 1);
	assert_non_null(web_options_read(&o, &text));
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_path_answers),
		cmocka_unit_test(every_answer_has_the_headers),
		cmocka_unit_test(a_known_version_is_not_sent_again),
		cmocka_unit_test(only_the_probe_needs_no_token),
		cmocka_unit_test(a_wrong_token_is_answered_late),
		cmocka_unit_test(a_test_needs_leave_and_a_published_address),
		cmocka_unit_test(a_test_says_whether_the_connection_came_about),
		cmocka_unit_test(a_test_ends_with_its_client),
		cmocka_unit_test(the_variables_of_the_original_count_where_ours_are_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
