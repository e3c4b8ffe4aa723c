/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vlans: egress devices that are VLANs. The program cannot redirect to them. It adds the VLAN tag
 * itself and redirects to the device below, which it finds in a map.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/inventory.h"

struct xdplb_vlans {
	VEC(struct xdp_vlan) list;
};

/* Reads the VLANs of this network namespace. On failure the list is incomplete: do not use it. */
int xdplb__vlans_find(struct xdplb_vlans *ret);
/* Makes the map hold these VLANs and no others, as far as it has room. */
void xdplb__vlans_put(const struct xdplb_vlans *v, struct xdplb_inventory *b);
