/* SPDX-License-Identifier: Apache-2.0 */
/* The views of maglev-speaker: its announcements, its sessions, and itself. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "proto/speaker.pb-c.h"
#include "src/maglevc/render_internal.h"
#include "src/maglevc/text.h"

/* ---- announcements ---- */

/* One that an operator took out is not a fault. */
static enum tint tint_of(const Maglev__AnnouncementInfo *a)
{
	return a->drained ? TINT_OFF : render__tint(a->state);
}

void render_announcements(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListAnnouncementsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "NAME,ADDRESS,STATE,AGE,TRAFFIC,SUMMARY");
	for (size_t i = 0; i < list->n_announcements; i++) {
		const Maglev__AnnouncementInfo *a = list->announcements[i];

		columns_cell(c, TINT_NONE, "%s", a->vip);
		columns_cell(c, TINT_NONE, "%s", a->address);
		columns_cell(c, tint_of(a), "%s", a->state);
		render__age_cell(c, r, a->since);
		columns_cell(c, TINT_NONE, "%s", a->attracts ? "yes" : "no");
		columns_cell(c, TINT_NONE, "%s", a->summary);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

static void add_bgp(struct columns *c, const Maglev__AnnouncementBgp *bgp)
{
	_cleanup_(buf_free) struct buf peers = { 0 }, established = { 0 };

	render__add_list(bgp->peers, bgp->n_peers, &peers);
	render__add_list(bgp->established, bgp->n_established, &established);
	render__pair(c, "prefix", "%s", bgp->prefix);
	render__pair(c, "advertisement", "%s", bgp->advertisement);
	render__pair(c, "peers", "%s", buf_cstr(&peers));
	render__pair(c, "established", "%s", buf_cstr(&established));
}

static void add_l2(struct columns *c, const struct render *r, const Maglev__AnnouncementL2 *l2)
{
	render__pair(c, "l2-group", "%s", l2->group);
	render__pair(c, "l2-interface", "%s", l2->interface);
	render__pair_if(c, "l2-problem", l2->problem);
	if (*l2->state) {
		char age[TEXT_AGE_LEN];

		render__pair(c, "l2-state", "%s for %s (%s)", l2->state,
			     text_age(r->now - l2->since, age), l2->reason);
	}
	render__pair(c, "l2-owner", "%s", render__or_dash(l2->owner));
	render__pair(c, "l2-priority", "%u", l2->priority);
}

static void write_members(const Maglev__AnnouncementL2 *l2, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!l2->n_members)
		return;
	columns_head(c, "members,PRIORITY,OWNER,SEEN");
	for (size_t i = 0; i < l2->n_members; i++) {
		columns_cell(c, TINT_NONE, "  %s", l2->members[i]->name);
		columns_cell(c, TINT_NONE, "%u", l2->members[i]->priority);
		columns_cell(c, TINT_NONE, "%s", l2->members[i]->owner ? "yes" : "no");
		render__age_cell(c, r, l2->members[i]->seen);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

static const char *source_state(const Maglev__AnnouncementSource *s)
{
	return !s->reachable ? "unreachable" : !s->known ? "unknown" : s->up ? "up" : "down";
}

static void write_frontends(const Maglev__AnnouncementInfo *a, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!a->n_frontends)
		return;
	columns_head(c, "frontends,STATE,SERVERS");
	for (size_t i = 0; i < a->n_frontends; i++) {
		const Maglev__AnnouncementSource *s = a->frontends[i];

		columns_cell(c, TINT_NONE, "  %s/%s", s->maglevd, s->frontend);
		columns_cell(c, render__tint(source_state(s)), "%s", source_state(s));
		columns_cell(c, TINT_NONE, "%u", s->servers);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

void render_announcement(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__AnnouncementInfo *a = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "name", "%s", a->vip);
	render__pair(c, "address", "%s", a->address);
	render__pair_state(c, r, a->state, a->since);
	render__pair(c, "reason", "%s", a->reason);
	render__pair_if(c, "culprit", a->culprit);
	render__pair(c, "traffic", "%s", a->attracts ? "yes" : "no");
	render__pair(c, "summary", "%s", a->summary);
	if (a->drained)
		render__pair_time(c, r, "drained", a->drained_at);
	render__pair_if(c, "drain-reason", a->drain_reason);
	render__pair(c, "transitions", "%" PRIu64, a->transitions);
	if (a->bgp)
		add_bgp(c, a->bgp);
	if (a->l2)
		add_l2(c, r, a->l2);
	columns_write(c, 0, r->out);
	write_frontends(a, r);
	if (a->l2)
		write_members(a->l2, r);
}

void render_drain(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__AnnouncementInfo *a = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_line(c, TINT_NONE, "vip %s: %s", a->vip, a->summary);
	columns_write(c, 0, r->out);
}

/* ---- sessions ---- */

void render_sessions(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__ListSessionsResponse *list = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	columns_head(c, "PEER,ADDRESS,VRF,ASN,STATE,AGE,SENT,BFD,LAST-ERROR");
	for (size_t i = 0; i < list->n_sessions; i++) {
		const Maglev__SessionInfo *s = list->sessions[i];

		columns_cell(c, TINT_NONE, "%s", s->peer);
		columns_cell(c, TINT_NONE, "%s", s->address);
		columns_cell(c, TINT_NONE, "%s", render__or_dash(s->vrf));
		columns_cell(c, TINT_NONE, "%s", s->asn);
		columns_cell(c, s->up ? TINT_GOOD : TINT_BAD, "%s", render__or_dash(s->state));
		render__age_cell(c, r, s->since);
		columns_cell(c, TINT_NONE, "%" PRIu64, s->prefixes_sent);
		columns_cell(c, render__tint(s->bfd), "%s", render__or_dash(s->bfd));
		columns_cell(c, TINT_NONE, "%s", s->last_error);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

/* ---- the speaker ---- */

static void add_frr(struct columns *c, const struct render *r, const Maglev__SpeakerFrr *frr)
{
	render__pair(c, "frr-current", "%s", frr->current ? "yes" : "no");
	render__pair(c, "frr-applies", "%" PRIu64, frr->applies);
	render__pair(c, "frr-failures", "%" PRIu64, frr->failures);
	render__pair_time(c, r, "frr-last", frr->last_at);
	render__pair_if(c, "frr-error", frr->last_error);
}

static void write_maglevds(const Maglev__SpeakerInfo *s, const struct render *r)
{
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	if (!s->n_maglevds)
		return;
	columns_head(c, "maglevds,ADDRESS,CONNECTED,ERROR");
	for (size_t i = 0; i < s->n_maglevds; i++) {
		const Maglev__SpeakerMaglevd *m = s->maglevds[i];

		columns_cell(c, TINT_NONE, "  %s", m->name);
		columns_cell(c, TINT_NONE, "%s", m->address);
		columns_cell(c, m->connected ? TINT_GOOD : TINT_BAD, "%s",
			     m->connected ? "yes" : "no");
		columns_cell(c, TINT_NONE, "%s", m->error);
		columns_end_row(c);
	}
	columns_write(c, 0, r->out);
}

void render_speaker(const ProtobufCMessage *message, const struct render *r)
{
	const Maglev__SpeakerInfo *s = (const void *)message;
	_cleanup_(columns_freep) struct columns *c = columns_new(r->color);

	render__pair(c, "name", "%s", s->name);
	render__pair(c, "version", "%s", s->version);
	render__pair_if(c, "problem", s->problem);
	render__pair_time(c, r, "started", s->started);
	render__pair(c, "generation", "%" PRIu64, s->generation);
	render__pair_time(c, r, "loaded", s->loaded);
	render__pair_if(c, "config-error", s->config_error);
	if (s->frr)
		add_frr(c, r, s->frr);
	columns_write(c, 0, r->out);
	write_maglevds(s, r);
}
