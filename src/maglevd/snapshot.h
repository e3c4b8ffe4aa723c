/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot: a configuration and the memory it lives in, from the bytes of a file.
 *
 * Parsing and checking ten thousand backends takes longer than a loop may stand still. So a reload
 * reads the file in a child process, which builds the snapshot in memory that both share and then
 * exits: the parent gets it whole, at the same address, without copying. A file that crashes the
 * parser or makes it run forever does not harm the daemon.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/l4/config.h"
#include "lib/loop/loop.h"

struct snapshot {
	struct arena *arena;
	struct l4_config config;
};

enum snapshot_result {
	SNAPSHOT_OK,
	SNAPSHOT_PARSE_ERROR,	 /* exit code 1 of --check */
	SNAPSHOT_SEMANTIC_ERROR, /* exit code 2 */
};

/* What came of loading a file. Everything in it lives in arena. */
struct snapshot_load {
	struct arena *arena;
	enum snapshot_result result;
	struct l4_config config; /* SNAPSHOT_OK */
	struct errs errors, warnings;
};

struct snapshot_source {
	const char *path;
	bool no_dataplane; /* see struct l4_rules */
	double limit;	   /* s that a child may take; 0: SNAPSHOT_LIMIT */
};

#define SNAPSHOT_LIMIT 30. /* ten thousand backends take a tenth of a second */

/* Reads, parses and checks, here and now. Free with snapshot_load_free(). */
struct snapshot_load *snapshot_load(const struct snapshot_source *source);
void snapshot_load_free(struct snapshot_load *load);
/* Turns a successful load into a snapshot; the load is gone. */
struct snapshot *snapshot_take(struct snapshot_load *load);
void snapshot_free(struct snapshot *s);

/*
 * The same in a child process. done gets the load (its own from then on), or NULL with a reason
 * when the child died or took too long. One at a time per loader.
 */
struct snapshot_loader;
typedef void (*snapshot_loaded_fn)(void *user, struct snapshot_load *load, const char *reason);

struct snapshot_loader *snapshot_loader_new(struct ev_loop *loop, snapshot_loaded_fn done,
					    void *user);
void snapshot_loader_free(struct snapshot_loader *l);
/* Not while one is under way. -errno when no child could be made; done is not called then. */
int snapshot_loader_start(struct snapshot_loader *l, const struct snapshot_source *source);
bool snapshot_loader_busy(const struct snapshot_loader *l);
