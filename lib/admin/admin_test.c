/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/admin/internal.h"
#include "lib/daemon/daemon.h"
#include "lib/http/testkit.h"
#include "lib/log/log.h"

/* A daemon with an admin, and what was logged. */
struct scene {
	struct kit kit;
	struct daemon daemon;
	struct admin *admin;
	const char *unready;
	unsigned slices; /* calls of produce() that the program's page still needs */
	unsigned closed; /* pages of the program that were closed */
	struct buf log;
	int sink;
};

static void on_line(const struct log_line *line, void *user)
{
	buf_add(user, line->json.p, line->json.n);
}

static enum http_stream_state on_produce(struct buf *out, void *user)
{
	struct scene *s = user;

	metrics_u64(out, "test_slices_left", NULL, 0, s->slices);
	return --s->slices ? HTTP_STREAM_MORE : HTTP_STREAM_END;
}

static void on_closed(bool whole, void *user)
{
	((struct scene *)user)->closed++;
}

static struct http_stream own_families(void *user)
{
	return (struct http_stream){ .produce = on_produce, .closed = on_closed, .user = user };
}

static const char *unready(void *user)
{
	return ((struct scene *)user)->unready;
}

static struct admin_config config_of(struct scene *s, const char *listen)
{
	return (struct admin_config){ .daemon = &s->daemon,
				      .prefix = "test",
				      .listen = listen,
				      .flag = "--metrics-addr",
				      .metrics = own_families,
				      .unready = unready,
				      .user = s };
}

static void prepare(struct scene *s)
{
	*s = (struct scene){ .kit.loop = ev_loop_new(EVFLAG_AUTO), .slices = 3 };
	s->daemon.loop = s->kit.loop;
	log_set_level(LOG_INFO);
	s->sink = log_add_sink(LOG_DEBUG, on_line, &s->log);
}

static void finish(struct scene *s)
{
	admin_free(s->admin);
	ev_loop_destroy(s->kit.loop);
	log_remove_sink(s->sink);
	buf_free(&s->log);
}

static void begin(struct scene *s)
{
	const struct admin_config config = config_of(s, "127.0.0.1:0");

	prepare(s);
	assert_int_equal(admin_new(&config, &s->admin), 0);
}

static void ask(struct scene *s, const char *request, const char *expected)
{
	struct client *c = client_new_at(&s->kit, admin_endpoint(s->admin));

	assert_non_null(c);
	client_send(c, request);
	client_expect(c, expected);
	client_free(c);
}

#define REQUEST(method, path) method " " path " HTTP/1.1\r\nHost: localhost\r\n"
#define GET(path) REQUEST("GET", path) "\r\n"

