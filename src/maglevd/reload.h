/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: the one path by which a running maglevd looks at its file again, to check it or to take
 * it (FR-5.3 .. FR-5.5).
 *
 * The file is read in a child process (snapshot.h); all of it is taken or nothing. A caller that
 * asks during a reading is answered by one more reading after it, so the newest file always counts,
 * and a hundred callers at once cost one reading.
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
	RELOAD_REFUSED, /* a good file that this process cannot take (there are changes), or the
			 * file could not be read to its end */
};

/* What came of it; all of it is gone when the callback returns. */
struct reload_report {
	enum reload_result result;
	const struct errs *errors;   /* of the two error results */
	const struct errs *warnings; /* NULL when there is none to show */
	const char *refusal;	     /* RELOAD_REFUSED */
	/* Of a good file: what it changed, or would. NULL when nobody but reload_hangup() asked. */
	const struct l4_changes *changes;
};

typedef void (*reload_done_fn)(const struct reload_report *report, void *user);

struct reload_stats {
	uint64_t succeeded, failed; /* reloads, not checks */
	int64_t last_success;	    /* unix ns; the first load counts */
};

#define RELOAD_WAITING_MAX 64

/* source is borrowed. */
struct reload *reload_new(struct ev_loop *loop, struct engine *engine,
			  const struct snapshot_source *source);
/* Callers that wait are not told any more. */
void reload_free(struct reload *r);
/* -EBUSY when RELOAD_WAITING_MAX wait already. done may be NULL. */
int reload_request(struct reload *r, reload_done_fn done, void *user);
/* The same without taking it. */
int reload_check(struct reload *r, reload_done_fn done, void *user);
/* A request that is never refused: all with this done and user until the next reading are one. */
void reload_hangup(struct reload *r, reload_done_fn done, void *user);
/* The callers with this user are not told any more. */
void reload_forget(struct reload *r, void *user);
const struct reload_stats *reload_stats(const struct reload *r);

/* One line per complaint, and one in all: shared with the first load. */
void reload_log_load(const struct snapshot_load *load, const char *path, const char *failed_msg);
