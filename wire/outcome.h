/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome: translates the outcome of a probe (lib/probe) into a health code (core/health), which
 * are the codes that HAProxy uses.
 */
#pragma once

#include "core/health/health.h"
#include "lib/probe/probe.h"

enum health_code outcome_code(enum probe_kind kind, const struct probe_outcome *outcome);
