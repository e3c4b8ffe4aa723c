/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of bench.c for the wrapper. */
#pragma once

#include <linux/types.h>

#define WRAPPER_HEAD 64 /* bytes of headers that are restored */

struct wrapper_order {
	__u64 head[WRAPPER_HEAD / 8];
	__u32 length;		   /* of the frame */
	__u32 next;		   /* number of the next flow */
	__u32 mask;		   /* flows - 1 */
	__u32 address_at, port_at; /* offsets where the flow is written; below WRAPPER_HEAD - 1 */
	__u32 id_at;		   /* IPv4 identification, 0 for none */
	__u64 sunk;		   /* frames that came back to the sink */
	__u32 ifindex;		   /* where the generator sends */
	__u32 vip_at;		   /* low half of an IPv4 destination, 0 for none */
	__u32 first_vip, vips;	   /* what is written there: first_vip, and vips - 1 after it */
};
_Static_assert(sizeof(struct wrapper_order) == 112, "wrapper_order");
