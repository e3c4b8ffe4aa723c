/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warmup: what may be written to the data plane after a start (NFR-1.2, NFR-1.3).
 *
 * There are three phases against the clock of the process: nothing is written, VIPs are released
 * one by one, everything is written. Nothing resets the clock; the delays are those of the
 * running configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/l4/model.h"

enum warmup_phase { WARMUP_HANDS_OFF, WARMUP_RELEASING, WARMUP_DONE };

const char *warmup_phase_name(enum warmup_phase p); /* "hands-off", "releasing", "done" */
/* start and now are monotonic ns. Both delays zero: done from the start. */
enum warmup_phase warmup_phase(const struct l4_lb *lb, int64_t start, int64_t now);
/* Monotonic ns of the next change of phase after now; INT64_MAX when there is none. */
int64_t warmup_next(const struct l4_lb *lb, int64_t start, int64_t now);
/*
 * Whether every backend of the frontend has had a result. Static, paused and disabled ones
 * do not delay it.
 */
bool warmup_vip_ready(const struct l4_model *m, size_t frontend);
