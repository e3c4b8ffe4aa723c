/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_plane: samples of the data plane's counters, and of the process behind it. The families
 * are in the table of metrics.c.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "core/l4/config.h"
#include "core/l4/counters.h"
#include "src/maglevd/dataplane/dataplane.h"

/* Which items a family has samples for. */
enum metrics_plane_walk {
	METRICS_PLANE_WHOLE,
	METRICS_PLANE_VIPS,
	METRICS_PLANE_ASES, /* of each VIP */
	METRICS_PLANE_SERVERS,
};

/* The last item written, by key, because newer counters may come before the next part. */
struct metrics_plane_place {
	bool begun;
	struct lb_vip_key vip;
	struct addr address;
};

struct metrics_plane_item {
	const struct lb_counters *all;
	const struct lb_vip_counters *vip;	 /* of VIPs and ASes */
	const struct lb_as_counters *as;	 /* of ASes */
	const struct lb_server_counters *server; /* of servers */
};

/* The item after *place, which moves on. False at the end. */
bool metrics_plane_next(const struct lb_counters *c, enum metrics_plane_walk walk,
			struct metrics_plane_place *place, struct metrics_plane_item *ret);

/* Writes the sample that joins the labels of a VIP with the name of its frontend. */
void metrics_plane_vip_info(const struct lb_vip_key *key, const char *frontend, const char *name,
			    struct buf *out);

/* Writes the samples of one item; c is used to find names. */
typedef void (*metrics_plane_fn)(const struct metrics_plane_item *item, const struct l4_config *c,
				 const char *name, struct buf *out);

void metrics_plane_read(const struct metrics_plane_item *item, const struct l4_config *c,
			const char *name, struct buf *out);
void metrics_plane_events(const struct metrics_plane_item *item, const struct l4_config *c,
			  const char *name, struct buf *out);
void metrics_plane_vip_packets(const struct metrics_plane_item *item, const struct l4_config *c,
			       const char *name, struct buf *out);
void metrics_plane_vip_bytes(const struct metrics_plane_item *item, const struct l4_config *c,
			     const char *name, struct buf *out);
void metrics_plane_vip_buckets(const struct metrics_plane_item *item, const struct l4_config *c,
			       const char *name, struct buf *out);
void metrics_plane_as_packets(const struct metrics_plane_item *item, const struct l4_config *c,
			      const char *name, struct buf *out);
void metrics_plane_as_bytes(const struct metrics_plane_item *item, const struct l4_config *c,
			    const char *name, struct buf *out);
void metrics_plane_as_buckets(const struct metrics_plane_item *item, const struct l4_config *c,
			      const char *name, struct buf *out);
void metrics_plane_as_flows(const struct metrics_plane_item *item, const struct l4_config *c,
			    const char *name, struct buf *out);
void metrics_plane_server_packets(const struct metrics_plane_item *item, const struct l4_config *c,
				  const char *name, struct buf *out);
void metrics_plane_server_bytes(const struct metrics_plane_item *item, const struct l4_config *c,
				const char *name, struct buf *out);

/* Writes samples about the interfaces that the data plane should be on. */
typedef void (*metrics_plane_attached_fn)(const struct lb_attachment *a, const char *name,
					  struct buf *out);

void metrics_plane_interface_up(const struct lb_attachment *a, const char *name, struct buf *out);
/* 1 for the current mode; all are 0 while the interface is not attached. */
void metrics_plane_interface_mode(const struct lb_attachment *a, const char *name, struct buf *out);

/* Writes samples about VPP. info NULL: nothing is known. */
typedef void (*metrics_plane_info_fn)(const struct dataplane_info *info, const char *name,
				      struct buf *out);

void metrics_plane_vpp_connected(const struct dataplane_info *info, const char *name,
				 struct buf *out);
void metrics_plane_vpp_problem(const struct dataplane_info *info, const char *name,
			       struct buf *out);
/* These write nothing without a connection. */
void metrics_plane_vpp_uptime(const struct dataplane_info *info, const char *name, struct buf *out);
void metrics_plane_vpp_connected_for(const struct dataplane_info *info, const char *name,
				     struct buf *out);
void metrics_plane_vpp_info(const struct dataplane_info *info, const char *name, struct buf *out);
void metrics_plane_vpp_api(const struct dataplane_info *info, const char *name, struct buf *out);
