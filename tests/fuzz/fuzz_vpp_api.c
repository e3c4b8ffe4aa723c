/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as what VPP sends, over a pair of sockets.
 *
 * The first byte says in which pieces the rest comes, and whether the table of messages is part of
 * it. Calls and dumps are under way, and their answers read as deep as they go. Whatever came,
 * there is one end at most, and none of it is left behind.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "lib/vpp/api.h"

#define SIZE_MAX_OF_INPUT ((size_t)16 * 1024)
#define CALLS 4
#define RAW 0x80

static const struct vpp_message call = { "show_version_51077d14", "show_version_reply_c919bde1" };
static const struct vpp_message dump = { "lb_vip_dump_56110cb7", "lb_vip_details_1329ec9b" };

static const struct vpp_table_entry known[] = {
	{ "control_ping_51077d14", 1 }, { "control_ping_reply_f6b0b8ca", 2 },
	{ "show_version_51077d14", 3 }, { "show_version_reply_c919bde1", 4 },
	{ "lb_vip_dump_56110cb7", 5 },	{ "lb_vip_details_1329ec9b", 6 },
};

struct client {
	struct vpp_api *api;
	unsigned ended, answers;
};

static struct ev_loop *loop;

static void check(bool fine)
{
	if (!fine)
		abort();
}

/* One of everything that can be read. */
static void on_answer(void *user, struct vpp_reader *r)
{
	struct client *c = user;
	uint8_t length;

	vpp_get_i32(r);
	vpp_get_prefix(r, &length);
	vpp_get_addr(r);
	vpp_get_name(r, 8);
	vpp_get_text(r);
	vpp_get_u16(r);
	if (r->bad)
		check(r->n == 0);
	else if (++c->answers < CALLS)
		vpp_api_call(c->api, &call, NULL, on_answer, c);
}

static void on_done(void *user)
{
	struct client *c = user;

	if (++c->answers < CALLS)
		vpp_api_dump(c->api, &dump, NULL, on_answer, on_done, c);
}

static void on_ready(void *user)
{
	struct client *c = user;

	for (int i = 0; i < CALLS; i++) {
		vpp_api_call(c->api, &call, NULL, on_answer, c);
		vpp_api_dump(c->api, &dump, NULL, on_answer, on_done, c);
	}
}

static void on_ended(void *user, enum vpp_end why, const char *text)
{
	struct client *c = user;

	check(++c->ended == 1 && *vpp_end_name(why) && *text);
}

static void drain(int fd)
{
	char bytes[65536];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static bool say(int fd, const void *from, size_t n)
{
	const uint8_t *p = from;

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

static void say_table(int fd)
{
	struct buf b = { 0 };
	size_t begin = vpp_frame_begin(&b);

	vpp_put_u16(&b, 16);
	for (int i = 0; i < 4; i++)
		vpp_put_u32(&b, 0);
	vpp_put_u16(&b, ARRAY_SIZE(known));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		vpp_put_u16(&b, known[i].id);
		vpp_put_name(&b, known[i].name, VPP_NAME_SIZE);
	}
	vpp_frame_end(&b, begin);
	say(fd, b.p, b.n);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client c = { 0 };
	const struct vpp_api_config config = { .client_name = "fuzz",
					       .timeout = 3600 * NSEC_PER_SEC,
					       .keepalive = 3600 * NSEC_PER_SEC,
					       .max_message = 16384,
					       .ready = on_ready,
					       .ended = on_ended,
					       .user = &c };
	size_t piece;
	int fds[2];

	if (size < 2 || size > SIZE_MAX_OF_INPUT)
		return 0;
	if (!loop)
		loop = ev_loop_new(EVFLAG_AUTO);
	piece = (size_t)(data[0] & 0x7f) * 16 + 1;
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
	c.api = vpp_api_adopt(loop, &config, fds[0]);
	if (!(data[0] & RAW))
		say_table(fds[1]);
	for (size_t at = 1; at < size; at += piece)
		if (!say(fds[1], data + at, size - at < piece ? size - at : piece))
			break;
	close(fds[1]);
	for (int i = 0; i < 100 && !c.ended; i++)
		ev_run(loop, EVRUN_NOWAIT);
	check(c.ended == 1);
	vpp_api_free(c.api);
	return 0;
}
