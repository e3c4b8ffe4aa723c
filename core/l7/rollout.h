/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rollout: whether a new configuration, which a part of the requests uses, gets more of them or is
 * given up. Pure.
 *
 * It is given up as soon as it has answered enough requests and the part that failed is larger than
 * that of the old one by more than the rollout allows. Otherwise its share grows by one step in
 * each interval in which it has answered enough requests. An interval with all requests ends the
 * rollout.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct l7_rollout {
	unsigned share;	       /* per cent of the requests at the start: 1 to 100 */
	unsigned step;	       /* points by which it grows; 0: it does not */
	unsigned max_increase; /* points by which the part of failed requests may grow */
	uint64_t min_requests; /* for a decision; 0 counts as 1 for giving up */
	int64_t interval;      /* ns */
};

/* What holds if nothing is said. */
#define L7_ROLLOUT_STEP_DEFAULT 10
#define L7_ROLLOUT_INCREASE_DEFAULT 5
#define L7_ROLLOUT_REQUESTS_DEFAULT 50
#define L7_ROLLOUT_INTERVAL_DEFAULT INT64_C(30000000000)

struct l7_tally {
	uint64_t answers; /* requests that have ended */
	uint64_t errors;  /* of those: with a status from 500 on, or without a complete answer */
};

enum l7_rollout_verdict {
	L7_ROLLOUT_WAIT,
	L7_ROLLOUT_STEP,   /* the share becomes l7_rollout_next() */
	L7_ROLLOUT_FINISH, /* the new configuration replaces the old one */
	L7_ROLLOUT_RETURN, /* it is given up */
};

/*
 * share is the present one, and elapsed the ns since it was set; before are the requests of the old
 * configuration since the start of the rollout, after those of the new one since its share was set.
 */
enum l7_rollout_verdict l7_rollout_judge(const struct l7_rollout *r, unsigned share,
					 int64_t elapsed, struct l7_tally before,
					 struct l7_tally after);
unsigned l7_rollout_next(const struct l7_rollout *r, unsigned share);
/*
 * Whether a client is among the share, in per cent. key is what identifies it. A client that is
 * among a share is among every larger one. seed makes another choice for each rollout.
 */
bool l7_rollout_has(struct str key, uint64_t seed, unsigned share);
