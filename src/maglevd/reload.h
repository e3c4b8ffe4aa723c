/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: the one path by which a running maglevd takes a new configuration (FR-5.3 .. FR-5.5).
 *
 * The file is read in a child process (snapshot.h); all of it is taken or nothing. Asking again
 * while one is under way makes one more follow it, so the last word on disk always counts.
 */
#pragma once

#include <stdint.h>

#include "lib/loop/loop.h"
#include "src/maglevd/snapshot.h"

struct engine;
struct reload;

struct reload_stats {
	uint64_t succeeded, failed;
	int64_t last_success; /* unix ns; the first load counts */
};

/* finished is called after each attempt, good or bad; may be NULL. source is borrowed. */
struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct snapshot_source *source, void (*finished)(void *user),
			  void *user);
void reload_free(struct reload *r);
void reload_request(struct reload *r);
const struct reload_stats *reload_stats(const struct reload *r);

/* One line per complaint, and one in all: shared with the first load. */
void reload_log_load(const struct snapshot_load *load, const char *path, const char *failed_msg);
