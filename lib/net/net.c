/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net: socket() in a namespace.
 *
 * The only state is the descriptor of the process's own namespace, which is needed to return. It
 * is opened before the namespace is left for the first time and kept in the struct net_ns.
 * Nothing blocks: the namespace file is opened with O_NONBLOCK in case the path is a FIFO.
 */
#include "lib/net/net.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "lib/net/privilege.h"

#define NAMED_NAMESPACES "/run/netns/"
#define NS_OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

void net_ns_init(struct net_ns *ns, const char *name)
{
	struct buf path = { 0 };

	*ns = (struct net_ns){ .home = -1 };
	if (!name || !*name)
		return;
	ns->name = mem_strdup(name);
	if (*name != '/')
		buf_adds(&path, NAMED_NAMESPACES);
	buf_adds(&path, name);
	buf_addc(&path, '\0');
	ns->path = path.p;
}

void net_ns_free(struct net_ns *ns)
{
	free(ns->name);
	free(ns->path);
	cleanup_fd(&ns->home);
	*ns = (struct net_ns){ .home = -1 };
}

int net_ns_identify(const struct net_ns *ns, struct net_ns_id *ret)
{
	struct stat st;

	if (!ns->path) {
		*ret = (struct net_ns_id){ 0 };
		return 0;
	}
	if (stat(ns->path, &st) < 0)
		return -errno;
	*ret = (struct net_ns_id){ st.st_dev, st.st_ino };
	return 0;
}

/* socket() is tried even without the capability; its errno then says what is missing. */
static int open_socket(int family, int type, int protocol)
{
	int raised = type == SOCK_RAW ? privilege_raise(CAP_NET_RAW) : 0;
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	int err = errno;

	if (raised > 0)
		privilege_lower(CAP_NET_RAW);
	return fd < 0 ? -err : fd;
}

/*
 * The way back is secured before the first setns(). The file is opened with /proc/thread-self
 * because setns() acts on the thread.
 */
static int enter(struct net_ns *ns)
{
	_cleanup_(cleanup_fd) int there = open(ns->path, NS_OPEN_FLAGS);

	if (there < 0)
		return -errno;
	if (ns->home < 0)
		ns->home = open("/proc/thread-self/ns/net", NS_OPEN_FLAGS);
	if (ns->home < 0 || setns(there, CLONE_NEWNET) < 0)
		return -errno;
	return 0;
}

/*
 * Returning cannot fail in practice; going on in the wrong namespace would be worse than
 * aborting.
 */
static void come_home(const struct net_ns *ns)
{
	if (setns(ns->home, CLONE_NEWNET) == 0)
		return;
	fprintf(stderr, "cannot leave netns %s: %s\n", ns->name, net_error_word(errno));
	abort();
}

/* CAP_SYS_ADMIN stays raised until the process is back, because the return needs it as well. */
int net_socket(struct net_ns *ns, int family, int type, int protocol, bool *ret_entered)
{
	int raised, r;

	assert(ns && ret_entered);
	*ret_entered = true;
	if (!ns->path)
		return open_socket(family, type, protocol);

	raised = privilege_raise(CAP_SYS_ADMIN);
	r = enter(ns);
	if (r == 0) {
		r = open_socket(family, type, protocol);
		come_home(ns);
	} else {
		*ret_entered = false;
	}
	if (raised > 0)
		privilege_lower(CAP_SYS_ADMIN);
	return r;
}

const char *net_error_word(int err)
{
	static _Thread_local char text[64];
	const char *word = strerrordesc_np(err);

	if (!word) {
		snprintf(text, sizeof(text), "error %d", err);
		return text;
	}
	snprintf(text, sizeof(text), "%s", word);
	/* abbreviations ("RPC ...") keep their capitals */
	if (islower((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
	return text;
}
