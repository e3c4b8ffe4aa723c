/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: tells when a file has changed, whichever way it was changed.
 *
 * A configuration file is written in place, replaced by a rename, or reached through symbolic links
 * of which one is replaced: a ConfigMap that Kubernetes mounts is FILE -> ..data/FILE, with ..data
 * -> ..2026_11_16, and a new version is a new folder and a rename over ..data. So every name on the
 * way to the file is watched, in the folder that it stands in, links followed.
 *
 * Changes come in bursts (truncate, write, write, close). The callback is called once after a
 * burst: when nothing has happened for `settle`, and at the latest CONFIG_WATCH_PATIENCE times that
 * after the first change. It is called only when there is a file and it is not the one of the last
 * time (another inode, size, or time of change): a file that is gone is no new configuration.
 *
 * Nothing here reads the file. Never blocks.
 */
#pragma once

#include "lib/loop/loop.h"

#define CONFIG_WATCH_SETTLE .25	  /* s; what `settle` usually is */
#define CONFIG_WATCH_PATIENCE 20. /* times settle */

struct config_watch;
typedef void (*config_watch_fn)(void *user);

/*
 * Watches path (copied), which need not exist yet; the file as it is now does not count as a
 * change. -errno when the kernel refuses to watch (its limits, or a folder that may not be read),
 * *ret is untouched then. The callback may free the watch.
 */
int config_watch_new(struct ev_loop *loop, const char *path, double settle, config_watch_fn changed,
		     void *user, struct config_watch **ret);
void config_watch_free(struct config_watch *w);
/*
 * 0, or the -errno for which the folder of the file is not watched any more: changes may be missed
 * until one further up the path is noticed.
 */
int config_watch_error(const struct config_watch *w);
