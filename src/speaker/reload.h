/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload: the latest configuration of FRR is applied, one at a time.
 *
 * core/frr/debounce decides when. To apply a text is to replace the file of FRR's configuration and
 * to ask frr-reloader to load it, over its Unix socket. Without a socket the older protocol is
 * used: SIGHUP to the process in the pid file, and the result from the status file. That protocol
 * has no ids: the result may be that of a reload which something else has asked for.
 *
 * A reloader that is absent, slow, or answers with an error is a failure; the latest text is tried
 * again after the retry interval, or at once when a newer one comes. Nothing blocks, except that
 * the file, which is small, is written at once. It has mode 0600, because it contains passwords,
 * and is replaced by rename, so that nothing ever reads half of it.
 *
 * It never logs: the caller does, in done().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/frr/debounce.h"
#include "lib/loop/loop.h"
#include "lib/metrics/metrics.h"

struct reload;

struct reload_result {
	bool success;
	const char *error; /* "" after success; valid during done() */
	uint64_t batch;	   /* configurations that it stands for, see debounce_batch() */
	int64_t duration;  /* ns */
};

/* Strings are copied. Zero means the default. */
struct reload_config {
	const char *file;	 /* FRR's configuration, as frr-reloader reads it */
	const char *socket;	 /* of frr-reloader; NULL: the older protocol */
	const char *pid_file;	 /* without a socket */
	const char *status_file; /* without a socket */
	int64_t retry;		 /* 5 s */
	int64_t timeout;	 /* 30 s */
	/* One has ended; never called from within reload_apply(). Must not free the reload. */
	void (*done)(const struct reload_result *result, void *user);
	void *user;
};

struct reload_stats {
	uint64_t applies; /* that have begun */
	uint64_t failures;
	uint64_t batched;     /* configurations that were replaced before they were applied */
	int64_t last_at;      /* unix ns of the last end; 0: none yet */
	bool succeeded;	      /* the last one */
	char last_error[512]; /* stays until one succeeds */
	struct metrics_histogram duration; /* seconds */
};

struct reload *reload_new(struct ev_loop *loop, const struct reload_config *config);
/* What is under way is abandoned; done() is not called. NULL is allowed. */
void reload_free(struct reload *r);
/* Stores a copy of text as the latest. No effect if the latest is the same already. */
void reload_apply(struct reload *r, struct str text);
/* Applies the latest again, because FRR may have lost it. No effect if there is none. */
void reload_repeat(struct reload *r);

const struct reload_stats *reload_stats(const struct reload *r);
enum debounce_state reload_state(const struct reload *r);
/* Whether the latest text is what FRR has, as far as is known. */
bool reload_is_current(const struct reload *r);
/*
 * Judges the body of frr-reloader's answer to the request with the id `asked`: error, of n bytes,
 * becomes "" if it is a success, and why not otherwise. Pure.
 */
void reload_judge(struct str body, int64_t asked, char *error, size_t n);
