/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_session: a session of datagrams, as a router passes it to the process that takes over.
 *
 *	127.0.0.1:53 192.0.2.9:4000 - 4 0 1 57 120 1 1 5000 20 3 3 4 12 allpool127.0.0.1:53
 *
 * One message has several of them, each with the socket that is connected to its server, in the
 * same order. The words are: the address of the listener as configured, the client, the address
 * that it has asked (-: the listener has one), the family of the listener's socket (4 or 6), the
 * interface of a link-local client, the number of the socket among those of the address; bytes
 * from the client and to it, and the datagrams; its age and how long it has been silent, in ms; a
 * number of flags; then the lengths of three names, and the names of stream, pool and server.
 */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/str.h"

#define ROUTER_SESSION_MAX 2048 /* bytes of one */

struct router_session {
	struct endpoint at; /* of the listener, as configured */
	struct endpoint client;
	struct addr local;	 /* that the client has asked; unset: the listener has one */
	uint8_t family;		 /* of the socket of the listener: AF_INET or AF_INET6 */
	uint32_t iface;		 /* of a link-local client; otherwise 0 */
	uint32_t turn;		 /* among the sockets of the address */
	uint64_t in, out;	 /* bytes from the client, and to it */
	uint64_t received, sent; /* datagrams */
	uint64_t age, silent;	 /* ms */
	bool confirmed;		 /* the client has sent a datagram after an answer */
	bool unanswered;	 /* the latest datagram is the client's */
	struct str stream, pool, server; /* names; those of the last two may be empty */
};

/* Appends it. False if a name is too long for that: then nothing was appended. */
bool router_session_write(const struct router_session *s, struct buf *out);
/*
 * Takes one from the start of *rest. The names are parts of that. -EBADMSG if it is malformed;
 * *rest and *ret are untouched then.
 */
int router_session_parse(struct str *rest, struct router_session *ret);
