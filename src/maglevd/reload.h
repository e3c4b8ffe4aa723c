/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: the only path by which a running maglevd reads its file again, to check it or to take
 * it (FR-5.3 .. FR-5.5).
 *
 * The file is read in a child process by lib/config/loader.h, which also merges callers. A file
 * is taken completely or not at all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/loop/loop.h"
#include "src/maglevd/snapshot.h"

struct engine;
struct l4_changes;
struct reload;

enum reload_result {
	RELOAD_OK, /* good; taken if that was asked for */
	RELOAD_PARSE_ERROR,
	RELOAD_SEMANTIC_ERROR,
	RELOAD_REFUSED, /* a good file that this process cannot take (there are changes), or
			 * a reading that failed or took too long */
};

/* The outcome; valid during the callback. */
struct reload_report {
	enum reload_result result;
	const struct errs *errors;   /* for the two error results */
	const struct errs *warnings; /* NULL when there is none to show */
	const char *refusal;	     /* RELOAD_REFUSED */
	/*
	 * For a good file: what it changed, or would change. NULL when only reload_hangup()
	 * asked.
	 */
	const struct l4_changes *changes;
};

struct reload_stats {
	uint64_t succeeded, failed; /* reloads, not checks */
	int64_t last_success;	    /* unix ns; the first load counts */
};

/*
 * source is borrowed; input is what it was made with. in_force of it is the snapshot of the engine
 * from now on.
 */
struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct config_source *source, struct snapshot_input *input);
/* Callers that still wait are not called any more. */
void reload_free(struct reload *r);
/*
 * Reads the file and takes it. done (may be NULL) is called from the loop with a const struct
 * reload_report. -EBUSY when CONFIG_WAITING_MAX callers wait already.
 */
int reload_request(struct reload *r, config_done_fn done, void *user);
/* The same, but the file is only checked. */
int reload_check(struct reload *r, config_done_fn done, void *user);
/*
 * Like reload_request(), but never refused: all requests with this done and user until the next
 * reading count as one. For SIGHUP.
 */
void reload_hangup(struct reload *r, config_done_fn done, void *user);
/*
 * What input->extend() adds has changed: the configuration is made again from the document in
 * force, not from the file, which an operator may be writing. Never refused; calls until the next
 * reading count as one.
 */
void reload_extend(struct reload *r);
/* The callbacks with this user are not called any more. */
void reload_forget(struct reload *r, void *user);
const struct reload_stats *reload_stats(const struct reload *r);

/* Logs one line per complaint and one for the whole; also used for the first load. */
void reload_log_load(const struct config_load *load, const char *path, bool again);
