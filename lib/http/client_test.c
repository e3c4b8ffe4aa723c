/* SPDX-License-Identifier: Apache-2.0 */
/* The client against our own server. client_liar_test.c has the servers that misbehave. */
#include "lib/http/client.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/testkit.h"
#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

/* One caller: what it was told, and what it does in callbacks. */
struct asker {
	struct kit kit;
	struct http_client *client;
	struct http_call *call;
	const char *socket; /* of the server, instead of its port */
	unsigned done, heads, pieces;
	int error;
	unsigned status;
	char reason[256];
	struct buf body;
	bool stops;	     /* takes nothing */
	bool cancels;	     /* in head() */
	bool cancels_taking; /* in take() */
	bool frees;	     /* the client, in done() */
	bool refuses;	     /* in may_send() */
	unsigned asked;	     /* there */
	size_t to_send, made;
	bool waits; /* a source that waits after each slice */
	bool known; /* a source that tells its length */
	unsigned closed;
	bool whole;
	size_t received; /* by the server */
	size_t produced; /* by its endless answer */
	struct http_exchange *x;
};

/* ---- the server ---- */

static void on_hello(struct http_exchange *x, const struct http_request *request, void *user)
{
	assert_int_equal(http_reply_header(x, "X-Query", request->query), 0);
	http_reply(x, 200, "text/plain", STR("hello\n"));
}

static void on_echo(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply(x, 201, "text/plain", request->body);
}

static void on_status(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply_status(x, str_eq(request->query, STR("204")) ? 204 : 304);
}

static enum http_stream_state produce_endless(struct buf *out, void *user)
{
	struct asker *a = user;

	for (size_t i = 0; i < HTTP_SLICE; i++)
		buf_addc(out, 'x');
	a->produced += HTTP_SLICE;
	return HTTP_STREAM_MORE;
}

static void on_endless_closed(bool whole, void *user)
{
}

static void on_endless(struct http_exchange *x, const struct http_request *request, void *user)
{
	http_reply_stream(x, 200, "text/plain",
			  &(struct http_stream){ produce_endless, on_endless_closed, user, 0 });
}

static size_t on_piece(struct str piece, void *user)
{
	struct asker *a = user;

	for (size_t i = 0; i < piece.n; i++)
		assert_true(piece.p[i] == (char)('a' + (a->received + i) % 23));
	a->received += piece.n;
	return piece.n;
}

static void on_upload_ends(const struct field *trailers, size_t n, void *user)
{
	struct asker *a = user;

	http_reply(TAKE_PTR(a->x), 200, "text/plain", STR("stored"));
}

static void on_upload_gone(void *user)
{
	((struct asker *)user)->x = NULL;
}

static void on_upload(struct http_exchange *x, const struct http_request *request, void *user)
{
	((struct asker *)user)->x = x;
	http_receive(x, &(struct http_sink){ on_piece, on_upload_ends, on_upload_gone, user });
}

static void on_later(struct http_exchange *x, const struct http_request *request, void *user)
{
	((struct asker *)user)->x = x;
	http_reply_later(x, on_upload_gone, user);
}

static const struct http_route routes[] = {
	{ HTTP_GET, "/hello", on_hello },
	{ HTTP_POST | HTTP_PUT, "/echo", on_echo },
	{ HTTP_GET, "/status", on_status },
	{ HTTP_GET, "/endless", on_endless },
	{ HTTP_PUT | HTTP_IN_PIECES, "/upload", on_upload },
	{ HTTP_GET, "/later", on_later },
};

static void start(struct asker *a, struct http_server_config server,
		  struct http_client_config client)
{
	server.routes = routes;
	server.n_routes = ARRAY_SIZE(routes);
	server.user = a;
	kit_start(&a->kit, server);
	a->socket = server.path;
	a->client = http_client_new(a->kit.loop, &client);
}

