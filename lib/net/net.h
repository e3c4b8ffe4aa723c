/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net: sockets for asking others, in this network namespace or in another one.
 *
 * A struct net_ns names the namespace; its file is opened anew for every socket, so that one that
 * vanished fails and one that came back works. The process is inside only for the socket() call;
 * should the way back fail, the process aborts, because everything it opened from then on would be
 * in the wrong place. For one thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct net_ns {
	char *name; /* as given; NULL: the process's own namespace */
	char *path;
	int home; /* the process's own namespace, opened when first left; -1 before */
};

/* name: NULL or "" for the process's own, a name under /run/netns, or an absolute path; copied. */
void net_ns_init(struct net_ns *ns, const char *name);
void net_ns_free(struct net_ns *ns);

/* Which namespace the file stands for now. All zero for the process's own. */
struct net_ns_id {
	dev_t dev;
	ino_t ino;
};

/* 0, or what stat() says: -ENOENT when it is gone. */
int net_ns_identify(const struct net_ns *ns, struct net_ns_id *ret);

/*
 * A non-blocking, close-on-exec socket in ns: the descriptor, or a negative errno; then
 * *ret_entered says whether the namespace had been entered, that is, whether socket() failed.
 * Capabilities are raised around setns() and, for SOCK_RAW, socket().
 */
int net_socket(struct net_ns *ns, int family, int type, int protocol, bool *ret_entered);

/* The kernel's word for an errno, starting in lower case: "connection refused". */
const char *net_error_word(int err);
