/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/waiters.h"

#include <errno.h>

int waiters_add(struct waiters *w, const struct lb_vip_key *vip, waiter_done_fn done, void *user)
{
	struct waiter one = { .everything = !vip, .done = done, .user = user };

	if (w->list.n >= WAITERS_MAX)
		return -EBUSY;
	if (vip)
		one.vip = *vip;
	vec_push(&w->list, one);
	return 0;
}

void waiters_forget(struct waiters *w, void *user)
{
	for (size_t i = 0; i < w->list.n; i++)
		if (w->list.items[i].user == user)
			w->list.items[i].done = NULL;
}

void waiters_free(struct waiters *w)
{
	for (size_t i = 0; i < w->list.n; i++)
		vec_free(&w->list.items[i].ops.list);
	vec_free(&w->list);
}

static bool concerns(const struct waiter *one, const struct lb_vip_key *vip)
{
	return one->everything || lb_vip_key_cmp(&one->vip, vip) == 0;
}

void waiters_note(struct waiters *w, const struct lb_op *op)
{
	for (size_t i = 0; i < w->list.n; i++) {
		struct waiter *one = &w->list.items[i];

		if (concerns(one, &op->vip) && one->ops.list.n < WAITER_OPS_MAX)
			vec_push(&one->ops.list, *op);
	}
}

void waiters_note_failure(struct waiters *w, const struct lb_vip_key *vip)
{
	for (size_t i = 0; i < w->list.n; i++)
		if (concerns(&w->list.items[i], vip))
			w->list.items[i].failed = true;
}

void waiters_full_begins(struct waiters *w)
{
	for (size_t i = 0; i < w->list.n; i++)
		w->list.items[i].served = w->list.items[i].everything;
}

/* A callback may ask again: what it adds stands behind, and is not looked at here. */
static void tell(struct waiters *w, bool (*ready)(const struct waiter *one), int err)
{
	for (size_t left = w->list.n, i = 0; left; left--) {
		struct waiter one = w->list.items[i];

		if (!ready(&one)) {
			i++;
			continue;
		}
		vec_remove_at(&w->list, i);
		if (one.done)
			one.done(err ? err : one.failed ? -EIO : 0, &one.ops, one.user);
		vec_free(&one.ops.list);
	}
}

static bool is_served(const struct waiter *one)
{
	return one->served;
}

static bool is_single(const struct waiter *one)
{
	return !one->everything;
}

static bool is_any(const struct waiter *one)
{
	return true;
}

void waiters_full_ended(struct waiters *w)
{
	tell(w, is_served, 0);
}

void waiters_vips_ended(struct waiters *w)
{
	tell(w, is_single, 0);
}

void waiters_fail_all(struct waiters *w, int err)
{
	tell(w, is_any, err);
}
