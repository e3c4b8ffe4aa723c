/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk finds its next item by the key of the last one, in the newest counters: a page takes many
 * steps, and counters may be replaced between two of them. All lists are sorted by key, so no
 * sample is written twice. Samples of two servers may be from two readings.
 */
#include "src/maglevd/metrics_plane.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/l4/names.h"
#include "lib/loop/loop.h"
#include "lib/metrics/metrics.h"

#define LABEL(k, v) ((struct metrics_label){ (k), str_of(v) })

/* ---- the walks ---- */

/* One item: the counters as a whole. */
static bool next_whole(const struct lb_counters *c, struct metrics_plane_place *place,
		       struct metrics_plane_item *ret)
{
	return !place->begun;
}

static bool next_vip(const struct lb_counters *c, struct metrics_plane_place *place,
		     struct metrics_plane_item *ret)
{
	size_t i = lb_counters_vip_behind(c, place->begun ? &place->vip : NULL);

	if (i == c->vips.n)
		return false;
	ret->vip = &c->vips.items[i];
	place->vip = ret->vip->key;
	return true;
}

/* The rest of the VIP that the last item belonged to, then the VIPs after it. */
static bool next_as(const struct lb_counters *c, struct metrics_plane_place *place,
		    struct metrics_plane_item *ret)
{
	const struct lb_vip_counters *vip = place->begun ? lb_counters_vip(c, &place->vip) : NULL;
	size_t i = lb_counters_vip_behind(c, place->begun ? &place->vip : NULL);
	size_t j = vip ? lb_counters_as_behind(vip, &place->address) : 0;

	for (; !vip || j == vip->as.n; j = 0) {
		if (i == c->vips.n)
			return false;
		vip = &c->vips.items[i++];
	}
	ret->vip = vip;
	ret->as = &vip->as.items[j];
	place->vip = vip->key;
	place->address = ret->as->address;
	return true;
}

static bool next_server(const struct lb_counters *c, struct metrics_plane_place *place,
			struct metrics_plane_item *ret)
{
	size_t i = lb_counters_server_behind(c, place->begun ? &place->address : NULL);

	if (i == c->servers.n)
		return false;
	ret->server = &c->servers.items[i];
	place->address = ret->server->address;
	return true;
}

bool metrics_plane_next(const struct lb_counters *c, enum metrics_plane_walk walk,
			struct metrics_plane_place *place, struct metrics_plane_item *ret)
{
	static bool (*const next[])(const struct lb_counters *c, struct metrics_plane_place *place,
				    struct metrics_plane_item *ret) = {
		[METRICS_PLANE_WHOLE] = next_whole,
		[METRICS_PLANE_VIPS] = next_vip,
		[METRICS_PLANE_ASES] = next_as,
		[METRICS_PLANE_SERVERS] = next_server,
	};
	struct metrics_plane_item item = { .all = c };

	assert((size_t)walk < ARRAY_SIZE(next));
	if (!next[walk](c, place, &item))
		return false;
	place->begun = true;
	*ret = item;
	return true;
}

/* ---- samples ---- */

void metrics_plane_read(const struct metrics_plane_item *item, const struct l4_config *c,
			const char *name, struct buf *out)
{
	metrics_double(out, name, NULL, 0, loop_seconds(item->all->at));
}

void metrics_plane_events(const struct metrics_plane_item *item, const struct l4_config *c,
			  const char *name, struct buf *out)
{
	for (size_t i = 0; i < item->all->events.n; i++) {
		const struct lb_event_counter *e = &item->all->events.items[i];

		metrics_u64(out, name, &LABEL("fate", e->name), 1, e->packets);
	}
}

/* The labels of a VIP, and the buffers that they point to. */
#define VIP_LABELS 3

struct vip_text {
	char address[ADDR_STRLEN], protocol[LB_PROTOCOL_STRLEN], port[6];
};

