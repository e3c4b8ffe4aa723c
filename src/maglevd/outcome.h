/* SPDX-License-Identifier: Apache-2.0 */
/* outcome: how a probe ended, in HAProxy's words: the table between lib/probe and core/health. */
#pragma once

#include "core/health/health.h"
#include "lib/probe/probe.h"

enum health_code outcome_code(enum probe_kind kind, const struct probe_outcome *outcome);
