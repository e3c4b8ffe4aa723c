/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes: what another configuration would change, for people to read before they reload.
 *
 *	backend web2: address 10.0.0.1 -> 10.0.0.2
 *	frontend www: pool primary: backend web3: weight 100 -> 50
 *	vpp.lb.sync-interval: 30s -> 10s
 *
 * First what the daemon as a whole is told, then checks, backends and frontends, each by name. It
 * is file against file: where something set at run time stays, the line says so.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "core/l4/model.h"

#define L4_CHANGES_MAX 1000

struct l4_changes {
	const char **lines; /* without newline; where there were more, the last is "and N more" */
	size_t n;
};

/* The lines live in the arena. */
struct l4_changes l4_changes(const struct l4_model *running, const struct l4_config *next,
			     struct arena *arena);
