/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiters: callers of the API that requested a sync and wait for its outcome. Each has its own
 * list of operations. The reconciler reports what happens; nothing here touches the data plane.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/diff/diff.h"
#include "lib/loop/waitlist.h"

/* ops are valid during the call. */
typedef void (*waiter_done_fn)(int err, const struct lb_ops *ops, void *user);

struct waiter {
	struct waitlist_item waiting;
	bool everything; /* the caller waits for a full sync */
	bool served;	 /* the full sync under way began after the request */
	/* an operation that concerns it was refused */
	bool failed;
	struct lb_vip_key vip; /* if not everything: the VIP whose operations count */
	struct lb_ops ops;
	waiter_done_fn done;
};

/* bounds what clients of the API can make maglevd keep */
#define WAITERS_MAX 64
/* operations reported to one caller; further ones are carried out but not reported */
#define WAITER_OPS_MAX 10000

struct waiters {
	struct waitlist list;
};

void waiters_init(struct waiters *w);
/* Frees all without calling them. */
void waiters_free(struct waiters *w);
/* Adds a caller. vip NULL: it waits for a full sync. -EBUSY when WAITERS_MAX wait already. */
int waiters_add(struct waiters *w, const struct lb_vip_key *vip, waiter_done_fn done, void *user);
/* The callers with this user are not called any more. */
void waiters_forget(struct waiters *w, void *user);
bool waiters_any(const struct waiters *w);
/* Calls fn with the VIP of every caller that waits for one, in the order of asking. */
void waiters_each_vip(const struct waiters *w, void (*fn)(const struct lb_vip_key *vip, void *user),
		      void *user);

/* An operation was carried out; an operation of a VIP was refused. */
void waiters_note(struct waiters *w, const struct lb_op *op);
void waiters_note_failure(struct waiters *w, const struct lb_vip_key *vip);
/* A full sync begins: it serves the callers that wait for one. */
void waiters_full_begins(struct waiters *w);
/*
 * These call and remove callers: those served by the full sync that ended; those that wait for a
 * single VIP; all of them, with an error. A callback may add new callers, which are not called
 * yet.
 */
void waiters_full_ended(struct waiters *w);
void waiters_vips_ended(struct waiters *w);
void waiters_fail_all(struct waiters *w, int err);
