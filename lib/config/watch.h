/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: calls back when a file has changed, however it was changed.
 *
 * A configuration file may be written in place, replaced by a rename, or reached through symbolic
 * links of which one is replaced. A ConfigMap of Kubernetes is FILE -> ..data/FILE with ..data ->
 * ..2026_11_16, and an update is a new directory and a rename over ..data. So every component of
 * the path is watched in its directory, and symbolic links are followed.
 *
 * Changes come in bursts (truncate, write, write, close). The callback is called once per burst:
 * when nothing has happened for settle seconds, at the latest CONFIG_WATCH_PATIENCE times that
 * after the first change. It is called only if the file exists and differs from the last time
 * (device, inode, size, or one of its times): a deleted file is not a new configuration.
 *
 * Beside the file, others can be watched that belong to it (config_watch_follow()), also by a
 * pattern: then a file that comes, changes or goes is a change. Only the first file must exist for
 * a callback.
 *
 * No file is read here, and nothing blocks.
 */
#pragma once

#include "lib/loop/loop.h"

#define CONFIG_WATCH_SETTLE .25	  /* s; the usual value of settle */
#define CONFIG_WATCH_PATIENCE 20. /* times settle */

struct config_watch;
typedef void (*config_watch_fn)(void *user);

/*
 * Watches path, which is copied and need not exist yet. The present file does not count as a
 * change. Returns -errno if the kernel refuses (its limits, or a directory that may not be read);
 * *ret is untouched then. The callback is called from the loop and may free the watch.
 */
int config_watch_new(struct ev_loop *loop, const char *path, double settle, config_watch_fn changed,
		     void *user, struct config_watch **ret);
/*
 * Watches these paths as well, in place of the earlier ones; they are copied. The last part of a
 * path may have wildcards. What they are now does not count as a change.
 */
void config_watch_follow(struct config_watch *w, const char *const *paths, size_t n);
/* NULL is allowed. */
void config_watch_free(struct config_watch *w);
/*
 * 0, or the -errno why the directory of the file is not watched any more. Changes of the file may
 * be missed then, until a change higher up in the path makes it try again.
 */
int config_watch_error(const struct config_watch *w);
