/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waitlist: a list in the order of its numbers, which only grow, so that membership in a round is
 * a comparison. Taking a caller walks the list from its start; lists are bounded and short.
 */
#include "lib/loop/waitlist.h"

#include <assert.h>
#include <errno.h>

void waitlist_add_always(struct waitlist *l, struct waitlist_item *w, void *user)
{
	*w = (struct waitlist_item){ .number = l->added++, .user = user };
	if (l->last)
		l->last->next = w;
	else
		l->first = w;
	l->last = w;
	l->n++;
}

int waitlist_add(struct waitlist *l, struct waitlist_item *w, void *user)
{
	assert(l->max > 0);
	if (l->n >= l->max)
		return -EBUSY;
	waitlist_add_always(l, w, user);
	return 0;
}

void waitlist_forget(struct waitlist *l, const void *user)
{
	for (struct waitlist_item *w = l->first; w; w = w->next)
		if (w->user == user)
			w->forgotten = true;
}

uint64_t waitlist_round(const struct waitlist *l)
{
	return l->added;
}

static void take_out(struct waitlist *l, struct waitlist_item *before, struct waitlist_item *w)
{
	if (before)
		before->next = w->next;
	else
		l->first = w->next;
	if (l->last == w)
		l->last = before;
	w->next = NULL;
	l->n--;
}

struct waitlist_item *waitlist_take(struct waitlist *l, uint64_t round,
				    bool (*ready)(struct waitlist_item *w))
{
	struct waitlist_item *before = NULL;

	for (struct waitlist_item *w = l->first; w && w->number < round; before = w, w = w->next) {
		if (ready && !ready(w))
			continue;
		take_out(l, before, w);
		return w;
	}
	return NULL;
}
