/* SPDX-License-Identifier: Apache-2.0 */
/*
 * veth: packets per second through a program that is attached to a device.
 *
 * A generator sends frames into one end of a veth. They arrive at the other end, where the measured
 * program sends them back, and are counted by a sink at the first end. All of that runs on one CPU
 * in sequence, so the sum of all parts is measured.
 */
#pragma once

#include "bench/xdp/wrapper.h"

struct veth {
	int generator, sink; /* programs */
	unsigned near, far;  /* ends of the veth: of generator and sink, and of the subject */
	struct wrapper_order *order;
};

/* Attaches the sink. Returns 0 or a negative errno, as the other function does. */
int veth_open(const struct veth *v);
/*
 * Measures the nanoseconds per packet with the program attached, and the share of packets that
 * came back.
 */
int veth_measure(const struct veth *v, int subject, unsigned packets, unsigned *ret_ns,
		 double *ret_delivered);
