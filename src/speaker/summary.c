/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/summary.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define PEERS_SHOWN 5 /* by name; of others the number is shown */

/* The peers that are sent the prefix. bgp is NULL if there are none at all. */
static void add_peers(const Maglev__AnnouncementBgp *bgp, struct buf *out)
{
	if (!bgp || !bgp->n_peers) {
		buf_adds(out, ", but to no peer");
		return;
	}
	if (!bgp->n_established) {
		buf_adds(out, ", but no session is up");
		return;
	}
	for (size_t i = 0; i < bgp->n_established && i < PEERS_SHOWN; i++)
		buf_printf(out, "%s%s", i ? ", " : " to ", bgp->established[i]);
	if (bgp->n_established > PEERS_SHOWN)
		buf_printf(out, " and %zu more", bgp->n_established - PEERS_SHOWN);
}

/* The source that decided; NULL: none did. */
static const Maglev__AnnouncementSource *culprit_of(const Maglev__AnnouncementInfo *info)
{
	for (size_t i = 0; i < info->n_frontends; i++) {
		const Maglev__AnnouncementSource *one = info->frontends[i];
		size_t n = strlen(one->maglevd);

		if (strncmp(info->culprit, one->maglevd, n) == 0 && info->culprit[n] == '/' &&
		    strcmp(info->culprit + n + 1, one->frontend) == 0)
			return one;
	}
	return NULL;
}

/* Nothing for the usual case. */
static void add_reason(const struct summary_facts *f, struct buf *out)
{
	const Maglev__AnnouncementInfo *info = f->announcement;
	const Maglev__AnnouncementSource *by = culprit_of(info);

	if (f->why) {
		buf_printf(out, "%s%s", *f->why ? ": " : "", f->why);
		return;
	}
	switch (f->reason) {
	case ANNOUNCE_FIT:
	case ANNOUNCE_STATIC:
	case ANNOUNCE_REASONS:
		return;
	case ANNOUNCE_STARTING:
	case ANNOUNCE_ADOPTED:
		buf_printf(out, ": %s has not answered yet", by ? by->maglevd : "bgpd");
		return;
	case ANNOUNCE_WAITING:
		buf_adds(out, ": up, but not for min-up yet");
		return;
	case ANNOUNCE_DOWN:
		buf_printf(out, ": %s is down", info->culprit);
		return;
	case ANNOUNCE_FEW_SERVERS:
		buf_printf(out, ": %s has %u of %u servers", info->culprit,
			   by ? (unsigned)by->servers : 0, (unsigned)f->min_servers);
		return;
	case ANNOUNCE_UNKNOWN:
		buf_printf(out, ": there is no frontend %s", info->culprit);
		return;
	case ANNOUNCE_HELD:
	case ANNOUNCE_LOST:
		buf_printf(out, ": %s cannot be reached", by ? by->maglevd : "a maglevd");
		return;
	case ANNOUNCE_OPERATOR:
		buf_printf(out, ": drained%s%s", *info->drain_reason ? ", " : "",
			   info->drain_reason);
	}
}

/* ---- on a local network ---- */

static void add_owner(const Maglev__AnnouncementL2 *l2, struct buf *out)
{
	if (*l2->owner)
		buf_printf(out, "%s owns it", l2->owner);
	else
		buf_adds(out, "nobody owns it");
}

/* Without BGP. A VIP that is drained is left to others at once. */
static void add_standing(const struct summary_facts *f, struct buf *out)
{
	const Maglev__AnnouncementL2 *l2 = f->announcement->l2;
	bool stands = f->state == ANNOUNCE_UP || f->state == ANNOUNCE_WORSE;
	bool owns = strcmp(l2->state, "owner") == 0;

	if (stands && *l2->problem) {
		buf_printf(out, "not announced: %s", l2->problem);
		return;
	}
	if (owns)
		buf_printf(out, "announced on %s", l2->interface);
	else
		buf_adds(out, stands ? "standby" : "withdrawn");
	if (f->state == ANNOUNCE_WORSE)
		buf_adds(out, " as the last resort");
	if (!owns) {
		buf_adds(out, ", ");
		add_owner(l2, out);
	}
}

/* After what BGP does. */
static void add_network(const Maglev__AnnouncementL2 *l2, struct buf *out)
{
	buf_printf(out, "; on %s ", l2->interface);
	if (*l2->problem)
		buf_printf(out, "not announced: %s", l2->problem);
	else
		add_owner(l2, out);
}

char *summary_of(const struct summary_facts *f, struct arena *a)
{
	static const char *const words[] = {
		[ANNOUNCE_WITHDRAWN] = "withdrawn",
		[ANNOUNCE_UP] = "announced",
		[ANNOUNCE_WORSE] = "announced as the worse way",
		[ANNOUNCE_DRAINING] = "still announced",
	};
	const Maglev__AnnouncementInfo *info = f->announcement;
	_cleanup_(buf_free) struct buf out = { 0 };
	bool on_l2_only = info->l2 && !info->bgp;

	if (on_l2_only)
		add_standing(f, &out);
	else
		buf_adds(&out, words[f->state]);
	if (announce_is_sent(f->state) && !on_l2_only)
		add_peers(info->bgp, &out);
	add_reason(f, &out);
	if (info->l2 && info->bgp)
		add_network(info->l2, &out);
	if (*f->frr_error)
		buf_printf(&out, "; FRR does not have the latest configuration: %s", f->frr_error);
	return arena_strndup(a, out.p, out.n);
}
