/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: the one path by which a running maglevd looks at its file again, to check it or to take
 * it (FR-5.3 .. FR-5.5).
 *
 * The file is read in a child process by lib/config/loader.h, which also merges callers; all of it
 * is taken or nothing.
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

/* The outcome; all of it is gone when the callback returns. */
struct reload_report {
	enum reload_result result;
	const struct errs *errors;   /* of the two error results */
	const struct errs *warnings; /* NULL when there is none to show */
	const char *refusal;	     /* RELOAD_REFUSED */
	/* Of a good file: what it changed, or would. NULL when nobody but reload_hangup() asked. */
	const struct l4_changes *changes;
};

struct reload_stats {
	uint64_t succeeded, failed; /* reloads, not checks */
	int64_t last_success;	    /* unix ns; the first load counts */
};

/* source is borrowed. */
struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct config_source *source);
/* Callers that still wait are not told any more. */
void reload_free(struct reload *r);
/*
 * done (may be NULL) is called with a const struct reload_report. -EBUSY when CONFIG_WAITING_MAX
 * wait already.
 */
int reload_request(struct reload *r, config_done_fn done, void *user);
/* The same without taking it. */
int reload_check(struct reload *r, config_done_fn done, void *user);
/* A request that is never refused: all with this done and user until the next reading are one. */
void reload_hangup(struct reload *r, config_done_fn done, void *user);
/* The callers of this user are not told any more. */
void reload_forget(struct reload *r, void *user);
const struct reload_stats *reload_stats(const struct reload *r);

/* One line per complaint, and one in all: shared with the first load. */
void reload_log_load(const struct config_load *load, const char *path, const char *failed_msg);
