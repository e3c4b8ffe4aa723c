/* SPDX-License-Identifier: Apache-2.0 */
/* arp: the IPv4 half of the responder, over a packet socket. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "lib/l2/internal.h"

#define FRAME_MAX 64 /* bytes that are read; the rest is padding */

/* Only requests for IPv4 on Ethernet are copied to the process. */
static struct sock_filter requests_only[] = {
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_ARP, 0, 5),
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 16),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, 3),
	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, L2_ARP_REQUEST, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, FRAME_MAX),
	BPF_STMT(BPF_RET | BPF_K, 0),
};

/* Protocol 0 receives nothing until the filter is there and bind() names the protocol. */
int l2__arp_open(struct l2_responder *r)
{
	const struct sock_fprog program = { ARRAY_SIZE(requests_only), requests_only };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE_ARP) };
	_cleanup_(cleanup_fd) int fd = -1;
	bool entered;
	int error;

	fd = net_socket(r->ns, AF_PACKET, SOCK_RAW, 0, &entered);
	if (fd < 0)
		return fd;
	error = l2_port_read(fd, r->interface, &r->port);
	if (error < 0)
		return error;
	at.sll_ifindex = (int)r->port.index;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static bool send_frame(struct l2_responder *r, const struct l2_arp *a)
{
	uint8_t frame[L2_ARP_FRAME];

	l2_arp_encode(a, frame);
	if (send(r->arp.io.fd, frame, sizeof(frame), MSG_DONTWAIT) == sizeof(frame))
		return true;
	r->failed++;
	return false;
}

/* Some neighbours believe only requests, others only replies. */
void l2__arp_announce(struct l2_responder *r, struct l2_claim *c)
{
	struct l2_arp request = l2_arp_gratuitous(L2_ARP_REQUEST, r->port.mac, &c->vip);
	struct l2_arp reply = l2_arp_gratuitous(L2_ARP_REPLY, r->port.mac, &c->vip);
	bool sent = send_frame(r, &request);

	if (send_frame(r, &reply) && sent)
		c->announcements++;
}

static bool is_for_us(const struct l2_responder *r, const uint8_t destination[static L2_MAC])
{
	static const uint8_t broadcast[L2_MAC] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	return memcmp(destination, broadcast, L2_MAC) == 0 ||
	       memcmp(destination, r->port.mac, L2_MAC) == 0;
}

bool l2__arp_receive(struct l2_responder *r)
{
	char frame[FRAME_MAX];
	ssize_t n = recv(r->arp.io.fd, frame, sizeof(frame), MSG_DONTWAIT);
	struct l2_claim *c;
	struct l2_arp a;

	if (n < 0)
		return false;
	if (l2_arp_decode((struct str){ frame, (size_t)n }, &a) < 0 || a.op != L2_ARP_REQUEST ||
	    !is_for_us(r, a.destination))
		return true;
	c = l2__find(r, &a.target);
	/* the announcement of another owner is not a question */
	if (!c || addr_cmp(&a.sender, &a.target) == 0)
		return true;
	c->requests++;
	a = l2_arp_answer(&a, r->port.mac);
	if (send_frame(r, &a))
		c->answers++;
	return true;
}
