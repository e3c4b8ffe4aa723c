/* SPDX-License-Identifier: Apache-2.0 */
/* The client against servers that lie, trickle, flood and vanish. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/http/client.h"

#define PATIENCE (20 * NSEC_PER_SEC)

/* What a connection does once a request has come on it. */
struct act {
	const char *first;   /* is sent once */
	const char *endless; /* is sent over and over */
	bool slowly;	     /* a byte of it every 2 ms */
	bool closes;	     /* after that */
	bool resets;
	const char *second; /* for a second request; NULL: the connection is closed then */
	bool reads_nothing; /* answers before it has read anything */
};

#define CONNECTIONS 8

struct liar;

struct seat {
	struct liar *liar;
	const struct act *act;
	int fd;
	ev_io io;
	ev_timer tick;
	unsigned requests;
	bool flooding;
	size_t at;
};

struct liar {
	struct ev_loop *loop;
	struct http_client *client;
	const struct act *acts; /* of the connections, in order; the last one again and again */
	size_t n_acts;
	int fd;
	uint16_t port;
	ev_io accepting;
	struct seat seats[CONNECTIONS];
	size_t n_seats;

	/* what the caller was told */
	struct http_call *call;
	unsigned done, status;
	int error;
	char reason[256], trailers[256];
	struct buf body;
	size_t taken;
	unsigned closed;
	bool whole;
};

/* ---- the server ---- */

static void leave(struct seat *s)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	if (s->fd < 0)
		return;
	if (s->act->resets)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	ev_io_stop(s->liar->loop, &s->io);
	ev_timer_stop(s->liar->loop, &s->tick);
	close(TAKE_FD(s->fd));
}

static void say(struct seat *s, const char *text)
{
	if (text)
		send(s->fd, text, strlen(text), MSG_NOSIGNAL);
}

static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct seat *s = container_of(w, struct seat, tick);

	if (send(s->fd, s->act->endless + s->at, 1, MSG_NOSIGNAL) == 1)
		s->at = (s->at + 1) % strlen(s->act->endless);
}

static void flood(struct seat *s)
{
	size_t n = strlen(s->act->endless);

	for (int i = 0; i < 1000; i++) {
		ssize_t r = send(s->fd, s->act->endless + s->at, n - s->at, MSG_NOSIGNAL);

		if (r < 0 && errno != EAGAIN)
			leave(s);
		if (r < 0)
			return;
		s->at = (s->at + (size_t)r) % n;
	}
}

static void perform(struct seat *s)
{
	const struct act *a = s->act;

	if (s->requests++ > 0) {
		say(s, a->second);
		if (!a->second)
			leave(s);
		return;
	}
	say(s, a->first);
	if (a->endless && a->slowly) {
		ev_timer_start(s->liar->loop, &s->tick);
	} else if (a->endless) {
		s->flooding = true;
		ev_io_stop(s->liar->loop, &s->io);
		ev_io_set(&s->io, s->fd, EV_READ | EV_WRITE);
		ev_io_start(s->liar->loop, &s->io);
	}
	if (a->closes || a->resets)
		leave(s);
}

static void on_seat(struct ev_loop *loop, ev_io *w, int revents)
{
	struct seat *s = container_of(w, struct seat, io);
	char bytes[65536];
	ssize_t n = recv(s->fd, bytes, sizeof(bytes), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		leave(s);
	else if (n > 0)
		perform(s);
	if (s->fd >= 0 && s->flooding)
		flood(s);
}

static void on_acceptable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct liar *l = container_of(w, struct liar, accepting);
	struct seat *s = &l->seats[l->n_seats];

	assert_true(l->n_seats < CONNECTIONS);
	s->fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(s->fd >= 0);
	s->liar = l;
	s->act = &l->acts[l->n_seats < l->n_acts ? l->n_seats : l->n_acts - 1];
	l->n_seats++;
	ev_timer_init(&s->tick, on_tick, 0.002, 0.002);
	ev_io_init(&s->io, on_seat, s->fd, EV_READ);
	if (s->act->reads_nothing)
		say(s, s->act->first);
	else
		ev_io_start(loop, &s->io);
}

