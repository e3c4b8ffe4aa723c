/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads, each with a loop of its own. Both listen on the same port (SO_REUSEPORT), echo what
 * they receive, and connect to that port, so that many connections are between the threads. Also
 * run under ThreadSanitizer.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/stream/listener.h"
#include "lib/stream/stream.h"
#include "lib/tls/testkit.h"
#include "lib/tls/tls.h"

#define WORKERS 2
#define CLIENTS 64 /* of each thread, one after the other */
#define MESSAGE 20000

/* What the threads share. */
struct team {
	struct tls_context *client, *server; /* NULL: plain */
	_Atomic unsigned clients_left;
	struct worker *workers;
	char message[MESSAGE];
};

/* One thread. cmocka's assertions belong to the main thread, so a failure aborts. */
struct worker {
	struct team *team;
	pthread_t id;
	struct ev_loop *loop;
	ev_async stop;
	struct stream_listener listener;
	LIST_HEAD(, peer) peers;
	unsigned started, echoed, accepted;
};

/* One end of a connection. */
struct peer {
	struct stream stream;
	struct worker *worker;
	LIST_ENTRY(peer) next;
	struct buf in; /* of a client */
	bool is_client;
};

static void start_client(struct worker *w);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct peer *peer_of(struct stream *s)
{
	return container_of(s, struct peer, stream);
}

static void end_peer(struct peer *p)
{
	stream_end(&p->stream);
	LIST_REMOVE(p, next);
	buf_free(&p->in);
	free(p);
}

/* The last client of all stops both loops. */
static void end_client(struct peer *p)
{
	struct worker *w = p->worker;

	end_peer(p);
	w->echoed++;
	if (w->started < CLIENTS)
		start_client(w);
	if (atomic_fetch_sub(&w->team->clients_left, 1) != 1)
		return;
	for (size_t i = 0; i < WORKERS; i++)
		ev_async_send(w->team->workers[i].loop, &w->team->workers[i].stop);
}

static void on_opened(struct stream *s)
{
	struct peer *p = peer_of(s);
	char *m = p->worker->team->message;
	const struct str pieces[] = { { m, 10 },
				      { m + 10, 10000 },
				      { m + 10010, MESSAGE - 10010 } };

	if (p->is_client)
		must(stream_sendv(s, pieces, ARRAY_SIZE(pieces)) == 0);
	stream_want(s, STREAM_READ);
}

static void on_client_bytes(struct peer *p, const char *bytes, size_t n)
{
	const char *message = p->worker->team->message;

	buf_add(&p->in, bytes, n);
	must(p->in.n <= MESSAGE && memcmp(p->in.p, message, p->in.n) == 0);
	if (p->in.n == MESSAGE)
		end_client(p);
}

static void on_ready(struct stream *s, unsigned what)
{
	struct peer *p = peer_of(s);
	char bytes[4096];
	ssize_t n = stream_read(s, bytes, sizeof(bytes));

	if (n == -EAGAIN)
		return;
	if (p->is_client) {
		must(n > 0);
		on_client_bytes(p, bytes, (size_t)n);
	} else if (n <= 0 || stream_send(s, bytes, (size_t)n) < 0) {
		end_peer(p);
	}
}

static void on_closed(struct stream *s, int error)
{
	must(!peer_of(s)->is_client);
	end_peer(peer_of(s));
}

static void on_expired(struct stream *s)
{
	abort();
}

static const struct stream_events events = { on_opened, on_ready, on_closed, on_expired };

static struct peer *new_peer(struct worker *w, bool is_client)
{
	struct peer *p = mem_zalloc(sizeof(*p));

	p->worker = w;
	p->is_client = is_client;
	LIST_INSERT_HEAD(&w->peers, p, next);
	stream_init(&p->stream, w->loop, TASK_ORDINARY, &events);
	stream_set_deadline(&p->stream, 60 * NSEC_PER_SEC);
	return p;
}

static void start_client(struct worker *w)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(w->listener.bound.port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct peer *p = new_peer(w, true);
	struct tls *tls;

	w->started++;
	stream_connect(&p->stream, (const struct sockaddr *)&to, sizeof(to));
	if (!w->team->client)
		return;
	must(tls_connect(w->team->client, p->stream.fd, "localhost", NULL, &tls) == 0);
	stream_secure(&p->stream, tls);
}

static void on_accepted(int fd, struct endpoint from, void *user)
{
	struct worker *w = user;
	struct peer *p = new_peer(w, false);

	w->accepted++;
	stream_adopt(&p->stream, fd);
	if (w->team->server)
		stream_secure(&p->stream, tls_accept(w->team->server, fd));
	else
		stream_want(&p->stream, STREAM_READ);
}

static void on_starved(int error, void *user)
{
	abort();
}

static void on_stop(struct ev_loop *loop, ev_async *a, int revents)
{
	ev_break(loop, EVBREAK_ALL);
}

static void *run_worker(void *user)
{
	struct worker *w = user;

	for (size_t i = 0; i < 4; i++)
		start_client(w);
	ev_run(w->loop, 0);
	while (!LIST_EMPTY(&w->peers))
		end_peer(LIST_FIRST(&w->peers));
	stream_listener_close(&w->listener);
	ev_async_stop(w->loop, &w->stop);
	ev_loop_destroy(w->loop);
	return NULL;
}

static void prepare(struct worker *w, struct team *team, uint16_t port)
{
	struct stream_listener_config config = { .reuse_port = true };
	const struct stream_listener_events calls = { .accepted = on_accepted,
						      .starved = on_starved,
						      .user = w };

	*w = (struct worker){ .team = team, .loop = ev_loop_new(EVFLAG_AUTO) };
	assert_int_equal(addr_parse("127.0.0.1", &config.at.addr), 0);
	config.at.port = port;
	assert_int_equal(stream_listener_open(&w->listener, w->loop, &config, &calls), 0);
	ev_async_init(&w->stop, on_stop);
	ev_async_start(w->loop, &w->stop);
}

static void run_team(struct team *team)
{
	struct worker workers[WORKERS];

	for (size_t i = 0; i < MESSAGE; i++)
		team->message[i] = (char)(i * 2654435761u >> 24);
	team->workers = workers;
	atomic_store(&team->clients_left, WORKERS * CLIENTS);
	for (size_t i = 0; i < WORKERS; i++)
		prepare(&workers[i], team, i ? workers[0].listener.bound.port : 0);
	for (size_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&workers[i].id, NULL, run_worker, &workers[i]), 0);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(workers[i].id, NULL);
	for (size_t i = 0; i < WORKERS; i++) {
		assert_int_equal(workers[i].echoed, CLIENTS);
		assert_true(workers[i].accepted > 0);
	}
}

static void two_loops_share_a_port(void **state)
{
	static struct team team;

	run_team(&team);
}

static void two_loops_share_tls_contexts(void **state)
{
	static struct team team;
	struct pki pki;

	pki_make(&pki);
	pki_issue(&pki, NULL, "ca");
	pki_issue(&pki, "ca", "server");
	team.server = pki_server(&pki, "server", NULL, "http/1.1,http/1.0");
	team.client = pki_client(NULL, NULL, NULL, "http/1.1");
	run_team(&team);
	tls_context_free(team.client);
	tls_context_free(team.server);
	pki_remove(&pki);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_loops_share_a_port),
		cmocka_unit_test(two_loops_share_tls_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