/* The labels point into text, which must live until the sample is written. */
static void set_vip_labels(const struct lb_vip_key *key, struct vip_text *text,
			   struct metrics_label labels[static VIP_LABELS])
{
	snprintf(text->port, sizeof(text->port), "%u", key->port);
	labels[0] = LABEL("vip", addr_format(&key->address, text->address));
	labels[1] = LABEL("protocol", lb_protocol_format(key->protocol, text->protocol));
	labels[2] = LABEL("port", text->port);
}

void metrics_plane_vip_info(const struct lb_vip_key *key, const char *frontend, const char *name,
			    struct buf *out)
{
	struct metrics_label labels[VIP_LABELS + 1];
	struct vip_text text;

	set_vip_labels(key, &text, labels);
	labels[VIP_LABELS] = LABEL("frontend", frontend);
	metrics_u64(out, name, labels, ARRAY_SIZE(labels), 1);
}

void metrics_plane_vip_packets(const struct metrics_plane_item *item, const struct l4_config *c,
			       const char *name, struct buf *out)
{
	struct metrics_label labels[VIP_LABELS + 1];
	struct vip_text text;

	set_vip_labels(&item->vip->key, &text, labels);
	for (unsigned kind = 0; kind < LB_PACKETS_KINDS; kind++) {
		labels[VIP_LABELS] = LABEL("kind", lb_packets_name((enum lb_packets)kind));
		metrics_u64(out, name, labels, ARRAY_SIZE(labels), item->vip->packets[kind]);
	}
}

static void write_vip(const struct metrics_plane_item *item, const char *name, uint64_t value,
		      struct buf *out)
{
	struct metrics_label labels[VIP_LABELS];
	struct vip_text text;

	set_vip_labels(&item->vip->key, &text, labels);
	metrics_u64(out, name, labels, ARRAY_SIZE(labels), value);
}

void metrics_plane_vip_bytes(const struct metrics_plane_item *item, const struct l4_config *c,
			     const char *name, struct buf *out)
{
	write_vip(item, name, item->vip->bytes, out);
}

void metrics_plane_vip_buckets(const struct metrics_plane_item *item, const struct l4_config *c,
			       const char *name, struct buf *out)
{
	write_vip(item, name, item->vip->buckets, out);
}

/* "" when the address belongs to no backend of the configuration. */
static const char *backend_name(const struct l4_config *c, const struct metrics_plane_item *item)
{
	size_t frontend = l4_frontend_of(c, &item->vip->key), backend = SIZE_MAX;

	if (frontend != SIZE_MAX)
		backend = l4_backend_of(c, frontend, &item->as->address);
	return backend == SIZE_MAX ? "" : c->backends[backend].name;
}

static void write_as(const struct metrics_plane_item *item, const struct l4_config *c,
		     const char *name, uint64_t value, struct buf *out)
{
	struct metrics_label labels[VIP_LABELS + 2];
	char address[ADDR_STRLEN];
	struct vip_text text;

	set_vip_labels(&item->vip->key, &text, labels);
	labels[VIP_LABELS] = LABEL("backend", backend_name(c, item));
	labels[VIP_LABELS + 1] = LABEL("address", addr_format(&item->as->address, address));
	metrics_u64(out, name, labels, ARRAY_SIZE(labels), value);
}

void metrics_plane_as_packets(const struct metrics_plane_item *item, const struct l4_config *c,
			      const char *name, struct buf *out)
{
	write_as(item, c, name, item->as->packets, out);
}

void metrics_plane_as_bytes(const struct metrics_plane_item *item, const struct l4_config *c,
			    const char *name, struct buf *out)
{
	write_as(item, c, name, item->as->bytes, out);
}

void metrics_plane_as_buckets(const struct metrics_plane_item *item, const struct l4_config *c,
			      const char *name, struct buf *out)
{
	write_as(item, c, name, item->as->buckets, out);
}

void metrics_plane_as_flows(const struct metrics_plane_item *item, const struct l4_config *c,
			    const char *name, struct buf *out)
{
	write_as(item, c, name, item->as->flows, out);
}

static void write_server(const struct metrics_plane_item *item, const char *name, uint64_t value,
			 struct buf *out)
{
	char address[ADDR_STRLEN];

