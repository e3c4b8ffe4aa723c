/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes: what another configuration would change, as text for people to read before a reload.
 *
 *	backend web2: address 10.0.0.1 -> 10.0.0.2
 *	frontend www: pool primary: backend web3: weight 100 -> 50
 *	vpp.lb.sync-interval: 30s -> 10s
 *
 * First the settings of the daemon as a whole, then checks, backends and frontends, each by name.
 * The comparison is file against file: if a value set at run time stays, the line says so.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "core/l4/model.h"

#define L4_CHANGES_MAX 1000

struct l4_changes {
	const char **lines; /* without newline; the last is "and N more" if there were more */
	size_t n;
};

/* Compares the configuration of running with next. The lines are allocated from arena. */
struct l4_changes l4_changes(const struct l4_model *running, const struct l4_config *next,
			     struct arena *arena);
