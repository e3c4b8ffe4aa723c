/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vpp-standin FOLDER [PERSONALITY]: a fake VPP for tests, with api.sock, stats.sock and
 * control.sock in that folder. It ends on SIGTERM, or with status 70 and a message on a request
 * that would crash VPP.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/vpp/control.h"

#define STATS_LINKS 4700 /* about as many entries as a VPP with few plugins has */

static void on_signal(struct ev_loop *loop, ev_signal *w, int events)
{
	ev_break(loop, EVBREAK_ALL);
}

static void path_in(const char *folder, const char *name, struct buf *out)
{
	buf_printf(out, "%s/%s", folder, name);
	buf_cstr(out);
}

int main(int argc, char **argv)
{
	struct ev_loop *loop = ev_default_loop(0);
	struct buf api = { 0 }, stats = { 0 }, control_path = { 0 };
	static struct server server;
	enum personality who = PERSONALITY_NEW;
	struct control control;
	ev_signal term;

	if (argc < 2 || argc > 3 || (argc == 3 && !control_personality(argv[2], &who))) {
		fprintf(stderr, "usage: vpp-standin FOLDER [new | old | none | crc]\n");
		return 2;
	}
	path_in(argv[1], "api.sock", &api);
	path_in(argv[1], "stats.sock", &stats);
	path_in(argv[1], "control.sock", &control_path);
	server.api_path = api.p;
	server.stats_path = stats.p;
	server.stats.links = STATS_LINKS;
	server_start(&server, loop, who);
	control_start(&control, &server, control_path.p);
	ev_signal_init(&term, on_signal, SIGTERM);
	ev_signal_start(loop, &term);
	ev_run(loop, 0);
	control_stop(&control);
	server_stop(&server);
	buf_free(&api);
	buf_free(&stats);
	buf_free(&control_path);
	return 0;
}
