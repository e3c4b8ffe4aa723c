/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame: ARP frames (RFC 826) and neighbour messages (RFC 4861) as bytes. Pure.
 *
 * ARP frames are whole Ethernet frames. Neighbour messages are the part after the IPv6 header; the
 * kernel adds that and the checksum.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"

#define L2_MAC 6	    /* bytes of a hardware address */
#define L2_ARP_FRAME 42	    /* bytes */
#define L2_ADVERTISEMENT 32 /* bytes of a neighbour advertisement with its option */

enum l2_arp_op { L2_ARP_REQUEST = 1, L2_ARP_REPLY = 2 };

struct l2_arp {
	uint8_t destination[L2_MAC]; /* of the Ethernet frame; its source is sender_mac */
	enum l2_arp_op op;
	uint8_t sender_mac[L2_MAC], target_mac[L2_MAC];
	struct addr sender, target; /* IPv4 */
};

void l2_arp_encode(const struct l2_arp *a, uint8_t out[static L2_ARP_FRAME]);
/* -EPROTO, with *ret untouched, unless it is a request or reply for IPv4 on Ethernet. */
int l2_arp_decode(struct str frame, struct l2_arp *ret);

/*
 * Tells all neighbours where vip is. Linux accepts a reply as gratuitous only if its target has
 * the hardware address of the sender as well.
 */
struct l2_arp l2_arp_gratuitous(enum l2_arp_op op, const uint8_t mac[static L2_MAC],
				const struct addr *vip);
/* The answer to a request. */
struct l2_arp l2_arp_answer(const struct l2_arp *request, const uint8_t mac[static L2_MAC]);

struct l2_solicitation {
	struct addr target;
	bool has_mac; /* it has the option with the hardware address of the one that asks */
};

/* -EPROTO, with *ret untouched, unless it is a valid neighbour solicitation. */
int l2_solicitation_decode(struct str message, struct l2_solicitation *ret);

struct l2_advertisement {
	struct addr target;
	bool solicited, override;
	uint8_t mac[L2_MAC];
};

void l2_advertisement_encode(const struct l2_advertisement *a,
			     uint8_t out[static L2_ADVERTISEMENT]);
/* The multicast group to which solicitations for an IPv6 address are sent. */
struct addr l2_solicited_group(const struct addr *target);
