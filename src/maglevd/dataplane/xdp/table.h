/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: the Maglev table of a VIP from the servers in the book, built in slices and switched to at
 * once.
 */
#pragma once

#include "core/maglev/maglev.h"
#include "src/maglevd/dataplane/xdp/book.h"

struct plane_table {
	struct plane_book *book; /* NULL: nothing is being built */
	uint32_t vip, number;
	struct xdp_window lines; /* of it */
	VEC(struct maglev_member) members;
	VEC(uint16_t) ids; /* of the members */
	uint16_t *slots;   /* by member; kept from one build to the next */
	uint32_t size;	   /* of it */
	struct maglev_work *work;
	uint32_t written; /* slots that are in the map */
};

/* -EAGAIN, -ENOSPC: there is no table to build in, see plane__book_table(). Others of mmap(). */
int plane__table_begin(struct plane_table *t, struct plane_book *b, uint32_t vip);
/* About half a millisecond of work. True when the VIP has its new table. */
bool plane__table_step(struct plane_table *t);
/* Lets go of what is not done. */
void plane__table_stop(struct plane_table *t);
void plane__table_free(struct plane_table *t);
