/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats: gets the stats segment from VPP's stats socket.
 *
 * One attempt: exactly one of ready() and failed() is called, from the loop, never from within
 * vpp_stats_connect(); both may free the attempt. VPP closes the socket behind what it hands out;
 * that VPP has gone shows elsewhere (api.h), as the segment stays readable for ever.
 */
#pragma once

#include "lib/loop/loop.h"
#include "lib/vpp/segment.h"

struct vpp_stats;

struct vpp_stats_config {
	const char *path; /* copied */
	int64_t timeout;  /* ns; 0: 5 s */
	/* The segment is the caller's. */
	void (*ready)(void *user, struct vpp_segment *segment);
	/* text: one line for people; gone with the attempt. */
	void (*failed)(void *user, const char *text);
	void *user;
};

struct vpp_stats *vpp_stats_connect(struct ev_loop *loop, const struct vpp_stats_config *config);
/* No callback any more. NULL is fine. */
void vpp_stats_free(struct vpp_stats *s);
