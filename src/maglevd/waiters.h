/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiters: who asked for a sync and wants to hear what it did. Kept for the reconciler, which says
 * what happens; pure but for the callbacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "core/diff/diff.h"

typedef void (*waiter_done_fn)(int err, const struct lb_ops *ops, void *user);

struct waiter {
	bool everything; /* waits for a full sync */
	bool served;	 /* the full sync under way began after the question */
	bool failed;
	struct lb_vip_key vip; /* not everything: whose operations count */
	struct lb_ops ops;
	waiter_done_fn done; /* NULL: not any more */
	void *user;
};

#define WAITERS_MAX 64
#define WAITER_OPS_MAX 10000 /* shown to one; more are carried out and not shown */

struct waiters {
	VEC(struct waiter) list;
};

/* vip NULL: everything. -EBUSY when WAITERS_MAX wait already. */
int waiters_add(struct waiters *w, const struct lb_vip_key *vip, waiter_done_fn done, void *user);
void waiters_forget(struct waiters *w, void *user);
void waiters_free(struct waiters *w);

/* An operation was carried out, or one of a VIP was refused. */
void waiters_note(struct waiters *w, const struct lb_op *op);
void waiters_note_failure(struct waiters *w, const struct lb_vip_key *vip);
/* A full sync begins: it serves those who wait for one. */
void waiters_full_begins(struct waiters *w);
/* Tell and forget: those who wait for the full sync that ended; for single VIPs; all. */
void waiters_full_ended(struct waiters *w);
void waiters_vips_ended(struct waiters *w);
void waiters_fail_all(struct waiters *w, int err);
