/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_info: what a speaker in a cluster shows in its API.
 *
 * An announcement is one address of a Service, called NAMESPACE/NAME, or NAMESPACE/NAME/ipv4 and
 * NAMESPACE/NAME/ipv6 if it has two. The list of them is made again at most once a second, and each
 * new list is a generation: so a burst of Services costs a client of WatchSpeaker one whole state a
 * second, and not one for each. What is shown of an entry of the list is always its present state.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/units.h"
#include "src/speaker/epoch.h"
#include "src/speaker/info.h"
#include "src/speaker/kube_state.h"
#include "src/speaker/summary.h"

#define LIST_EVERY NSEC_PER_SEC

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

/* ---- the list ---- */

static void clear_list(struct kube *k)
{
	for (size_t i = 0; i < k->shown.n; i++) {
		free(k->shown.items[i].service);
		free(k->shown.items[i].name);
	}
	k->shown.n = 0;
}

static void add_shown(struct kube *k, const struct kube_entry *e, size_t address)
{
	_cleanup_(buf_free) struct buf name = { 0 };

	buf_adds(&name, e->key);
	if (e->n_addresses > 1)
		buf_printf(&name, "/ipv%u", e->addresses[address].family == AF_INET ? 4U : 6U);
	vec_push(&k->shown, ((struct kube_shown){ .service = mem_strdup(e->key),
						  .name = mem_strdup(buf_cstr(&name)),
						  .address = address }));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct kube_shown *)a)->name, ((const struct kube_shown *)b)->name);
}

void kube__show_again(struct kube *k)
{
	clear_list(k);
	for (size_t i = 0; i < k->entries.n; i++) {
		const struct kube_entry *e = k->entries.items[i];

		for (size_t a = 0; a < e->n_addresses; a++)
			add_shown(k, e, a);
	}
	if (k->shown.n)
		qsort(k->shown.items, k->shown.n, sizeof(*k->shown.items), by_name);
	k->shown_at = loop_monotonic();
	k->shown_old = false;
	k->generation++;
}

void kube__shown_changed(struct kube *k)
{
	if (k->observer)
		k->observer(k->observer_user);
}

void kube__info_free(struct kube *k)
{
	clear_list(k);
	vec_free(&k->shown);
}

static uint64_t generation(void *user)
{
	struct kube *k = user;

	if (k->shown_old && loop_monotonic() - k->shown_at >= LIST_EVERY)
		kube__show_again(k);
	return k->generation;
}

static size_t count_announcements(void *user)
{
	return ((const struct kube *)user)->shown.n;
}

static const struct bgp_config *peers_of(const struct kube *k)
{
	static const struct bgp_config none;

	return k->config ? &k->config->frr : &none;
}

static size_t count_sessions(void *user)
{
	return peers_of(user)->n_peers;
}

static size_t find(const char *vip, void *user)
{
	const struct kube *k = user;
	size_t i = sorted_place(k->shown.n, j, strcmp(k->shown.items[j].name, vip) < 0);

	return i < k->shown.n && strcmp(k->shown.items[i].name, vip) == 0 ? i : SIZE_MAX;
}

/* ---- the speaker ---- */

static Maglev__SpeakerInfo *show_speaker(struct arena *a, void *user)
{
	struct kube *k = user;
	Maglev__SpeakerInfo *info = NEW(a, Maglev__SpeakerInfo, maglev__speaker_info__init);
	const char *problem = kube_unready(k);

	info->name = text(k->node);
	info->version = text(cli_version.version);
	info->started = k->started_at;
	info->problem = text(problem ? problem : sessions_problem(k->sessions));
	info->bgp = count_sessions(k) > 0;
	info->frr = info->bgp ? info_frr(k->reload, a) : NULL;
	info->generation = k->generation;
	info->loaded = k->loaded_at;
	info->config_error = text(k->mistake ? k->mistake : "");
	return info;
}

/* ---- announcements ---- */

static void add_name(struct buf *out, const char *name)
{
	buf_printf(out, "%s%s", out->n ? ", " : "", name);
}

