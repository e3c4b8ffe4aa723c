/* SPDX-License-Identifier: Apache-2.0 */
/* drain: how far a backend is drained, judged from the state of the data plane. Pure. */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "proto/maglev.pb-c.h"

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
/* Appends what is left: "17 flows left", "its weight is 100", ... */
void drain_describe(const struct drain *d, struct buf *out);
