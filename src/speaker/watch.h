/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: the streams of WatchSpeaker (lib/service/watch.h). Item 0 is the speaker, then come the
 * VIPs, then the sessions.
 */
#pragma once

#include "lib/service/watch.h"
#include "src/speaker/source.h"

/* Is the observer of the source, which must outlive it. */
struct service_watch *watch_new(struct ev_loop *loop, const struct source *source);
/* There must be no subscriber: the server is freed before. */
void watch_free(struct service_watch *w, const struct source *source);
