/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/info.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "src/speaker/plan.h"
#include "src/speaker/summary.h"

#define NEW(a, type, init)                                                                         \
	({                                                                                         \
		type *new_ = arena_new_of((a), type);                                              \
		init(new_);                                                                        \
		new_;                                                                              \
	})

/* protobuf-c's texts are not const, although encoding only reads them. */
static char *text(const char *s)
{
	return (char *)(uintptr_t)s;
}

/* ---- the speaker ---- */

static void add_maglevds(struct speaker *s, Maglev__SpeakerInfo *info, struct arena *a)
{
	const struct bgp_config *c = speaker_config(s);

	info->n_maglevds = c->n_maglevds;
	info->maglevds = arena_array_of(a, c->n_maglevds, Maglev__SpeakerMaglevd *);
	for (size_t i = 0; i < c->n_maglevds; i++) {
		const struct follow *f = speaker_follow(s, i);
		Maglev__SpeakerMaglevd *one =
			NEW(a, Maglev__SpeakerMaglevd, maglev__speaker_maglevd__init);

		one->name = text(c->maglevds[i].name);
		one->address = text(c->maglevds[i].address);
		one->connected = follow_connected(f);
		one->error = text(follow_error(f));
		info->maglevds[i] = one;
	}
}

Maglev__SpeakerFrr *info_frr(const struct reload *r, struct arena *a)
{
	const struct reload_stats *stats = reload_stats(r);
	Maglev__SpeakerFrr *info = NEW(a, Maglev__SpeakerFrr, maglev__speaker_frr__init);

	info->current = reload_is_current(r);
	info->applies = stats->applies;
	info->failures = stats->failures;
	info->last_error = text(stats->last_error);
	info->last_at = stats->last_at;
	return info;
}

static Maglev__SpeakerInfo *show_speaker(struct arena *a, void *user)
{
	struct speaker *s = user;
	Maglev__SpeakerInfo *info = NEW(a, Maglev__SpeakerInfo, maglev__speaker_info__init);
	const char *problem = speaker_problem(s);

	info->name = arena_strdup(a, speaker_name(s));
	info->version = text(cli_version.version);
	info->started = speaker_stats(s)->started_at;
	info->problem = text(problem ? problem : sessions_problem(speaker_sessions(s)));
	add_maglevds(s, info, a);
	info->bgp = speaker_config(s)->n_peers > 0;
	info->frr = info->bgp ? info_frr(speaker_reload(s), a) : NULL;
	info->generation = speaker_generation(s);
	info->loaded = speaker_stats(s)->loaded_at;
	info->config_error = text(speaker_mistake(s));
	return info;
}

/* ---- announcements ---- */

static void add_sources(struct speaker *s, const struct speaker_vip *v,
			Maglev__AnnouncementInfo *info, struct arena *a)
{
	const struct bgp_vip *c = v->config;

	info->n_frontends = c->n_sources;
	info->frontends = arena_array_of(a, c->n_sources, Maglev__AnnouncementSource *);
	for (size_t i = 0; i < c->n_sources; i++) {
		const struct follow *f = speaker_follow(s, c->sources[i].maglevd);
		const struct announce_source source =
			follow_source(f, c->sources[i].frontend, c->rule.min_servers);
		Maglev__AnnouncementSource *one =
			NEW(a, Maglev__AnnouncementSource, maglev__announcement_source__init);

		one->maglevd = text(follow_name(f));
		one->frontend = text(c->sources[i].frontend);
		one->reachable = source.reachable;
		one->known = source.known;
		one->up = source.up;
		one->servers = source.servers;
		info->frontends[i] = one;
	}
}

