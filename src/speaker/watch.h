/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: the streams of WatchSpeaker.
 *
 * A subscriber gets the state of every item first (the speaker, each VIP, each session), then each
 * item again after it has changed. Of an item that changed several times before it could be sent
 * only the newest state is sent, so a subscriber needs one bit per item, however slow it is. One
 * that does not read within 10 s what is queued for it is dropped with RESOURCE_EXHAUSTED.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/loop/loop.h"

struct grpc_call;
struct speaker;
struct watch;

#define WATCH_SUBSCRIBERS_MAX 1024

struct watch_stats {
	size_t subscribers;
	uint64_t events;  /* sent to all subscribers together */
	uint64_t dropped; /* subscribers that were dropped because they fell behind */
};

/* Is the observer of the speaker, which must outlive it. */
struct watch *watch_new(struct ev_loop *loop, struct speaker *speaker);
/* There must be no subscriber: the server is freed before. NULL is allowed. */
void watch_free(struct watch *w);
/* Takes over the call: adds a subscriber, or fails the call. */
void watch_subscribe(struct watch *w, struct grpc_call *call);
const struct watch_stats *watch_stats(const struct watch *w);
