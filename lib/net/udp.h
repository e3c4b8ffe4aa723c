/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udp: datagrams in batches.
 *
 * One call of the kernel receives up to UDP_BATCH datagrams (recvmmsg), and one sends as many
 * (sendmmsg). Several datagrams of one size between the same two ends are one piece of work for the
 * kernel in both directions, where it can do that (UDP_GRO, UDP_SEGMENT): they arrive in one
 * message, which has the size of its segments.
 *
 * A socket that is bound to no address receives for all of the machine. Its messages say to which
 * address they were sent, and an answer leaves from that address: a client drops an answer that
 * comes from another one.
 *
 * Nothing here blocks. For the thread that has the socket; a batch belongs to one thread.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"

#define UDP_BATCH 32
#define UDP_MAX 65535 /* bytes of a message: more than a datagram can have */

/* ---- the two ends ---- */

/*
 * The two ends of a datagram, in the form of the kernel, with zeros where nothing is set: two of
 * them can be compared with memcmp().
 */
struct udp_path {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} peer;
	/* the address of this machine, maybe ::ffff:a.b.c.d; zeros: the socket has only one */
	struct in6_addr local;
	uint32_t iface; /* of a link-local peer; otherwise 0 */
};
_Static_assert(sizeof(struct udp_path) == 48, "there must be no padding");

struct endpoint udp_peer(const struct udp_path *p);
/* Unset if the socket has one address only. */
struct addr udp_local(const struct udp_path *p);
/*
 * Of a path as it would come from a socket of that family: for a process that takes over. -EINVAL
 * if that cannot be; *ret is untouched then.
 */
int udp_path_make(int family, const struct endpoint *peer, const struct addr *local, uint32_t iface,
		  struct udp_path *ret);

/* ---- sockets ---- */

struct udp_config {
	/*
	 * No address means any, both families (IPv4 only on a machine without IPv6); port 0 means
	 * any free port.
	 */
	struct endpoint at;
	bool reuse_port;   /* SO_REUSEPORT: the kernel spreads datagrams by their two ends */
	unsigned received; /* bytes that wait to be received, if the kernel allows it; 0: its own */
};

/* A socket for clients: the descriptor or a negative errno. *ret_at gets the real port. */
int udp_open(const struct udp_config *config, struct endpoint *ret_at);
/* Whether the socket could be one of udp_open(); *ret_at gets its address. -EINVAL if not. */
int udp_inspect(int fd, struct endpoint *ret_at);
/*
 * A socket for one server: only its datagrams are received, and that its port is closed is reported
 * as -ECONNREFUSED by the next call. The descriptor or a negative errno, -EADDRINUSE or -EAGAIN if
 * all ports are in use.
 */
int udp_connect(const struct endpoint *to);
/*
 * For a socket that gets many datagrams: several arrive in one message, and so many bytes may wait
 * (0: as before). Sockets of udp_open() do the former already.
 */
void udp_join(int fd, unsigned received);
/* The family of a socket: AF_INET or AF_INET6. */
int udp_family(int fd);
/* Datagrams that the kernel has dropped so far, because too many waited. */
uint32_t udp_dropped(int fd);

/* ---- receiving ---- */

/* One datagram; or several in a row with `segment` bytes each, of which the last may be shorter. */
struct udp_message {
	char *bytes;
	size_t n;
	struct udp_path path; /* zeros on a connected socket */
	uint16_t segment;     /* 0: one datagram, which may be empty */
	bool truncated;	      /* it was longer, or its ends are not known: to be dropped */
};

/* Datagrams of a message. */
static inline size_t udp_count(const struct udp_message *m)
{
	return m->segment ? (m->n + m->segment - 1) / m->segment : 1;
}

struct udp_batch; /* memory for UDP_BATCH messages */

struct udp_batch *udp_batch_new(void);
/* NULL is allowed. */
void udp_batch_free(struct udp_batch *b);
/*
 * Receives into the messages from `first` on, at most `most` of them; the earlier ones stay as they
 * are. Returns their number; or a negative errno, -EAGAIN if none waits. Fewer than `most` means
 * that no more wait.
 */
ssize_t udp_receive(struct udp_batch *b, int fd, size_t first, size_t most);
/*
 * The same for one message of a connected socket that was not given to udp_join(): cheaper if there
 * is one. Returns 1 or a negative errno.
 */
ssize_t udp_receive_one(struct udp_batch *b, int fd, size_t at);
struct udp_message *udp_message(struct udp_batch *b, size_t i);

/* ---- sending ---- */

struct udp_outgoing {
	const struct udp_path *to; /* NULL: the socket is connected */
	const char *bytes;
	size_t n;
	uint16_t segment; /* as in a message */
};

/*
 * Sends them in order, at most UDP_BATCH. Neighbours with the same `to` that are of one size go to
 * the kernel in one piece. Returns how many were sent. If that is not all of them, *ret_error is
 * the negative errno of the next one: the caller drops it, or calls again.
 */
size_t udp_send(int fd, const struct udp_outgoing *list, size_t n, int *ret_error);