static void set_level(struct scene *s, const char *body, const char *expected)
{
	char request[256];

	snprintf(request, sizeof(request),
		 REQUEST("PUT", "/loglevel") "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
	ask(s, request, expected);
}

static void health_and_readiness_are_ok(void **state)
{
	struct scene s;

	begin(&s);
	ask(&s, GET("/healthz"), "\r\n\r\nok\n");
	ask(&s, GET("/readyz"), "\r\n\r\nok\n");
	ask(&s, GET("/"), "404 Not Found");
	ask(&s, REQUEST("PUT", "/readyz") "\r\n", "Allow: GET, HEAD\r\n");
	finish(&s);
}

static void a_daemon_that_is_not_ready_says_why(void **state)
{
	struct scene s;

	begin(&s);
	s.unready = "no configuration";
	ask(&s, GET("/readyz"), "HTTP/1.1 503 ");
	ask(&s, GET("/readyz"), "\r\n\r\nno configuration\n");
	ask(&s, GET("/healthz"), "\r\n\r\nok\n");
	s.unready = NULL;
	ask(&s, GET("/readyz"), "\r\n\r\nok\n");
	finish(&s);
}

static void a_daemon_that_stops_is_not_ready_but_healthy(void **state)
{
	struct scene s;

	begin(&s);
	s.daemon.stopping = true;
	ask(&s, GET("/readyz"), "HTTP/1.1 503 ");
	ask(&s, GET("/readyz"), "\r\n\r\nstopping\n");
	ask(&s, GET("/healthz"), "\r\n\r\nok\n");
	finish(&s);
}

/* Readiness does not depend on a function being there. */
static void without_a_function_a_daemon_is_ready(void **state)
{
	struct admin_config config;
	struct scene s;

	prepare(&s);
	config = config_of(&s, "127.0.0.1:0");
	config.unready = NULL;
	config.metrics = NULL;
	assert_int_equal(admin_new(&config, &s.admin), 0);
	ask(&s, GET("/readyz"), "\r\n\r\nok\n");
	ask(&s, GET("/metrics"), "process_max_fds");
	finish(&s);
}

static void the_page_has_the_families_of_every_daemon_then_the_programs(void **state)
{
	struct client *c;
	struct scene s;
	const char *text;

	begin(&s);
	c = client_new_at(&s.kit, admin_endpoint(s.admin));
	client_send(c, REQUEST("GET", "/metrics") "Connection: close\r\n\r\n");
	client_expect_close(c);
	text = client_text(c);
	assert_non_null(strstr(text, "Content-Type: text/plain; version=0.0.4"));
	assert_non_null(strstr(text, "test_build_info{version=\""));
	assert_non_null(strstr(text, "test_log_dropped_total 0\n"));
	assert_non_null(strstr(text, "test_loop_lag_seconds_bucket{le=\"0.0001\"}"));
	assert_non_null(strstr(text, "test_loop_lag_seconds_bucket{le=\"0.5\"}"));
	assert_int_equal(client_count(c, "test_loop_lag_seconds_bucket"), 12);
	assert_non_null(strstr(text, "process_open_fds "));
	assert_true(strstr(text, "process_open_fds ") < strstr(text, "test_slices_left 3\n"));
	assert_non_null(strstr(text, "test_slices_left 1\n"));
	assert_int_equal(s.closed, 1);
	client_free(c);
	finish(&s);
}

/* A page that was begun must be closed, even if nothing of it was produced. */
static void a_page_that_nobody_reads_is_closed(void **state)
{
	struct scene s;

	begin(&s);
	ask(&s, REQUEST("HEAD", "/metrics") "\r\n", "200 OK");
	assert_int_equal(s.slices, 3);
	admin_free(TAKE_PTR(s.admin));
	assert_int_equal(s.closed, 1);
	finish(&s);
}

static void turns_of_the_loop_are_counted(void **state)
{
	struct scene s;

	begin(&s);
	ask(&s, GET("/healthz"), "ok");
	assert_true(s.admin->turns.sum > 0);
	finish(&s);
}

static void the_level_is_shown_and_changed(void **state)
{
	struct scene s;

	begin(&s);
	ask(&s, GET("/loglevel"), "\r\n\r\ninfo\n");
	set_level(&s, "debug", "\r\n\r\ndebug\n");
	assert_int_equal(log_get_level(), LOG_DEBUG);
	assert_non_null(strstr(buf_cstr(&s.log), "\"msg\":\"log-level-changed\",\"from\":\"info\","
						 "\"to\":\"debug\",\"peer\":\"127.0.0.1:"));
	set_level(&s, "ERROR\n", "\r\n\r\nerror\n");
	assert_int_equal(log_get_level(), LOG_ERROR);
	ask(&s, GET("/loglevel"), "\r\n\r\nerror\n");
	finish(&s);
}

/* Also between error and warn, where a line of level info would not be written. */
static void every_change_of_the_level_is_written(void **state)
{
	FILE *file = tmpfile();
	char text[1024] = "";
	struct scene s;

	begin(&s);
	log_to_fd(fileno(file), LOG_ERROR);
	set_level(&s, "warn", "\r\n\r\nwarn\n");
	set_level(&s, "warn", "\r\n\r\nwarn\n");
	log_to_fd(-1, LOG_INFO);
	rewind(file);
	assert_int_not_equal(fread(text, 1, sizeof(text) - 1, file), 0);
	assert_non_null(strstr(text, "\"from\":\"error\",\"to\":\"warn\""));
	assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n')); /* no change, no line */
	fclose(file);
	finish(&s);
}

static void what_is_no_level_changes_nothing(void **state)
{
	static const char *const bodies[] = { "",	  "\n",	       "loud", "debugg",
					      "info\n\n", "info warn", " info" };
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		set_level(&s, bodies[i], "HTTP/1.1 400 ");
		set_level(&s, bodies[i], "the body must be one of debug, info, warn and error\n");
	}
	ask(&s, REQUEST("POST", "/loglevel") "Content-Length: 5\r\n\r\ndebug",
	    "Allow: GET, HEAD, PUT\r\n");
	ask(&s, REQUEST("DELETE", "/loglevel") "\r\n", "HTTP/1.1 405 ");
	assert_int_equal(log_get_level(), LOG_INFO);
	assert_null(strstr(buf_cstr(&s.log), "log-level-changed"));
	finish(&s);
}

