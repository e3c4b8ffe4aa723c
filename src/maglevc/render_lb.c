/* SPDX-License-Identifier: Apache-2.0 */
/* render_lb: what the data plane has, counts, and is told. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

void render_vpp_info(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__VPPInfo *v = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "version", "%s", v->version);
	render__pair(c, "build-date", "%s", v->build_date);
	render__pair(c, "build-dir", "%s", v->build_directory);
	render__pair(c, "vpp-pid", "%u", v->pid);
	render__pair_time(c, r, "vpp-boottime", v->boottime_ns);
	render__pair_time(c, r, "connected", v->connecttime_ns);
	render__pair_if(c, "problem", v->problem);
	columns_write(c, 0, r->out);
}

/* How what is there and what should be differ; nothing when they do not. */
static const char *difference(bool present, bool wanted)
{
	if (present && !wanted)
		return "[not wanted]";
	return wanted && !present ? "[missing]" : "";
}

static void add_server(struct columns *c, const Maglev__VPPLBAS *as)
{
	columns_cell(c, TINT_NONE, "    %s", as->address);
	columns_cell(c, TINT_NONE, "%s", render__or_dash(as->backend));
	columns_cell(c, TINT_NONE, "%u", as->weight);
	columns_cell(c, as->weight == as->wanted_weight ? TINT_NONE : TINT_DOUBT, "%u",
		     as->wanted_weight);
	columns_cell(c, TINT_NONE, "%u", as->buckets);
	columns_cell(c, TINT_NONE, "%" PRIu64, as->flows);
	columns_cell(c, TINT_DOUBT, "%s", difference(as->present, as->wanted));
	columns_end_row(c);
}

static void add_vip(struct columns *c, const Maglev__VPPLBVIP *vip)
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
		add_server(c, vip->application_servers[i]);
}

static void write_vips(const Maglev__VPPLBState *s, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!s->n_vips)
		return;
	columns_head(c, "vips,BACKEND,WEIGHT,WANTED,BUCKETS,FLOWS");
	for (size_t i = 0; i < s->n_vips; i++)
		add_vip(c, s->vips[i]);
	columns_write(c, 0, r->out);
}

void render_lb_state(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__VPPLBState *s = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "dataplane", "%s", s->dataplane);
	render__pair(c, "connected", "%s", s->connected ? "yes" : "no");
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
	write_vips(s, r);
}

static void count_cell(struct columns *c, uint64_t n)
{
	columns_cell(c, TINT_NONE, "%" PRIu64, n);
}

static void add_counters(struct columns *c, const Maglev__VPPLBVIPCounters *v)
{
	_cleanup_(buf_free) struct buf vip = { 0 };

	render__add_vip(v->address, v->protocol, v->port, &vip);
	columns_cell(c, TINT_NONE, "%s", buf_cstr(&vip));
	columns_cell(c, TINT_NONE, "%s", render__or_dash(v->frontend));
	count_cell(c, v->first_packets);
	count_cell(c, v->next_packets);
	count_cell(c, v->untracked_packets);
	count_cell(c, v->no_server_packets);
	count_cell(c, v->bytes);
	columns_end_row(c);
}

/* Of the data planes that count them. */
static void write_server_counters(const Maglev__VPPLBCounters *all, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);
	size_t n = 0;

	columns_head(c, "VIP,SERVER,BACKEND,PACKETS,BYTES");
	for (size_t i = 0; i < all->n_vips; i++) {
		const Maglev__VPPLBVIPCounters *v = all->vips[i];
		_cleanup_(buf_free) struct buf vip = { 0 };

		render__add_vip(v->address, v->protocol, v->port, &vip);
		for (size_t j = 0; j < v->n_application_servers; j++, n++) {
			const Maglev__VPPLBASCounters *as = v->application_servers[j];

			columns_cell(c, TINT_NONE, "%s", buf_cstr(&vip));
			columns_cell(c, TINT_NONE, "%s", as->address);
			columns_cell(c, TINT_NONE, "%s", render__or_dash(as->backend));
			count_cell(c, as->packets);
			count_cell(c, as->bytes);
			columns_end_row(c);
		}
	}
	if (!n)
		return;
	buf_addc(r->out, '\n');
	columns_write(c, 0, r->out);
}

void render_lb_counters(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__VPPLBCounters *all = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "VIP,FRONTEND,FIRST,NEXT,UNTRACKED,NO-SERVER,BYTES");
	for (size_t i = 0; i < all->n_vips; i++)
		add_counters(c, all->vips[i]);
	columns_write(c, 0, r->out);
	write_server_counters(all, r);
}

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