static void stop(struct asker *a)
{
	http_client_free(a->client);
	kit_stop(&a->kit);
	buf_free(&a->body);
}

/* ---- calls ---- */

static void on_head(const struct http_head *head, void *user)
{
	struct asker *a = user;

	a->heads++;
	if (a->cancels)
		http_call_cancel(TAKE_PTR(a->call));
}

static size_t on_answer_piece(struct str piece, void *user)
{
	struct asker *a = user;

	assert_true(piece.n > 0);
	a->pieces++;
	if (a->cancels_taking)
		http_call_cancel(TAKE_PTR(a->call));
	if (a->stops || a->cancels_taking)
		return 0;
	buf_add(&a->body, piece.p, piece.n);
	return piece.n;
}

static void on_done(const struct http_result *result, void *user)
{
	struct asker *a = user;

	a->done++;
	a->call = NULL;
	a->error = result->error;
	a->status = result->head ? result->head->status : 0;
	snprintf(a->reason, sizeof(a->reason), "%s", result->reason);
	buf_add(&a->body, result->body.p, result->body.n);
	if (a->frees)
		http_client_free(TAKE_PTR(a->client));
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	struct asker *a = user;
	size_t left = a->to_send - a->made;
	size_t n = left < 10000 ? left : 10000;

	for (size_t i = 0; i < n; i++)
		buf_addc(out, (char)('a' + (a->made + i) % 23));
	a->made += n;
	if (a->made == a->to_send)
		return HTTP_STREAM_END;
	return a->waits ? HTTP_STREAM_WAIT : HTTP_STREAM_MORE;
}

static void on_source_closed(bool whole, void *user)
{
	struct asker *a = user;

	assert_int_equal(a->done, 0); /* done() is the last one */
	a->closed++;
	a->whole = whole;
}

static struct http_call_config to(struct asker *a, const char *method, const char *path)
{
	struct http_call_config c = { .method = method, .path = path };

	c.target.host = "127.0.0.1";
	c.target.port = http_server_endpoint(a->kit.server).port;
	c.target.socket = a->socket;
	c.head = on_head;
	c.done = on_done;
	c.user = a;
	return c;
}

static void begin(struct asker *a, struct http_call_config c)
{
	a->done = a->closed = 0;
	a->body.n = 0;
	assert_int_equal(http_call(a->client, &c, &a->call), 0);
	assert_int_equal(a->done, 0); /* never from within */
}

static bool is_done(void *arg)
{
	return ((struct asker *)arg)->done;
}

static void ask(struct asker *a, struct http_call_config c)
{
	begin(a, c);
	kit_wait(&a->kit, is_done, a);
	assert_int_equal(a->done, 1);
}

static void get(struct asker *a, const char *path)
{
	ask(a, to(a, "GET", path));
}

static void assert_body(struct asker *a, const char *text)
{
	assert_string_equal(buf_cstr(&a->body), text);
}

static void turn_for(struct asker *a, int64_t ns)
{
	int64_t until = loop_monotonic() + ns;

	while (loop_monotonic() < until)
		ev_run(a->kit.loop, EVRUN_NOWAIT);
}

/* ---- tests ---- */

static void calls_share_a_connection(void **state)
{
	struct asker a = { 0 };

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	for (int i = 0; i < 3; i++) {
		get(&a, "/hello?a=b");
		assert_int_equal(a.error, 0);
		assert_string_equal(a.reason, "");
		assert_int_equal(a.status, 200);
		assert_body(&a, "hello\n");
	}
	assert_int_equal(a.heads, 3);
	assert_int_equal(http_client_stats(a.client)->connections, 1);
	assert_int_equal(http_client_stats(a.client)->reused, 2);
	assert_int_equal(http_server_stats(a.kit.server)->accepted, 1);
	http_client_close_idle(a.client);
	get(&a, "/hello");
	assert_int_equal(http_server_stats(a.kit.server)->accepted, 2);
	stop(&a);
}