/* The peers that get the VIP, and those of them with a session. */
static Maglev__AnnouncementBgp *bgp(struct speaker *s, const struct bgp_vip *v, struct arena *a)
{
	const struct bgp_config *c = speaker_config(s);
	const struct session *sessions = sessions_list(speaker_sessions(s));
	struct bgp_prefix prefix = bgp_vip_prefix(c, v);
	char words[BGP_PREFIX_STRLEN];
	Maglev__AnnouncementBgp *info =
		NEW(a, Maglev__AnnouncementBgp, maglev__announcement_bgp__init);

	info->prefix = arena_strdup(a, bgp_prefix_format(&prefix, words));
	info->advertisement = text(c->advertisements[v->advertisement].name);
	info->peers = arena_array_of(a, c->n_peers, char *);
	info->established = arena_array_of(a, c->n_peers, char *);
	for (size_t i = 0; i < c->n_peers; i++) {
		if (!plan_reaches(c, v, &c->peers[i]))
			continue;
		info->peers[info->n_peers++] = text(c->peers[i].frr.name);
		if (sessions[i].up)
			info->established[info->n_established++] = text(c->peers[i].frr.name);
	}
	return info;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(Maglev__L2MemberInfo *const *)a)->name,
		      (*(Maglev__L2MemberInfo *const *)b)->name);
}

static void add_members(struct speaker *s, const struct l2_election *e,
			Maglev__AnnouncementL2 *info, struct arena *a)
{
	info->n_members = e->n;
	info->members = arena_array_of(a, e->n, Maglev__L2MemberInfo *);
	for (size_t i = 0; i < e->n; i++) {
		const struct l2_member *m = &e->members[i];
		Maglev__L2MemberInfo *one =
			NEW(a, Maglev__L2MemberInfo, maglev__l2_member_info__init);

		one->name = text(m->name);
		one->priority = m->word.priority;
		one->owner = m->word.owner;
		one->seen = speaker_time(s, m->since);
		info->members[i] = one;
	}
	if (e->n)
		qsort(info->members, e->n, sizeof(*info->members), by_name);
}

/* NULL if the VIP is in no group. */
static Maglev__AnnouncementL2 *l2(struct speaker *s, size_t vip, struct arena *a)
{
	Maglev__AnnouncementL2 *info;
	struct l2_view v;
	const char *owner;

	if (!l2_view(speaker_l2(s), vip, &v))
		return NULL;
	info = NEW(a, Maglev__AnnouncementL2, maglev__announcement_l2__init);
	owner = l2_election_owner(v.election);
	info->group = text(v.group);
	info->interface = text(v.interface);
	info->state = text(*v.problem ? "" : l2_state_name(v.election->state));
	info->reason = text(l2_reason_name(v.election->reason));
	info->since = speaker_time(s, v.election->since);
	info->owner = text(owner ? owner : "");
	info->priority = v.priority;
	info->problem = arena_strdup(a, v.problem);
	add_members(s, v.election, info, a);
	return info;
}

static bool owns(const Maglev__AnnouncementL2 *info)
{
	return info && strcmp(info->state, l2_state_name(L2_OWNER)) == 0;
}

/* Who brings traffic here, and why or why not. */
static void set_verdict(struct speaker *s, const struct speaker_vip *v,
			Maglev__AnnouncementInfo *info, struct arena *a)
{
	const struct reload *r = speaker_reload(s);

	info->attracts = owns(info->l2) || (info->bgp && announce_is_sent(v->announce.state) &&
					    info->bgp->n_established);
	info->summary = text(summary_of(
		&(struct summary_facts){ .announcement = info,
					 .state = v->announce.state,
					 .reason = v->announce.reason,
					 .min_servers = v->config->rule.min_servers,
					 .frr_error = !info->bgp || reload_is_current(r)
							      ? ""
							      : reload_stats(r)->last_error },
		a));
}

