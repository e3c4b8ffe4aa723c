/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: the tables of pools with `balance: maglev`.
 *
 * Building one takes up to some milliseconds, so generations share them: a table is found again as
 * long as the servers and weights of a pool are the same. All functions are for the control thread;
 * data threads read the slots as long as their generation lives.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/l7/config.h"

struct tables;

struct table {
	const uint16_t *slots; /* indices of servers; see core/l7/spread.h */
	size_t size;
};

struct tables *tables_new(void);
/* All references must have been released. */
void tables_free(struct tables *t);
/* The table for these servers, with a reference. */
struct table *tables_take(struct tables *t, const struct l7_server *servers, size_t n);
/* NULL is allowed. */
void tables_release(struct table *table);
/* Tables that were built since the start. */
uint64_t tables_built(const struct tables *t);
