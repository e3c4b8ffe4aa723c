/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover: a new process of the same command takes over from the running one: descriptors, such
 * as listening sockets, and bytes, which are the program's state.
 *
 * The running process starts the new one as its child, and they talk through a pair of sockets:
 *
 *	new	"hello"		it has started, and wants the state
 *	old	"state N"	with N descriptors, in several messages if necessary; the first is a
 *				file in memory with the bytes
 *	new	"ready"		it has all that it needs, and uses nothing of it yet
 *	old	"go"		from now on all of it belongs to the new process alone
 *
 * Each step has a time limit. Until "go" the old process can do without the new one: if that ends,
 * hangs or says something else, it is killed, and the old process goes on as before. The new one
 * ends if it gets no state. If the old process ends after it has sent the state, the new one goes
 * on as after "go".
 *
 * For the main thread. The child begins with the standard descriptors and its socket; all other
 * descriptors must be close-on-exec.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"
#include "base/vec.h"
#include "lib/loop/loop.h"

#define TAKEOVER_FDS 16384			  /* bound on descriptors */
#define TAKEOVER_BYTES ((size_t)64 * 1024 * 1024) /* bound on the state */
#define TAKEOVER_START_LIMIT 30.		  /* s from the start to "hello" */
#define TAKEOVER_STATE_LIMIT 20.		  /* s from the state to "ready", and to "go" */

/* ---- the old process ---- */

struct takeover;

struct takeover_state {
	struct buf bytes;
	VEC(int) fds;
};

struct takeover_calls {
	/*
	 * Fills the empty *state, which is freed afterwards; the descriptors stay open here. From
	 * now on until ended() the state must not change. Returns NULL; or one sentence, if there
	 * can be no takeover now, with which ended() is called.
	 */
	const char *(*asked)(struct takeover_state *state, void *user);
	/*
	 * Called once, from the loop. failure is NULL if the new process has taken over: it uses
	 * the descriptors now. Otherwise it is one sentence, and the new process is dead. The
	 * takeover is freed by the caller, now or later.
	 */
	void (*ended)(const char *failure, void *user);
	void *user;
};

/*
 * Starts argv[0], which is searched for in PATH if it has no slash, with these arguments and this
 * environment. Returns the errno of socketpair or posix_spawnp; *ret is untouched then. argv is not
 * needed afterwards.
 */
int takeover_start(struct ev_loop *loop, char *const argv[], const struct takeover_calls *calls,
		   struct takeover **ret);
pid_t takeover_pid(const struct takeover *t);
/* Sends the new process a signal, as long as it lives. */
void takeover_signal(const struct takeover *t, int signo);
/* Kills the new process, unless it has taken over. NULL is allowed. */
void takeover_free(struct takeover *t);

/* ---- the new process ---- */

/*
 * The socket to the process that started this one for a takeover; -1: it was started in the usual
 * way. Changes the environment, so call it once, before there are threads.
 */
int takeover_channel(void);
/*
 * Asks for the state and waits for it; its descriptors belong to the caller. 0, or a negative
 * errno, with nothing in *ret: -ETIMEDOUT, -ECONNRESET if the old process has ended, -EBADMSG if
 * it says something else.
 */
int takeover_receive(int channel, struct takeover_state *ret);
/*
 * Says "ready" and waits for "go" or the end of the old process. 0; or -ETIMEDOUT or -EBADMSG: then
 * this process must use nothing that it got, and end.
 */
int takeover_confirm(int channel);
/* Closes the descriptors that are left; those that were taken are -1. */
void takeover_state_close(struct takeover_state *state);
