/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow: the slow start of a backend that returns (`slow-start` of a pool).
 *
 * A backend that comes up again after it was down, paused or disabled, or that joins servers which
 * were there before, gets a small share of its weight first. The share grows in at most
 * L4_SLOW_STEPS equal steps, so that a data plane has few changes, and is whole after the time of
 * the pool. The first start is not slow: then all servers begin together. A backend whose weight
 * the guard has held (guard.h) did not lose its flows, so it does not return either.
 *
 * The clock of the shares is a member of the model (slow_now). The engine moves it with
 * l4_model_slow_step(), at the times that l4_model_slow_next() tells. So everything that reads
 * weights between two steps sees the same ones.
 */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "core/l4/model.h"

#define L4_SLOW_STEPS 10
#define L4_SLOW_STEP_MIN (INT64_C(100) * 1000 * 1000) /* ns, at least between two steps */

/* The share in percent, 1 to 100, of a backend in a pool with this slow start at a time. */
unsigned l4_slow_share(int64_t returned, int64_t slow_start, int64_t now);
/* That part of a weight; at least 1 unless the weight is 0. */
unsigned l4_slow_weight(unsigned weight, unsigned share);
/* Unix ns when the share of a backend in a pool will be whole; 0 if it is. */
int64_t l4_slow_until(const struct l4_model *m, const struct l4_pool *p,
		      const struct l4_backend_state *b);

/* Unix ns at which the next share grows; INT64_MAX if none does. */
int64_t l4_model_slow_next(const struct l4_model *m);

/* A backend in a frontend whose share has grown. */
struct l4_slow_growth {
	size_t frontend, backend;
};

struct l4_slow_growths {
	VEC(struct l4_slow_growth) list;
};

/* Moves the clock. Appends what has grown, in the order of the configuration. */
void l4_model_slow_step(struct l4_model *m, int64_t now, struct l4_slow_growths *ret);

/* Follows the state of a backend; called for every change of it. */
void l4__slow_note(struct l4_backend_state *b, const struct health_change *change);