static Maglev__AnnouncementInfo *show_announcement(size_t vip, struct arena *a, void *user)
{
	struct speaker *s = user;
	const struct speaker_vip *v = &speaker_vips(s)[vip];
	Maglev__AnnouncementInfo *info =
		NEW(a, Maglev__AnnouncementInfo, maglev__announcement_info__init);
	char words[ADDR_STRLEN];

	info->vip = text(v->config->name);
	info->address = arena_strdup(a, addr_format(&v->config->address, words));
	info->state = text(announce_state_name(v->announce.state));
	info->reason = text(announce_reason_name(v->announce.reason));
	info->since = speaker_time(s, v->announce.since);
	info->transitions = v->transitions;
	info->drained = v->announce.drained_at != 0;
	info->drain_reason = text(v->drain_reason);
	info->drained_at = v->drained_at;
	info->operator_ = text(v->drain_who.name);
	if (addr_is_set(&v->drain_who.address))
		info->operator_address = arena_strdup(a, addr_format(&v->drain_who.address, words));
	add_sources(s, v, info, a);
	if (v->announce.culprit < info->n_frontends)
		info->culprit =
			arena_printf(a, "%s/%s", info->frontends[v->announce.culprit]->maglevd,
				     info->frontends[v->announce.culprit]->frontend);
	if (speaker_config(s)->n_peers && v->config->advertisement != BGP_NONE)
		info->bgp = bgp(s, v->config, a);
	info->l2 = l2(s, vip, a);
	set_verdict(s, v, info, a);
	return info;
}

/* ---- sessions ---- */

static char *asn(const struct frr_peer *p, struct arena *a)
{
	switch (p->as_kind) {
	case FRR_AS_NUMBER:
		return arena_printf(a, "%u", (unsigned)p->asn);
	case FRR_AS_INTERNAL:
		return text("internal");
	case FRR_AS_EXTERNAL:
		break;
	}
	return text("external");
}

Maglev__SessionInfo *info_session(const struct bgp_peer *p, const struct session *one,
				  int64_t since, struct arena *a)
{
	Maglev__SessionInfo *info = NEW(a, Maglev__SessionInfo, maglev__session_info__init);
	char words[ADDR_STRLEN];

	info->peer = text(p->frr.name);
	info->address = p->frr.interface ? text(p->frr.interface)
					 : arena_strdup(a, addr_format(&p->frr.address, words));
	info->vrf = text(p->vrf ? p->vrf : "");
	info->asn = asn(&p->frr, a);
	info->up = one->up;
	info->state = text(one->state);
	info->since = since;
	info->prefixes_sent = one->prefixes;
	info->bfd = text(!p->frr.bfd ? "" : one->bfd_up ? "up" : "down");
	info->last_error = text(one->last_error);
	return info;
}

static Maglev__SessionInfo *show_session(size_t peer, struct arena *a, void *user)
{
	const struct session *one = &sessions_list(speaker_sessions(user))[peer];

	return info_session(&speaker_config(user)->peers[peer], one, speaker_time(user, one->since),
			    a);
}

/* ---- the source ---- */

static uint64_t generation(void *user)
{
	return speaker_generation(user);
}

static size_t count_announcements(void *user)
{
	return speaker_config(user)->n_vips;
}

static size_t count_sessions(void *user)
{
	return speaker_config(user)->n_peers;
}

static size_t find(const char *vip, void *user)
{
	const struct bgp_config *c = speaker_config(user);
	const struct bgp_vip *v = bgp_config_vip(c, vip);

	return v ? (size_t)(v - c->vips) : SIZE_MAX;
}

static void observe(void (*changed)(void *observer), void *observer, void *user)
{
	speaker_observe(user, changed, observer);
}

static void drain(size_t i, const char *reason, const struct who *who, void *user)
{
	speaker_drain(user, i, reason, who);
}

static void undrain(size_t i, const struct who *who, void *user)
{
	speaker_undrain(user, i, who);
}

struct source info_source(struct speaker *s)
{
	return (struct source){ .user = s,
				.generation = generation,
				.announcements = count_announcements,
				.sessions = count_sessions,
				.speaker = show_speaker,
				.announcement = show_announcement,
				.session = show_session,
				.find = find,
				.observe = observe,
				.drain = drain,
				.undrain = undrain };
}
