/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: maglevd's configuration and the memory that holds it, made from the bytes of its
 * file.
 *
 * This part is particular to maglevd: how bytes become a configuration. lib/config/loader.h reads
 * the file, in a child process once the daemon runs.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "core/l4/config.h"
#include "lib/config/loader.h"

struct snapshot {
	struct arena *arena;
	struct l4_config config;
};

/* Describes how to load the file at path (borrowed); for no_dataplane see struct l4_rules. */
struct config_source snapshot_source(const char *path, bool no_dataplane);

/* The configuration of a successful load, which keeps owning it. */
const struct l4_config *snapshot_config(const struct config_load *load);
/*
 * Turns a successful load into a snapshot, which owns the memory of the load from now on: the
 * load must not be freed.
 */
struct snapshot *snapshot_take(struct config_load *load);
void snapshot_free(struct snapshot *s);
