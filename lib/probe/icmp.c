/* SPDX-License-Identifier: Apache-2.0 */
/*
 * icmp: sends echo requests and receives echo replies and ICMP errors.
 *
 * The environment has one raw socket per address family, opened in its namespace when first needed.
 * If the path names another namespace by now, or the socket has failed, the next question opens it
 * again. A raw socket receives the ICMP packets of all programs on the machine. A kernel filter
 * passes only the types used here, and a reply is accepted only if the identifier (random per
 * environment), the sequence number, the random cookie in the payload and the sender's address all
 * match. The sequence number is the index into the table of questions in flight. ICMP errors quote
 * our packet; they are accepted if the quote matches a question, cookie included. RFC 792 permits a
 * quote that ends before the cookie. Anyone who guesses identifier and sequence number can forge
 * such an error, so it is ignored, and the probe times out if no reply comes.
 *
 * Packets are received in batches, one per step of an urgent task.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/probe/internal.h"

#define ECHOES_FIRST 64		 /* initial size of the table; a power of two */
#define BATCHES_PER_LOOK 8	 /* received before a question times out */
#define PACKET_MAX 192		 /* more than two IPv4 headers with options and two of ICMP */
#define RECEIVE_BUFFER (1 << 20) /* bytes; thousands of replies may arrive in one turn */

#define ICMP_FILTER 1 /* <linux/icmp.h>, which clashes with <netinet/ip_icmp.h> */

struct probe__batch {
	struct mmsghdr messages[PROBE_ECHO_BATCH];
	struct iovec parts[PROBE_ECHO_BATCH];
	struct sockaddr_storage senders[PROBE_ECHO_BATCH];
	unsigned char packets[PROBE_ECHO_BATCH][PACKET_MAX];
};

/* The ICMP header, the same for both families, and our payload. Network byte order. */
struct echo {
	uint8_t type, code;
	uint16_t checksum, id, sequence;
	uint64_t cookie;
} __attribute__((packed));

#define ECHO_HEADER offsetof(struct echo, cookie)

/* What differs between the families. */
struct family {
	int family, protocol;
	uint8_t request, reply;
	uint8_t errors[3];
	size_t address; /* offset of the destination in a quoted IP header */
};

static const struct family families[2] = {
	{ AF_INET,
	  IPPROTO_ICMP,
	  ICMP_ECHO,
	  ICMP_ECHOREPLY,
	  { ICMP_DEST_UNREACH, ICMP_TIME_EXCEEDED, ICMP_PARAMETERPROB },
	  offsetof(struct iphdr, daddr) },
	{ AF_INET6,
	  IPPROTO_ICMPV6,
	  ICMP6_ECHO_REQUEST,
	  ICMP6_ECHO_REPLY,
	  { ICMP6_DST_UNREACH, ICMP6_TIME_EXCEEDED, ICMP6_PARAM_PROB },
	  offsetof(struct ip6_hdr, ip6_dst) },
};

static unsigned family_index(const struct probe *p)
{
	return p->spec.target.addr.family == AF_INET6;
}

/* ---- the table of questions in flight ---- */

/* One system call for 32 cookies. */
static uint64_t next_cookie(struct probe__echoes *e)
{
	if (!e->n_cookies) {
		if (getrandom(e->cookies, sizeof(e->cookies), 0) != sizeof(e->cookies))
			abort(); /* getrandom(2) does not return less for up to 256 bytes */
		e->n_cookies = ARRAY_SIZE(e->cookies);
	}
	return e->cookies[--e->n_cookies];
}

/* Sequence numbers in flight stay valid, because they are indices below the old size. */
static void grow(struct probe__echoes *e)
{
	size_t cap = e->cap ? e->cap * 2 : ECHOES_FIRST;

	e->pending = mem_resize(e->pending, cap, sizeof(struct probe *));
	memset(e->pending + e->cap, 0, (cap - e->cap) * sizeof(struct probe *));
	e->cap = cap;
}

