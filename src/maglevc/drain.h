/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain: how far a backend is drained, judged from the state of the data plane, or a VIP, judged
 * from its announcement. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "proto/maglev.pb-c.h"
#include "proto/speaker.pb-c.h"

enum drain_state {
	DRAIN_OVER,    /* no flow is left on any of its servers */
	DRAIN_RUNNING, /* flows are left, or it is not known yet that none is */
	DRAIN_UNKNOWN, /* this data plane does not count flows, so it will never be known */
};

struct drain {
	enum drain_state state;
	bool readable;	 /* the data plane could be read; if not, the rest is 0 */
	uint32_t weight; /* the largest that one of its servers still has */
	uint64_t flows;	 /* of all its servers */
};

/* The state must be one of that backend alone. */
struct drain drain_of(const Maglev__VPPLBState *s);
/*
 * The state of a wait from the answer of the server, and in left what is left of it, in words. The
 * messages are a VPPLBState of the backend alone, and an AnnouncementInfo.
 */
enum drain_state drain_judge_backend(const ProtobufCMessage *message, struct buf *left);
enum drain_state drain_judge_vip(const ProtobufCMessage *message, struct buf *left);
/* Appends what is left: "17 flows left", "its weight is 100", ... */
void drain_describe(const struct drain *d, struct buf *out);
