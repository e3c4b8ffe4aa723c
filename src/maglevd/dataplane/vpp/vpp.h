/* SPDX-License-Identifier: Apache-2.0 */
/* vpp: the data plane of "dataplane: vpp", the lb plugin of a VPP on this machine. */
#pragma once

#include "src/maglevd/dataplane/dataplane.h"

extern const struct dataplane_driver dataplane_vpp;

struct dataplane_vpp_setup {
	const char *api_addr, *stats_addr; /* VPP's sockets; live as long as the driver */
	/*
	 * All in ns; 0 means 5 s: the delay after a failure, the time between two readings of the
	 * counters, the time that an answer may take.
	 */
	int64_t retry, reading, timeout;
};

/* Sets what the next dataplane_vpp.start() uses; copied. */
void dataplane_vpp_use(const struct dataplane_vpp_setup *setup);
