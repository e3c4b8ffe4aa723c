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
#include "core/l4/doc.h"
#include "lib/config/loader.h"

struct snapshot {
	struct arena *arena;
	struct l4_config config;
	/*
	 * If entries are added to the document of the file: that document without them, and the
	 * snapshot that has it in its arena, which lives as long as the last one that needs it.
	 */
	const struct l4_doc *doc;
	struct snapshot *origin;
	unsigned refs; /* of snapshots that have another origin than themselves: this one */
};

/* What a configuration is made from, beside its file. All zeros: nothing. */
struct snapshot_input {
	bool no_dataplane; /* see struct l4_rules */
	/*
	 * Adds entries to the document of the file, in the arena, and says what it leaves out. It
	 * runs in a child process after the start. NULL: there are none.
	 */
	void (*extend)(struct arena *arena, struct l4_doc *doc, struct errs *warnings,
		       const void *user);
	const void *user;
	const struct snapshot *in_force;
	/* The next one is made from the document of that in force, not from the file. */
	bool is_reused;
};

/* Describes how to load the file at path. Both are borrowed; the input may change meanwhile. */
struct config_source snapshot_source(const char *path, const struct snapshot_input *input);

/* The configuration of a successful load, which keeps owning it. */
const struct l4_config *snapshot_config(const struct config_load *load);
/*
 * Turns a successful load into a snapshot, which owns the memory of the load from now on: the
 * load must not be freed.
 */
struct snapshot *snapshot_take(struct config_load *load);
void snapshot_free(struct snapshot *s);