static bool may_send(void *user)
{
	struct asker *a = user;

	a->asked++;
	assert_int_equal(http_client_stats(a->client)->connections, 1); /* it is there */
	return !a->refuses;
}

static void a_request_may_be_taken_back_until_it_is_sent(void **state)
{
	struct asker a = { .refuses = true };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "PUT", "/echo");
	c.may_send = may_send;
	ask(&a, c);
	assert_int_equal(a.error, -EPERM);
	assert_int_equal(a.asked, 1);
	assert_int_equal(a.heads, 0);
	assert_int_equal(http_server_stats(a.kit.server)->requests, 0);
	stop(&a);

	a = (struct asker){ 0 };
	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "PUT", "/echo");
	c.may_send = may_send;
	ask(&a, c);
	assert_int_equal(a.status, 201);
	a.refuses = true;
	ask(&a, c); /* on the kept connection */
	assert_int_equal(a.error, -EPERM);
	assert_int_equal(a.asked, 2);
	assert_int_equal(http_server_stats(a.kit.server)->requests, 1);
	stop(&a);
}

static void bodies_and_headers_go_both_ways(void **state)
{
	const struct field headers[] = { { STR("X-One"), STR("1") } };
	struct asker a = { 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "POST", "/echo");
	c.body = STR("body");
	c.headers = headers;
	c.n_headers = 1;
	ask(&a, c);
	assert_int_equal(a.status, 201);
	assert_body(&a, "body");
	c.body = STR("");
	ask(&a, c);
	assert_int_equal(a.status, 201);
	assert_body(&a, "");
	stop(&a);
}

/* None of them has a body, whatever the head says, and the connection goes on. */
static void answers_without_a_body_keep_the_connection(void **state)
{
	static const struct {
		const char *method, *path;
		unsigned status;
	} rows[] = { { "HEAD", "/hello", 200 },
		     { "GET", "/status?204", 204 },
		     { "GET", "/status?304", 304 },
		     { "GET", "/nowhere", 404 } };
	struct asker a = { 0 };

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ask(&a, to(&a, rows[i].method, rows[i].path));
		assert_int_equal(a.error, 0);
		assert_int_equal(a.status, rows[i].status);
	}
	assert_int_equal(http_client_stats(a.client)->connections, 1);
	stop(&a);
}

static void a_source_is_sent_in_slices(void **state)
{
	for (int known = 0; known <= 1; known++) {
		struct asker a = { .to_send = 1000 * 1000 };
		struct http_stream source = { produce, on_source_closed, &a, 0 };
		struct http_call_config c;

		start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
		source.length = known ? a.to_send : 0;
		c = to(&a, "PUT", "/upload");
		c.source = &source;
		ask(&a, c);
		assert_body(&a, "stored");
		assert_int_equal(a.received, a.to_send);
		assert_true(a.closed == 1 && a.whole);
		get(&a, "/hello");
		assert_int_equal(http_client_stats(a.client)->connections, 1);
		stop(&a);
	}
}

static bool wakes_until_done(void *arg)
{
	struct asker *a = arg;

	if (a->call)
		http_call_wake(a->call);
	return a->done;
}

static void a_source_may_wait(void **state)
{
	struct asker a = { .to_send = 100 * 1000, .waits = true };
	const struct http_stream source = { produce, on_source_closed, &a, 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "PUT", "/upload");
	c.source = &source;
	c.head_timeout = 30 * NSEC_PER_MSEC; /* does not count before the end of the request */
	begin(&a, c);
	turn_for(&a, 60 * NSEC_PER_MSEC);
	assert_int_equal(a.done, 0);
	assert_int_equal(a.received, 10000);
	kit_wait(&a.kit, wakes_until_done, &a);
	assert_int_equal(a.received, a.to_send);
	assert_true(a.closed == 1 && a.whole);
	stop(&a);
}

static bool has_a_piece(void *arg)
{
	return ((struct asker *)arg)->pieces;
}