/* True if a PUT with these headers from that address counts as made on this machine. */
static bool is_local(const char *peer, const char *lines)
{
	struct http_head head;
	struct http_request request = { .head = &head };
	char text[512];
	int n = snprintf(text, sizeof(text), "PUT /loglevel HTTP/1.1\r\n%s\r\n", lines);
	int r = http_parse_request(text, (size_t)n, NULL, &head);

	if (r < 0) /* it gets no further */
		return false;
	assert_int_equal(r, n);
	assert_int_equal(addr_parse(peer, &request.peer.addr), 0);
	return admin_is_local(&request);
}

static void a_request_of_this_machine_is_known(void **state)
{
	assert_true(is_local("127.0.0.1", "Host: localhost:9091\r\n"));
	assert_true(is_local("127.0.0.1", "Host: LOCALHOST\r\n"));
	assert_true(is_local("127.9.9.9", "Host: 127.0.0.1:9091\r\n"));
	assert_true(is_local("::1", "Host: [::1]:9091\r\n"));
	assert_true(is_local("::1", "Host: [::1]\r\n"));
}

static void a_request_of_another_machine_is_known(void **state)
{
	assert_false(is_local("192.0.2.1", "Host: localhost\r\n"));
	assert_false(is_local("2001:db8::1", "Host: [::1]\r\n"));
	/* a proxy on this machine */
	assert_false(is_local("127.0.0.1", "Host: localhost\r\nX-Forwarded-For: 127.0.0.1\r\n"));
	assert_false(is_local("127.0.0.1", "Host: localhost\r\nforwarded: for=127.0.0.1\r\n"));
	assert_false(is_local("127.0.0.1", "Host: localhost\r\nVia: 1.1 proxy\r\n"));
	assert_false(is_local("127.0.0.1", "Host: localhost\r\nX-Real-IP: 192.0.2.1\r\n"));
	/* a name that leads here */
	assert_false(is_local("127.0.0.1", "Host: evil.example.net:9091\r\n"));
	assert_false(is_local("127.0.0.1", "Host: localhost.example.net\r\n"));
	assert_false(is_local("127.0.0.1", "Host: 192.0.2.1\r\n"));
	assert_false(is_local("127.0.0.1", "Host: [\r\n"));
	assert_false(
		is_local("127.0.0.1", "Host: 127.0.0.1.example.net.and.much.more.of.a.name\r\n"));
	assert_false(is_local("127.0.0.1", "Host:\r\n"));
}

static void a_request_of_elsewhere_changes_nothing(void **state)
{
	struct scene s;

	begin(&s);
	ask(&s, "PUT /loglevel HTTP/1.1\r\nHost: example.net\r\nContent-Length: 5\r\n\r\ndebug",
	    "HTTP/1.1 403 ");
	ask(&s, "PUT /loglevel HTTP/1.1\r\nHost: example.net\r\nContent-Length: 5\r\n\r\ndebug",
	    "the log level can be changed from this machine only\n");
	assert_int_equal(log_get_level(), LOG_INFO);
	finish(&s);
}

static void on_own(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 200, "text/plain", STR("the program\n"));
}

