/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dirty: which frontends wait to be brought into line, in the order of their VIPs. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/maglevd/plan.h"

enum dirty_mark {
	DIRTY_NOT,
	DIRTY_WAITING, /* for its turn */
	DIRTY_FAILED,  /* waits for dirty_retry() */
	DIRTY_AGAIN,   /* failed, and waits for its turn again */
};

struct dirty {
	struct plan_order order;
	uint8_t *marks; /* per frontend */
	size_t first;	/* no waiting frontend stands at a lower position */
};

/* For another configuration; all marks are gone. */
void dirty_build(struct dirty *d, const struct l4_config *c);
/* All marks are gone. */
void dirty_clear(struct dirty *d);
void dirty_free(struct dirty *d);
/*
 * Waiting or failed. Frontends that are not programmed are never marked; one that waits goes on
 * waiting whatever failed, since it changed after that was tried.
 */
void dirty_mark(struct dirty *d, size_t frontend, enum dirty_mark mark);
/* It has its turn: the mark goes. True when it failed the last time and is the same since. */
bool dirty_take(struct dirty *d, size_t frontend);
void dirty_mark_all(struct dirty *d);
/* What failed waits again. */
void dirty_retry(struct dirty *d);
/* The first waiting frontend that the model's warm-up has released; SIZE_MAX if none. */
size_t dirty_first(struct dirty *d, const struct l4_model *m);
/* Nobody waits, released or not; failed ones do not count. */
bool dirty_none(const struct dirty *d);
