/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink: the server of benchmarks, as cheap as a server on sockets can be.
 *
 * One thread, one epoll, one listener on all addresses. A request ends with an empty line; the
 * answer is 200 with a body of the given size. The connection is kept unless the request says
 * otherwise. Accepted connections and answers are counted in a memory-mapped file, so that the
 * benchmark reads the counters without disturbing this process.
 *
 * The only state is a table with one entry per descriptor, as large as the limit of descriptors.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HEAD_MAX 2048
#define EVENTS_MAX 256
#define BACKLOG 32768

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n%s\r\n"

struct counts {
	uint64_t accepted, answered;
};

struct answer {
	char *p;
	size_t n;
};

struct connection {
	const struct answer *answer; /* that is being sent; NULL: none */
	size_t sent;		     /* bytes of it */
	size_t n;
	char head[HEAD_MAX];
};

struct sink {
	int poll, listener;
	struct answer keep, close; /* by what the request says */
	struct counts *counts;
	struct connection *connections; /* by descriptor */
};

static struct counts *map_counts(const char *path)
{
	_cleanup_(cleanup_fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(struct counts)) < 0)
		err(1, "%s", path);
	p = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		err(1, "%s", path);
	return p;
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0)
		err(1, "port %u", port);
	return fd;
}

static struct answer make_answer(const char *line, size_t size)
{
	char head[256];
	int n = snprintf(head, sizeof(head), ANSWER, size, line);
	struct answer a = { malloc((size_t)n + size), (size_t)n + size };

	if (!a.p)
		err(1, "cannot start");
	memcpy(a.p, head, (size_t)n);
	memset(a.p + n, 'x', size);
	return a;
}

static void watch(const struct sink *s, int fd, int op, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.fd = fd };

	if (epoll_ctl(s->poll, op, fd, &e) < 0)
		err(1, "epoll_ctl");
}

static void on_acceptable(struct sink *s)
{
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		s->counts->accepted++;
		s->connections[fd].answer = NULL;
		s->connections[fd].n = 0;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		watch(s, fd, EPOLL_CTL_ADD, EPOLLIN);
	}
	if (errno == EMFILE || errno == ENFILE)
		err(1, "accept");
}

/* False if the connection must be closed. What the socket does not take is sent later. */
static bool send_some(struct sink *s, int fd)
{
	struct connection *c = &s->connections[fd];
	const struct answer *a = c->answer;
	bool waited = c->sent > 0;
	ssize_t n = send(fd, a->p + c->sent, a->n - c->sent, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN)
		return false;
	c->sent += n > 0 ? (size_t)n : 0;
	if (c->sent < a->n) {
		if (!waited)
			watch(s, fd, EPOLL_CTL_MOD, EPOLLOUT);
		return true;
	}
	if (waited)
		watch(s, fd, EPOLL_CTL_MOD, EPOLLIN);
	s->counts->answered++;
	c->answer = NULL;
	return a == &s->keep;
}

/* False if the connection must be closed. */
static bool on_readable(struct sink *s, int fd)
{
	struct connection *c = &s->connections[fd];
	ssize_t n = recv(fd, c->head + c->n, sizeof(c->head) - 1 - c->n, 0);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	c->n += (size_t)n;
	c->head[c->n] = '\0';
	if (c->n < 4 || strcmp(c->head + c->n - 4, "\r\n\r\n") != 0)
		return c->n < sizeof(c->head) - 1;
	c->n = c->sent = 0;
	c->answer = strstr(c->head, "HTTP/1.1") && !strcasestr(c->head, "\r\nconnection: close")
			    ? &s->keep
			    : &s->close;
	return send_some(s, fd);
}

static void serve(struct sink *s)
{
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int n = epoll_wait(s->poll, events, EVENTS_MAX, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == s->listener)
				on_acceptable(s);
			else if (s->connections[fd].answer ? !send_some(s, fd)
							   : !on_readable(s, fd))
				close(fd);
		}
	}
}

int main(int argc, char *argv[])
{
	struct rlimit files;
	struct sink s = { 0 };
	size_t size;

	if (argc != 4)
		errx(2, "usage: sink PORT COUNTS-FILE BYTES");
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		err(1, "getrlimit");
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);

	size = strtoul(argv[3], NULL, 10);
	s.keep = make_answer("", size);
	s.close = make_answer("Connection: close\r\n", size);
	s.counts = map_counts(argv[2]);
	s.connections = calloc(files.rlim_max, sizeof(*s.connections));
	s.listener = listen_on((uint16_t)strtoul(argv[1], NULL, 10));
	s.poll = epoll_create1(EPOLL_CLOEXEC);
	if (!s.connections || s.poll < 0)
		err(1, "cannot start");
	watch(&s, s.listener, EPOLL_CTL_ADD, EPOLLIN);
	serve(&s);
}
