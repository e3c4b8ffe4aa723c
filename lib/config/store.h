/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: a small file in which a daemon keeps a state over restarts.
 *
 * The daemon makes the text of its state; the store replaces the file when the text has changed.
 * A child process writes, so that a slow disk does not block the loop. One runs at a time: what
 * changes meanwhile is written by the next one. The file is replaced by rename after its content
 * has reached the disk (lib/config/file.h), so it is always whole. A failed write is repeated.
 *
 * A caller that must not answer before its change is safe waits with store_wait().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/loop/loop.h"

struct store;

#define STORE_WAITING_MAX 1024 /* callers that wait at the same time */
#define STORE_FILE_MAX ((size_t)16 * 1024 * 1024)

/* err is 0, or -errno of the write. */
typedef void (*store_done_fn)(int err, void *user);

/* Copied; path is borrowed. */
struct store_config {
	const char *path;
	void (*text)(struct buf *out, void *user); /* appends the state as it is now */
	/* A write failed, or succeeded after a failure (err 0): for the log; may be NULL. */
	void (*told)(int err, void *user);
	void *user;
};

struct store_stats {
	uint64_t written, failed;
	bool failing; /* the last write failed */
};

struct store *store_new(struct ev_loop *loop, const struct store_config *config);
/* A change that is not written yet is written now, which may block. NULL is allowed. */
void store_free(struct store *s);
/* The text of the file, as it was read at the start: it is not written until it changes. */
void store_has(struct store *s, struct str text);
/* The state may have changed: its text is compared, and written if it differs. */
void store_changed(struct store *s);
/*
 * Calls done from the loop when everything that has changed so far is in the file, or could not
 * be written. -EBUSY if too many wait; done is not called then.
 */
int store_wait(struct store *s, store_done_fn done, void *user);
/* The callers with this user are not called any more. */
void store_forget(struct store *s, void *user);
const struct store_stats *store_stats(const struct store *s);