/* Half of the table stays free while it can grow, so that a free number is found quickly. */
static bool enlist(struct probe *p)
{
	struct probe__echoes *e = &p->env->echoes;

	if (e->used * 2 >= e->cap && e->cap < PROBE_ECHOES_MAX)
		grow(e);
	if (e->used == e->cap)
		return false;
	while (e->pending[e->next & (e->cap - 1)])
		e->next++;
	p->sequence = (uint16_t)(e->next++ & (e->cap - 1));
	p->cookie = next_cookie(e);
	e->pending[p->sequence] = p;
	e->used++;
	return true;
}

/* A reply that arrives later finds no question, or another cookie, and is ignored. */
void probe__echo_forget(struct probe *p)
{
	struct probe__echoes *e = &p->env->echoes;

	assert(e->pending[p->sequence] == p);
	e->pending[p->sequence] = NULL;
	e->used--;
}

/* ---- what comes back ---- */

/* The question that an echo reply or a quoted echo request belongs to, or NULL. */
static struct probe *owner_of(const struct probe__echoes *e, const struct family *f,
			      const unsigned char *packet, size_t n, const void *address)
{
	struct echo echo;
	struct probe *p;

	if (n < sizeof(echo))
		return NULL;
	memcpy(&echo, packet, sizeof(echo));
	if (echo.id != e->id || ntohs(echo.sequence) >= e->cap)
		return NULL;
	p = e->pending[ntohs(echo.sequence)];
	if (!p || p->spec.target.addr.family != f->family ||
	    memcmp(p->spec.target.addr.bytes, address, f->family == AF_INET ? 4 : 16) != 0)
		return NULL;
	return echo.cookie == p->cookie ? p : NULL;
}

/* The length of the IP header at packet if it is valid and carries ICMP, else 0. */
static size_t ip_header(const struct family *f, const unsigned char *packet, size_t n)
{
	size_t len;

	if (f->family == AF_INET6)
		return n >= sizeof(struct ip6_hdr) && packet[0] >> 4 == 6 &&
				       packet[offsetof(struct ip6_hdr, ip6_nxt)] == f->protocol
			       ? sizeof(struct ip6_hdr)
			       : 0;
	if (n < sizeof(struct iphdr) || packet[0] >> 4 != 4 ||
	    packet[offsetof(struct iphdr, protocol)] != f->protocol)
		return 0;
	len = (packet[0] & 15) * (size_t)4;
	return len >= sizeof(struct iphdr) && len <= n ? len : 0;
}

/* The quoted packet is our request, so its destination is the target of the probe. */
static void on_error(const struct probe__echoes *e, const struct family *f,
		     const unsigned char *packet, size_t n, const struct addr *sender)
{
	char target[ADDR_STRLEN], router[ADDR_STRLEN];
	const unsigned char *quote = packet + ECHO_HEADER;
	size_t len = n > ECHO_HEADER ? ip_header(f, quote, n - ECHO_HEADER) : 0;
	struct probe *p = NULL;

	if (len && n > ECHO_HEADER + len && quote[len] == f->request)
		p = owner_of(e, f, quote + len, n - ECHO_HEADER - len, quote + f->address);
	if (!p)
		return;
	probe__fail(p, PROBE_STAGE_CONNECT, PROBE_ERR_UNREACHABLE, EHOSTUNREACH,
		    "ping %s: unreachable, says %s (type %u code %u)",
		    addr_format(&p->spec.target.addr, target), addr_format(sender, router),
		    packet[0], packet[1]);
}

/* raw(7): an IPv4 raw socket delivers the IP header as well, an IPv6 one does not. */
static void on_packet(const struct probe__echoes *e, const struct family *f,
		      const unsigned char *packet, size_t n, const struct sockaddr_storage *from)
{
	size_t skip = f->family == AF_INET ? ip_header(f, packet, n) : 0;
	struct endpoint sender;
	struct probe *p;

	if ((f->family == AF_INET && !skip) || n < skip + ECHO_HEADER ||
	    endpoint_from_sockaddr((const struct sockaddr *)from, &sender) < 0)
		return;
	packet += skip;
	n -= skip;
	if (packet[0] != f->reply) {
		if (memchr(f->errors, packet[0], sizeof(f->errors)))
			on_error(e, f, packet, n, &sender.addr);
		return;
	}
	p = owner_of(e, f, packet, n, sender.addr.bytes);
	if (p)
		probe__succeed(p);
}

