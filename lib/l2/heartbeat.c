/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/l2/heartbeat.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TTL 255
#define LOOK_MAX 256 /* datagrams; more than arrive while a member may be silent */

/* What differs between the families. */
struct family {
	uint8_t family;
	struct addr group;
	int level;
	int hops, loop_back, out_interface, receive_ttl, ttl_message;
};

static const struct family families[] = {
	{ AF_INET,
	  { AF_INET, { 224, 0, 0, 254 } },
	  IPPROTO_IP,
	  IP_MULTICAST_TTL,
	  IP_MULTICAST_LOOP,
	  IP_MULTICAST_IF,
	  IP_RECVTTL,
	  IP_TTL },
	{ AF_INET6,
	  { AF_INET6, { 0xff, 2, [14] = 1, [15] = 0x14 } },
	  IPPROTO_IPV6,
	  IPV6_MULTICAST_HOPS,
	  IPV6_MULTICAST_LOOP,
	  IPV6_MULTICAST_IF,
	  IPV6_RECVHOPLIMIT,
	  IPV6_HOPLIMIT },
};

static const struct family *family_of(const struct l2_heartbeat *h)
{
	return &families[h->config.family == AF_INET6];
}

static socklen_t group_address(const struct l2_heartbeat *h, struct sockaddr_storage *ret)
{
	const struct endpoint e = { family_of(h)->group, h->config.port };
	socklen_t len = endpoint_to_sockaddr(&e, ret);

	if (h->config.family == AF_INET6)
		((struct sockaddr_in6 *)ret)->sin6_scope_id = h->port.index;
	return len;
}

/* ---- what arrives ---- */

static void refuse(struct l2_heartbeat *h, enum l2_refusal why, const char *who)
{
	h->stats.refused[why]++;
	if (h->events->refused)
		h->events->refused(why, who, h->user);
}

static enum l2_refusal refusal_of(int error)
{
	switch (error) {
	case -EPROTONOSUPPORT:
		return L2_REFUSED_VERSION;
	case -EKEYREJECTED:
		return L2_REFUSED_SIGNATURE;
	default:
		return L2_REFUSED_FORMAT;
	}
}

/* A heartbeat of this very process may come back through a loop in the network. */
static void on_beat(struct l2_heartbeat *h, const struct l2_beat *b)
{
	if (b->group != h->config.group) {
		refuse(h, L2_REFUSED_GROUP, b->name);
		return;
	}
	if (strcmp(b->name, h->config.name) == 0) {
		refuse(h, b->boot == h->config.boot ? L2_REFUSED_REPLAY : L2_REFUSED_NAME, b->name);
		return;
	}
	if (!l2_beat_is_fresh(&h->guard, b)) {
		refuse(h, L2_REFUSED_REPLAY, b->name);
		return;
	}
	h->stats.received++;
	h->events->heard(b, h->user);
}

static bool has_ttl(const struct family *f, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		int ttl;

		if (c->cmsg_level != f->level || c->cmsg_type != f->ttl_message ||
		    c->cmsg_len < CMSG_LEN(sizeof(ttl)))
			continue;
		memcpy(&ttl, CMSG_DATA(c), sizeof(ttl));
		return ttl == TTL;
	}
	return false;
}

/* Reads one datagram; false if there was none, or if the callback has closed the socket. */
static bool take_one(struct l2_heartbeat *h)
{
	char bytes[L2_BEAT_MAX + 1];
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t))));
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(h->io.fd, &message, MSG_DONTWAIT);
	struct l2_beat b;
	int r;

	if (n < 0)
		return false; /* nothing there, or an error that was reported once */
	if (!has_ttl(family_of(h), &message)) {
		refuse(h, L2_REFUSED_TTL, NULL);
		return h->io.fd >= 0;
	}
	r = l2_beat_decode((struct str){ bytes, (size_t)n }, h->config.key, &b);
	if (r < 0)
		refuse(h, refusal_of(r), NULL);
	else
		on_beat(h, &b);
	return h->io.fd >= 0;
}

static bool on_step(struct task *t)
{
	return take_one(container_of(t, struct l2_heartbeat, task));
}

void l2_heartbeat_look(struct l2_heartbeat *h)
{
	for (int i = 0; i < LOOK_MAX && h->io.fd >= 0 && take_one(h); i++)
		;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	task_wake(&container_of(w, struct l2_heartbeat, io)->task);
}

/* ---- the socket ---- */

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int choose_interface(int fd, const struct family *f, unsigned index)
{
	const struct ip_mreqn four = { .imr_ifindex = (int)index };

	if (f->family == AF_INET6)
		return set(fd, f->level, f->out_interface, (int)index);
	return setsockopt(fd, f->level, f->out_interface, &four, sizeof(four)) < 0 ? -errno : 0;
}

