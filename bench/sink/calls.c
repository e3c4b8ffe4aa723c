/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls: the server of benchmarks for calls of gRPC: HTTP/2 with prior knowledge, one thread.
 *
 * usage: calls PORT SIZE
 *
 * Each request is answered when it is complete, with a message of SIZE bytes and grpc-status 0.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/h2/h2.h"
#include "lib/loop/loop.h"

#define PREFIX 5 /* bytes before a message: not compressed, length */

static void on_data(struct h2_stream *s, struct str bytes, void *user)
{
	h2_consume(s, bytes.n);
}

static void on_end(struct h2_stream *s, void *user)
{
	static const struct field head[] = { { { ":status", 7 }, { "200", 3 } },
					     { { "content-type", 12 },
					       { "application/grpc", 16 } } };
	static const struct field trailers[] = { { { "grpc-status", 11 }, { "0", 1 } } };
	const struct buf *message = user;

	h2_respond(s, head, ARRAY_SIZE(head), false);
	h2_send(s, (struct str){ message->p, message->n });
	h2_end(s, trailers, ARRAY_SIZE(trailers));
}

static void make_message(struct buf *out, size_t size)
{
	buf_addc(out, 0);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addc(out, (char)(size >> shift));
	buf_reserve(out, size);
	memset(out->p + out->n, 'x', size);
	out->n += size;
}

int main(int argc, char **argv)
{
	static const struct h2_events events = { .data = on_data, .end = on_end };
	struct buf message = { 0 };
	struct h2_config config = { .server = true,
				    .events = &events,
				    .user = &message,
				    .max_streams = 1024,
				    .max_connections = SIZE_MAX };
	struct endpoint at = { 0 };
	struct ev_loop *loop = ev_default_loop(0);
	uint64_t port, size;
	int r;

	if (argc != 3 || str_to_u64(str_of(argv[1]), 65535, &port) < 0 ||
	    str_to_u64(str_of(argv[2]), 1 << 24, &size) < 0 ||
	    addr_parse("127.0.0.1", &at.addr) < 0)
		errx(2, "usage: calls PORT SIZE");
	at.port = (uint16_t)port;
	make_message(&message, size);
	r = h2_listen(h2_host_new(loop, &config), at);
	if (r < 0)
		errx(1, "port %s: %s", argv[1], strerror(-r));
	ev_run(loop, 0);
	return 0;
}
