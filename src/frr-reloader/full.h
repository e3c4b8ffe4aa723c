/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full: the programs that FRR comes with, as child processes.
 *
 * A full reload is frr-reload.py --test, then --reload --overwrite. A save is "vtysh -c write", so
 * that FRR starts again with what it runs now. Both are one child at a time, in a process group of
 * its own, killed with all that it started when it takes too long. Their output goes to the log,
 * without passwords.
 */
#pragma once

#include <stdbool.h>

#include "lib/loop/loop.h"
#include "src/frr-reloader/options.h"

struct full;

/* why is "" after success, and valid during the call. */
typedef void (*full_done_fn)(bool success, const char *why, void *user);

struct full *full_new(struct ev_loop *loop, const struct options *options);
/* Kills what is running; done() is not called. NULL is allowed. */
void full_free(struct full *f);
bool full_is_busy(const struct full *f);
/*
 * Both must not be called while busy. done() is called once, from the loop. config is the path of
 * the configuration, borrowed until then.
 */
void full_reload(struct full *f, const char *config, full_done_fn done, void *user);
void full_save(struct full *f, full_done_fn done, void *user);
