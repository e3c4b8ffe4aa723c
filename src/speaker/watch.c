/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/watch.h"

#include <stdint.h>

#include "lib/pb/pb.h"

static uint64_t generation(void *user)
{
	const struct source *s = user;

	return s->generation(s->user);
}

static size_t items(void *user)
{
	const struct source *s = user;

	return 1 + s->announcements(s->user) + s->sessions(s->user);
}

/* Sessions change without a word; so may then the VIPs that are announced over them. */
static size_t sessions(void *user)
{
	const struct source *s = user;

	return 1 + s->announcements(s->user);
}

static void encode(size_t i, bool figures, struct arena *arena, struct buf *out, void *user)
{
	const struct source *s = user;
	size_t vips = s->announcements(s->user);
	Maglev__SpeakerEvent event;

	maglev__speaker_event__init(&event);
	if (i == 0) {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SPEAKER;
		event.speaker = s->speaker(arena, s->user);
	} else if (i <= vips) {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_ANNOUNCEMENT;
		event.announcement = s->announcement(i - 1, arena, s->user);
	} else {
		event.event_case = MAGLEV__SPEAKER_EVENT__EVENT_SESSION;
		event.session = s->session(i - 1 - vips, arena, s->user);
	}
	pb_encode(&event.base, out);
}

static void on_changed(void *user)
{
	service_watch_changed(user);
}

struct service_watch *watch_new(struct ev_loop *loop, const struct source *source)
{
	const struct service_watch_config config = { .generation = generation,
						     .items = items,
						     .encode = encode,
						     .polled = sessions,
						     .user = (void *)(uintptr_t)source };
	struct service_watch *w = service_watch_new(loop, &config);

	source->observe(on_changed, w, source->user);
	return w;
}

void watch_free(struct service_watch *w, const struct source *source)
{
	source->observe(NULL, NULL, source->user);
	service_watch_free(w);
}
