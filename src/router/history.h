/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: the last generations: where each came from and what it changed.
 *
 * A record keeps the plan of its generation, so that it can be shown and applied again; it keeps no
 * server. What a generation changed is computed when it is first asked for. For the control thread.
 */
#pragma once

#include "base/addr.h"
#include "base/who.h"
#include "core/l7/change.h"
#include "src/router/plan.h"
#include "wire/router_json.h"

#define HISTORY_MAX 10

enum history_source {
	HISTORY_FILE,
	HISTORY_API,	   /* POST /routes/update */
	HISTORY_ROLLBACK,  /* an earlier one, applied again */
	HISTORY_ENDPOINTS, /* the servers of one pool */
	HISTORY_ROLLOUT,   /* an update that only a part of the requests used at first */
	HISTORY_UPGRADE,   /* it was in force in the process before */
};
#define HISTORY_SOURCES 6

struct history_origin {
	enum history_source source;
	const char *peer;      /* the address of the client; "" if there is none */
	const struct who *who; /* the operator; NULL: not known */
};

struct history_record {
	uint64_t number;
	uint64_t before; /* the generation that was in force; 0: none */
	uint64_t of;	 /* the generation that is applied again; 0: none */
	size_t pool;	 /* whose servers have changed; SIZE_MAX: the whole may have */
	int64_t at;	 /* ns since the epoch */
	enum history_source source;
	char peer[ENDPOINT_STRLEN];
	char operator[WHO_NAME_SIZE]; /* "": not known */
	bool returned;		      /* by a rollout: it was given up */
	struct plan *plan;
	/* the rest is private */
	struct arena *arena;
	struct l7_items *items; /* of each kind; NULL: not computed yet */
	struct l7_change *change;
};

struct history;

struct history *history_new(void);
/* NULL is allowed. */
void history_free(struct history *h);
/* Adds a record with plan, of which it takes a reference, and may forget the oldest. */
struct history_record *history_add(struct history *h, uint64_t number, struct plan *plan,
				   const struct history_origin *origin);

/* At most HISTORY_MAX. */
size_t history_count(const struct history *h);
/* i is from 0, the newest, to history_count() - 1. */
struct history_record *history_at(struct history *h, size_t i);
/* NULL: it is not kept. */
struct history_record *history_find(struct history *h, uint64_t number);
/* The one that was in force when r was added; NULL: there was none, or it is not known any more. */
const struct history_record *history_before(struct history *h, const struct history_record *r);
/*
 * What the generation has changed: ROUTER_ENTRIES elements, by enum router_entry. NULL if the
 * generation that was in force before is not known any more.
 */
const struct l7_change *history_change(struct history *h, struct history_record *r);
const char *history_source_name(enum history_source source);
