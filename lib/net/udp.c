/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udp: sockets and batches.
 *
 * A batch has the arrays that recvmmsg() wants, filled in once, and the memory of all messages. The
 * places of messages are not a power of two apart: their first lines would share the same few
 * lines of the cache.
 *
 * A socket without an address that serves both families has IPv4 ends as ::ffff:a.b.c.d, also in
 * IPV6_PKTINFO, in both directions. So one form of control message is enough for a socket.
 *
 * Joined datagrams are tried first. The kernel refuses them if a segment does not fit the MTU of
 * the route, or if the device cannot do checksums; then they are sent one by one, and the kernel
 * makes fragments of what is too long.
 */
#include "lib/net/udp.h"

#include <assert.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define STRIDE (UDP_MAX + 1 + 320) /* from a message to the next one */
#define CONTROL 128
#define JOIN_BYTES 65000 /* in one piece; the kernel allows 65507 */
#define JOIN_MAX 1452	 /* larger ones do not fit an Ethernet frame, and are not joined */
#define JOIN_COUNT 64	 /* UDP_MAX_SEGMENTS of older kernels */

/* ---- the two ends ---- */

struct endpoint udp_peer(const struct udp_path *p)
{
	struct endpoint e = { 0 };

	endpoint_from_sockaddr(&p->peer.any, &e);
	return e;
}

static bool is_mapped(const struct in6_addr *a)
{
	return IN6_IS_ADDR_V4MAPPED(a);
}

static bool has_local(const struct udp_path *p)
{
	return !IN6_IS_ADDR_UNSPECIFIED(&p->local);
}

struct addr udp_local(const struct udp_path *p)
{
	struct addr a = { 0 };

	if (!has_local(p))
		return a;
	a.family = is_mapped(&p->local) ? AF_INET : AF_INET6;
	if (a.family == AF_INET)
		memcpy(a.bytes, &p->local.s6_addr[12], 4);
	else
		memcpy(a.bytes, &p->local, 16);
	return a;
}

/* The address as IPv6 has it. */
static struct in6_addr mapped(const uint8_t v4[static 4])
{
	struct in6_addr a = { 0 };

	a.s6_addr[10] = a.s6_addr[11] = 0xff;
	memcpy(&a.s6_addr[12], v4, 4);
	return a;
}

static struct in6_addr as_v6(const struct addr *a)
{
	struct in6_addr r;

	if (a->family == AF_INET)
		return mapped(a->bytes);
	memcpy(&r, a->bytes, sizeof(r));
	return r;
}

int udp_path_make(int family, const struct endpoint *peer, const struct addr *local, uint32_t iface,
		  struct udp_path *ret)
{
	struct udp_path p = { .iface = iface };
	bool known = addr_is_set(local);

	if (!addr_is_set(&peer->addr) || (known && local->family != peer->addr.family) ||
	    (family == AF_INET && peer->addr.family != AF_INET))
		return -EINVAL;
	if (family == AF_INET) {
		p.peer.v4.sin_family = AF_INET;
		p.peer.v4.sin_port = htons(peer->port);
		memcpy(&p.peer.v4.sin_addr, peer->addr.bytes, 4);
	} else {
		p.peer.v6.sin6_family = AF_INET6;
		p.peer.v6.sin6_port = htons(peer->port);
		p.peer.v6.sin6_addr = as_v6(&peer->addr);
		p.peer.v6.sin6_scope_id = iface;
	}
	if (known)
		p.local = as_v6(local);
	*ret = p;
	return 0;
}

/* ---- sockets ---- */

static int new_socket(int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static void set_option(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

void udp_join(int fd, unsigned received)
{
	set_option(fd, SOL_UDP, UDP_GRO, 1);
	if (received)
		set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)received);
}

/* 0 or a negative errno. */
static int bind_to(int fd, const struct endpoint *e)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(e, &sa);

	return bind(fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
}

static int bound_at(int fd, struct endpoint *ret)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -errno;
	return endpoint_from_sockaddr((struct sockaddr *)&sa, ret);
}

static void prepare(int fd, int family, const struct udp_config *c)
{
	if (family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, addr_is_set(&c->at.addr));
	udp_join(fd, c->received);
}

