/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_server: each connection follows the script; a step that has to wait does so in the loop. A
 * byte of a trickle is sent when the client has read all bytes before it, which its socket shows.
 */
#include "lib/probe/test_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/probe/internal.h"

struct server_connection {
	struct server *server;
	struct server_connection *next;
	ev_io io;
	ev_timer turn;
	SSL *ssl;
	const struct step *step;
	size_t done;  /* bytes of the step */
	size_t given; /* bytes of all steps */
	char request[4096];
	size_t n_request;
};

static void advance(struct server_connection *c);

static void end(struct server_connection *c, bool by_reset)
{
	const struct linger reset = { .l_onoff = 1 };
	struct server_connection **at = &c->server->connections;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	ev_io_stop(c->server->loop, &c->io);
	ev_timer_stop(c->server->loop, &c->turn);
	if (by_reset)
		setsockopt(c->io.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	if (c->ssl) {
		if (!by_reset)
			SSL_shutdown(c->ssl);
		SSL_free(c->ssl);
	}
	close(c->io.fd);
	free(c);
}

/* More than 0, 0 at the end, -EAGAIN, or another negative errno. */
static ssize_t take(struct server_connection *c, void *p, size_t n)
{
	ssize_t r;
	int e;

	if (!c->ssl) {
		r = recv(c->io.fd, p, n, 0);
		return r < 0 ? -errno : r;
	}
	errno = 0;
	e = SSL_read(c->ssl, p, (int)n);
	if (e > 0)
		return e;
	e = SSL_get_error(c->ssl, e);
	if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	return errno ? -errno : 0;
}

static ssize_t give(struct server_connection *c, const void *p, size_t n)
{
	ssize_t r;

	if (c->ssl) {
		int done = SSL_write(c->ssl, p, (int)n);

		return done > 0 ? done : -1;
	}
	r = send(c->io.fd, p, n, MSG_NOSIGNAL);
	if (r > 0)
		c->given += (size_t)r;
	return r;
}

/* Only for plaintext connections, while server.client is set. */
static bool client_has_read_all(const struct server_connection *c)
{
	const struct probe *p = c->server->client;
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int unread;

	if (!p || p->stream.fd < 0 || c->ssl)
		return true;
	assert_int_equal(getsockopt(p->stream.fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	assert_int_equal(ioctl(p->stream.fd, FIONREAD, &unread), 0);
	return info.tcpi_bytes_received >= c->given && unread == 0;
}

static void next_turn(struct server_connection *c)
{
	ev_timer_set(&c->turn, 0., 0.);
	ev_timer_start(c->server->loop, &c->turn);
}

static bool request_is_whole(struct server_connection *c)
{
	char *end_of_head = strstr(c->request, "\r\n\r\n");

	if (!end_of_head)
		return false;
	memcpy(c->server->request, c->request, sizeof(c->request));
	c->server->requests++;
	memset(c->request, 0, sizeof(c->request));
	c->n_request = 0;
	return true;
}

/* True when the step is done at once. */
static bool do_step(struct server_connection *c)
{
	const struct step *s = c->step;

	switch (s->kind) {
	case STEP_REQUEST:
		return request_is_whole(c);
	case STEP_SEND:
		assert_int_equal(give(c, s->bytes, s->n), s->n);
		return true;
	case STEP_TRICKLE:
		if (client_has_read_all(c)) {
			if (c->done == s->n)
				return true;
			give(c, s->bytes + c->done++, 1);
		}
		next_turn(c);
		return false;
	case STEP_REPEAT:
		give(c, s->bytes, s->n);
		next_turn(c);
		return false;
	case STEP_AGAIN:
		c->step = c->server->script - 1;
		return true;
	case STEP_CLOSE:
	case STEP_RESET:
	case STEP_END:
		break;
	}
	return false;
}

static void advance(struct server_connection *c)
{
	while (do_step(c)) {
		c->step++;
		c->done = 0;
	}
	if (c->step->kind == STEP_CLOSE || c->step->kind == STEP_RESET)
		end(c, c->step->kind == STEP_RESET);
}

static void on_turn(struct ev_loop *loop, ev_timer *w, int events)
{
	advance(w->data);
}

static void on_data(struct ev_loop *loop, ev_io *w, int events)
{
	struct server_connection *c = w->data;
	ssize_t n = take(c, c->request + c->n_request, sizeof(c->request) - 1 - c->n_request);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		c->server->gone++;
		c->server->was_reset = n == -ECONNRESET;
		end(c, true);
		return;
	}
	c->n_request += (size_t)n;
	advance(c);
}

static void on_accept(struct ev_loop *loop, ev_io *w, int events)
{
	struct server *s = w->data;
	struct server_connection *c;
	int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (!s->nagle)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	c = mem_zalloc(sizeof(*c));
	c->server = s;
	c->next = s->connections;
	s->connections = c;
	s->accepted++;
	c->step = s->script;
	if (s->tls) {
		c->ssl = SSL_new(s->tls);
		SSL_set_fd(c->ssl, fd);
		SSL_set_accept_state(c->ssl);
	}
	ev_io_init(&c->io, on_data, fd, EV_READ);
	c->io.data = c;
	ev_init(&c->turn, on_turn);
	c->turn.data = c;
	ev_io_start(loop, &c->io);
	advance(c);
}

void server_start(struct server *s, struct ev_loop *loop, int family, const struct step *script)
{
	const char *const any = family == AF_INET ? "127.0.0.1" : "::1";
	struct sockaddr_storage sa;
	socklen_t len;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	*s = (struct server){ .loop = loop, .script = script };
	assert_int_equal(addr_parse(any, &s->at.addr), 0);
	len = endpoint_to_sockaddr(&s->at, &sa);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&sa, &s->at), 0);
	ev_io_init(&s->listener, on_accept, fd, EV_READ);
	s->listener.data = s;
	ev_io_start(loop, &s->listener);
}

