/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/xdp/veth.h"

#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/xdp/xdp.h"

#define BATCH 64
#define DETACH_MS 2000 /* a detach takes some milliseconds to be over */

int veth_open(const struct veth *v)
{
	struct xdp_link *sink; /* until the process ends */

	v->order->ifindex = v->near;
	return xdp_attach(v->sink, v->near, XDP_MODE_NATIVE, &sink);
}

/*
 * Not in lib/xdp, which does not run programs with frames that are really sent
 * (BPF_F_TEST_XDP_LIVE_FRAMES).
 */
static int generate(const struct veth *v, unsigned packets, unsigned *ret_ns)
{
	uint8_t frame[64] = { 0 };
	struct xdp_md context = { .data_end = sizeof(frame), .ingress_ifindex = v->near };
	union bpf_attr attr = {
		.test = { .prog_fd = (uint32_t)v->generator,
			  .data_in = (uintptr_t)frame,
			  .data_size_in = sizeof(frame),
			  .ctx_in = (uintptr_t)&context,
			  .ctx_size_in = sizeof(context),
			  .repeat = packets,
			  .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
			  .batch_size = BATCH },
	};

	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) < 0)
		return -errno;
	*ret_ns = attr.test.duration;
	return 0;
}

static int attach(int subject, unsigned ifindex, struct xdp_link **ret)
{
	int r = -EBUSY;

	for (int waited = 0; r == -EBUSY && waited < DETACH_MS; waited++) {
		r = xdp_attach(subject, ifindex, XDP_MODE_NATIVE, ret);
		if (r == -EBUSY)
			poll(NULL, 0, 1);
	}
	return r;
}

int veth_measure(const struct veth *v, int subject, unsigned packets, unsigned *ret_ns,
		 double *ret_delivered)
{
	struct xdp_link *link;
	uint64_t before;
	int r = attach(subject, v->far, &link);

	if (r < 0)
		return r;
	before = v->order->sunk;
	r = generate(v, packets, ret_ns);
	*ret_delivered = (double)(v->order->sunk - before) / packets;
	xdp_link_free(link);
	return r;
}