/* An answer must come from the address that was asked. */
static void tell_local(int fd, int family)
{
	if (family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	else
		set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

static bool is_any(const struct addr *a)
{
	static const uint8_t zeros[16];

	return memcmp(a->bytes, zeros, sizeof(zeros)) == 0;
}

static int family_of(const struct endpoint *e)
{
	return e->addr.family == AF_INET ? AF_INET : AF_INET6;
}

/*
 * The first socket of any free port is bound without SO_REUSEPORT: with it the kernel could choose
 * a port that other sockets of this user share.
 */
static int open_at(const struct udp_config *c, struct endpoint *ret_at)
{
	int family = family_of(&c->at), r;
	_cleanup_(cleanup_fd) int fd = new_socket(family);

	if (fd < 0)
		return fd;
	prepare(fd, family, c);
	if (is_any(&c->at.addr))
		tell_local(fd, family);
	if (c->reuse_port && c->at.port)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	r = bind_to(fd, &c->at);
	if (r == 0)
		r = bound_at(fd, ret_at);
	if (r < 0)
		return r;
	if (c->reuse_port)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	return TAKE_FD(fd);
}

int udp_open(const struct udp_config *config, struct endpoint *ret_at)
{
	struct udp_config c = *config;
	struct endpoint bound = { 0 };
	int fd = open_at(&c, &bound);

	if (fd == -EAFNOSUPPORT && !addr_is_set(&c.at.addr)) {
		c.at.addr.family = AF_INET;
		fd = open_at(&c, &bound);
	}
	if (fd >= 0)
		*ret_at = (struct endpoint){ config->at.addr, bound.port };
	return fd;
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t n = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &n) < 0 ? -1 : value;
}

int udp_inspect(int fd, struct endpoint *ret_at)
{
	struct endpoint at = { 0 };

	if (option_of(fd, SO_TYPE) != SOCK_DGRAM || option_of(fd, SO_PROTOCOL) != IPPROTO_UDP ||
	    bound_at(fd, &at) < 0 || !at.port)
		return -EINVAL;
	if (is_any(&at.addr))
		at.addr = (struct addr){ 0 };
	*ret_at = at;
	return 0;
}

int udp_connect(const struct endpoint *to)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_to_sockaddr(to, &sa);
	_cleanup_(cleanup_fd) int fd = new_socket(sa.ss_family);

	assert(addr_is_set(&to->addr));
	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&sa, len) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int udp_family(int fd)
{
	return option_of(fd, SO_DOMAIN);
}

uint32_t udp_dropped(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t n = sizeof(info);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &n) < 0 ? 0 : info[SK_MEMINFO_DROPS];
}

/* ---- batches ---- */

union control {
	struct cmsghdr align;
	char space[CONTROL];
};

struct udp_batch {
	struct mmsghdr headers[UDP_BATCH];
	struct iovec places[UDP_BATCH];
	union control controls[UDP_BATCH];
	struct udp_message messages[UDP_BATCH];
	char *memory;
};

struct udp_batch *udp_batch_new(void)
{
	struct udp_batch *b = mem_zalloc(sizeof(*b));

	b->memory =
		mem_alloc((size_t)UDP_BATCH * STRIDE); /* pages that are not used cost nothing */
	for (size_t i = 0; i < UDP_BATCH; i++) {
		struct msghdr *h = &b->headers[i].msg_hdr;

		b->places[i] = (struct iovec){ b->memory + i * STRIDE, UDP_MAX };
		b->messages[i].bytes = b->places[i].iov_base;
		h->msg_iov = &b->places[i];
		h->msg_iovlen = 1;
		h->msg_name = &b->messages[i].path.peer;
		h->msg_control = b->controls[i].space;
	}
	return b;
}

void udp_batch_free(struct udp_batch *b)
{
	if (!b)
		return;
	free(b->memory);
	free(b);
}

struct udp_message *udp_message(struct udp_batch *b, size_t i)
{
	assert(i < UDP_BATCH);
	return &b->messages[i];
}

/* ---- receiving ---- */

static bool is_link_local(const struct udp_path *p)
{
	return p->peer.any.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&p->peer.v6.sin6_addr);
}

/* ipi_spec_dst is where an answer has to come from, also if the datagram was sent to many. */
static void take_v4(const struct cmsghdr *c, struct udp_path *p)
{
	struct in_pktinfo info;

	memcpy(&info, CMSG_DATA(c), sizeof(info));
	p->local = mapped((const uint8_t *)&info.ipi_spec_dst);
}

/* A group address is not one that an answer can come from. */
static void take_v6(const struct cmsghdr *c, struct udp_path *p)
{
	struct in6_pktinfo info;

	memcpy(&info, CMSG_DATA(c), sizeof(info));
	if (!IN6_IS_ADDR_MULTICAST(&info.ipi6_addr))
		p->local = info.ipi6_addr;
	if (is_link_local(p))
		p->iface = info.ipi6_ifindex;
}