void server_drop_all(struct server *s)
{
	while (s->connections)
		end(s->connections, false);
}

void server_stop(struct server *s)
{
	if (!s->loop)
		return;
	server_drop_all(s);
	ev_io_stop(s->loop, &s->listener);
	close(s->listener.fd);
	SSL_CTX_free(s->tls);
	*s = (struct server){ 0 };
}

size_t count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int bench_setup(void **state)
{
	struct bench *b = mem_zalloc(sizeof(*b));

	b->descriptors = count_descriptors();
	b->loop = ev_loop_new(0);
	b->env = probe_env_new(b->loop, NULL);
	*state = b;
	return 0;
}

int bench_teardown(void **state)
{
	struct bench *b = *state;
	bool same;

	server_stop(&b->server);
	if (b->env->n_probes) {
		print_error("probes left behind by a test that failed\n");
		return -1;
	}
	probe_env_free(b->env);
	ev_loop_destroy(b->loop);
	same = count_descriptors() == b->descriptors;
	free(b);
	if (!same)
		print_error("descriptors leaked\n");
	return same ? 0 : -1;
}

struct probe_spec bench_spec(const struct bench *b, enum probe_kind kind)
{
	static const struct probe_code_range usual = { 200, 399 };

	return (struct probe_spec){
		.kind = kind,
		.target = b->server.at,
		.timeout = INT64_C(2000000000),
		.codes = &usual,
		.n_codes = 1,
	};
}

static void on_done(struct probe *p, const struct probe_outcome *outcome, void *user)
{
	struct bench *b = user;

	assert_false(probe_in_flight(p));
	b->outcome = *outcome;
	b->answers++;
}

struct probe *bench_probe(struct bench *b, const struct probe_spec *spec)
{
	return probe_new(b->env, spec, on_done, b);
}

static void on_patience_lost(struct ev_loop *loop, ev_timer *w, int events)
{
	bool *late = w->data;

	*late = true;
}

void bench_run_until(struct bench *b, const unsigned *count, unsigned n)
{
	ev_timer patience;
	bool late = false;

	ev_timer_init(&patience, on_patience_lost, 5., 0.);
	patience.data = &late;
	ev_now_update(b->loop);
	ev_timer_start(b->loop, &patience);
	while (*count < n && !late)
		ev_run(b->loop, EVRUN_ONCE);
	ev_timer_stop(b->loop, &patience);
	assert_false(late);
}

void bench_turns(struct bench *b, unsigned n)
{
	while (n--)
		ev_run(b->loop, EVRUN_NOWAIT);
}

const struct probe_outcome *bench_ask(struct bench *b, struct probe *p)
{
	unsigned before = b->answers;

	b->server.client = p;
	ev_now_update(b->loop);
	probe_start(p);
	assert_int_equal(b->answers, before); /* never from within */
	assert_true(probe_in_flight(p));
	bench_run_until(b, &b->answers, before + 1);
	b->server.client = NULL;
	assert_int_equal(b->answers, before + 1);
	assert_true(b->outcome.rtt > 0);
	assert_true((b->outcome.error == PROBE_OK) == (b->outcome.reason[0] == '\0'));
	return &b->outcome;
}

void bench_expect(const struct probe_outcome *o, enum probe_stage stage, enum probe_error error)
{
	if (o->stage != stage || o->error != error)
		print_error("got %s/%s (%s)\n", probe_stage_name(o->stage),
			    probe_error_name(o->error), o->reason);
	assert_string_equal(probe_stage_name(o->stage), probe_stage_name(stage));
	assert_string_equal(probe_error_name(o->error), probe_error_name(error));
}
