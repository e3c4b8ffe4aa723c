/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_pass: sessions of datagrams go to the process that takes over, each with its socket.
 *
 * Both processes have the sockets for clients, so each datagram would be received by one of them,
 * no matter which has its session. So the old process stops receiving, and passes its sessions; the
 * new one begins to receive when it has got them. Datagrams wait in the kernel meanwhile.
 */
#pragma once

#include "wire/router_session.h"

struct datagrams;

/* A session on its way to the thread. */
struct session_gift {
	struct session_gift *next;
	struct router_session session;
	int fd;	      /* connected to the server */
	char names[]; /* that the session points to */
};

/*
 * The names are copied; fd belongs to the gift.
 */
struct session_gift *session_gift_new(const struct router_session *s, int fd);
void session_gift_free(struct session_gift *g);

/* ---- the old process, on a data thread ---- */

/*
 * Passes the sessions of all listeners that the generation has, and leaves their sockets. The
 * channel belongs to the thread from now on, and is closed at the end.
 */
void datagrams_hand_over(struct datagrams *d, int channel);

/* ---- the new process, on a data thread ---- */

/* Takes a session, which is served as soon as the thread has a socket of its listener. */
void datagrams_adopt(struct datagrams *d, struct session_gift *g);
