/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prober: one worker per backend (FR-1), however many frontends use the backend.
 *
 * It observes the engine: starts, stops and restarts workers as states and configuration require,
 * and passes every result to engine_record(). A reload does not disturb a backend that it did not
 * change, not even its timer. Never blocks; long work is done by tasks.
 */
#pragma once

#include <stdint.h>

#include "core/health/health.h"
#include "core/l4/model.h"
#include "lib/loop/loop.h"
#include "lib/metrics/metrics.h"

struct engine;
struct prober;

/* Counters of one backend. They survive pauses and are freed with the backend. */
struct prober_counts {
	uint64_t by_code[HEALTH_CODES];
	struct metrics_histogram duration;
	uint32_t transitions[HEALTH_STATES][HEALTH_STATES];
};

struct prober_stats {
	uint64_t started;
	uint64_t late;	   /* started more than 5 % of their interval after their planned time */
	uint64_t extended; /* given more time than their timeout, because this program was late */
};

/* user_agent is borrowed. */
struct prober *prober_new(struct ev_loop *loop, struct engine *engine, const char *user_agent);
/* Cancels every probe in flight. The engine must still exist. */
void prober_free(struct prober *p);
/* Begins to probe. The first probes are spread over their intervals. */
void prober_start(struct prober *p);

const struct prober_stats *prober_stats(const struct prober *p);
/* The counters of a backend; all 0 for one without a worker. Valid while the backend exists. */
const struct prober_counts *prober_counts(const struct l4_backend_state *b);