static void start(struct liar *l, const struct act *acts, size_t n)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);

	*l = (struct liar){ .loop = ev_loop_new(EVFLAG_AUTO), .acts = acts, .n_acts = n };
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(l->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(l->fd, 16), 0);
	assert_int_equal(getsockname(l->fd, (struct sockaddr *)&sa, &len), 0);
	l->port = ntohs(sa.sin_port);
	ev_io_init(&l->accepting, on_acceptable, l->fd, EV_READ);
	ev_io_start(l->loop, &l->accepting);
	l->client = http_client_new(l->loop, NULL);
}

static void stop(struct liar *l)
{
	http_client_free(l->client);
	for (size_t i = 0; i < l->n_seats; i++)
		leave(&l->seats[i]);
	ev_io_stop(l->loop, &l->accepting);
	close(l->fd);
	ev_loop_destroy(l->loop);
	buf_free(&l->body);
}

/* ---- the caller ---- */

static void on_done(const struct http_result *result, void *user)
{
	struct liar *l = user;
	struct buf list = { 0 };

	l->done++;
	l->call = NULL;
	l->error = result->error;
	l->status = result->head ? result->head->status : 0;
	snprintf(l->reason, sizeof(l->reason), "%s", result->reason);
	for (size_t i = 0; !l->error && i < result->n_trailers; i++)
		buf_printf(&list, "[%.*s=%.*s]", (int)result->trailers[i].name.n,
			   result->trailers[i].name.p, (int)result->trailers[i].value.n,
			   result->trailers[i].value.p);
	snprintf(l->trailers, sizeof(l->trailers), "%s", buf_cstr(&list));
	buf_free(&list);
	l->body.n = 0;
	buf_add(&l->body, result->body.p, result->body.n);
}

static size_t on_piece(struct str piece, void *user)
{
	((struct liar *)user)->taken += piece.n;
	return piece.n;
}

static struct http_call_config to(struct liar *l, const char *method)
{
	return (struct http_call_config){ .target = { .host = "127.0.0.1", .port = l->port },
					  .method = method,
					  .path = "/x",
					  .done = on_done,
					  .user = l };
}

static void wait_for_done(struct liar *l)
{
	int64_t end = loop_monotonic() + PATIENCE;

	while (!l->done && loop_monotonic() < end)
		ev_run(l->loop, EVRUN_NOWAIT);
	assert_int_equal(l->done, 1);
}

static void ask(struct liar *l, struct http_call_config c)
{
	l->done = 0;
	assert_int_equal(http_call(l->client, &c, &l->call), 0);
	wait_for_done(l);
}

#define OK "HTTP/1.1 200 OK\r\n"
#define SHORT OK "Content-Length: 2\r\n\r\nok"

/* ---- tests ---- */