/* The peers that are sent the address, and those of them with a session. */
static Maglev__AnnouncementBgp *bgp(const struct kube_entry *e, size_t address, struct arena *a)
{
	const struct bgp_config *c = &e->view->config->frr;
	const struct plan_announcement of = { &e->addresses[address], 1, e->bgp.advertisements,
					      e->bgp.n, e->draining };
	const struct metal_texts reached = plan_kube_reached(c, &of, a);
	const struct metal_prefix prefix =
		metal_bgp_prefix(e->bgp.advertisements[0], &e->addresses[address]);
	char words[METAL_PREFIX_STRLEN];
	_cleanup_(buf_free) struct buf names = { 0 };
	Maglev__AnnouncementBgp *info =
		NEW(a, Maglev__AnnouncementBgp, maglev__announcement_bgp__init);

	for (size_t i = 0; i < e->bgp.n; i++)
		add_name(&names, e->bgp.advertisements[i]->name);
	info->prefix = arena_strdup(a, metal_prefix_format(&prefix, words));
	info->advertisement = arena_strdup(a, buf_cstr(&names));
	info->peers = arena_array_of(a, reached.n, char *);
	info->established = arena_array_of(a, reached.n, char *);
	for (size_t i = 0; i < reached.n; i++) {
		const struct session *s = kube__session(e->of, reached.items[i]);

		info->peers[info->n_peers++] = text(reached.items[i]);
		if (s && s->up)
			info->established[info->n_established++] = text(reached.items[i]);
	}
	return info;
}

/* The advertisements, and the interfaces that they name. */
static void add_places(const struct speak_l2 *l, Maglev__AnnouncementL2 *info, struct arena *a)
{
	_cleanup_(buf_free) struct buf names = { 0 }, interfaces = { 0 };

	for (size_t i = 0; i < l->n; i++)
		add_name(&names, l->advertisements[i]->name);
	for (size_t i = 0; i < l->interfaces.n; i++)
		add_name(&interfaces, l->interfaces.items[i]);
	info->group = arena_strdup(a, buf_cstr(&names));
	info->interface = arena_strdup(a, interfaces.n ? buf_cstr(&interfaces) : "all interfaces");
}

/* The other candidates; their order is their priority. */
static void add_members(const struct kube_entry *e, Maglev__AnnouncementL2 *info, struct arena *a)
{
	const struct speak_l2 *l = &e->l2;

	info->members = arena_array_of(a, l->n_candidates, Maglev__L2MemberInfo *);
	for (size_t i = 0; i < l->n_candidates; i++) {
		Maglev__L2MemberInfo *one;

		if (strcmp(l->candidates[i], e->of->node) == 0) {
			info->priority = (uint32_t)(l->n_candidates - i);
			continue;
		}
		one = NEW(a, Maglev__L2MemberInfo, maglev__l2_member_info__init);
		one->name = text(l->candidates[i]);
		one->priority = (uint32_t)(l->n_candidates - i);
		one->owner = i == 0;
		info->members[info->n_members++] = one;
	}
}

static Maglev__AnnouncementL2 *l2(const struct kube_entry *e, struct arena *a)
{
	Maglev__AnnouncementL2 *info =
		NEW(a, Maglev__AnnouncementL2, maglev__announcement_l2__init);
	bool owns = e->l2.reason == SPEAK_ANNOUNCED;

	add_places(&e->l2, info, a);
	info->state = text(owns ? "owner" : "backup");
	info->since = e->since;
	info->owner = text(e->l2.n_candidates ? e->l2.candidates[0] : "");
	add_members(e, info, a);
	info->reason = text(owns ? "best" : info->priority ? "outranked" : "unfit");
	if (e->l2.reason == SPEAK_NO_INTERFACE)
		info->problem = text(speak_reason_text(e->l2.reason));
	return info;
}

/* A node that would follow as the owner stands by. */
static enum announce_state state_of(const struct kube_entry *e, bool sent)
{
	if (e->draining)
		return ANNOUNCE_DRAINING;
	return sent || e->l2.reason == SPEAK_ANNOUNCED || e->l2.reason == SPEAK_NOT_OWNER
		       ? ANNOUNCE_UP
		       : ANNOUNCE_WITHDRAWN;
}