static bool has_some(void *arg)
{
	return ((struct asker *)arg)->body.n > 1000 * 1000;
}

static void a_caller_that_takes_nothing_holds_the_server_back(void **state)
{
	struct asker a = { .stops = true };
	struct http_call_config c;
	size_t produced;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "GET", "/endless");
	c.take = on_answer_piece;
	begin(&a, c);
	kit_wait(&a.kit, has_a_piece, &a);
	do {
		produced = a.produced;
		turn_for(&a, 50 * NSEC_PER_MSEC);
	} while (a.produced != produced);
	assert_true(a.produced < (size_t)64 * 1024 * 1024); /* the kernel's buffers */
	assert_int_equal(a.pieces, 1);
	a.stops = false;
	http_call_resume(a.call);
	assert_int_equal(a.pieces, 1); /* never from within */
	kit_wait(&a.kit, has_some, &a);
	http_call_cancel(a.call);
	assert_int_equal(a.done, 0);
	stop(&a);
}

static void a_collected_body_is_bounded(void **state)
{
	struct asker a = { 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "GET", "/endless");
	c.max_body = 200 * 1000;
	ask(&a, c);
	assert_int_equal(a.error, -EMSGSIZE);
	assert_int_equal(a.status, 200); /* the head had come */
	assert_non_null(strstr(a.reason, "/endless: the answer is too large"));
	c = to(&a, "GET", "/hello");
	c.max_body = 5;
	ask(&a, c);
	assert_int_equal(a.error, -EMSGSIZE);
	c.max_body = 6;
	ask(&a, c);
	assert_int_equal(a.error, 0);
	stop(&a);
}

static void a_unix_socket_is_asked(void **state)
{
	char path[64];
	struct asker a = { 0 };

	for (int abstract = 0; abstract <= 1; abstract++) {
		snprintf(path, sizeof(path), "%shttp-client-test-%d", abstract ? "@" : "/tmp/",
			 (int)getpid());
		start(&a, (struct http_server_config){ .path = path },
		      (struct http_client_config){ 0 });
		get(&a, "/hello");
		get(&a, "/hello");
		assert_body(&a, "hello\n");
		assert_int_equal(http_client_stats(a.client)->connections, 1);
		stop(&a);
		a = (struct asker){ 0 };
	}
}

static void a_name_is_looked_up_and_each_address_tried(void **state)
{
	struct asker a = { 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "GET", "/hello");
	c.target.host = "localhost"; /* often ::1 first, where nobody listens */
	ask(&a, c);
	assert_string_equal(a.reason, "");
	assert_body(&a, "hello\n");
	c.target.host = "a..b";
	ask(&a, c);
	assert_int_equal(a.error, -EHOSTUNREACH);
	assert_int_equal(strncmp(a.reason, "GET a..b:", 9), 0);
	stop(&a);
}

static void a_refusal_has_words(void **state)
{
	struct asker a = { 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "GET", "/hello");
	http_server_free(TAKE_PTR(a.kit.server));
	ask(&a, c);
	assert_int_equal(a.error, -ECONNREFUSED);
	assert_non_null(strstr(a.reason, " /hello: connection refused"));
	stop(&a);
}

static void a_call_can_be_cancelled_at_any_time(void **state)
{
	struct asker a = { 0 };
	struct http_call_config c;
	static const char *const hosts[] = { "127.0.0.1", "localhost" };

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	for (size_t host = 0; host < ARRAY_SIZE(hosts); host++)
		for (int turns = 0; turns < 20; turns++) {
			c = to(&a, "GET", "/later");
			c.target.host = hosts[host];
			begin(&a, c);
			for (int i = 0; i < turns; i++)
				ev_run(a.kit.loop, EVRUN_NOWAIT);
			http_call_cancel(a.call);
			assert_int_equal(http_client_stats(a.client)->calls, 0);
		}
	a.cancels = true;
	a.heads = 0;
	begin(&a, to(&a, "GET", "/hello"));
	while (!a.heads)
		ev_run(a.kit.loop, EVRUN_ONCE);
	a.cancels = false;
	a.cancels_taking = true;
	c = to(&a, "GET", "/endless");
	c.take = on_answer_piece;
	begin(&a, c);
	while (!a.pieces)
		ev_run(a.kit.loop, EVRUN_ONCE);
	turn_for(&a, 10 * NSEC_PER_MSEC);
	assert_true(a.done == 0 && a.pieces == 1 && !a.call);
	stop(&a);
	assert_int_equal(a.done, 0);
}

