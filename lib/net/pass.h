/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass: descriptors in messages of a Unix socket of the kind SOCK_SEQPACKET (SCM_RIGHTS, unix(7)).
 *
 * Both sides can be of different versions and the other side can be hostile: what does not fit is
 * refused, and no descriptor that came is left open.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define NET_PASS_MAX 250 /* descriptors in one message; the kernel allows 253 */

/*
 * Sends one message, which must not be empty, with n descriptors, which stay open here. Does not
 * block. 0; or a negative errno: -EAGAIN if the other side has not read enough, -EPIPE if it is
 * gone.
 */
int net_pass(int socket, struct str message, const int *fds, size_t n);
/*
 * Receives one message into p, at most size bytes, and its descriptors, at most *n_fds, which are
 * close-on-exec and belong to the caller. Returns the length; 0 if the other side has ended;
 * -EAGAIN if there is none yet and the socket does not block; -EMSGSIZE if bytes or descriptors do
 * not fit: then none are returned. *n_fds is the number of descriptors, 0 on failure.
 */
ssize_t net_take(int socket, void *p, size_t size, int *fds, size_t *n_fds);
