/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns maglevd into maglevd-brisk: the same VPP driver with shorter timeouts, so that tests of
 * lost connections and counters do not wait seconds for each step. It takes the paths of the
 * sockets of VPP from the environment only.
 */
#include <stdlib.h>

#include "base/units.h"
#include "src/maglevd/dataplane/drivers.h"
#include "src/maglevd/dataplane/vpp/vpp.h"

static struct dataplane *brisk_start(struct ev_loop *loop, const struct l4_config *config,
				     const struct dataplane_events *events)
{
	dataplane_vpp_use(
		&(struct dataplane_vpp_setup){ .api_addr = getenv("MAGLEV_VPP_API_ADDR"),
					       .stats_addr = getenv("MAGLEV_VPP_STATS_ADDR"),
					       .retry = 300 * NSEC_PER_MSEC,
					       .reading = 100 * NSEC_PER_MSEC,
					       .timeout = NSEC_PER_SEC });
	return dataplane_vpp.start(loop, config, events);
}

const struct dataplane_driver *dataplane_find(enum l4_dataplane kind)
{
	static struct dataplane_driver driver;

	if (kind != L4_DATAPLANE_VPP)
		return NULL;
	driver = dataplane_vpp;
	driver.start = brisk_start;
	return &driver;
}
