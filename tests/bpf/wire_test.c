/* SPDX-License-Identifier: Apache-2.0 */
/* The program on a device, native and generic, with real frames: what leaves comes back by r0. */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/cleanup.h"
#include "tests/bpf/lab.h"

#define VIP4 "198.51.100.10"
#define SERVER4 "10.0.11.2"
#define DEADLINE_MS 5000
#define FRAMES 200

static struct lab lab;

/* On r0, the router's end. */
static int open_wire(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)if_nametoindex("r0") };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static struct frame_spec packet(unsigned port)
{
	return (struct frame_spec){ .source = "192.0.2.77",
				    .destination = VIP4,
				    .protocol = IPPROTO_UDP,
				    .source_port = (uint16_t)port,
				    .destination_port = 80,
				    .ttl = 61,
				    .df = true,
				    .payload = 100 };
}

/* The next frame that came in by r0 for the router, but for what the kernel says on its own. */
static void receive(int fd, struct frame *ret)
{
	struct sockaddr_ll from = { 0 };
	socklen_t size;
	ssize_t n;

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&ready, 1, DEADLINE_MS), 1);
		size = sizeof(from);
		n = recvfrom(fd, ret->bytes, sizeof(ret->bytes), 0, (struct sockaddr *)&from,
			     &size);
		assert_true(n > 14);
		if (from.sll_pkttype != PACKET_OUTGOING &&
		    memcmp(ret->bytes, frame_client_mac, 6) == 0)
			break;
	}
	ret->size = (size_t)n;
}

static void exchange(int fd, const struct frame_spec *spec)
{
	struct frame_outer o = { .source = LAB_SOURCE4,
				 .destination = SERVER4,
				 .smac = frame_our_mac,
				 .dmac = frame_client_mac };
	struct frame out, got, want;

	frame_build(spec, &out);
	frame_expect_gre(spec, &o, &want);
	assert_int_equal(send(fd, out.bytes, out.size, 0), out.size);
	receive(fd, &got);
	lab_assert_same(&got, &want);
}

/* A detach is done some milliseconds after the descriptor is closed. */
static struct xdp_link *attached(unsigned ifindex, enum xdp_mode mode)
{
	struct xdp_device_state device = { .program = 1 };
	struct xdp_link *link;

	for (unsigned i = 0; device.program && i < 100000; i++)
		assert_int_equal(xdp_device_state(ifindex, &device), 0);
	assert_int_equal(xdp_attach(lab.program, ifindex, mode, &link), 0);
	return link;
}

static void run(enum xdp_mode mode)
{
	struct xdp_link *link = attached(lab.l0, mode), *peer = NULL;
	int fd = open_wire();

	/* a veth takes redirected frames only when its peer has a program, too */
	if (mode == XDP_MODE_NATIVE)
		peer = attached(if_nametoindex("r0"), mode);
	lab_reset(&lab);
	lab_add_one(&lab, VIP4, IPPROTO_UDP, 80, SERVER4);
	for (unsigned i = 0; i < FRAMES; i++) {
		struct frame_spec spec = packet(1000 + i);

		exchange(fd, &spec);
	}
	assert_int_equal(lab_server_packets(&lab, 1), FRAMES);
	close(fd);
	xdp_link_free(peer);
	xdp_link_free(link);
}

static void frames_reach_the_router_in_generic_mode(void **state)
{
	run(XDP_MODE_GENERIC);
}

static void frames_reach_the_router_in_native_mode(void **state)
{
	run(XDP_MODE_NATIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_reach_the_router_in_generic_mode),
		cmocka_unit_test(frames_reach_the_router_in_native_mode),
	};
	const char *reason = lab_start(&lab);

	if (reason)
		return lab_skip(reason);
	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
