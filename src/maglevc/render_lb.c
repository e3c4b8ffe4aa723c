/* SPDX-License-Identifier: Apache-2.0 */
/* render_lb: the state and counters of the data plane, and the operations of a sync. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

static void count_cell(struct columns *c, uint64_t n)
{
	columns_cell(c, TINT_NONE, "%" PRIu64, n);
}

/* Appends a table after an empty line; nothing if it has no rows. */
static void write_table(const struct columns *c, size_t n_rows, const struct render *r)
{
	if (!n_rows)
		return;
	buf_addc(r->out, '\n');
	columns_write(c, 0, r->out);
}

static void write_messages(const Maglev__VPPInfo *v, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "MESSAGE,SENT,SEND-FAILED,RECEIVED,RECEIVE-FAILED");
	for (size_t i = 0; i < v->n_messages; i++) {
		columns_cell(c, TINT_NONE, "%s", v->messages[i]->name);
		count_cell(c, v->messages[i]->sent);
		count_cell(c, v->messages[i]->send_failures);
		count_cell(c, v->messages[i]->received);
		count_cell(c, v->messages[i]->receive_failures);
		columns_end_row(c);
	}
	write_table(c, v->n_messages, r);
}

void render_vpp_info(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__VPPInfo *v = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (*v->problem) {
		columns_cell(c, TINT_LABEL, "problem");
		columns_cell(c, TINT_BAD, "%s", v->problem);
		columns_end_row(c);
	}
	render__pair(c, "version", "%s", render__or_dash(v->version));
	render__pair(c, "build-date", "%s", render__or_dash(v->build_date));
	render__pair(c, "build-dir", "%s", render__or_dash(v->build_directory));
	if (v->pid)
		render__pair(c, "vpp-pid", "%u", v->pid);
	if (v->boottime_ns)
		render__pair_time(c, r, "vpp-boottime", v->boottime_ns);
	if (v->connected)
		render__pair_time(c, r, "connected", v->connecttime_ns);
	else
		render__pair(c, "connected", "no");
	columns_write(c, 0, r->out);
	write_messages(v, r);
}

/* Names the difference between the actual and the wanted state; "" if there is none. */
static const char *difference(bool present, bool wanted)
{
	if (present && !wanted)
		return "[not wanted]";
	return wanted && !present ? "[missing]" : "";
}

/*
 * Adds a number, or "-" if the data plane does not count it. A 0 would claim that there was no
 * traffic.
 */
static void figure_cell(struct columns *c, bool has, uint64_t n)
{
	if (has)
		count_cell(c, n);
	else
		columns_cell(c, TINT_NONE, "-");
}

/* The last cell: how it differs from what is wanted, or that it is drained. */
static void mark_cell(struct columns *c, const Maglev__VPPLBAS *as)
{
	const char *differs = difference(as->present, as->wanted);

	if (!*differs && as->drained)
		columns_cell(c, TINT_OFF, "[drained]");
	else
		columns_cell(c, TINT_DOUBT, "%s", differs);
}

static void add_server(struct columns *c, const Maglev__VPPLBState *s, const Maglev__VPPLBAS *as)
{
	columns_cell(c, TINT_NONE, "    %s", as->address);
	columns_cell(c, TINT_NONE, "%s", render__or_dash(as->backend));
	columns_cell(c, TINT_NONE, "%u", as->weight);
	columns_cell(c, as->weight == as->wanted_weight ? TINT_NONE : TINT_DOUBT, "%u",
		     as->wanted_weight);
	figure_cell(c, s->has_as_buckets, as->buckets);
	figure_cell(c, s->has_as_flows, as->flows);
	mark_cell(c, as);
	columns_end_row(c);
}

