/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reloader: one run at a time brings FRR to the configuration in the file.
 *
 * A run takes the lock, reads the file, and makes the change over the daemons' sockets (fast.h) or,
 * if that is not possible, by a full reload (full.h). Requests that come before a run begins share
 * its result; requests that come while it is under way share the next one. So there is never more
 * than one run under way and one to come, however many requests there are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "lib/loop/loop.h"
#include "lib/metrics/metrics.h"
#include "src/frr-reloader/options.h"

struct reloader;

/* error is "" after success, and valid during the call. */
typedef void (*reloader_done_fn)(bool success, const char *error, void *user);

/* Counters since the start, and the last result. */
struct reloader_stats {
	uint64_t requests; /* with and without an answer */
	uint64_t reloads;  /* runs */
	uint64_t errors;   /* runs that failed */
	uint64_t fast, full;
	uint64_t fallbacks; /* runs that the fast path did not do, although it was tried */
	uint64_t saves, save_errors;
	uint64_t announced, withdrawn; /* networks, by the fast path */
	uint64_t batched;	       /* requests that shared a run with an earlier one */
	uint64_t last_batch;	       /* requests of the last run */
	bool succeeded;		       /* the last run */
	int64_t last_at;	       /* unix ns of its end; 0: there was none */
	char last_error[512];	       /* of the last run that failed; stays until one succeeds */
	char last_fallback[256];
	struct metrics_histogram duration[2]; /* seconds; by enum reloader_way */
};

enum reloader_way { RELOADER_FAST, RELOADER_FULL };

/* -errno if the folder or the lock cannot be used; logged. options are borrowed. */
int reloader_new(struct ev_loop *loop, const struct options *options, struct reloader **ret);
/* Kills what is running; nobody is answered. NULL is allowed. */
void reloader_free(struct reloader *r);
/*
 * Requests a run. done may be NULL. -EBUSY if too many requests wait; nothing is called then.
 */
int reloader_request(struct reloader *r, reloader_done_fn done, void *user);
/* done() is not called for this user any more; the run goes on. */
void reloader_forget(struct reloader *r, const void *user);
/* Calls done when no run is under way and nobody waits; new requests are refused with -EBUSY. */
void reloader_drain(struct reloader *r, void (*done)(void *user), void *user);

const struct reloader_stats *reloader_stats(const struct reloader *r);
size_t reloader_queue(const struct reloader *r); /* requests that wait */
bool reloader_is_busy(const struct reloader *r);
