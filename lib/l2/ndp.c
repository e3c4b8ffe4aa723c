/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ndp: the IPv6 half of the responder, over a raw ICMPv6 socket.
 *
 * The kernel adds the IPv6 header with a link-local source address and the checksum. Hop limit 255
 * is sent and required, so that no message has passed a router (RFC 4861, section 7.1).
 */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "lib/l2/internal.h"

#define HOPS 255
#define MESSAGE_MAX 256 /* longer solicitations have options that nobody sends */

static int set(int fd, int option, int value)
{
	return setsockopt(fd, IPPROTO_IPV6, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int set_up(const struct l2_responder *r, int fd)
{
	struct icmp6_filter filter;
	int error;

	ICMP6_FILTER_SETBLOCKALL(&filter);
	ICMP6_FILTER_SETPASS(ND_NEIGHBOR_SOLICIT, &filter);
	if (setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter)) < 0)
		return -errno;
	if ((error = l2_port_bind(fd, r->interface)) < 0 ||
	    (error = set(fd, IPV6_MULTICAST_HOPS, HOPS)) < 0 ||
	    (error = set(fd, IPV6_UNICAST_HOPS, HOPS)) < 0 ||
	    (error = set(fd, IPV6_MULTICAST_LOOP, 0)) < 0 ||
	    (error = set(fd, IPV6_MULTICAST_IF, (int)r->port.index)) < 0 ||
	    (error = set(fd, IPV6_RECVHOPLIMIT, 1)) < 0)
		return error;
	return 0;
}

int l2__ndp_open(struct l2_responder *r)
{
	_cleanup_(cleanup_fd) int fd = -1;
	bool entered;
	int error;

	fd = net_socket(r->ns, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6, &entered);
	if (fd < 0)
		return fd;
	error = set_up(r, fd);
	return error < 0 ? error : TAKE_FD(fd);
}

/* ---- groups ---- */

/* Whether another claim has the same last three bytes. */
static bool is_shared(const struct l2_responder *r, const struct addr *vip)
{
	struct addr group = l2_solicited_group(vip);

	for (size_t i = 0; i < r->claims.n; i++) {
		const struct addr *other = &r->claims.items[i].vip;
		struct addr its = l2_solicited_group(other);

		if (other->family == AF_INET6 && addr_cmp(other, vip) != 0 &&
		    addr_cmp(&its, &group) == 0)
			return true;
	}
	return false;
}

static int change_group(const struct l2_responder *r, const struct addr *vip, int option)
{
	const struct addr group = l2_solicited_group(vip);
	struct ipv6_mreq request = { .ipv6mr_interface = r->port.index };

	if (is_shared(r, vip))
		return 0;
	memcpy(&request.ipv6mr_multiaddr, group.bytes, sizeof(request.ipv6mr_multiaddr));
	return setsockopt(r->ndp.io.fd, IPPROTO_IPV6, option, &request, sizeof(request)) < 0
		       ? -errno
		       : 0;
}

int l2__ndp_join(struct l2_responder *r, const struct addr *vip)
{
	return change_group(r, vip, IPV6_JOIN_GROUP);
}

/* Fails only if the interface is gone, and the membership with it. */
void l2__ndp_leave(struct l2_responder *r, const struct addr *vip)
{
	change_group(r, vip, IPV6_LEAVE_GROUP);
}

/* ---- messages ---- */

static bool advertise(struct l2_responder *r, const struct l2_advertisement *a,
		      const struct in6_addr *to)
{
	const struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					      .sin6_addr = *to,
					      .sin6_scope_id = r->port.index };
	uint8_t message[L2_ADVERTISEMENT];

	l2_advertisement_encode(a, message);
	if (sendto(r->ndp.io.fd, message, sizeof(message), MSG_DONTWAIT,
		   (const struct sockaddr *)&address, sizeof(address)) == sizeof(message))
		return true;
	r->failed++;
	return false;
}

static const struct in6_addr all_nodes = { { { 0xff, 2, [15] = 1 } } };

void l2__ndp_announce(struct l2_responder *r, struct l2_claim *c)
{
	struct l2_advertisement a = { .target = c->vip, .override = true };

	memcpy(a.mac, r->port.mac, L2_MAC);
	if (advertise(r, &a, &all_nodes))
		c->announcements++;
}

/*
 * One without a source address is about to take the address for itself (RFC 4862); all nodes are
 * told, because it cannot receive anything else.
 */
static void answer(struct l2_responder *r, struct l2_claim *c, const struct in6_addr *from)
{
	bool is_probe = IN6_IS_ADDR_UNSPECIFIED(from);
	struct l2_advertisement a = { .target = c->vip,
				      .solicited = !is_probe,
				      .override = is_probe };

	memcpy(a.mac, r->port.mac, L2_MAC);
	c->requests++;
	if (advertise(r, &a, is_probe ? &all_nodes : from))
		c->answers++;
}

static bool has_hops(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		int hops;

		if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_HOPLIMIT ||
		    c->cmsg_len < CMSG_LEN(sizeof(hops)))
			continue;
		memcpy(&hops, CMSG_DATA(c), sizeof(hops));
		return hops == HOPS;
	}
	return false;
}

bool l2__ndp_receive(struct l2_responder *r)
{
	char bytes[MESSAGE_MAX];
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t))));
	struct sockaddr_in6 from;
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_name = &from,
				  .msg_namelen = sizeof(from),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(r->ndp.io.fd, &message, MSG_DONTWAIT);
	struct l2_solicitation s;
	struct l2_claim *c;

	if (n < 0)
		return false;
	if (!has_hops(&message) || (message.msg_flags & MSG_TRUNC) ||
	    l2_solicitation_decode((struct str){ bytes, (size_t)n }, &s) < 0)
		return true;
	c = l2__find(r, &s.target);
	/* one without a source address has no such option (RFC 4861, section 7.1.1) */
	if (c && !(s.has_mac && IN6_IS_ADDR_UNSPECIFIED(&from.sin6_addr)))
		answer(r, c, &from.sin6_addr);
	return true;
}
