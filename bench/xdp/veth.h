/* SPDX-License-Identifier: Apache-2.0 */
/*
 * veth: packets a second through a program that is attached to a device.
 *
 * Frames are made by a generator at one end of a veth, come in at the other, where the subject is,
 * go back out, and are counted by a sink where they began. All of that runs on one CPU, one after
 * the other, so it is the sum of the parts that is measured.
 */
#pragma once

#include "bench/xdp/wrapper.h"

struct veth {
	int generator, sink; /* programs */
	unsigned near, far;  /* ends of the veth: of generator and sink, and of the subject */
	struct wrapper_order *order;
};

/* Attaches the sink. 0 or a negative errno, as for the other. */
int veth_open(const struct veth *v);
/* Nanoseconds of one of the packets with the subject attached, and the share that came back. */
int veth_measure(const struct veth *v, int subject, unsigned packets, unsigned *ret_ns,
		 double *ret_delivered);