static void add_vip(struct columns *c, const Maglev__VPPLBState *s, const Maglev__VPPLBVIP *vip)
{
	_cleanup_(buf_free) struct buf title = { 0 };

	render__add_vip(vip->address, vip->protocol, vip->port, &title);
	buf_printf(&title, " %s", vip->encap);
	if (*vip->frontend)
		buf_printf(&title, " frontend %s", vip->frontend);
	if (vip->src_ip_sticky)
		buf_adds(&title, " src-ip-sticky");
	if (vip->present != vip->wanted)
		buf_printf(&title, " %s", difference(vip->present, vip->wanted));
	columns_line(c, vip->present == vip->wanted ? TINT_NONE : TINT_DOUBT, "  %s",
		     buf_cstr(&title));
	for (size_t i = 0; i < vip->n_application_servers; i++)
		add_server(c, s, vip->application_servers[i]);
}

static void write_vips(const Maglev__VPPLBState *s, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!s->n_vips)
		return;
	columns_head(c, "vips,BACKEND,WEIGHT,WANTED,BUCKETS,FLOWS");
	for (size_t i = 0; i < s->n_vips; i++)
		add_vip(c, s, s->vips[i]);
	columns_write(c, 0, r->out);
}

/* The interfaces that packets for the VIPs arrive on, and why one of them is not served. */
static void write_interfaces(const Maglev__VPPLBState *s, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!s->n_interfaces)
		return;
	columns_head(c, "interfaces,MODE");
	for (size_t i = 0; i < s->n_interfaces; i++) {
		const Maglev__VPPLBInterface *one = s->interfaces[i];

		columns_cell(c, TINT_NONE, "  %s", one->name);
		columns_cell(c, TINT_NONE, "%s", render__or_dash(one->mode));
		if (!one->attached)
			columns_cell(c, TINT_BAD, "[not attached] %s", one->problem);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

/* A server that is older than the field says only whether it is connected. */
static void add_status(struct columns *c, const Maglev__VPPLBState *s)
{
	const char *status = *s->status ? s->status : s->connected ? "connected" : "disconnected";
	bool good = strcmp(status, "connected") == 0;

	columns_cell(c, TINT_LABEL, "status");
	columns_cell(c, good ? TINT_GOOD : TINT_BAD, "%s", status);
	columns_end_row(c);
}

void render_lb_state(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__VPPLBState *s = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "dataplane", "%s", s->dataplane);
	add_status(c, s);
	render__pair_if(c, "problem", s->problem);
	if (s->as_of)
		render__pair_time(c, r, "as-of", s->as_of);
	render__pair(c, "ipv4-src-address", "%s", render__or_dash(s->ipv4_src_address));
	render__pair(c, "ipv6-src-address", "%s", render__or_dash(s->ipv6_src_address));
	render__pair(c, "sticky-buckets-per-core", "%u", s->sticky_buckets_per_core);
	render__pair(c, "flow-timeout", "%us", s->flow_timeout);
	render__pair(c, "warm-up", "%s", s->warmup);
	if (s->held)
		render__pair(c, "all-down-guard", "holds weights back");
	render__pair_time(c, r, "last-full-sync", s->last_full_sync);
	columns_write(c, 0, r->out);
	write_interfaces(s, r);
	write_vips(s, r);
}

static void add_counters(struct columns *c, const Maglev__VPPLBCounters *all,
			 const Maglev__VPPLBVIPCounters *v)
{
	_cleanup_(buf_free) struct buf vip = { 0 };

	render__add_vip(v->address, v->protocol, v->port, &vip);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&vip));
	columns_cell(c, TINT_NONE, "%s", render__or_dash(v->frontend));
	count_cell(c, v->first_packets);
	count_cell(c, v->next_packets);
	count_cell(c, v->untracked_packets);
	count_cell(c, v->no_server_packets);
	figure_cell(c, all->has_vip_bytes, v->bytes);
	columns_end_row(c);
}

static void write_vip_counters(const Maglev__VPPLBCounters *all, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "VIP,FRONTEND,FIRST,NEXT,UNTRACKED,NO-SERVER,BYTES");
	for (size_t i = 0; i < all->n_vips; i++)
		add_counters(c, all, all->vips[i]);
	write_table(c, all->n_vips, r);
}