static void close_socket(struct probe_env *env, struct probe__echo_socket *s)
{
	if (s->io.fd < 0)
		return;
	ev_io_stop(env->loop, &s->io);
	task_cancel(&s->task);
	close(s->io.fd);
	ev_io_set(&s->io, -1, EV_READ);
}

/* Returns the number of packets; 0 also if the socket has failed and was closed. */
static unsigned receive_batch(struct probe_env *env, struct probe__echo_socket *s)
{
	struct probe__batch *b = env->echoes.batch;
	int n;

	for (size_t i = 0; i < PROBE_ECHO_BATCH; i++) {
		b->parts[i] = (struct iovec){ b->packets[i], PACKET_MAX };
		b->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &b->senders[i],
			.msg_namelen = sizeof(b->senders[i]),
			.msg_iov = &b->parts[i],
			.msg_iovlen = 1,
		};
	}
	n = recvmmsg(s->io.fd, b->messages, PROBE_ECHO_BATCH, MSG_DONTWAIT, NULL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		close_socket(env, s);
	return n > 0 ? (unsigned)n : 0;
}

/*
 * Receives one batch. True if there may be more. A callback may close the socket or open another
 * one, so nothing of s is used after the first packet.
 */
static bool take_batch(struct probe_env *env, struct probe__echo_socket *s)
{
	const struct family *f = &families[s - env->echoes.sockets];
	const struct probe__batch *b = env->echoes.batch;
	unsigned n = s->io.fd < 0 ? 0 : receive_batch(env, s);

	for (unsigned i = 0; i < n; i++)
		on_packet(&env->echoes, f, b->packets[i], b->messages[i].msg_len, &b->senders[i]);
	return n == PROBE_ECHO_BATCH;
}

static bool on_step(struct task *t)
{
	struct probe__echo_socket *s = container_of(t, struct probe__echo_socket, task);

	return take_batch(s->env, s);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	task_wake(&container_of(w, struct probe__echo_socket, io)->task);
}

/* Bounded, because packets of other programs could keep the socket readable. */
void probe__echo_look(struct probe *p)
{
	struct probe_env *env = p->env;
	struct probe__echo_socket *s = &env->echoes.sockets[family_index(p)];

	for (int i = 0; i < BATCHES_PER_LOOK && take_batch(env, s); i++)
		;
}

/* ---- the sockets ---- */

/* Errors are ignored: without the filter there are only more packets to discard. */
static void filter(int fd, const struct family *f)
{
	struct icmp6_filter six;
	uint32_t four = UINT32_MAX; /* a bit that is set blocks */

	if (f->family == AF_INET) {
		four &= ~(UINT32_C(1) << f->reply);
		for (size_t i = 0; i < sizeof(f->errors); i++)
			four &= ~(UINT32_C(1) << f->errors[i]);
		setsockopt(fd, SOL_RAW, ICMP_FILTER, &four, sizeof(four));
		return;
	}
	ICMP6_FILTER_SETBLOCKALL(&six);
	ICMP6_FILTER_SETPASS(f->reply, &six);
	for (size_t i = 0; i < sizeof(f->errors); i++)
		ICMP6_FILTER_SETPASS(f->errors[i], &six);
	setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &six, sizeof(six));
}

static int open_socket(struct probe_env *env, unsigned index, bool *ret_entered)
{
	struct probe__echo_socket *s = &env->echoes.sockets[index];
	const struct family *f = &families[index];
	int fd = net_socket(&env->ns, f->family, SOCK_RAW, f->protocol, ret_entered);

	if (fd < 0)
		return fd;
	if (!env->echoes.batch)
		env->echoes.batch = mem_zalloc(sizeof(*env->echoes.batch));
	filter(fd, f);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ RECEIVE_BUFFER }, sizeof(int));
	ev_io_set(&s->io, fd, EV_READ);
	ev_io_start(env->loop, &s->io);
	return 0;
}

