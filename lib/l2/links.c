/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/links.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sorted.h"

#define CHUNK 32768 /* bytes; the kernel never sends more of a dump at once */
#define WANTED_FLAGS (IFF_UP | IFF_BROADCAST)
#define UNWANTED_FLAGS (IFF_NOARP | IFF_LOOPBACK)

static int ask(int fd)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg body;
	} request = { .head = { .nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_GETLINK,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .body = { .ifi_family = AF_UNSPEC } };

	return send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
}

static bool is_wanted(const struct ifinfomsg *info)
{
	return info->ifi_type == ARPHRD_ETHER && (info->ifi_flags & WANTED_FLAGS) == WANTED_FLAGS &&
	       !(info->ifi_flags & UNWANTED_FLAGS);
}

/* An interface with a master is part of another one, unless that is only a VRF's table. */
static void take(struct l2_links *links, struct nlmsghdr *head)
{
	struct ifinfomsg *info = NLMSG_DATA(head);
	size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof(*info));
	const char *name = NULL, *slave = "";
	size_t at;

	for (struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == IFLA_IFNAME && RTA_PAYLOAD(a) <= L2_LINK_NAME)
			name = RTA_DATA(a);
		if (a->rta_type == IFLA_MASTER && !*slave)
			slave = "other";
		if (a->rta_type == IFLA_LINKINFO) {
			size_t rest = RTA_PAYLOAD(a);

			for (struct rtattr *b = RTA_DATA(a); RTA_OK(b, rest); b = RTA_NEXT(b, rest))
				if (b->rta_type == IFLA_INFO_SLAVE_KIND)
					slave = RTA_DATA(b);
		}
	}
	if (!name || !is_wanted(info) || (*slave && strcmp(slave, "vrf") != 0))
		return;
	at = sorted_place(links->list.n, i, strcmp(links->list.items[i].name, name) < 0);
	vec_insert_at(&links->list, at);
	links->list.items[at] = (struct l2_link){ .index = (unsigned)info->ifi_index };
	memcpy(links->list.items[at].name, name, strlen(name) + 1);
}

/* 1 at the end of the dump, 0 if there is more, or a negative errno. */
static int read_chunk(int fd, struct l2_links *links, char *chunk)
{
	ssize_t n = recv(fd, chunk, CHUNK, 0);
	size_t left = n < 0 ? 0 : (size_t)n;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (struct nlmsghdr *head = (void *)chunk; NLMSG_OK(head, left);
	     head = NLMSG_NEXT(head, left)) {
		if (head->nlmsg_type == NLMSG_DONE)
			return 1;
		if (head->nlmsg_type == NLMSG_ERROR)
			return ((struct nlmsgerr *)NLMSG_DATA(head))->error;
		if (head->nlmsg_type == RTM_NEWLINK && links->list.n < L2_LINKS_MAX)
			take(links, head);
	}
	return 0;
}

int l2_links_read(struct l2_links *links, struct net_ns *ns)
{
	_cleanup_(cleanup_free) char *chunk = mem_alloc(CHUNK);
	bool entered;
	int fd = net_socket(ns, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, &entered);
	int r = fd < 0 ? fd : ask(fd);

	links->list.n = 0;
	while (r == 0)
		r = read_chunk(fd, links, chunk);
	if (fd >= 0)
		close(fd);
	if (r < 0)
		links->list.n = 0;
	return r < 0 ? r : 0;
}

const struct l2_link *l2_links_find(const struct l2_links *links, const char *name)
{
	size_t at = sorted_place(links->list.n, i, strcmp(links->list.items[i].name, name) < 0);
	bool found = at < links->list.n && strcmp(links->list.items[at].name, name) == 0;

	return found ? &links->list.items[at] : NULL;
}

void l2_links_free(struct l2_links *links)
{
	vec_free(&links->list);
}
