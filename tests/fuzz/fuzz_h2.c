/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the input of a gRPC server's HTTP/2 connection, over a pair of sockets.
 *
 * The first byte says in which pieces the rest comes, and whether the preface is part of it. The
 * server has health and reflection, so that frames, headers, messages and answers are all reached.
 * When the client has gone nothing may be left of it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/grpc/server.h"
#include "proto/grpc/descriptors.h"

#define SIZE_MAX_OF_INPUT ((size_t)64 * 1024)
#define TURNS_MAX 1000
#define RAW 0x80

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";

static struct ev_loop *loop;
static struct grpc_server *server;

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void set_up(void)
{
	const struct grpc_server_config config = {
		.listen.addr = { AF_INET, { 127, 0, 0, 1 } },
		.descriptor_set = grpc_descriptors,
		.descriptor_set_size = grpc_descriptors_size,
		.max_message = 10000,
	};

	loop = ev_loop_new(EVFLAG_AUTO);
	check(grpc_server_new(loop, &config, &server) == 0);
}

/* Takes and forgets what the server says. */
static void drain(int fd)
{
	char bytes[65536];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* False when the server has closed. */
static bool say(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return false;
		p += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
		ev_run(loop, EVRUN_NOWAIT);
		drain(fd);
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece;
	int fds[2];

	if (!server)
		set_up();
	if (size < 2 || size > SIZE_MAX_OF_INPUT)
		return 0;
	piece = (size_t)(data[0] & 0x7f) * 16 + 1;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
	grpc_server_adopt(server, fds[0], (struct endpoint){ 0 });
	if (!(data[0] & RAW))
		say(fds[1], (const uint8_t *)preface, sizeof(preface) - 1);
	for (size_t at = 1; at < size; at += piece)
		if (!say(fds[1], data + at, size - at < piece ? size - at : piece))
			break;
	close(fds[1]);
	for (int i = 0; i < TURNS_MAX && grpc_server_stats(server)->connections; i++)
		ev_run(loop, EVRUN_NOWAIT);
	check(grpc_server_stats(server)->connections == 0);
	check(grpc_server_stats(server)->calls == 0);
	return 0;
}