/* Ensures a socket in the namespace that the path names now. */
static int have_socket(struct probe_env *env, unsigned index, bool *ret_entered)
{
	struct probe__echo_socket *s = &env->echoes.sockets[index];
	struct net_ns_id where;
	int r = net_ns_identify(&env->ns, &where);

	*ret_entered = r == 0;
	if (r < 0 || where.dev != s->where.dev || where.ino != s->where.ino)
		close_socket(env, s);
	if (r < 0 || s->io.fd >= 0)
		return r;
	s->where = where;
	return open_socket(env, index, ret_entered);
}

/* ---- asking ---- */

/* The Internet checksum of RFC 1071. */
static uint16_t checksum(const struct echo *echo)
{
	unsigned char bytes[sizeof(*echo)];
	uint32_t sum = 0;

	memcpy(bytes, echo, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t) ~(sum + (sum >> 16)));
}

/* The source is passed with each packet: the socket is shared by probes with other sources. */
static void add_source(struct msghdr *m, const struct addr *source)
{
	struct cmsghdr *c = m->msg_control;
	struct in6_pktinfo six = { 0 };
	struct in_pktinfo four = { 0 };
	bool is_four = source->family == AF_INET;
	size_t size = is_four ? sizeof(four) : sizeof(six);

	memcpy(is_four ? (void *)&four.ipi_spec_dst : (void *)&six.ipi6_addr, source->bytes,
	       is_four ? 4 : 16);
	c->cmsg_level = is_four ? IPPROTO_IP : IPPROTO_IPV6;
	c->cmsg_type = is_four ? IP_PKTINFO : IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), is_four ? (void *)&four : (void *)&six, size);
	m->msg_controllen = CMSG_SPACE(size);
}

static int send_echo(const struct probe *p, int fd)
{
	const struct endpoint target = { .addr = p->spec.target.addr };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
	struct echo echo = { .type = families[family_index(p)].request,
			     .id = p->env->echoes.id,
			     .sequence = htons(p->sequence),
			     .cookie = p->cookie };
	struct iovec part = { &echo, sizeof(echo) };
	struct sockaddr_storage sa;
	struct msghdr m = { .msg_name = &sa, .msg_iov = &part, .msg_iovlen = 1 };

	m.msg_namelen = endpoint_to_sockaddr(&target, &sa);
	if (target.addr.family == AF_INET)
		echo.checksum = checksum(&echo); /* the kernel's job for IPv6 */
	if (addr_is_set(&p->spec.source)) {
		m.msg_control = control;
		add_source(&m, &p->spec.source);
	}
	if (sendmsg(fd, &m, MSG_NOSIGNAL) >= 0)
		return 0;
	/* a source that is not an address of this machine: the same error as bind() gives */
	if (errno == EINVAL && addr_is_set(&p->spec.source))
		return -EADDRNOTAVAIL;
	return errno == EAGAIN ? -ENOBUFS : -errno;
}

/* Enlisted before sending: on loopback the reply may be in the socket when sendmsg() returns. */
void probe__echo_start(struct probe *p)
{
	struct probe__echo_socket *s = &p->env->echoes.sockets[family_index(p)];
	bool entered;
	int r = have_socket(p->env, family_index(p), &entered);

	if (r < 0) {
		probe__fail_socket(p, entered, -r);
		return;
	}
	if (!enlist(p)) {
		probe__fail_local(p, "ping", ENOBUFS);
		return;
	}
	p->state = STATE_ECHO;
	r = send_echo(p, s->io.fd);
	if (r < 0)
		probe__fail_local(p, "ping", -r);
}

void probe__echo_init(struct probe_env *env)
{
	struct probe__echoes *e = &env->echoes;

	if (getrandom(&e->id, sizeof(e->id), 0) != sizeof(e->id))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(e->sockets); i++) {
		e->sockets[i].env = env;
		ev_io_init(&e->sockets[i].io, on_readable, -1, EV_READ);
		task_init(&e->sockets[i].task, env->loop, TASK_URGENT, on_step);
	}
}

void probe__echo_close(struct probe_env *env)
{
	for (size_t i = 0; i < ARRAY_SIZE(env->echoes.sockets); i++)
		close_socket(env, &env->echoes.sockets[i]);
}

void probe__echo_free(struct probe_env *env)
{
	assert(env->echoes.used == 0);
	probe__echo_close(env);
	free(env->echoes.pending);
	free(env->echoes.batch);
}
