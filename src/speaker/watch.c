/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/watch.h"

#include "lib/pb/pb.h"
#include "proto/speaker.pb-c.h"
#include "src/speaker/info.h"
#include "src/speaker/speaker.h"

static uint64_t generation(void *user)
{
	return speaker_generation(user);
}

static size_t items(void *user)
{
	const struct bgp_config *c = speaker_config(user);

	return 1 + c->n_vips + c->n_peers;
}

/* Sessions change without a word; so may then the VIPs that are announced over them. */
static size_t sessions(void *user)
{
	return 1 + speaker_config(user)->n_vips;
}

static void encode(size_t i, bool figures, struct arena *arena, struct buf *out, void *user)
{
	struct speaker *speaker = user;
	size_t vips = speaker_config(speaker)->n_vips;
	Maglev__SpeakerEvent event;

	maglev__speaker_event__init(&event);
	if (i == 0) {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SPEAKER;
		event.speaker = info_speaker(speaker, arena);
	} else if (i <= vips) {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_ANNOUNCEMENT;
		event.announcement = info_announcement(speaker, i - 1, arena);
	} else {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SESSION;
		event.session = info_session(speaker, i - 1 - vips, arena);
	}
	pb_encode(&event.base, out);
}

static void on_changed(void *user)
{
	service_watch_changed(user);
}

struct service_watch *watch_new(struct ev_loop *loop, struct speaker *speaker)
{
	const struct service_watch_config config = { .generation = generation,
						     .items = items,
						     .encode = encode,
						     .polled = sessions,
						     .user = speaker };
	struct service_watch *w = service_watch_new(loop, &config);

	speaker_observe(speaker, on_changed, w);
	return w;
}

void watch_free(struct service_watch *w, struct speaker *speaker)
{
	speaker_observe(speaker, NULL, NULL);
	service_watch_free(w);
}