static void a_cancelled_source_is_told(void **state)
{
	struct asker a = { .to_send = 100 * 1000, .waits = true };
	const struct http_stream source = { produce, on_source_closed, &a, 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	c = to(&a, "PUT", "/upload");
	c.source = &source;
	begin(&a, c);
	while (!a.received)
		ev_run(a.kit.loop, EVRUN_ONCE);
	http_call_cancel(a.call);
	assert_true(a.closed == 1 && !a.whole && !a.done);
	stop(&a);
	assert_int_equal(a.closed, 1);
}

static void freeing_the_client_ends_its_calls(void **state)
{
	struct asker a = { 0 };

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	begin(&a, to(&a, "GET", "/later"));
	while (!a.x)
		ev_run(a.kit.loop, EVRUN_ONCE);
	http_client_free(TAKE_PTR(a.client));
	assert_true(a.done == 1 && a.error == -ECANCELED);
	stop(&a);
	assert_int_equal(a.done, 1);
}

static void a_caller_may_free_the_client_when_it_is_done(void **state)
{
	struct asker a = { .frees = true };

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	get(&a, "/hello");
	assert_null(a.client);
	assert_body(&a, "hello\n");
	stop(&a);
}

static bool has_no_idle(void *arg)
{
	return !http_client_stats(((struct asker *)arg)->client)->idle;
}

static void kept_connections_end(void **state)
{
	struct asker a = { 0 };

	start(&a, (struct http_server_config){ 0 },
	      (struct http_client_config){ .idle_timeout = 30 * NSEC_PER_MSEC });
	get(&a, "/hello");
	assert_int_equal(http_client_stats(a.client)->idle, 1);
	kit_wait(&a.kit, has_no_idle, &a);
	stop(&a);

	a = (struct asker){ 0 };
	start(&a, (struct http_server_config){ .idle_timeout = 30 * NSEC_PER_MSEC },
	      (struct http_client_config){ 0 });
	get(&a, "/hello");
	assert_int_equal(http_client_stats(a.client)->idle, 1);
	kit_wait(&a.kit, has_no_idle, &a); /* the server has closed it */
	get(&a, "/hello");
	assert_body(&a, "hello\n");
	stop(&a);
}

static void count_done(const struct http_result *result, void *user)
{
	assert_int_equal(result->error, 0);
	++*(unsigned *)user;
}

static bool are_all_done(void *arg)
{
	return *(unsigned *)arg == 20;
}

static void the_pool_and_the_calls_are_bounded(void **state)
{
	struct asker a = { 0 };
	struct http_call_config c;
	struct http_call *call;
	unsigned done = 0;

	start(&a, (struct http_server_config){ 0 },
	      (struct http_client_config){ .max_calls = 20, .max_idle_per_target = 3 });
	c = to(&a, "GET", "/hello");
	c.head = NULL;
	c.done = count_done;
	c.user = &done;
	for (int i = 0; i < 20; i++)
		assert_int_equal(http_call(a.client, &c, &call), 0);
	assert_int_equal(http_call(a.client, &c, &call), -EBUSY);
	kit_wait(&a.kit, are_all_done, &done);
	assert_int_equal(http_client_stats(a.client)->idle, 3);
	assert_int_equal(http_client_stats(a.client)->connections, 20);
	stop(&a);
}

static void a_request_that_cannot_be_is_refused(void **state)
{
	const struct field bad[] = { { STR("a b"), STR("c") },
				     { STR("a"), STR("c\r\nd: e") },
				     { STR("Content-Length"), STR("1") },
				     { STR("transfer-encoding"), STR("chunked") } };
	static const char *const paths[] = { NULL, "", "a", "/a b", "/\r\nx" };
	struct asker a = { 0 };
	struct http_call_config c;

	start(&a, (struct http_server_config){ 0 }, (struct http_client_config){ 0 });
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		c = to(&a, "GET", "/");
		c.headers = &bad[i];
		c.n_headers = 1;
		assert_int_equal(http_call(a.client, &c, &a.call), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		c = to(&a, "GET", paths[i]);
		assert_int_equal(http_call(a.client, &c, &a.call), -EINVAL);
	}
	c = to(&a, "G T", "/");
	assert_int_equal(http_call(a.client, &c, &a.call), -EINVAL);
	c = to(&a, "GET", "/");
	c.target.host = "a\nb";
	assert_int_equal(http_call(a.client, &c, &a.call), -EINVAL);
	assert_int_equal(http_client_stats(a.client)->calls, 0);
	stop(&a);
}

static void tls_is_verified_by_name(void **state)
{
	struct asker a = { 0 };
	struct http_call_config c;
	struct tls_context *server, *client;
	struct pki pki;

	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, "ca", "server");
	assert_int_equal(setenv("SSL_CERT_FILE", pki_file(&pki, "ca.pem"), 1), 0);
	server = pki_server(&pki, "server", NULL, "http/1.1");
	assert_int_equal(tls_context_new(&(struct tls_config){ .role = TLS_CLIENT }, &client,
					 &(struct tls_refusal){ 0 }),
			 0);
	start(&a, (struct http_server_config){ .tls = server }, (struct http_client_config){ 0 });
	c = to(&a, "GET", "/hello");
	c.target.tls = client;
	ask(&a, c);
	assert_string_equal(a.reason, "");
	assert_body(&a, "hello\n");
	c.target.server_name = "localhost";
	ask(&a, c);
	assert_body(&a, "hello\n");
	assert_int_equal(http_client_stats(a.client)->connections, 2); /* another name */
	ask(&a, c);
	assert_int_equal(http_client_stats(a.client)->connections, 2);
	c.target.server_name = "example.org";
	ask(&a, c);
	assert_int_equal(a.error, -EKEYREJECTED);
	assert_true(strlen(a.reason) > 20);
	stop(&a);
	tls_context_free(server);
	tls_context_free(client);
	pki_remove(&pki);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_share_a_connection),
		cmocka_unit_test(a_request_may_be_taken_back_until_it_is_sent),
		cmocka_unit_test(bodies_and_headers_go_both_ways),
		cmocka_unit_test(answers_without_a_body_keep_the_connection),
		cmocka_unit_test(a_source_is_sent_in_slices),
		cmocka_unit_test(a_source_may_wait),
		cmocka_unit_test(a_caller_that_takes_nothing_holds_the_server_back),
		cmocka_unit_test(a_collected_body_is_bounded),
		cmocka_unit_test(a_unix_socket_is_asked),
		cmocka_unit_test(a_name_is_looked_up_and_each_address_tried),
		cmocka_unit_test(a_refusal_has_words),
		cmocka_unit_test(a_call_can_be_cancelled_at_any_time),
		cmocka_unit_test(a_cancelled_source_is_told),
		cmocka_unit_test(freeing_the_client_ends_its_calls),
		cmocka_unit_test(a_caller_may_free_the_client_when_it_is_done),
		cmocka_unit_test(kept_connections_end),
		cmocka_unit_test(the_pool_and_the_calls_are_bounded),
		cmocka_unit_test(a_request_that_cannot_be_is_refused),
		cmocka_unit_test(tls_is_verified_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
