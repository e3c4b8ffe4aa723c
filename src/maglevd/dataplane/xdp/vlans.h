/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vlans: egress devices that are VLANs. The program cannot redirect to them; it puts the tag on and
 * redirects to the device below, which it finds in a map.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/inventory.h"

struct xdplb_vlans {
	VEC(struct xdp_vlan) list;
};

/* The VLANs of this network namespace. */
int xdplb__vlans_find(struct xdplb_vlans *ret);
/* The map holds these and no others from now on, as far as it has room. */
void xdplb__vlans_put(const struct xdplb_vlans *v, struct xdplb_inventory *b);
