/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vlans: egress devices that are VLANs. The program cannot redirect to them; it puts the tag on and
 * redirects to the device below, which it finds in a map.
 */
#pragma once

#include "src/maglevd/dataplane/xdp/book.h"

struct plane_vlans {
	VEC(struct xdp_vlan) list;
};

/* The VLANs of this network namespace. */
int plane__vlans_find(struct plane_vlans *ret);
/* The map holds these and no others from now on, as far as it has room. */
void plane__vlans_put(const struct plane_vlans *v, struct plane_book *b);
