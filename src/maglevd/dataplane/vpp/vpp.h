/* SPDX-License-Identifier: Apache-2.0 */
/* vpp: the data plane of "dataplane: vpp", the lb plugin of a VPP on this machine. */
#pragma once

#include "src/maglevd/dataplane/dataplane.h"

extern const struct dataplane_driver dataplane_vpp;

struct dataplane_vpp_setup {
	const char *api_addr, *stats_addr; /* VPP's sockets; live as long as the driver */
	/* ns; 0: 5 s each. After a failure; between two readings of the counters; for an answer. */
	int64_t retry, reading, timeout;
};

/* For the next dataplane_vpp.start(). */
void dataplane_vpp_use(const struct dataplane_vpp_setup *setup);