/* Of the protocol that has advertisements for it, BGP before the other. */
static struct speak_absence why_of(const struct kube_entry *e)
{
	bool by_l2 = e->l2.n && !e->bgp.n;
	enum speak_reason reason = by_l2 ? e->l2.reason : e->bgp.reason;
	const struct speak_absence *told = by_l2 ? &e->l2_absence : &e->bgp_absence;

	return told->reason != SPEAK_ANNOUNCED
		       ? *told
		       : (struct speak_absence){ reason, speak_reason_text(reason) };
}

static void set_verdict(const struct kube_entry *e, Maglev__AnnouncementInfo *info, struct arena *a)
{
	const struct kube *k = e->of;
	bool sent = e->bgp.reason == SPEAK_ANNOUNCED || e->draining,
	     owns = e->l2.reason == SPEAK_ANNOUNCED;
	enum announce_state state = state_of(e, sent && info->bgp);
	const struct speak_absence why = why_of(e);
	bool is_current = !info->bgp || reload_is_current(k->reload);

	info->state = text(announce_state_name(state));
	info->reason = text(speak_reason_name(state == ANNOUNCE_UP ? SPEAK_ANNOUNCED : why.reason));
	info->attracts = owns || (sent && info->bgp && info->bgp->n_established);
	info->summary = text(summary_of(
		&(struct summary_facts){
			.announcement = info,
			.state = state,
			.why = state == ANNOUNCE_UP ? "" : why.message,
			.frr_error = is_current ? "" : reload_stats(k->reload)->last_error },
		a));
}

/* One that is gone, or has lost its address, and is in the list for less than a second. */
static void show_deleted(Maglev__AnnouncementInfo *info, enum speak_reason reason, struct arena *a)
{
	info->state = text(announce_state_name(ANNOUNCE_WITHDRAWN));
	info->reason = text(speak_reason_name(reason));
	info->summary = arena_printf(a, "%s: %s", info->state, speak_reason_text(reason));
}

static Maglev__AnnouncementInfo *show_announcement(size_t i, struct arena *a, void *user)
{
	struct kube *k = user;
	const struct kube_shown *shown = &k->shown.items[i];
	const struct kube_entry *e = kube__find(k, shown->service);
	Maglev__AnnouncementInfo *info =
		NEW(a, Maglev__AnnouncementInfo, maglev__announcement_info__init);
	char words[ADDR_STRLEN];

	info->vip = arena_strdup(a, shown->name);
	if (!e || !e->view) {
		show_deleted(info, e ? SPEAK_NO_CONFIG : SPEAK_DELETED, a);
		return info;
	}
	info->since = e->since;
	info->transitions = e->transitions;
	if (shown->address < e->n_addresses) {
		info->address = arena_strdup(a, addr_format(&e->addresses[shown->address], words));
		info->bgp = e->bgp.n ? bgp(e, shown->address, a) : NULL;
		info->l2 = e->l2.n ? l2(e, a) : NULL;
	}
	set_verdict(e, info, a);
	return info;
}

/* ---- sessions ---- */

const struct session *kube__session(const struct kube *k, const char *peer)
{
	const struct bgp_config *c = peers_of(k);
	size_t i = sorted_place(c->n_peers, j, strcmp(c->peers[j].frr.name, peer) < 0);

	return i < c->n_peers && strcmp(c->peers[i].frr.name, peer) == 0
		       ? &sessions_list(k->sessions)[i]
		       : NULL;
}

static Maglev__SessionInfo *show_session(size_t i, struct arena *a, void *user)
{
	struct kube *k = user;
	const struct session *one = &sessions_list(k->sessions)[i];

	return info_session(&peers_of(k)->peers[i], one, epoch_time(&k->epoch, one->since), a);
}

/* ---- the source ---- */

static void observe(void (*changed)(void *observer), void *observer, void *user)
{
	struct kube *k = user;

	k->observer = changed;
	k->observer_user = observer;
}

struct source kube_source(struct kube *k)
{
	return (struct source){
		.user = k,
		.generation = generation,
		.announcements = count_announcements,
		.sessions = count_sessions,
		.speaker = show_speaker,
		.announcement = show_announcement,
		.session = show_session,
		.find = find,
		.observe = observe,
		.no_drain = "a speaker in a cluster drains the whole node: give it the label "
			    "" SPEAK_EXCLUDE_LABEL
	};
}
