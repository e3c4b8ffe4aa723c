/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: the Maglev table of a VIP, built from the servers in the book step by step, and then put
 * in use at once.
 */
#pragma once

#include "core/maglev/maglev.h"
#include "src/maglevd/dataplane/xdp/book.h"

struct plane_table {
	struct plane_book *book; /* NULL: nothing is being built */
	uint32_t vip;
	uint32_t number;	 /* of the table in the maps; UINT32_MAX: the VIP needs none */
	struct xdp_window lines; /* its lines, mapped */
	VEC(struct maglev_member) members;
	VEC(uint16_t) ids;	  /* of the members */
	uint16_t *slots;	  /* the members of the slots; kept for the next build */
	uint32_t size;		  /* number of slots */
	struct maglev_work *work; /* NULL: all slots are known */
	uint32_t written;	  /* slots that are in the map */
};

/* -EAGAIN, -ENOSPC: no table is free, see plane__book_table(). Other errors are of mmap(). */
int plane__table_begin(struct plane_table *t, struct plane_book *b, uint32_t vip);
/* Up to a millisecond of work. True when the VIP uses its new table. */
bool plane__table_step(struct plane_table *t);
/* Gives up a table that is not complete. */
void plane__table_stop(struct plane_table *t);
void plane__table_free(struct plane_table *t);