static void a_server_of_the_program_has_all_but_the_level(void **state)
{
	static const struct http_route routes[] = { { HTTP_GET, "/", on_own } };
	struct http_server_config server = { .routes = routes, .n_routes = ARRAY_SIZE(routes) };
	struct admin_config config;
	struct client *c;
	struct scene s;

	prepare(&s);
	config = config_of(&s, "");
	assert_int_equal(admin_new(&config, &s.admin), 0);
	assert_int_equal(admin_endpoint(s.admin).port, 0);
	assert_int_equal(endpoint_parse("127.0.0.1:0", &server.listen), 0);
	server.mount = admin_mount(s.admin);
	assert_int_equal(http_server_new(s.kit.loop, &server, &s.kit.server), 0);
	c = client_new(&s.kit);
	client_send(c, GET("/readyz"));
	client_expect(c, "\r\n\r\nok\n");
	client_send(c, GET("/"));
	client_expect(c, "the program\n");
	client_send(c, GET("/loglevel"));
	client_expect(c, "404 Not Found");
	client_send(c, GET("/metrics"));
	client_expect(c, "test_build_info");
	client_free(c);
	http_server_free(s.kit.server);
	finish(&s);
}

static void set_done(void *user)
{
	*(bool *)user = true;
}

static bool is_set(void *arg)
{
	return *(bool *)arg;
}

static void a_drain_ends_when_the_answers_have_gone(void **state)
{
	bool done = false;
	struct client *c;
	struct scene s;

	begin(&s);
	c = client_new_at(&s.kit, admin_endpoint(s.admin));
	client_send(c, REQUEST("GET", "/readyz"));
	ask(&s, GET("/healthz"), "ok"); /* by then the half request has come, too */
	s.daemon.stopping = true;
	admin_drain(s.admin, set_done, &done);
	assert_false(done);
	client_send(c, "\r\n");
	client_expect(c, "\r\n\r\nstopping\n");
	kit_wait(&s.kit, is_set, &done);
	client_free(c);
	finish(&s);
}

static void without_a_listener_there_is_nothing_to_drain(void **state)
{
	struct admin_config config;
	bool done = false;
	struct scene s;

	prepare(&s);
	config = config_of(&s, NULL);
	assert_int_equal(admin_new(&config, &s.admin), 0);
	admin_drain(s.admin, set_done, &done);
	assert_true(done);
	finish(&s);
}

static void an_address_that_cannot_be_used_is_logged(void **state)
{
	struct admin_config config;
	struct admin *untouched = NULL;
	struct scene s;

	prepare(&s);
	config = config_of(&s, "nonsense");
	assert_int_equal(admin_new(&config, &untouched), -EINVAL);
	config = config_of(&s, "192.0.2.1:1"); /* not an address of this machine */
	assert_int_equal(admin_new(&config, &untouched), -EADDRNOTAVAIL);
	assert_null(untouched);
	assert_non_null(strstr(buf_cstr(&s.log),
			       "\"msg\":\"listen-failed\",\"flag\":\"--metrics-addr\","
			       "\"addr\":\"nonsense\""));
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(health_and_readiness_are_ok),
		cmocka_unit_test(a_daemon_that_is_not_ready_says_why),
		cmocka_unit_test(a_daemon_that_stops_is_not_ready_but_healthy),
		cmocka_unit_test(without_a_function_a_daemon_is_ready),
		cmocka_unit_test(the_page_has_the_families_of_every_daemon_then_the_programs),
		cmocka_unit_test(a_page_that_nobody_reads_is_closed),
		cmocka_unit_test(turns_of_the_loop_are_counted),
		cmocka_unit_test(the_level_is_shown_and_changed),
		cmocka_unit_test(every_change_of_the_level_is_written),
		cmocka_unit_test(what_is_no_level_changes_nothing),
		cmocka_unit_test(a_request_of_this_machine_is_known),
		cmocka_unit_test(a_request_of_another_machine_is_known),
		cmocka_unit_test(a_request_of_elsewhere_changes_nothing),
		cmocka_unit_test(a_server_of_the_program_has_all_but_the_level),
		cmocka_unit_test(a_drain_ends_when_the_answers_have_gone),
		cmocka_unit_test(without_a_listener_there_is_nothing_to_drain),
		cmocka_unit_test(an_address_that_cannot_be_used_is_logged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
