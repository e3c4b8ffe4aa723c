/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/waiters.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

static struct waiter *waiter_of(struct waitlist_item *w)
{
	return container_of(w, struct waiter, waiting);
}

/* The caller's part: its operations and itself. The list does not own items. */
static void waiter_free(struct waiter *one)
{
	vec_free(&one->ops.list);
	free(one);
}

void waiters_init(struct waiters *w)
{
	*w = (struct waiters){ .list.max = WAITERS_MAX };
}

void waiters_free(struct waiters *w)
{
	struct waitlist_item *one;

	while ((one = waitlist_take(&w->list, waitlist_round(&w->list), NULL)))
		waiter_free(waiter_of(one));
}

int waiters_add(struct waiters *w, const struct lb_vip_key *vip, waiter_done_fn done, void *user)
{
	struct waiter *one = mem_zalloc(sizeof(*one));
	int r = waitlist_add(&w->list, &one->waiting, user);

	if (r < 0) {
		free(one);
		return r;
	}
	one->everything = !vip;
	one->done = done;
	if (vip)
		one->vip = *vip;
	return 0;
}

void waiters_forget(struct waiters *w, void *user)
{
	waitlist_forget(&w->list, user);
}

bool waiters_any(const struct waiters *w)
{
	return w->list.n > 0;
}

void waiters_each_vip(const struct waiters *w, void (*fn)(const struct lb_vip_key *vip, void *user),
		      void *user)
{
	for (struct waitlist_item *i = w->list.first; i; i = i->next)
		if (!waiter_of(i)->everything)
			fn(&waiter_of(i)->vip, user);
}

/* A full sync is about every VIP, and about the global configuration, whose key is all zeros. */
static bool concerns(const struct waiter *one, const struct lb_vip_key *vip)
{
	return one->everything || lb_vip_key_cmp(&one->vip, vip) == 0;
}

/*
 * Operations beyond the bound are dropped here, so one huge sync cannot make a caller hold more
 * memory.
 */
void waiters_note(struct waiters *w, const struct lb_op *op)
{
	for (struct waitlist_item *i = w->list.first; i; i = i->next) {
		struct waiter *one = waiter_of(i);

		if (concerns(one, &op->vip) && one->ops.list.n < WAITER_OPS_MAX)
			vec_push(&one->ops.list, *op);
	}
}

void waiters_note_failure(struct waiters *w, const struct lb_vip_key *vip)
{
	for (struct waitlist_item *i = w->list.first; i; i = i->next)
		if (concerns(waiter_of(i), vip))
			waiter_of(i)->failed = true;
}

/*
 * A caller that comes while the walk is running is not marked, and waits for the next one: the
 * walk has already passed some VIPs.
 */
void waiters_full_begins(struct waiters *w)
{
	for (struct waitlist_item *i = w->list.first; i; i = i->next)
		waiter_of(i)->served = waiter_of(i)->everything;
}

/* The round keeps callers that are added by a callback out of this loop. */
static void tell(struct waiters *w, bool (*ready)(struct waitlist_item *one), int err)
{
	uint64_t round = waitlist_round(&w->list);
	struct waitlist_item *i;

	while ((i = waitlist_take(&w->list, round, ready))) {
		struct waiter *one = waiter_of(i);

		if (!i->forgotten)
			one->done(err ? err : one->failed ? -EIO : 0, &one->ops, i->user);
		waiter_free(one);
	}
}

static bool is_served(struct waitlist_item *w)
{
	return waiter_of(w)->served;
}

static bool is_single(struct waitlist_item *w)
{
	return !waiter_of(w)->everything;
}

void waiters_full_ended(struct waiters *w)
{
	tell(w, is_served, 0);
}

void waiters_vips_ended(struct waiters *w)
{
	tell(w, is_single, 0);
}

/* NULL: every caller, whatever it waits for. */
void waiters_fail_all(struct waiters *w, int err)
{
	tell(w, NULL, err);
}
