/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink: the server that answers on every probed address.
 *
 * One thread, one epoll, one listener on all addresses. A request ends with an empty line; the
 * answer is 200 with three bytes. The connection is kept unless the request says otherwise.
 * Accepted connections and answers are counted in a memory-mapped file, so that the benchmark reads
 * the counters without disturbing this process.
 *
 * The only state is a table with one entry per descriptor, as large as the limit of descriptors.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

#define HEAD_MAX 512
#define EVENTS_MAX 256
#define BACKLOG 32768

#define ANSWER "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"

struct counts {
	uint64_t accepted, answered;
};

struct connection {
	size_t n;
	char head[HEAD_MAX];
};

struct sink {
	int poll, listener;
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

static void watch(const struct sink *s, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &e) < 0)
		err(1, "epoll_ctl");
}

static void on_acceptable(struct sink *s)
{
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		s->counts->accepted++;
		s->connections[fd].n = 0;
		watch(s, fd);
	}
	if (errno == EMFILE || errno == ENFILE)
		err(1, "accept");
}

/* True if the connection may serve another request. */
static bool answer(struct sink *s, int fd, const char *head)
{
	bool keep = strstr(head, "HTTP/1.1") && !strcasestr(head, "\r\nconnection: close");
	const char *text = keep ? ANSWER "\r\nOK\n" : ANSWER "Connection: close\r\n\r\nOK\n";

	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return false;
	s->counts->answered++;
	return keep;
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
	c->n = 0;
	return answer(s, fd, c->head);
}

static void serve(struct sink *s)
{
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		int n = epoll_wait(s->poll, events, EVENTS_MAX, -1);

		for (int i = 0; i < n; i++)
			if (events[i].data.fd == s->listener)
				on_acceptable(s);
			else if (!on_readable(s, events[i].data.fd))
				close(events[i].data.fd);
	}
}

int main(int argc, char *argv[])
{
	struct rlimit files;
	struct sink s = { 0 };

	if (argc != 3)
		errx(2, "usage: sink PORT COUNTS-FILE");
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		err(1, "getrlimit");
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);

	s.counts = map_counts(argv[2]);
	s.connections = calloc(files.rlim_max, sizeof(*s.connections));
	s.listener = listen_on((uint16_t)strtoul(argv[1], NULL, 10));
	s.poll = epoll_create1(EPOLL_CLOEXEC);
	if (!s.connections || s.poll < 0)
		err(1, "cannot start");
	watch(&s, s.listener);
	serve(&s);
}