static void take_control(struct msghdr *h, struct udp_message *m)
{
	int segment;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
			take_v4(c, &m->path);
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
			take_v6(c, &m->path);
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			memcpy(&segment, CMSG_DATA(c), sizeof(segment));
			m->segment = (uint16_t)segment;
		}
	}
}

static void take(struct mmsghdr *from, struct udp_message *m)
{
	m->n = from->msg_len;
	m->segment = 0;
	m->truncated = from->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	if (from->msg_hdr.msg_controllen)
		take_control(&from->msg_hdr, m);
	if (m->segment >= m->n)
		m->segment = 0;
}

ssize_t udp_receive(struct udp_batch *b, int fd, size_t first, size_t most)
{
	int n;

	assert(most && first + most <= UDP_BATCH);
	for (size_t i = first; i < first + most; i++) {
		struct msghdr *h = &b->headers[i].msg_hdr;

		memset(&b->messages[i].path, 0, sizeof(b->messages[i].path));
		h->msg_namelen = sizeof(b->messages[i].path.peer);
		h->msg_controllen = CONTROL;
	}
	n = recvmmsg(fd, b->headers + first, (unsigned)most, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++)
		take(&b->headers[first + (size_t)i], &b->messages[first + (size_t)i]);
	return n;
}

ssize_t udp_receive_one(struct udp_batch *b, int fd, size_t at)
{
	struct udp_message *m = &b->messages[at];
	ssize_t n;

	assert(at < UDP_BATCH);
	n = recv(fd, m->bytes, UDP_MAX, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return -errno;
	memset(&m->path, 0, sizeof(m->path));
	m->segment = 0;
	m->truncated = n > UDP_MAX;
	m->n = m->truncated ? UDP_MAX : (size_t)n;
	return 1;
}

/* ---- sending ---- */

/* What is being sent: a message of the kernel for one or more outgoing ones. */
struct parcel {
	struct mmsghdr headers[UDP_BATCH];
	struct iovec places[UDP_BATCH];
	union control controls[UDP_BATCH];
	size_t members[UDP_BATCH]; /* outgoing ones of each */
	size_t n;
};

static struct cmsghdr *next_control(struct msghdr *h, union control *space, size_t size)
{
	struct cmsghdr *c = (void *)(space->space + h->msg_controllen);

	h->msg_control = space->space;
	h->msg_controllen += CMSG_SPACE(size);
	c->cmsg_len = CMSG_LEN(size);
	return c;
}

static void put_local(struct msghdr *h, union control *space, const struct udp_path *p)
{
	struct in_pktinfo v4 = { 0 };
	struct in6_pktinfo v6 = { .ipi6_addr = p->local, .ipi6_ifindex = p->iface };
	struct cmsghdr *c;

	if (p->peer.any.sa_family == AF_INET) {
		memcpy(&v4.ipi_spec_dst, &p->local.s6_addr[12], 4);
		c = next_control(h, space, sizeof(v4));
		c->cmsg_level = IPPROTO_IP;
		c->cmsg_type = IP_PKTINFO;
		memcpy(CMSG_DATA(c), &v4, sizeof(v4));
	} else {
		c = next_control(h, space, sizeof(v6));
		c->cmsg_level = IPPROTO_IPV6;
		c->cmsg_type = IPV6_PKTINFO;
		memcpy(CMSG_DATA(c), &v6, sizeof(v6));
	}
}

static void put_segment(struct msghdr *h, union control *space, uint16_t segment)
{
	struct cmsghdr *c = next_control(h, space, sizeof(segment));

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	memcpy(CMSG_DATA(c), &segment, sizeof(segment));
}

static void put_path(struct msghdr *h, union control *space, const struct udp_path *p)
{
	if (!p)
		return;
	h->msg_name = (void *)(uintptr_t)&p->peer;
	h->msg_namelen = p->peer.any.sa_family == AF_INET ? sizeof(p->peer.v4) : sizeof(p->peer.v6);
	if (has_local(p))
		put_local(h, space, p);
}

/* The size of the segments, if the message can be joined with others. 0: it cannot. */
static size_t segment_of(const struct udp_outgoing *o)
{
	size_t n = o->segment ? o->segment : o->n;

	return n <= JOIN_MAX ? n : 0;
}

/* A last part that is shorter than the others ends a piece. */
static bool is_whole(const struct udp_outgoing *o, size_t segment)
{
	return o->n % segment == 0;
}

/* How many outgoing ones from the first on go in one piece. */
static size_t count_joined(const struct udp_outgoing *list, size_t n)
{
	size_t segment = segment_of(&list[0]), bytes = list[0].n, k = 1;

	if (!segment)
		return 1;
	while (k < n && list[k].to == list[0].to && is_whole(&list[k - 1], segment) && list[k].n &&
	       (list[k].n == segment || (list[k].segment == segment) ||
		(!list[k].segment && list[k].n < segment)) &&
	       bytes + list[k].n <= JOIN_BYTES &&
	       (bytes + list[k].n + segment - 1) / segment <= JOIN_COUNT)
		bytes += list[k++].n;
	return k;
}

/* Adds one piece for the first outgoing ones, `joined` of them, whose bytes are at `place`. */
static void add(struct parcel *p, const struct udp_outgoing *list, size_t joined,
		struct iovec *place)
{
	struct msghdr *h = &p->headers[p->n].msg_hdr;
	uint16_t segment = list[0].segment;

	if (joined > 1)
		segment = (uint16_t)segment_of(&list[0]);
	*h = (struct msghdr){ .msg_iov = place, .msg_iovlen = joined };
	for (size_t i = 0; i < joined; i++)
		place[i] = (struct iovec){ (void *)(uintptr_t)list[i].bytes, list[i].n };
	put_path(h, &p->controls[p->n], list[0].to);
	if (segment)
		put_segment(h, &p->controls[p->n], segment);
	p->members[p->n++] = joined;
}

static bool is_joined(const struct parcel *p, size_t i, const struct udp_outgoing *first)
{
	return p->members[i] > 1 || first->segment;
}

/* One datagram after the other. 0, or the negative errno of the first that failed. */
static int send_apart(int fd, const struct udp_outgoing *o)
{
	size_t size = o->segment ? o->segment : o->n, at = 0;

	do {
		struct iovec bytes = { (void *)(uintptr_t)(o->bytes + at), o->n - at };
		struct msghdr h = { .msg_iov = &bytes, .msg_iovlen = 1 };
		union control space = { 0 };

		bytes.iov_len = bytes.iov_len < size ? bytes.iov_len : size;
		put_path(&h, &space, o->to);
		if (sendmsg(fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return -errno;
		at += size;
	} while (at < o->n);
	return 0;
}

/* A piece that the kernel has refused. Returns how many of its members were sent. */
static size_t send_members(int fd, const struct udp_outgoing *list, size_t n, int *ret_error)
{
	for (size_t i = 0; i < n; i++) {
		int r = send_apart(fd, &list[i]);

		if (r < 0) {
			*ret_error = r;
			return i;
		}
	}
	return n;
}

/* Errors that say that the kernel does not split here, and not that the peer is unreachable. */
static bool is_refusal(int error)
{
	return error == EIO || error == EINVAL || error == EMSGSIZE || error == EOPNOTSUPP;
}

/* Sends the pieces. Returns how many outgoing ones were sent. */
static size_t deliver(int fd, struct parcel *p, const struct udp_outgoing *list, int *ret_error)
{
	size_t sent = 0, done = 0;

	while (done < p->n) {
		int r = sendmmsg(fd, p->headers + done, (unsigned)(p->n - done),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		int error = errno;
		size_t members = p->members[done], n;

		for (int i = 0; i < r; i++)
			sent += p->members[done++];
		if (r > 0)
			continue;
		if (!is_joined(p, done, &list[sent]) || !is_refusal(error)) {
			*ret_error = -error;
			return sent;
		}
		n = send_members(fd, list + sent, members, ret_error);
		sent += n;
		if (n < members)
			return sent;
		done++;
	}
	return sent;
}

/* Without the headers of the others: the most frequent case. */
static size_t send_one(int fd, const struct udp_outgoing *o, int *ret_error)
{
	if (send(fd, o->bytes, o->n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 1;
	*ret_error = -errno;
	return 0;
}

size_t udp_send(int fd, const struct udp_outgoing *list, size_t n, int *ret_error)
{
	struct parcel p;

	assert(n <= UDP_BATCH);
	if (n == 1 && !list->to && !list->segment)
		return send_one(fd, list, ret_error);
	p.n = 0;
	for (size_t i = 0; i < n;) {
		size_t joined = count_joined(list + i, n - i);

		add(&p, list + i, joined, p.places + i);
		i += joined;
	}
	return deliver(fd, &p, list, ret_error);
}
