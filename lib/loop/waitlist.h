/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waitlist: callers that wait for an answer.
 *
 * A caller is a struct of the list's owner, with a struct waitlist_item in it. The owner keeps
 * the callback there, allocates the struct and frees it. The list keeps callers in the order in
 * which they were added. The owner answers them by taking them out one after the other:
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
 * So each caller is answered once, and a callback may do anything with the list: a caller that it
 * adds belongs to the next round, and one that it forgets is not answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waitlist_item {
	struct waitlist_item *next;
	uint64_t number; /* sequence number in this list, from 0 */
	void *user;
	bool forgotten; /* still in the list, but must not be answered */
};

/* All zeros except max is an empty list. Nothing is allocated. */
struct waitlist {
	struct waitlist_item *first, *last;
	size_t n, max;
	uint64_t added; /* number of the next item */
};

/* -EBUSY if max callers already wait; *w is then not added. */
int waitlist_add(struct waitlist *l, struct waitlist_item *w, void *user);
/* The same without the bound, for callers of which there are only a few by construction. */
void waitlist_add_always(struct waitlist *l, struct waitlist_item *w, void *user);
/*
 * Callers with this user will not be answered any more. They stay in the list until they are
 * taken.
 */
void waitlist_forget(struct waitlist *l, const void *user);

/* A number that separates callers: those in the list now have a lower number, later ones do not. */
uint64_t waitlist_round(const struct waitlist *l);
/*
 * Removes and returns the first caller of this round; with ready, the first for which it returns
 * true. NULL if there is none left. The owner then owns the item again.
 */
struct waitlist_item *waitlist_take(struct waitlist *l, uint64_t round,
				    bool (*ready)(struct waitlist_item *w));
