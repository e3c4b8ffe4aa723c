/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of grpc_test.Test for foreign clients (peer_test.py), with reflection. It writes its
 * port, serves until the end of its standard input, drains and exits.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/grpc/testkit.h"

static void on_drained(void *user)
{
	ev_break(user, EVBREAK_ALL);
}

static void on_input(struct ev_loop *loop, ev_io *w, int revents)
{
	struct kit *kit = w->data;
	char bytes[64];

	if (read(STDIN_FILENO, bytes, sizeof(bytes)) > 0)
		return;
	ev_io_stop(loop, w);
	grpc_server_drain(kit->server, on_drained, loop);
}

int main(void)
{
	struct kit kit;
	ev_io input;

	kit_start(&kit, (struct grpc_server_config){ .descriptor_set = kit_protoset,
						     .descriptor_set_size = kit_protoset_size });
	printf("%u\n", (unsigned)grpc_server_endpoint(kit.server).port);
	fflush(stdout);
	ev_io_init(&input, on_input, STDIN_FILENO, EV_READ);
	input.data = &kit;
	ev_io_start(kit.loop, &input);
	ev_run(kit.loop, 0);
	kit_stop(&kit);
	return 0;
}