static void lies_are_told_apart(void **state)
{
	static const struct {
		struct act act;
		int error;
		const char *words;
	} rows[] = {
		{ { .closes = true }, -ECONNRESET, "the connection was closed without an answer" },
		{ { .resets = true }, -ECONNRESET, "connection reset by peer" },
		{ { .first = "HTTP/1.1 200", .closes = true },
		  -ECONNRESET,
		  "the connection was closed without an answer" },
		{ { .first = "SSH-2.0-x\r\n" }, -EBADMSG, "the answer is malformed" },
		{ { .first = OK "a b: c\r\n\r\n" }, -EBADMSG, "the answer is malformed" },
		{ { .first = OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\n" },
		  -EBADMSG,
		  "the answer is malformed" },
		{ { .first = OK "Content-Length: 3\r\n\r\nok", .closes = true },
		  -ECONNRESET,
		  "the answer ends in the middle" },
		{ { .first = OK "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", .closes = true },
		  -ECONNRESET,
		  "the answer ends in the middle" },
		{ { .first = OK "Transfer-Encoding: chunked\r\n\r\nx\r\n" },
		  -EBADMSG,
		  "the body of the answer is malformed" },
		{ { .first = OK "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: a\r\n\r\n" },
		  -EBADMSG,
		  "the body of the answer is malformed" },
		{ { .first = "HTTP/1.1 101 x\r\n\r\n" },
		  -EBADMSG,
		  "the server switches protocols unasked" },
		{ { .endless = "HTTP/1.1 100 Continue\r\n\r\n" },
		  -EBADMSG,
		  "too many interim answers" },
		{ { .first = OK, .endless = "A: b\r\n" },
		  -EBADMSG,
		  "the head of the answer is too large" },
		{ { .first = OK "Content-Length: 9999999999\r\n\r\n", .endless = "x" },
		  -EMSGSIZE,
		  "the answer is too large" },
		{ { .first = OK "\r\n", .endless = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" },
		  -EMSGSIZE,
		  "the answer is too large" },
		{ { .first = OK "Transfer-Encoding: chunked\r\n\r\n", .endless = "1\r\nx\r\n" },
		  -EMSGSIZE,
		  "the answer is too large" },
		{ { .first = OK "Transfer-Encoding: chunked\r\n\r\n0\r\n", .endless = "A: b\r\n" },
		  -EBADMSG,
		  "the body of the answer is malformed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_call_config c;
		struct liar l;

		start(&l, &rows[i].act, 1);
		c = to(&l, "GET");
		c.max_body = 100 * 1000;
		ask(&l, c);
		assert_int_equal(l.error, rows[i].error);
		assert_non_null(strstr(l.reason, rows[i].words));
		assert_int_equal(l.n_seats, 1); /* none of them is asked again */
		assert_int_equal(http_client_stats(l.client)->idle, 0);
		stop(&l);
	}
}

static void slowness_is_bounded(void **state)
{
	static const struct {
		struct act act;
		const char *words;
	} rows[] = {
		{ { .first = "" }, "no answer within 60ms" },
		{ { .first = OK, .endless = "A", .slowly = true }, "no answer within 60ms" },
		{ { .endless = "HTTP/1.1 102 x\r\n\r\n", .slowly = true },
		  "no answer within 60ms" },
		{ { .first = OK "Content-Length: 99\r\n\r\n" }, "no whole answer within 150ms" },
		{ { .first = OK "\r\n", .endless = "x", .slowly = true },
		  "no whole answer within 150ms" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_call_config c;
		struct liar l;

		start(&l, &rows[i].act, 1);
		c = to(&l, "GET");
		c.head_timeout = 60 * NSEC_PER_MSEC;
		c.timeout = 150 * NSEC_PER_MSEC;
		ask(&l, c);
		assert_int_equal(l.error, -ETIMEDOUT);
		assert_non_null(strstr(l.reason, rows[i].words));
		stop(&l);
	}
}

/* A body in pieces may go on for ever; only the time for all ends it. */
static void an_endless_body_in_pieces_ends_in_time(void **state)
{
	static const struct act act = { .first = OK "\r\n", .endless = "xxxxxxxxxxxxxxxxxxxxxxx" };
	struct http_call_config c;
	struct liar l;

	start(&l, &act, 1);
	c = to(&l, "GET");
	c.take = on_piece;
	c.timeout = 200 * NSEC_PER_MSEC;
	ask(&l, c);
	assert_int_equal(l.error, -ETIMEDOUT);
	assert_true(l.taken > 0 && !l.body.n);
	stop(&l);
}

/* Nobody accepts: the queue of the socket is full. */
static void a_connection_that_does_not_come_is_given_up(void **state)
{
	static const struct act act = { .closes = true };
	struct http_call_config c;
	struct liar l;
	int fds[64];
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	start(&l, &act, 1);
	ev_io_stop(l.loop, &l.accepting);
	assert_int_equal(listen(l.fd, 0), 0);
	sa.sin_port = htons(l.port);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&sa, sizeof(sa)), -1);
		assert_int_equal(errno, EINPROGRESS);
	}
	c = to(&l, "GET");
	c.connect_timeout = 50 * NSEC_PER_MSEC;
	ask(&l, c);
	assert_int_equal(l.error, -ETIMEDOUT);
	assert_non_null(strstr(l.reason, "no connection within 50ms"));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	stop(&l);
}

/* The server closes just when the second request comes. */
static void a_request_on_a_kept_connection_is_repeated_once(void **state)
{
	static const struct act acts[] = { { .first = SHORT }, { .first = SHORT } };
	struct liar l;

	start(&l, acts, 2);
	ask(&l, to(&l, "GET"));
	ask(&l, to(&l, "GET"));
	assert_int_equal(l.error, 0);
	assert_string_equal(buf_cstr(&l.body), "ok");
	assert_int_equal(l.n_seats, 2);
	assert_int_equal(http_client_stats(l.client)->retried, 1);
	stop(&l);
}

static void what_must_not_be_repeated_is_not(void **state)
{
	static const struct act acts[] = { { .first = SHORT }, { .first = SHORT } };
	struct liar l;

	start(&l, acts, 2);
	ask(&l, to(&l, "GET"));
	ask(&l, to(&l, "POST"));
	assert_int_equal(l.error, -ECONNRESET);
	assert_int_equal(l.n_seats, 1);
	stop(&l);
}

static void a_repeated_request_is_not_repeated_again(void **state)
{
	static const struct act acts[] = { { .first = SHORT }, { .closes = true } };
	struct liar l;

	start(&l, acts, 2);
	ask(&l, to(&l, "GET"));
	ask(&l, to(&l, "GET"));
	assert_int_equal(l.error, -ECONNRESET);
	assert_int_equal(l.n_seats, 2);
	stop(&l);
}

/* Part of an answer has come: the server has begun to act. */
static void half_an_answer_is_not_asked_for_again(void **state)
{
	static const struct act acts[] = { { .first = SHORT, .second = "HTTP/1.1 2" } };
	struct http_call_config c;
	struct liar l;

	start(&l, acts, 1);
	c = to(&l, "GET");
	c.head_timeout = 50 * NSEC_PER_MSEC;
	ask(&l, c);
	ask(&l, c);
	assert_int_equal(l.error, -ETIMEDOUT);
	assert_int_equal(l.n_seats, 1);
	stop(&l);
}

static void more_than_the_answer_ends_the_connection(void **state)
{
	static const struct act acts[] = { { .first = SHORT "HTTP/1.1 200 OK\r\n" } };
	struct liar l;

	start(&l, acts, 1);
	ask(&l, to(&l, "GET"));
	assert_int_equal(l.error, 0);
	assert_int_equal(http_client_stats(l.client)->idle, 0);
	stop(&l);
}

static void bytes_on_a_kept_connection_end_it(void **state)
{
	static const struct act acts[] = { { .first = SHORT } };
	struct liar l;

	start(&l, acts, 1);
	ask(&l, to(&l, "GET"));
	assert_int_equal(http_client_stats(l.client)->idle, 1);
	say(&l.seats[0], "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad");
	while (http_client_stats(l.client)->idle)
		ev_run(l.loop, EVRUN_ONCE);
	ask(&l, to(&l, "GET"));
	assert_string_equal(buf_cstr(&l.body), "ok");
	assert_int_equal(l.n_seats, 2);
	stop(&l);
}

static void interim_answers_and_trailers_are_handled(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n"
				   "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
				   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "2;x=y\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n";
	static const struct act acts[] = { { .first = text } };
	struct liar l;

	start(&l, acts, 1);
	ask(&l, to(&l, "GET"));
	assert_int_equal(l.error, 0);
	assert_int_equal(l.status, 200);
	assert_string_equal(buf_cstr(&l.body), "ok");
	assert_string_equal(l.trailers, "[X-Sum=7]");
	assert_int_equal(http_client_stats(l.client)->idle, 1);
	stop(&l);
}

static void old_servers_end_their_answer_with_the_connection(void **state)
{
	static const struct act acts[] = { { .first = "HTTP/1.0 200 OK\n\nall of it",
					     .closes = true } };
	struct liar l;

	start(&l, acts, 1);
	ask(&l, to(&l, "GET"));
	assert_int_equal(l.error, 0);
	assert_string_equal(buf_cstr(&l.body), "all of it");
	assert_int_equal(http_client_stats(l.client)->idle, 0);
	stop(&l);
}

static enum http_stream_state produce(struct buf *out, void *user)
{
	for (size_t i = 0; i < HTTP_SLICE; i++)
		buf_addc(out, 'x');
	return HTTP_STREAM_MORE;
}

static void on_source_closed(bool whole, void *user)
{
	struct liar *l = user;

	l->closed++;
	l->whole = whole;
}

/* The server reads nothing, so that the request cannot end. */
static void an_early_answer_ends_the_request(void **state)
{
	static const struct act acts[] = {
		{ .first = "HTTP/1.1 413 no\r\nContent-Length: 0\r\n\r\n", .reads_nothing = true }
	};
	struct http_stream source = { produce, on_source_closed, NULL, 0 };
	struct http_call_config c;
	struct liar l;

	start(&l, acts, 1);
	source.user = &l;
	c = to(&l, "PUT");
	c.source = &source;
	ask(&l, c);
	assert_int_equal(l.error, 0);
	assert_int_equal(l.status, 413);
	assert_true(l.closed == 1 && !l.whole);
	assert_int_equal(http_client_stats(l.client)->idle, 0);
	stop(&l);
}

static enum http_stream_state produce_and_lose(struct buf *out, void *user)
{
	buf_addc(out, 'x');
	return HTTP_STREAM_LOST;
}

static void a_source_that_is_lost_ends_the_call(void **state)
{
	static const struct act acts[] = { { .first = "" } };
	struct http_stream source = { produce_and_lose, on_source_closed, NULL, 0 };
	struct http_call_config c;
	struct liar l;

	start(&l, acts, 1);
	source.user = &l;
	c = to(&l, "PUT");
	c.source = &source;
	ask(&l, c);
	assert_int_equal(l.error, -EPIPE);
	assert_true(l.closed == 1 && !l.whole);
	stop(&l);
}

static void ask_through(struct liar *l, struct http_call_config c)
{
	const struct http_proxy proxy = { .host = "127.0.0.1", .port = l->port };

	c.target.host = "server.example";
	c.target.proxy = &proxy;
	ask(l, c);
}

/* The second request on the connection is the first one through the tunnel. */
static void a_tunnel_carries_several_calls(void **state)
{
	static const struct act acts[] = { { .first = OK "Via: x\r\n\r\n", .second = SHORT },
					   { .first = SHORT } };
	struct liar l;

	start(&l, acts, 2);
	for (unsigned i = 0; i < 2; i++) {
		ask_through(&l, to(&l, "GET"));
		assert_int_equal(l.error, 0);
		assert_string_equal(buf_cstr(&l.body), "ok");
	}
	assert_int_equal(http_client_stats(l.client)->connections, 1);
	ask(&l, to(&l, "GET")); /* without the proxy: another connection */
	assert_int_equal(http_client_stats(l.client)->connections, 2);
	stop(&l);
}

static void proxies_that_make_no_tunnel_are_told_apart(void **state)
{
	static const struct {
		struct act act;
		int error;
		const char *words;
	} rows[] = {
		{ { .first = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n" },
		  -ECONNREFUSED,
		  "the proxy answers 407 Proxy Authentication Required" },
		{ { .first = "HTTP/1.1 100 Continue\r\n\r\n" },
		  -ECONNREFUSED,
		  "the proxy answers 100 Continue" },
		{ { .first = OK "\r\nmore" }, -EBADMSG, "the answer of the proxy is malformed" },
		{ { .first = "HTTP/1.1 OK\r\n\r\n" },
		  -EBADMSG,
		  "the answer of the proxy is malformed" },
		{ { .first = "HTTP/1.1", .closes = true },
		  -ECONNRESET,
		  "the proxy closes the connection" },
		{ { .first = OK, .endless = "A: b\r\n" },
		  -EBADMSG,
		  "the answer of the proxy is malformed" },
		{ { .first = "" }, -ETIMEDOUT, "no connection within 100ms" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_call_config c;
		struct liar l;

		start(&l, &rows[i].act, 1);
		c = to(&l, "GET");
		c.connect_timeout = 100 * NSEC_PER_MSEC;
		if (rows[i].error != -ETIMEDOUT)
			c.connect_timeout = PATIENCE;
		ask_through(&l, c);
		assert_int_equal(l.error, rows[i].error);
		assert_non_null(strstr(l.reason, rows[i].words));
		stop(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lies_are_told_apart),
		cmocka_unit_test(slowness_is_bounded),
		cmocka_unit_test(an_endless_body_in_pieces_ends_in_time),
		cmocka_unit_test(a_connection_that_does_not_come_is_given_up),
		cmocka_unit_test(a_request_on_a_kept_connection_is_repeated_once),
		cmocka_unit_test(what_must_not_be_repeated_is_not),
		cmocka_unit_test(a_repeated_request_is_not_repeated_again),
		cmocka_unit_test(half_an_answer_is_not_asked_for_again),
		cmocka_unit_test(more_than_the_answer_ends_the_connection),
		cmocka_unit_test(bytes_on_a_kept_connection_end_it),
		cmocka_unit_test(interim_answers_and_trailers_are_handled),
		cmocka_unit_test(old_servers_end_their_answer_with_the_connection),
		cmocka_unit_test(an_early_answer_ends_the_request),
		cmocka_unit_test(a_source_that_is_lost_ends_the_call),
		cmocka_unit_test(a_tunnel_carries_several_calls),
		cmocka_unit_test(proxies_that_make_no_tunnel_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
