/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speaker: what is read of a maglev-speaker, and what its events mean.
 *
 * An event has the whole item that changed, so the lists are read only at the start, with a new
 * stream and after a reload, which may have changed the names. The replay at the start of a stream
 * counts as well: an item can have changed after the lists were answered. News of the speaker
 * itself are asked for, at the pace of that query, and not taken from events, so that a speaker
 * cannot fill the ring of all servers.
 */
#include "base/cleanup.h"
#include "src/frontend/members.h"
#include "src/frontend/upstream_private.h"
#include "wire/speaker_methods.h"

/* text has the old one afterwards. */
static void keep_info(struct upstream *u, struct buf *text, const char *error)
{
	_cleanup_(buf_free) struct buf out = { 0 };

	if (!upstream__replace(&u->view.info, text))
		return;
	buf_add_lit(&out, "{\"info\":");
	upstream__add_or_null(&out, &u->view.info);
	buf_addc(&out, '}');
	upstream__tell(u, "update", loop_realtime(), (struct str){ out.p, out.n });
	if (!str_eq(members_generation(text), members_generation(&u->view.info)))
		upstream__want(u, UPSTREAM__LISTS);
}

static void on_event(struct upstream *u, const ProtobufCMessage *message)
{
	const Maglev__SpeakerEvent *e = (const Maglev__SpeakerEvent *)message;

	switch (e->event_case) {
	case MAGLEV__SPEAKER_EVENT__EVENT_SPEAKER:
		upstream__want(u, UPSTREAM__LIVE);
		break;
	case MAGLEV__SPEAKER_EVENT__EVENT_ANNOUNCEMENT:
		upstream__take_item(u, UPSTREAM_ANNOUNCEMENTS, &e->announcement->base, true);
		break;
	case MAGLEV__SPEAKER_EVENT__EVENT_SESSION:
		upstream__take_item(u, UPSTREAM_SESSIONS, &e->session->base, true);
		break;
	case MAGLEV__SPEAKER_EVENT__EVENT__NOT_SET:
	case _MAGLEV__SPEAKER_EVENT__EVENT__CASE_IS_INT_SIZE:
		break;
	}
}

static const struct upstream__query queries[] = {
	{ UPSTREAM__LISTS, &speaker_methods[SPEAKER_LIST_ANNOUNCEMENTS], UPSTREAM_ANNOUNCEMENTS,
	  NULL },
	{ UPSTREAM__LISTS, &speaker_methods[SPEAKER_LIST_SESSIONS], UPSTREAM_SESSIONS, NULL },
	{ UPSTREAM__LIVE, &speaker_methods[SPEAKER_GET_SPEAKER], UPSTREAM_LISTS, keep_info },
};

const struct upstream_kind upstream_speaker = {
	.word = "speaker",
	.queries = queries,
	.n_queries = ARRAY_SIZE(queries),
	.rounds = UPSTREAM__LIVE + 1,
	.watch = &speaker_methods[SPEAKER_WATCH_SPEAKER],
	.event = on_event,
};
