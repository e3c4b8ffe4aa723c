/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_group: the sockets of one address of datagrams, of all threads.
 *
 * The kernel chooses one of them for each source, so the choice changes when one of them is closed,
 * and sources would meet threads that do not have their sessions. So all are closed together: when
 * the configuration does not have the address any more, and no thread has a session of it. Until
 * then the address can return to the configuration, and finds its sockets.
 *
 * From any thread.
 */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

struct socket_group {
	atomic_uint references;
	atomic_uint users; /* sessions, and the configuration; SOCKET_GROUP_CLOSED at the end */
};

#define SOCKET_GROUP_CLOSED UINT_MAX

/* With one reference and one user. */
struct socket_group *socket_group_new(void);
struct socket_group *socket_group_hold(struct socket_group *g);
/* NULL is allowed. */
void socket_group_release(struct socket_group *g);

/* Adds n users. False: the sockets are being closed. */
bool socket_group_enter(struct socket_group *g, unsigned n);
void socket_group_leave(struct socket_group *g, unsigned n);
/* Whether the sockets may be closed: there are no users, and will be none. */
bool socket_group_close(struct socket_group *g);
static inline bool socket_group_is_used(struct socket_group *g)
{
	unsigned n = atomic_load(&g->users);

	return n && n != SOCKET_GROUP_CLOSED;
}
