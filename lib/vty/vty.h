/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vty: a client of the vty socket of one daemon of FRR (bgpd.vty, bfdd.vty).
 *
 * Commands are sent in order, several before the first answer, and each gets one answer. The
 * connection is made with the first command and kept; "enable" is sent by itself. If the connection
 * fails, all commands that wait get the error, and the next command connects again: a command may
 * have been executed then although its answer was lost.
 *
 * A client must not mix users that enter configuration contexts, because the context belongs to the
 * connection. Nothing blocks; callbacks are called from steps of a task.
 */
#pragma once

#include "lib/loop/loop.h"
#include "lib/vty/answer.h"

struct vty;

struct vty_config {
	const char *path; /* of the socket; copied */
	int64_t timeout;  /* ns for each answer, also for connecting; 0: 10 s */
};

/* Valid during the callback. */
struct vty_answer {
	int error;	    /* negative errno: there is no answer */
	uint8_t status;	    /* enum vty_status, without an error */
	struct str text;    /* what the daemon says; without an error */
	const char *reason; /* describes the error, with the path; "" without one */
};

/* May ask more, or close and free the client. */
typedef void (*vty_answer_fn)(const struct vty_answer *answer, void *user);

#define VTY_IN_FLIGHT 64	/* commands sent without an answer */
#define VTY_WAITING_MAX 1000000 /* commands that wait */
#define VTY_COMMAND_MAX 4095	/* bytes; FRR's own limit for a line */

struct vty *vty_new(struct ev_loop *loop, const struct vty_config *config);
/* Commands that wait are dropped without an answer. NULL is allowed. */
void vty_free(struct vty *v);
/*
 * Queues a command. done may be NULL. -EINVAL if the command is too long or contains a line end or
 * a NUL byte, -EBUSY above VTY_WAITING_MAX; done is not called then.
 */
int vty_ask(struct vty *v, struct str command, vty_answer_fn done, void *user);
/* Closes the connection; commands that wait are dropped without an answer. */
void vty_close(struct vty *v);
/* Commands that wait for an answer. */
size_t vty_waiting(const struct vty *v);
/* Number of connections made. It changes when the daemon may have been restarted. */
uint64_t vty_connections(const struct vty *v);
