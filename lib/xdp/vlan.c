/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vlan: lists VLAN devices over rtnetlink, in one dump on a socket that lives for one call. The
 * kernel answers within the calls, so nothing waits. The request asks for VLANs only; a kernel
 * without that filter sends all devices, and others are left out here.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "lib/xdp/internal.h"
#include "lib/xdp/xdp.h"

static const char kind[] = "vlan";

/*
 * Attributes of one nesting level, by type; also used for IFLA_INFO_* and IFLA_VLAN_*, which are
 * fewer.
 */
struct attributes {
	struct rtattr *at[IFLA_MAX + 1];
};

/* Sorts attributes by type. Unknown types are ignored; of duplicates the last one counts. */
static void spread(struct rtattr *first, size_t size, struct attributes *ret)
{
	int left = (int)size;

	*ret = (struct attributes){ 0 };
	for (struct rtattr *a = first; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		unsigned type = a->rta_type & NLA_TYPE_MASK;

		if (type <= IFLA_MAX)
			ret->at[type] = a;
	}
}

static void spread_nested(struct rtattr *nest, struct attributes *ret)
{
	spread(RTA_DATA(nest), RTA_PAYLOAD(nest), ret);
}

static bool holds(struct rtattr *a, size_t size)
{
	return a && RTA_PAYLOAD(a) >= size;
}

/* The kind is accepted with or without its terminating NUL. */
static bool is_vlan(struct rtattr *word)
{
	return holds(word, sizeof(kind) - 1) &&
	       memcmp(RTA_DATA(word), kind, sizeof(kind) - 1) == 0 &&
	       (RTA_PAYLOAD(word) == sizeof(kind) - 1 ||
		((const char *)RTA_DATA(word))[sizeof(kind) - 1] == 0);
}

/*
 * IFLA_LINK is the device below; IFLA_LINKINFO nests the kind and, under IFLA_INFO_DATA, id and
 * protocol.
 */
bool xdp__read_vlan(struct nlmsghdr *m, struct xdp_vlan *ret)
{
	struct attributes link, info, data;
	struct ifinfomsg *body = NLMSG_DATA(m);

	if (m->nlmsg_type != RTM_NEWLINK || m->nlmsg_len < NLMSG_LENGTH(sizeof(*body)))
		return false;
	spread(IFLA_RTA(body), IFLA_PAYLOAD(m), &link);
	/* the index of a device in another namespace means nothing here */
	if (!holds(link.at[IFLA_LINK], 4) || link.at[IFLA_LINK_NETNSID] || !link.at[IFLA_LINKINFO])
		return false;
	spread_nested(link.at[IFLA_LINKINFO], &info);
	if (!is_vlan(info.at[IFLA_INFO_KIND]) || !info.at[IFLA_INFO_DATA])
		return false;
	spread_nested(info.at[IFLA_INFO_DATA], &data);
	if (!holds(data.at[IFLA_VLAN_ID], 2) || !holds(data.at[IFLA_VLAN_PROTOCOL], 2))
		return false;
	ret->ifindex = (unsigned)body->ifi_index;
	memcpy(&ret->below, RTA_DATA(link.at[IFLA_LINK]), 4);
	memcpy(&ret->id, RTA_DATA(data.at[IFLA_VLAN_ID]), 2);
	memcpy(&ret->tag_type, RTA_DATA(data.at[IFLA_VLAN_PROTOCOL]), 2);
	return true;
}

/* A dump filtered by IFLA_INFO_KIND. The text is padded to the alignment of attributes, 4 bytes. */
static int ask(int fd)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg body;
		struct rtattr info, word;
		char text[8];
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = RTM_GETLINK,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.info = { .rta_len = RTA_LENGTH(RTA_LENGTH(sizeof(request.text))),
			  .rta_type = IFLA_LINKINFO },
		.word = { .rta_len = RTA_LENGTH(sizeof(kind)), .rta_type = IFLA_INFO_KIND },
	};

	memcpy(request.text, kind, sizeof(kind));
	return send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
}

/* Reads one datagram of the answer. 0: there is more; 1: the dump is complete. */
static int take(int fd, xdp_vlan_fn found, void *user)
{
	union {
		struct nlmsghdr header;
		char bytes[32768];
	} answer;
	ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	struct xdp_vlan vlan;

	if (n < 0)
		return -errno;
	for (struct nlmsghdr *m = &answer.header; NLMSG_OK(m, n); m = NLMSG_NEXT(m, n)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		if (xdp__read_vlan(m, &vlan))
			found(&vlan, user);
	}
	return 0;
}

int xdp_vlans(xdp_vlan_fn found, void *user)
{
	_cleanup_(cleanup_fd) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int r = fd < 0 ? -errno : ask(fd);

	while (r == 0)
		r = take(fd, found, user);
	return r < 0 ? r : 0;
}
