/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inquiry: asks the data threads which connections they have.
 *
 * Each thread writes its own part, some entries in each turn of its loop, so that requests do not
 * wait for it. The thread that is the last one to finish gives the inquiry back to the control
 * thread. Each part has the oldest connections, up to a limit.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/str.h"

struct worker;

/* A connection as a JSON object: a piece of the text of its part. */
struct inquiry_item {
	double since; /* s since the epoch: when it was opened */
	size_t at, n;
};

struct inquiry_list {
	struct inquiry_item *items;
	size_t n, cap;
	uint64_t total; /* of the connections that there are */
};

/* What one thread says. */
struct inquiry_part {
	struct buf text;
	struct inquiry_list clients, links; /* of clients; to servers */
	struct inquiry_list sessions;	    /* of datagrams */
	/* the rest is private to the thread */
	struct inquiry *of;
	struct inquiry_part *next;
	uint64_t client; /* numbers of clients that are done are not above this */
	uint64_t flow;	 /* the same of sessions */
	uint32_t slot;	 /* numbers of slots that are done are below this */
};

struct inquiry {
	/* All threads have answered. Called by the loop of the control thread. */
	void (*done)(struct inquiry *q, void *user);
	void *user;
	size_t limit; /* of each list of each thread */
	/* the rest is private */
	atomic_uint left; /* threads that have not finished */
	struct inquiry *next;
	unsigned n;
	struct inquiry_part parts[]; /* n of them */
};

struct inquiry *inquiry_new(unsigned threads, size_t limit);
void inquiry_free(struct inquiry *q);

/* ---- for the thread that answers ---- */

/* Adds some entries. Returns true if the part is complete. */
bool inquiry_look(struct worker *w, struct inquiry_part *p);
/* The part is complete. Returns true for the last one. */
bool inquiry_finish(struct inquiry_part *p);
