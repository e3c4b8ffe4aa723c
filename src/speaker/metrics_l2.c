/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "lib/metrics/metrics.h"
#include "src/speaker/metrics.h"
#include "src/speaker/speaker.h"

/* ---- VIPs ---- */

static uint64_t one(const struct l2_view *v)
{
	return 1;
}

static uint64_t transitions(const struct l2_view *v)
{
	return v->transitions;
}

static uint64_t members(const struct l2_view *v)
{
	return v->election->n;
}

static uint64_t requests(const struct l2_view *v)
{
	return v->requests;
}

static uint64_t answers(const struct l2_view *v)
{
	return v->answers;
}

static uint64_t announcements(const struct l2_view *v)
{
	return v->announcements;
}

/* One sample per VIP of a group; those that MetalLB has too have its names and its label. */
static const struct of_vip {
	const char *name;
	enum metrics_type type;
	const char *help;
	uint64_t (*value)(const struct l2_view *v);
	bool with_state, by_ip;
} of_vips[] = {
	{ "maglev_speaker_l2_state", METRICS_GAUGE,
	  "1 for the state of this member's election for the VIP.", one, true, false },
	{ "maglev_speaker_l2_transitions_total", METRICS_COUNTER, "Changes of that state.",
	  transitions, false, false },
	{ "maglev_speaker_l2_members", METRICS_GAUGE,
	  "Other members that have spoken about the VIP and are alive.", members, false, false },
	{ "metallb_layer2_requests_received", METRICS_COUNTER,
	  "ARP requests and neighbour solicitations for the VIP while it was owned.", requests,
	  false, true },
	{ "metallb_layer2_responses_sent", METRICS_COUNTER, "Answers to them.", answers, false,
	  true },
	{ "metallb_layer2_gratuitous_sent", METRICS_COUNTER,
	  "Gratuitous ARP and unsolicited neighbour advertisements for the VIP.", announcements,
	  false, true },
};

static void add_vip(struct buf *out, const struct of_vip *f, const struct bgp_vip *vip,
		    const struct l2_view *v)
{
	char address[ADDR_STRLEN];
	const struct metrics_label ip = { "ip", str_of(addr_format(&vip->address, address)) };
	const struct metrics_label labels[] = {
		{ "vip", str_of(vip->name) },
		{ "group", str_of(v->group) },
		{ "state", str_of(l2_state_name(v->election->state)) },
		{ "reason", str_of(l2_reason_name(v->election->reason)) },
	};

	if (f->by_ip)
		metrics_u64(out, f->name, &ip, 1, f->value(v));
	else
		metrics_u64(out, f->name, labels, f->with_state ? ARRAY_SIZE(labels) : 2,
			    f->value(v));
}

static void add_vips(struct buf *out, const struct speaker *s, const struct of_vip *f)
{
	const struct bgp_config *c = speaker_config(s);
	struct l2_view v;

	metrics_family(out, f->name, f->type, f->help);
	for (size_t i = 0; i < c->n_vips; i++)
		if (l2_view(speaker_l2(s), i, &v))
			add_vip(out, f, &c->vips[i], &v);
}

/* ---- groups ---- */

static uint64_t sent(const struct l2_group *g)
{
	return l2_group_stats(g).sent;
}

static uint64_t failed(const struct l2_group *g)
{
	return l2_group_stats(g).failed;
}

static uint64_t received(const struct l2_group *g)
{
	return l2_group_stats(g).received;
}

static uint64_t usable(const struct l2_group *g)
{
	return !*l2_group_problem(g);
}

/* One sample per group; without a value one per reason of a refusal. */
static const struct of_group {
	const char *name;
	enum metrics_type type;
	const char *help;
	uint64_t (*value)(const struct l2_group *g);
} of_groups[] = {
	{ "maglev_speaker_l2_usable", METRICS_GAUGE,
	  "1 while the interface of the group can be used.", usable },
	{ "maglev_speaker_l2_heartbeats_sent_total", METRICS_COUNTER, "Heartbeats that were sent.",
	  sent },
	{ "maglev_speaker_l2_heartbeats_failed_total", METRICS_COUNTER,
	  "Heartbeats that could not be sent.", failed },
	{ "maglev_speaker_l2_heartbeats_received_total", METRICS_COUNTER,
	  "Heartbeats of other members.", received },
	{ "maglev_speaker_l2_heartbeats_refused_total", METRICS_COUNTER,
	  "Heartbeats that were refused, by reason.", NULL },
};

static void add_refusals(struct buf *out, const char *name, const struct l2_group *g)
{
	const struct l2_heartbeat_stats stats = l2_group_stats(g);

	for (size_t why = 0; why < L2_REFUSALS; why++) {
		const struct metrics_label labels[] = {
			{ "group", str_of(l2_group_name(g)) },
			{ "reason", str_of(l2_refusal_name((enum l2_refusal)why)) },
		};

		metrics_u64(out, name, labels, ARRAY_SIZE(labels), stats.refused[why]);
	}
}

static void add_groups(struct buf *out, const struct speaker *s, const struct of_group *f)
{
	size_t n = speaker_config(s)->n_l2;

	metrics_family(out, f->name, f->type, f->help);
	for (size_t i = 0; i < n; i++) {
		const struct l2_group *g = l2_group_at(speaker_l2(s), i);
		const struct metrics_label label = { "group", str_of(l2_group_name(g)) };

		if (f->value)
			metrics_u64(out, f->name, &label, 1, f->value(g));
		else
			add_refusals(out, f->name, g);
	}
}

void metrics__add_l2(struct buf *out, const struct speaker *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_vips); i++)
		add_vips(out, s, &of_vips[i]);
	for (size_t i = 0; i < ARRAY_SIZE(of_groups); i++)
		add_groups(out, s, &of_groups[i]);
}
