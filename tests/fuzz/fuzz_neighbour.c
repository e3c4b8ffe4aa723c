/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as an ARP frame and as a neighbour solicitation. An ARP frame that was read is written
 * again as it was, except for the source of the Ethernet frame, which is not kept, and padding.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/l2/frame.h"

#define SOURCE_AT 6	 /* in the Ethernet frame */
#define SENDER_MAC_AT 22 /* in the ARP message */

static void check(bool fine)
{
	if (!fine)
		abort();
}

static void check_arp(struct str frame)
{
	static const uint8_t mac[L2_MAC] = { 2, 0, 0, 0, 0, 1 };
	uint8_t out[L2_ARP_FRAME];
	struct l2_arp a, answer, back;
	int r = l2_arp_decode(frame, &a);

	check(r == 0 || r == -EPROTO);
	if (r < 0)
		return;
	l2_arp_encode(&a, out);
	check(memcmp(out, frame.p, SOURCE_AT) == 0);
	check(memcmp(out + SOURCE_AT, frame.p + SENDER_MAC_AT, L2_MAC) == 0);
	check(memcmp(out + SOURCE_AT + L2_MAC, frame.p + SOURCE_AT + L2_MAC,
		     L2_ARP_FRAME - SOURCE_AT - L2_MAC) == 0);
	answer = l2_arp_answer(&a, mac);
	l2_arp_encode(&answer, out);
	check(l2_arp_decode((struct str){ (const char *)out, sizeof(out) }, &back) == 0);
	check(back.op == L2_ARP_REPLY && addr_cmp(&back.sender, &a.target) == 0);
}

static void check_solicitation(struct str message)
{
	struct l2_solicitation s;
	int r = l2_solicitation_decode(message, &s);

	check(r == 0 || r == -EPROTO);
	if (r == 0)
		check(s.target.family == AF_INET6 && s.target.bytes[0] != 0xff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	check_arp((struct str){ copy, size });
	check_solicitation((struct str){ copy, size });
	free(copy);
	return 0;
}
