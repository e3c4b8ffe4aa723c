/* SPDX-License-Identifier: Apache-2.0 */
/*
 * book: what is programmed in a set of maps, and which of their places are free.
 *
 * The maps have the last word: the book is read from them, and every change is written to both. A
 * place that was let go rests for ABI_REST_S before it is handed out again; -EAGAIN says that all
 * that is left is resting, until book->wait. -ENOSPC: there is none, and book->full names what.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/diff/diff.h"
#include "src/maglevd/dataplane/xdp/maps.h"

struct plane_vip {
	bool used;
	struct lb_vip_key key;
	VEC(uint16_t) servers; /* ids, by address */
};

/* Places of one kind: 0: free, INT64_MAX: in use, else monotonic ns when its rest is over. */
struct plane_places {
	int64_t *rest;
	uint32_t n, first;
	uint32_t next; /* where to look first */
};

struct plane_book {
	struct plane_maps *maps;
	struct plane_vip *vips;
	struct plane_places indexes, ids, tables;
	int64_t *cell_rest;
	int64_t wait;	  /* monotonic ns, after -EAGAIN */
	const char *full; /* what there is no room for, after -ENOSPC */
};

/*
 * Reads the maps, which stay where they are. Free places of maps that others have used (fresh:
 * nobody has) rest, as it is not known since when.
 */
void plane__book_open(struct plane_book *b, struct plane_maps *maps, bool fresh);
/* Again, as others may have written; the rest of places is remembered. */
void plane__book_read(struct plane_book *b);
void plane__book_close(struct plane_book *b);

/*
 * Everything of another book, under the same indexes, ids and generations, but for tables and
 * counters; into one that is fresh and has room for it.
 */
int plane__book_import(struct plane_book *b, const struct plane_book *from);

/* The index of a VIP, 0: none; the id of its server, 0: none. */
uint32_t plane__book_vip(const struct plane_book *b, const struct lb_vip_key *key);
uint32_t plane__book_server(const struct plane_book *b, uint32_t vip, const struct addr *address);

/* Where the servers of a VIP behind that address begin; all of them if it is not set. */
size_t plane__book_servers_after(const struct plane_book *b, uint32_t vip, const struct addr *a);

int plane__book_conf(struct plane_book *b, const struct lb_conf *conf);
/* Whether the program looks egress devices up (lb_links). */
void plane__book_set_links(struct plane_book *b, bool on);
int plane__book_vip_add(struct plane_book *b, const struct lb_op *op);
/* The VIP has no servers. */
void plane__book_vip_del(struct plane_book *b, uint32_t vip);
/* A server that no table names yet; *ret is its id. */
int plane__book_server_add(struct plane_book *b, uint32_t vip, const struct lb_op *op,
			   uint32_t *ret);
/* One that no table names any more. */
void plane__book_server_del(struct plane_book *b, uint32_t id);
/* Its flows are strangers from now on. */
void plane__book_flush(struct plane_book *b, uint32_t id);
/* Whether the table of a VIP may not be that of its servers: survives this process. */
void plane__book_set_changing(struct plane_book *b, uint32_t vip, bool changing);

/* A free table; -EAGAIN, -ENOSPC. */
int plane__book_table(struct plane_book *b, uint32_t *ret);
/* A VIP uses that table from now on (UINT32_MAX: none), and the one before rests. */
void plane__book_switch(struct plane_book *b, uint32_t vip, uint32_t table);

/* Into *ret, which is empty; but sticky_buckets_per_core, of which the maps know nothing. */
void plane__book_state(const struct plane_book *b, struct lb_state *ret);
