/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waitlist: callers that wait for an answer.
 *
 * A caller is a struct of the owner of the list, with a struct waitlist_item in it. The owner keeps
 * its callback and whatever else it needs there, allocates it and frees it. The list keeps callers
 * in the order in which they asked. They are told by taking them out one after the other:
 *
 *	uint64_t round = waitlist_round(l);
 *
 *	while ((w = waitlist_take(l, round, NULL))) {
 *		struct asker *a = container_of(w, struct asker, waiting);
 *
 *		if (!w->forgotten)
 *			a->done(answer, w->user);
 *		free(a);
 *	}
 *
 * So everyone is told once, and a callback may do anything with the list: a caller that it adds
 * belongs to the next round, and one that it forgets is not told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waitlist_item {
	struct waitlist_item *next;
	uint64_t number; /* counts all that were ever added to the list */
	void *user;
	bool forgotten; /* still takes part, but is not told */
};

/* All zeros is an empty list, but for max. Nothing is allocated. */
struct waitlist {
	struct waitlist_item *first, *last;
	size_t n, max;
	uint64_t added;
};

/* -EBUSY when max wait already; *w is not taken then. */
int waitlist_add(struct waitlist *l, struct waitlist_item *w, void *user);
/* The same beyond max, for callers of which there can only be a few. */
void waitlist_add_always(struct waitlist *l, struct waitlist_item *w, void *user);
/* The callers of this user are not told any more. Their place in the list stays. */
void waitlist_forget(struct waitlist *l, const void *user);

/* Everyone who waits now has a number below this, and everyone who comes later has not. */
uint64_t waitlist_round(const struct waitlist *l);
/*
 * Takes the first caller of this round out of the list, of those for whom ready() says so if there
 * is such a function. NULL: there is none left.
 */
struct waitlist_item *waitlist_take(struct waitlist *l, uint64_t round,
				    bool (*ready)(struct waitlist_item *w));
