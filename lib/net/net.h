/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net: client sockets, in this network namespace or in another one.
 *
 * A struct net_ns names the namespace. Its file is opened again for every socket, so a namespace
 * that was removed gives an error and one that was created again works. The process is in the
 * other namespace only during the socket() call. If it cannot return, it aborts, because every
 * later socket would be in the wrong namespace. A struct net_ns with a name is for one thread,
 * since setns() changes the calling thread; capabilities are those of the thread, too
 * (privilege.h).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct net_ns {
	char *name; /* as given; NULL: the process's own namespace */
	char *path; /* of the namespace file; NULL like name */
	int home;   /* own namespace, opened before it is first left; -1 until then */
};

/*
 * name is copied: NULL or "" for the process's own namespace, a name under /run/netns, or an
 * absolute path. Opens nothing, so it cannot fail.
 */
void net_ns_init(struct net_ns *ns, const char *name);
void net_ns_free(struct net_ns *ns);

/*
 * The identity of the namespace that the file refers to now. All zero for the process's own. It
 * changes when a namespace is deleted and created again under the same name.
 */
struct net_ns_id {
	dev_t dev;
	ino_t ino;
};

/* 0, or the error of stat(): -ENOENT if the namespace is gone. */
int net_ns_identify(const struct net_ns *ns, struct net_ns_id *ret);

/*
 * Returns a non-blocking, close-on-exec socket in ns, which the caller owns, or a negative errno.
 * On failure *ret_entered is false if the namespace could not be entered, and true if socket()
 * failed. Capabilities are raised only around setns() and, for SOCK_RAW, socket().
 */
int net_socket(struct net_ns *ns, int family, int type, int protocol, bool *ret_entered);

/*
 * The text for an errno, starting in lower case: "connection refused". Valid until the next call in
 * the same thread.
 */
const char *net_error_word(int err);
