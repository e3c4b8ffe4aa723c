/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade: replaces the running process by one of the program as it is on the disk now.
 *
 * The running process starts the new one (lib/daemon/takeover.h), and passes its listening
 * sockets, those of the data threads and those of the APIs, and the configuration in force with
 * its number (wire/router_handover.h). While the new process compiles it, updates are refused with
 * -EAGAIN. Then the old process leaves its sockets and finishes its requests.
 *
 * For the control thread.
 */
#pragma once

#include "src/router/router.h"
#include "wire/router_handover.h"

struct upgrade;
struct upgrade_sockets;

struct upgrade_config {
	struct ev_loop *loop;
	char *const *argv; /* of this process; borrowed */
	struct router *router;
	uint64_t *failures; /* counts upgrades that failed */
	/* Adds the sockets of the program's own listeners with upgrade_add(). */
	void (*add_sockets)(struct upgrade_sockets *list, void *user);
	/*
	 * The new process has taken over: the program leaves its sockets to it, and drains.
	 * Sessions of datagrams go through the channel, which is borrowed; -1: there is none.
	 */
	void (*taken)(int channel, void *user);
	/* A wish to read the file came while the router was frozen, and there is no new process. */
	void (*reload)(void *user);
	void *user;
};

struct upgrade *upgrade_new(const struct upgrade_config *config);
/* Ends a new process that has not taken over. NULL is allowed. */
void upgrade_free(struct upgrade *u);
/* Starts the new process. Logs the outcome of each step. */
void upgrade_begin(struct upgrade *u);
/* The program stops: ends a new process that has not taken over. */
void upgrade_cancel(struct upgrade *u);
/* SIGHUP. False if it is the new process's now, which gets it as soon as it has taken over. */
bool upgrade_may_reload(struct upgrade *u);

/* A socket and the text of its address, which is borrowed; both stay valid during add_sockets(). */
void upgrade_add(struct upgrade_sockets *list, enum router_handover_kind kind, const char *at,
		 int fd);

/* ---- the new process ---- */

struct inheritance;

/*
 * Gets what the old process passes; NULL in *ret if this process was started in the usual way. Logs
 * a failure and returns its negative errno. Before there are threads.
 */
int inheritance_receive(struct inheritance **ret);
/*
 * Makes sockets and configuration those of the router, which is new. Logs a failure and returns its
 * negative errno.
 */
int inheritance_apply(struct inheritance *i, struct router *r);
/* The socket of that kind, if it has that address, which then belongs to the caller; else 0. */
int inheritance_socket(struct inheritance *i, enum router_handover_kind kind, const char *at);
/* All is ready: begins to accept as soon as the old process stops it. As above. */
int inheritance_confirm(struct inheritance *i, struct router *r);
/* Closes what was not used. NULL is allowed. */
void inheritance_free(struct inheritance *i);
