/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: what a daemon says about a reading of its file, in the words that all daemons share.
 *
 * Unlike other libraries this one logs, because its messages are the same in every daemon with a
 * file: "config-warning", "config-error", "config-load-failed" and "config-reload-failed".
 */
#pragma once

#include "lib/config/loader.h"

/*
 * Logs each complaint with its place and, if the load failed, that it did, with the first mistake.
 * again: at a reload, not at the start. What a good file contains is for the program to log.
 */
void config_report(const struct config_load *load, const char *path, bool again);
/* Appends the first mistake with its place, on one line; nothing if there is none. */
void config_first_error(const struct config_load *load, const char *path, struct buf *out);
/*
 * --check: prints the complaints to standard error and "PATH: ok" to standard output if there is no
 * error. Returns the exit code, on which packaging relies (NFR-5.2).
 */
int config_check(const struct config_source *source);
