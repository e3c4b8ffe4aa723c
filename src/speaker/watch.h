/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: the streams of WatchSpeaker (lib/service/watch.h). Item 0 is the speaker, then come the
 * VIPs, then the sessions.
 */
#pragma once

#include "lib/service/watch.h"

struct speaker;

/* Is the observer of the speaker, which must outlive it. */
struct service_watch *watch_new(struct ev_loop *loop, struct speaker *speaker);
/* There must be no subscriber: the server is freed before. */
void watch_free(struct service_watch *w, struct speaker *speaker);
