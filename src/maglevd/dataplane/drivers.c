/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/dataplane/drivers.h"

#include <assert.h>

#include "base/cleanup.h"
#include "src/maglevd/dataplane/vpp/vpp.h"

static const struct dataplane_driver *const drivers[] = {
	[L4_DATAPLANE_VPP] = &dataplane_vpp,
	[L4_DATAPLANE_XDP] = &dataplane_xdp,
	[L4_DATAPLANE_NONE] = &dataplane_none,
};

const struct dataplane_driver *dataplane_find(enum l4_dataplane kind)
{
	assert((size_t)kind < ARRAY_SIZE(drivers));
	return drivers[kind];
}
