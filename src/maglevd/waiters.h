/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiters: callers of the API that asked for a sync and wait to be told what it did. Each has its
 * own list of operations. The reconciler says what happens; nothing here touches the data plane.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/diff/diff.h"
#include "lib/loop/waitlist.h"

typedef void (*waiter_done_fn)(int err, const struct lb_ops *ops, void *user);

struct waiter {
	struct waitlist_item waiting;
	bool everything; /* waits for a full sync */
	bool served;	 /* the full sync under way began after the question */
	bool failed;
	struct lb_vip_key vip; /* not everything: whose operations count */
	struct lb_ops ops;
	waiter_done_fn done;
};

#define WAITERS_MAX 64
#define WAITER_OPS_MAX 10000 /* shown to one; more are carried out and not shown */

struct waiters {
	struct waitlist list;
};

void waiters_init(struct waiters *w);
void waiters_free(struct waiters *w);
/* vip NULL: everything. -EBUSY when WAITERS_MAX wait already. */
int waiters_add(struct waiters *w, const struct lb_vip_key *vip, waiter_done_fn done, void *user);
void waiters_forget(struct waiters *w, void *user);
bool waiters_any(const struct waiters *w);
/* Calls fn with the VIP of every caller that waits for one, in the order of asking. */
void waiters_each_vip(const struct waiters *w, void (*fn)(const struct lb_vip_key *vip, void *user),
		      void *user);

/* An operation was carried out, or one of a VIP was refused. */
void waiters_note(struct waiters *w, const struct lb_op *op);
void waiters_note_failure(struct waiters *w, const struct lb_vip_key *vip);
/* A full sync begins: it serves the callers that wait for one. */
void waiters_full_begins(struct waiters *w);
/* Tell and forget: callers that wait for the full sync that ended; for single VIPs; all. */
void waiters_full_ended(struct waiters *w);
void waiters_vips_ended(struct waiters *w);
void waiters_fail_all(struct waiters *w, int err);
