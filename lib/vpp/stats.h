/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats: gets the stats segment from VPP's stats socket.
 *
 * One attempt: exactly one of ready() and failed() is called, from the loop, never from inside
 * vpp_stats_connect(); both may free the attempt. VPP closes the socket after it has sent the
 * segment's descriptor. The segment stays readable after VPP has exited, so that is noticed
 * through api.h.
 */
#pragma once

#include "lib/loop/loop.h"
#include "lib/vpp/segment.h"

struct vpp_stats;

struct vpp_stats_config {
	const char *path; /* copied */
	int64_t timeout;  /* ns; 0 means 5 s */
	/* The caller owns the segment. */
	void (*ready)(void *user, struct vpp_segment *segment);
	/* text is one line for people; it is freed with the attempt. */
	void (*failed)(void *user, const char *text);
	void *user;
};

struct vpp_stats *vpp_stats_connect(struct ev_loop *loop, const struct vpp_stats_config *config);
/* Frees the attempt; no callback is called any more. NULL is allowed. */
void vpp_stats_free(struct vpp_stats *s);