	metrics_u64(out, name, &LABEL("address", addr_format(&item->server->address, address)), 1,
		    value);
}

void metrics_plane_server_packets(const struct metrics_plane_item *item, const struct l4_config *c,
				  const char *name, struct buf *out)
{
	write_server(item, name, item->server->packets, out);
}

void metrics_plane_server_bytes(const struct metrics_plane_item *item, const struct l4_config *c,
				const char *name, struct buf *out)
{
	write_server(item, name, item->server->bytes, out);
}

/* ---- interfaces ---- */

void metrics_plane_interface_up(const struct lb_attachment *a, const char *name, struct buf *out)
{
	for (size_t i = 0; i < a->n; i++)
		metrics_u64(out, name, &LABEL("interface", a->interfaces[i].name), 1,
			    a->interfaces[i].attached);
}

void metrics_plane_interface_mode(const struct lb_attachment *a, const char *name, struct buf *out)
{
	static const char *const modes[] = { "generic", "native" };

	for (size_t i = 0; i < a->n; i++) {
		const struct lb_interface *one = &a->interfaces[i];

		for (size_t j = 0; j < ARRAY_SIZE(modes); j++) {
			const struct metrics_label labels[] = { LABEL("interface", one->name),
								LABEL("mode", modes[j]) };

			metrics_u64(out, name, labels, ARRAY_SIZE(labels),
				    strcmp(one->mode, modes[j]) == 0);
		}
	}
}

/* ---- VPP ---- */

static bool is_connected(const struct dataplane_info *info)
{
	return info && info->connect_time;
}

void metrics_plane_vpp_connected(const struct dataplane_info *info, const char *name,
				 struct buf *out)
{
	metrics_u64(out, name, NULL, 0, is_connected(info));
}

void metrics_plane_vpp_problem(const struct dataplane_info *info, const char *name, struct buf *out)
{
	metrics_u64(out, name, NULL, 0, info && *info->problem);
}

/* The clock may have been set back: never below 0. */
static void write_age(int64_t since, const char *name, struct buf *out)
{
	int64_t age = loop_realtime() - since;

	metrics_double(out, name, NULL, 0, age > 0 ? loop_seconds(age) : 0);
}

void metrics_plane_vpp_uptime(const struct dataplane_info *info, const char *name, struct buf *out)
{
	if (is_connected(info) && info->boot_time)
		write_age(info->boot_time, name, out);
}

void metrics_plane_vpp_connected_for(const struct dataplane_info *info, const char *name,
				     struct buf *out)
{
	if (is_connected(info))
		write_age(info->connect_time, name, out);
}

/* Left out until the version is known: a change of labels would start another series. */
void metrics_plane_vpp_info(const struct dataplane_info *info, const char *name, struct buf *out)
{
	char pid[11];

	if (!is_connected(info) || !*info->version)
		return;
	snprintf(pid, sizeof(pid), "%u", info->pid);
	metrics_u64(out, name,
		    (const struct metrics_label[]){ LABEL("version", info->version),
						    LABEL("build_date", info->build_date),
						    LABEL("pid", pid) },
		    3, 1);
}

/* Only what occurred: most messages never fail. */
static void write_messages(const struct metrics_label *msg, const char *direction, uint64_t ok,
			   uint64_t failed, const char *name, struct buf *out)
{
	struct metrics_label labels[] = { *msg, LABEL("direction", direction),
					  LABEL("result", "success") };

	if (ok)
		metrics_u64(out, name, labels, ARRAY_SIZE(labels), ok);
	labels[2] = LABEL("result", "failure");
	if (failed)
		metrics_u64(out, name, labels, ARRAY_SIZE(labels), failed);
}

void metrics_plane_vpp_api(const struct dataplane_info *info, const char *name, struct buf *out)
{
	for (size_t i = 0; info && i < info->n_messages; i++) {
		const struct dataplane_messages *m = &info->messages[i];
		const struct metrics_label msg = LABEL("msg", m->name);

		write_messages(&msg, "send", m->sent, m->send_failures, name, out);
		write_messages(&msg, "recv", m->received, m->receive_failures, name, out);
	}
}
