/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * link: keeps the Ethernet header and VLAN tags of a frame while the headers after them are
 * replaced. All loops run over the longest header, because the verifier wants constant bounds.
 */
#pragma once

#include "bpf/packet.h"

#define MAX_LINK (ETH_HLEN + MAX_VLAN_TAGS * 4)

struct link_header {
	__u16 half[MAX_LINK / 2];
};

/* Copies the longest possible header, whatever its real length. -1 if the frame is shorter. */
static __always_inline int link_save(const struct xdp_md *ctx, struct link_header *saved)
{
	const __u16 *half = frame_start(ctx);

	if ((void *)half + MAX_LINK > frame_end(ctx))
		return -1;
#pragma unroll
	for (int i = 0; i < MAX_LINK / 2; i++)
		saved->half[i] = half[i];
	return 0;
}

/* Swaps source and destination address. */
static __always_inline void link_swap(struct link_header *saved)
{
#pragma unroll
	for (int i = 0; i < 3; i++) {
		__u16 destination = saved->half[i];

		saved->half[i] = saved->half[i + 3];
		saved->half[i + 3] = destination;
	}
}

/* Writes the first length bytes back, the last two of which are the EtherType `type`. */
static __always_inline int link_restore(const struct xdp_md *ctx, const struct link_header *saved,
					__u32 length, __u16 type)
{
	__u16 *half = frame_start(ctx);

	if ((void *)half + MAX_LINK > frame_end(ctx))
		return -1;
#pragma unroll
	for (__u32 i = 0; i < MAX_LINK / 2; i++) {
		if (2 * i + 2 == length)
			half[i] = type;
		else if (2 * i + 2 < length)
			half[i] = saved->half[i];
	}
	return 0;
}
