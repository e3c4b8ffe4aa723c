/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder: keeps the past of frontends and backends (core/l4/history.h): every HISTORY_STEP it
 * reads the counters of the data plane, and in between it notes probes and states. A reload keeps
 * what is known of names that stay; the past begins with the process.
 */
#pragma once

#include <stdint.h>

#include "core/l4/history.h"
#include "lib/loop/loop.h"

struct engine;
struct reconcile;
struct recorder;

/* Observes the engine. Both are borrowed, and must outlive the recorder. */
struct recorder *recorder_new(struct ev_loop *loop, struct engine *engine,
			      const struct reconcile *reconcile);
void recorder_free(struct recorder *r);

/* Indices are those of the engine's model. Valid until the next reload. */
const struct l4_history *recorder_history(const struct recorder *r);
/* The number of the newest step that was recorded; -1: there is none. */
int64_t recorder_newest(const struct recorder *r);
/* When a step ended, in unix ns by the clock at the newest one. */
int64_t recorder_time(const struct recorder *r, int64_t step);
