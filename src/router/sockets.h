/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets: the listening sockets of the addresses in force.
 *
 * An address has a socket for each thread (SO_REUSEPORT), or more if they came from a process with
 * more threads: a connection that waits at a socket is lost when the last copy of it is closed, so
 * none is. An address of datagrams that has sockets gets no more: the kernel would spread the
 * datagrams in another way, and take sessions from their threads.
 *
 * A socket belongs to a thread once it was given; the list still knows its number, which is valid
 * as long as the generation in force has the address.
 */
#pragma once

#include "base/addr.h"
#include "base/str.h"
#include "src/router/generation.h"
#include "src/router/socket_group.h"

struct router_socket {
	struct endpoint at, bound; /* as configured, and with the real port */
	int fd;
	unsigned turn; /* among those of the address */
	bool udp;
	bool given;		    /* to a thread */
	bool leaving;		    /* the address is not in force, but has sessions */
	bool returned;		    /* it is in force again */
	struct socket_group *group; /* of datagrams; otherwise NULL */
};

struct sockets {
	struct router_socket *items;
	size_t n, cap;
};

/*
 * Opens as many sockets as the address lacks until there are `wanted`. With port 0 all have the
 * port that the first one got. 0; or a negative errno, with a sentence in why: those that were
 * opened are still in the list.
 */
int sockets_open(struct sockets *s, const struct endpoint *at, bool udp, unsigned wanted,
		 struct buf *why);
/* Adds a socket that listens already, which then belongs to the list. -EINVAL if it does not. */
int sockets_adopt(struct sockets *s, const struct endpoint *at, bool udp, int fd);
/* Forgets those of addresses that the generation does not have; not those with sessions. */
void sockets_match(struct sockets *s, const struct generation *g);
/* No address is in force any more. */
void sockets_leave(struct sockets *s);
/* Forgets those from the n-th on; sockets that were not given are closed. */
void sockets_cut(struct sockets *s, size_t n);
void sockets_free(struct sockets *s);