static int join(int fd, const struct family *f, unsigned index)
{
	const struct endpoint e = { f->group, 0 };
	struct group_req request = { .gr_interface = index };

	endpoint_to_sockaddr(&e, &request.gr_group);
	return setsockopt(fd, f->level, MCAST_JOIN_GROUP, &request, sizeof(request)) < 0 ? -errno
											 : 0;
}

/* Bound to the group, so that nothing sent to another address arrives. */
static int set_up(struct l2_heartbeat *h, int fd)
{
	const struct family *f = family_of(h);
	struct sockaddr_storage group;
	int r;

	if ((r = l2_port_read(fd, h->config.interface, &h->port)) < 0 ||
	    (r = l2_port_bind(fd, h->config.interface)) < 0 ||
	    (r = set(fd, SOL_SOCKET, SO_REUSEADDR, 1)) < 0 ||
	    (r = set(fd, f->level, f->hops, TTL)) < 0 ||
	    (r = set(fd, f->level, f->loop_back, 0)) < 0 ||
	    (r = set(fd, f->level, f->receive_ttl, 1)) < 0 ||
	    (r = choose_interface(fd, f, h->port.index)) < 0 ||
	    (r = join(fd, f, h->port.index)) < 0)
		return r;
	return bind(fd, (struct sockaddr *)&group, group_address(h, &group)) < 0 ? -errno : 0;
}

int l2_heartbeat_open(struct l2_heartbeat *h, struct ev_loop *loop,
		      const struct l2_heartbeat_config *config,
		      const struct l2_heartbeat_events *events, void *user)
{
	_cleanup_(cleanup_fd) int fd = -1;
	bool entered;
	int r;

	assert(config->family == AF_INET || config->family == AF_INET6);
	assert(strlen(config->name) <= L2_BEAT_NAME);
	*h = (struct l2_heartbeat){ .config = *config, .events = events, .user = user };
	/* greater than any before, also if it was open before: one heartbeat takes more than 1 ns */
	h->sequence = (uint64_t)loop_monotonic();
	ev_io_init(&h->io, on_readable, -1, EV_READ);
	task_init(&h->task, loop, TASK_URGENT, on_step);
	fd = net_socket(config->ns, config->family, SOCK_DGRAM, 0, &entered);
	if (fd < 0)
		return fd;
	r = set_up(h, fd);
	if (r < 0)
		return r;
	ev_io_set(&h->io, TAKE_FD(fd), EV_READ);
	ev_io_start(loop, &h->io);
	return 0;
}

void l2_heartbeat_close(struct l2_heartbeat *h)
{
	if (h->io.fd < 0)
		return;
	ev_io_stop(task_loop(&h->task), &h->io);
	task_cancel(&h->task);
	close(h->io.fd);
	ev_io_set(&h->io, -1, EV_READ);
}

static int send_one(struct l2_heartbeat *h, const struct l2_beat *b)
{
	struct sockaddr_storage to;
	socklen_t len = group_address(h, &to);
	uint8_t bytes[L2_BEAT_MAX];
	size_t n = l2_beat_encode(b, h->config.key, bytes);

	if (sendto(h->io.fd, bytes, n, MSG_DONTWAIT, (struct sockaddr *)&to, len) < 0) {
		h->stats.failed++;
		return -errno;
	}
	h->stats.sent++;
	return 0;
}

int l2_heartbeat_send(struct l2_heartbeat *h, const struct l2_beat_vip *vips, size_t n,
		      uint32_t wait_ms)
{
	struct l2_beat b = { .group = h->config.group, .wait_ms = wait_ms, .boot = h->config.boot };
	size_t done = 0;
	int r = 0;

	assert(h->io.fd >= 0);
	memcpy(b.name, h->config.name, strlen(h->config.name));
	do {
		int one;

		b.n = n - done < L2_BEAT_VIPS ? n - done : L2_BEAT_VIPS;
		b.sequence = ++h->sequence;
		if (b.n)
			memcpy(b.vips, vips + done, b.n * sizeof(*vips));
		one = send_one(h, &b);
		r = one < 0 ? one : r;
		done += b.n;
	} while (done < n);
	return r;
}

const char *l2_refusal_name(enum l2_refusal r)
{
	static const char *const names[L2_REFUSALS] = {
		[L2_REFUSED_TTL] = "ttl",	  [L2_REFUSED_FORMAT] = "format",
		[L2_REFUSED_VERSION] = "version", [L2_REFUSED_SIGNATURE] = "signature",
		[L2_REFUSED_GROUP] = "group",	  [L2_REFUSED_NAME] = "name",
		[L2_REFUSED_REPLAY] = "replay",
	};

	return names[r];
}
