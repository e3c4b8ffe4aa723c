/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volley: datagrams for bench/router.
 *
 *	volley serve PORT			echoes what it gets, in batches
 *	volley ask PORT SOURCES WINDOW SIZE SECONDS [new]
 *
 * ask has SOURCES sockets with WINDOW datagrams of SIZE bytes under way each. An answer is replaced
 * by a new datagram; with "new" by one of a new source port. What was lost is noticed after 50 ms
 * of silence and sent again. It prints the answers, the seconds, and what was lost.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "lib/net/udp.h"

#define SILENCE 50 /* ms */

static void die(const char *what, int error)
{
	fprintf(stderr, "volley: %s: %s\n", what, strerror(error));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct endpoint here(const char *port)
{
	struct endpoint e = { .addr = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } } };

	e.port = (uint16_t)strtoul(port, NULL, 10);
	return e;
}

/* ---- the server ---- */

static void echo(int fd, struct udp_batch *b)
{
	struct udp_outgoing out[UDP_BATCH];
	ssize_t n = udp_receive(b, fd, 0, UDP_BATCH);
	size_t sent = 0;
	int error = 0;

	for (ssize_t i = 0; i < n; i++) {
		const struct udp_message *m = udp_message(b, (size_t)i);

		out[i] = (struct udp_outgoing){ &m->path, m->bytes, m->n, m->segment };
	}
	while (n > 0 && sent < (size_t)n) {
		sent += udp_send(fd, out + sent, (size_t)n - sent, &error);
		sent += sent < (size_t)n;
	}
}

static int serve(const char *port)
{
	const struct udp_config config = { .at = here(port), .received = 4 * 1024 * 1024 };
	struct udp_batch *b = udp_batch_new();
	struct endpoint at;
	int fd = udp_open(&config, &at);
	struct pollfd p = { fd, POLLIN, 0 };

	if (fd < 0)
		die("serve", -fd);
	while (poll(&p, 1, -1) > 0)
		echo(fd, b);
	return 0;
}

/* ---- the clients ---- */

struct volley {
	struct endpoint to;
	struct udp_batch *batch;
	char bytes[65536];
	size_t size, window;
	int epoll;
	bool fresh;
	unsigned long answers, lost;
	size_t *under_way; /* of each socket, by its number */
	int *sockets;
};

static void shoot(struct volley *v, size_t i, size_t n)
{
	struct udp_outgoing list[UDP_BATCH];
	int error = 0;

	for (size_t k = 0; k < n; k++)
		list[k] = (struct udp_outgoing){ .bytes = v->bytes, .n = v->size };
	v->under_way[i] += udp_send(v->sockets[i], list, n, &error);
}

static void open_socket(struct volley *v, size_t i)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = i };
	int fd = udp_connect(&v->to);

	if (fd < 0)
		die("connect", -fd);
	if (!v->fresh && v->window > 1)
		udp_join(fd, 1024 * 1024);
	v->sockets[i] = fd;
	v->under_way[i] = 0;
	epoll_ctl(v->epoll, EPOLL_CTL_ADD, fd, &e);
}

static void take(struct volley *v, size_t i)
{
	ssize_t n = udp_receive(v->batch, v->sockets[i], 0, UDP_BATCH);
	size_t came = 0;

	for (ssize_t k = 0; k < n; k++)
		came += udp_count(udp_message(v->batch, (size_t)k));
	v->answers += came;
	v->under_way[i] -= came < v->under_way[i] ? came : v->under_way[i];
	if (v->fresh && came) {
		close(v->sockets[i]);
		open_socket(v, i);
	}
	if (came)
		shoot(v, i, v->window - v->under_way[i]);
}

static void again(struct volley *v, size_t sources)
{
	for (size_t i = 0; i < sources; i++) {
		v->lost += v->under_way[i];
		v->under_way[i] = 0;
		shoot(v, i, v->window);
	}
}

static int ask(char **argv, int argc)
{
	static struct volley v;
	size_t sources = strtoul(argv[3], NULL, 10);
	double seconds = strtod(argv[6], NULL), began = now(), end = began + seconds;

	v.to = here(argv[2]);
	v.batch = udp_batch_new();
	v.window = strtoul(argv[4], NULL, 10);
	v.size = strtoul(argv[5], NULL, 10);
	v.fresh = argc > 7;
	v.epoll = epoll_create1(0);
	v.sockets = calloc(sources, sizeof(int));
	v.under_way = calloc(sources, sizeof(size_t));
	if (v.window > UDP_BATCH || v.size > sizeof(v.bytes))
		die("ask", EINVAL);
	for (size_t i = 0; i < sources; i++) {
		open_socket(&v, i);
		shoot(&v, i, v.window);
	}
	while (now() < end) {
		struct epoll_event list[64];
		int n = epoll_wait(v.epoll, list, 64, SILENCE);

		for (int i = 0; i < n; i++)
			take(&v, list[i].data.u64);
		if (n == 0)
			again(&v, sources);
	}
	printf("%lu answers in %.6f s, %lu lost\n", v.answers, now() - began, v.lost);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	if (argc >= 7 && strcmp(argv[1], "ask") == 0)
		return ask(argv, argc);
	fprintf(stderr, "usage: volley serve PORT | ask PORT SOURCES WINDOW SIZE SECONDS [new]\n");
	return 2;
}
