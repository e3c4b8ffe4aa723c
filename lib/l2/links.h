/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links: the interfaces of a namespace on which addresses can be announced.
 *
 * These are Ethernet interfaces that are up, can broadcast and resolve addresses, and belong to no
 * other interface: a port of a bridge or of a bond has no addresses of its own.
 */
#pragma once

#include "base/vec.h"
#include "lib/net/net.h"

#define L2_LINK_NAME 16	   /* bytes, with the NUL */
#define L2_LINKS_MAX 65536 /* interfaces that are looked at */

struct l2_link {
	char name[L2_LINK_NAME];
	unsigned index;
};

struct l2_links {
	VEC(struct l2_link) list; /* sorted by name */
};

/*
 * Replaces what *links has. 0 or a negative errno, with *links empty. Asks the kernel, which
 * answers at once.
 */
int l2_links_read(struct l2_links *links, struct net_ns *ns);
/* NULL: there is none of that name. */
const struct l2_link *l2_links_find(const struct l2_links *links, const char *name);
void l2_links_free(struct l2_links *links);