static void add_as_counters(struct columns *c, const Maglev__VPPLBCounters *all, const char *vip,
			    const Maglev__VPPLBASCounters *as)
{
	columns_cell(c, TINT_NONE, "%s", vip);
	columns_cell(c, TINT_NONE, "%s", as->address);
	columns_cell(c, TINT_NONE, "%s", render__or_dash(as->backend));
	figure_cell(c, all->has_as_traffic, as->packets);
	figure_cell(c, all->has_as_traffic, as->bytes);
	figure_cell(c, all->has_as_buckets, as->buckets);
	figure_cell(c, all->has_as_flows, as->flows);
	columns_end_row(c);
}

static void write_as_counters(const Maglev__VPPLBCounters *all, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	size_t n = 0;

	columns_head(c, "VIP,SERVER,BACKEND,PACKETS,BYTES,BUCKETS,FLOWS");
	for (size_t i = 0; i < all->n_vips; i++) {
		const Maglev__VPPLBVIPCounters *v = all->vips[i];
		_cleanup_(buf_free) struct buf vip = { 0 };

		render__add_vip(v->address, v->protocol, v->port, &vip);
		for (size_t j = 0; j < v->n_application_servers; j++, n++)
			add_as_counters(c, all, buf_cstr(&vip), v->application_servers[j]);
	}
	write_table(c, n, r);
}

/*
 * For data planes that count traffic per server but not per VIP: these counters cover all VIPs.
 */
static void write_server_counters(const Maglev__VPPLBCounters *all, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "SERVER,BACKENDS,PACKETS,BYTES (all VIPs; with encapsulation)");
	for (size_t i = 0; i < all->n_servers; i++) {
		const Maglev__VPPLBServerCounters *s = all->servers[i];
		_cleanup_(buf_free) struct buf backends = { 0 };

		render__add_list(s->backends, s->n_backends, &backends);
		columns_cell(c, TINT_NONE, "%s", s->address);
		columns_cell(c, TINT_NONE, "%s", buf_cstr(&backends));
		count_cell(c, s->packets);
		count_cell(c, s->bytes);
		columns_end_row(c);
	}
	write_table(c, all->n_servers, r);
}

static void write_event_counters(const Maglev__VPPLBCounters *all, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NOT SENT TO A SERVER,PACKETS");
	for (size_t i = 0; i < all->n_events; i++) {
		columns_cell(c, TINT_NONE, "%s", all->events[i]->name);
		count_cell(c, all->events[i]->packets);
		columns_end_row(c);
	}
	write_table(c, all->n_events, r);
}

void render_lb_counters(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__VPPLBCounters *all = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "dataplane", "%s", all->dataplane);
	render__pair_time(c, r, "read", all->at);
	columns_write(c, 0, r->out);
	write_vip_counters(all, r);
	write_as_counters(all, r);
	write_server_counters(all, r);
	write_event_counters(all, r);
}

/*
 * Operations, then the frontends that were withheld with the reason, then a summary. A plan
 * prints the same operations without having carried them out.
 */
void render_sync(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__SyncVPPLBStateResponse *s = (const void *)message;
	const char *what = r->command->args[SLOT_PLAN] ? "planned" : "done";

	for (size_t i = 0; i < s->n_operations; i++)
		text_add_lines(r->out, "", s->operations[i]);
	for (size_t i = 0; i < s->n_withheld; i++)
		text_add_lines(r->out, "withheld: ", s->withheld[i]);
	text_add_clean(r->out, str_of(s->dataplane));
	if (!s->n_operations && !s->n_withheld)
		buf_printf(r->out, ": nothing to do\n");
	else
		buf_printf(r->out, ": %zu operation%s %s\n", s->n_operations,
			   s->n_operations == 1 ? "" : "s", what);
}
