/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/frame.h"

#include <errno.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>

#define OPTION_UNIT 8 /* bytes; options of neighbour messages have a length in this unit */

/* ---- ARP ---- */

struct arp_frame {
	uint8_t destination[L2_MAC], source[L2_MAC];
	uint16_t ethertype;
	uint16_t hardware, protocol;
	uint8_t hardware_len, protocol_len;
	uint16_t op;
	uint8_t sender_mac[L2_MAC], sender[4], target_mac[L2_MAC], target[4];
} __attribute__((packed));

_Static_assert(sizeof(struct arp_frame) == L2_ARP_FRAME, "as on the wire");

static struct addr ipv4(const uint8_t bytes[static 4])
{
	return (struct addr){ AF_INET, { bytes[0], bytes[1], bytes[2], bytes[3] } };
}

void l2_arp_encode(const struct l2_arp *a, uint8_t out[static L2_ARP_FRAME])
{
	struct arp_frame f = { .ethertype = htons(ETHERTYPE_ARP),
			       .hardware = htons(ARPHRD_ETHER),
			       .protocol = htons(ETHERTYPE_IP),
			       .hardware_len = L2_MAC,
			       .protocol_len = 4,
			       .op = htons((uint16_t)a->op) };

	memcpy(f.destination, a->destination, L2_MAC);
	memcpy(f.source, a->sender_mac, L2_MAC);
	memcpy(f.sender_mac, a->sender_mac, L2_MAC);
	memcpy(f.sender, a->sender.bytes, 4);
	memcpy(f.target_mac, a->target_mac, L2_MAC);
	memcpy(f.target, a->target.bytes, 4);
	memcpy(out, &f, sizeof(f));
}

int l2_arp_decode(struct str frame, struct l2_arp *ret)
{
	struct arp_frame f;
	uint16_t op;

	if (frame.n < sizeof(f)) /* longer ones are padded */
		return -EPROTO;
	memcpy(&f, frame.p, sizeof(f));
	op = ntohs(f.op);
	if (f.ethertype != htons(ETHERTYPE_ARP) || f.hardware != htons(ARPHRD_ETHER) ||
	    f.protocol != htons(ETHERTYPE_IP) || f.hardware_len != L2_MAC || f.protocol_len != 4 ||
	    (op != L2_ARP_REQUEST && op != L2_ARP_REPLY))
		return -EPROTO;
	*ret = (struct l2_arp){ .op = (enum l2_arp_op)op,
				.sender = ipv4(f.sender),
				.target = ipv4(f.target) };
	memcpy(ret->destination, f.destination, L2_MAC);
	memcpy(ret->sender_mac, f.sender_mac, L2_MAC);
	memcpy(ret->target_mac, f.target_mac, L2_MAC);
	return 0;
}

struct l2_arp l2_arp_gratuitous(enum l2_arp_op op, const uint8_t mac[static L2_MAC],
				const struct addr *vip)
{
	struct l2_arp a = { .op = op, .sender = *vip, .target = *vip };

	memset(a.destination, 0xff, L2_MAC);
	memcpy(a.sender_mac, mac, L2_MAC);
	if (op == L2_ARP_REPLY)
		memcpy(a.target_mac, mac, L2_MAC);
	return a;
}

struct l2_arp l2_arp_answer(const struct l2_arp *request, const uint8_t mac[static L2_MAC])
{
	struct l2_arp a = { .op = L2_ARP_REPLY,
			    .sender = request->target,
			    .target = request->sender };

	memcpy(a.destination, request->sender_mac, L2_MAC);
	memcpy(a.sender_mac, mac, L2_MAC);
	memcpy(a.target_mac, request->sender_mac, L2_MAC);
	return a;
}

/* ---- neighbour messages ---- */

static struct addr ipv6(const struct in6_addr *a)
{
	struct addr ret = { .family = AF_INET6 };

	memcpy(ret.bytes, a, sizeof(*a));
	return ret;
}

/* RFC 4861, section 4.3: options that are not known are skipped; one of length 0 is an error. */
static bool read_options(struct str rest, struct l2_solicitation *s)
{
	while (rest.n) {
		const uint8_t *option = (const uint8_t *)rest.p;
		size_t len = rest.n < 2 ? 0 : option[1] * (size_t)OPTION_UNIT;

		if (!len || len > rest.n)
			return false;
		s->has_mac |= option[0] == ND_OPT_SOURCE_LINKADDR;
		rest.p += len;
		rest.n -= len;
	}
	return true;
}

int l2_solicitation_decode(struct str message, struct l2_solicitation *ret)
{
	struct l2_solicitation s = { 0 };
	struct nd_neighbor_solicit head;

	if (message.n < sizeof(head))
		return -EPROTO;
	memcpy(&head, message.p, sizeof(head));
	if (head.nd_ns_type != ND_NEIGHBOR_SOLICIT || head.nd_ns_code != 0 ||
	    IN6_IS_ADDR_MULTICAST(&head.nd_ns_target))
		return -EPROTO;
	s.target = ipv6(&head.nd_ns_target);
	if (!read_options((struct str){ message.p + sizeof(head), message.n - sizeof(head) }, &s))
		return -EPROTO;
	*ret = s;
	return 0;
}

void l2_advertisement_encode(const struct l2_advertisement *a, uint8_t out[static L2_ADVERTISEMENT])
{
	struct nd_neighbor_advert head = { 0 };
	struct nd_opt_hdr option = { ND_OPT_TARGET_LINKADDR, 1 };

	head.nd_na_type = ND_NEIGHBOR_ADVERT;
	head.nd_na_flags_reserved =
		(a->solicited ? ND_NA_FLAG_SOLICITED : 0) | (a->override ? ND_NA_FLAG_OVERRIDE : 0);
	memcpy(&head.nd_na_target, a->target.bytes, sizeof(head.nd_na_target));
	memcpy(out, &head, sizeof(head));
	memcpy(out + sizeof(head), &option, sizeof(option));
	memcpy(out + sizeof(head) + sizeof(option), a->mac, L2_MAC);
}

struct addr l2_solicited_group(const struct addr *target)
{
	struct addr g = { AF_INET6, { 0xff, 2, [11] = 1, [12] = 0xff } };

	memcpy(g.bytes + 13, target->bytes + 13, 3);
	return g;
}
