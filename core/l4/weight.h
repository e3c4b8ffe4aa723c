/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weight: from health to weights (FR-2.2, FR-2.3, FR-4.3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/l4/model.h"

struct l4_effective {
	unsigned weight;
	bool flush; /* tear existing flows down */
};

/* The complete truth table. configured is the weight in force. */
struct l4_effective l4_effective_weight(enum health_state state, bool pool_active,
					unsigned configured, bool flush_on_down);

/* The same for a member of a pool, with its slow start (slow.h). */
struct l4_effective l4_member_weight(const struct l4_model *m, size_t frontend, size_t pool,
				     size_t member, bool pool_active);

/* The first pool of a frontend with an up member of non-zero weight; SIZE_MAX if there is none. */
size_t l4_active_pool(const struct l4_model *m, size_t frontend);

/* The number of members of a pool that are up and have a weight. */
size_t l4_pool_servers(const struct l4_model *m, size_t frontend, size_t pool);

/* The health of a frontend (FR-2.4), computed from the model. */
enum l4_frontend_health l4_frontend_judge(const struct l4_model *m, size_t frontend);
