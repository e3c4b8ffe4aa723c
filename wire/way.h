/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way: messages of the three APIs as facts about the way of a packet (core/way), and the way as a
 * message. Facts borrow their texts from the messages, which must stay; arrays are in the arena.
 */
#pragma once

#include "core/way/way.h"
#include "proto/maglev.pb-c.h"
#include "proto/router.pb-c.h"
#include "proto/speaker.pb-c.h"
#include "proto/way.pb-c.h"

struct way_frontend wire_way_frontend(const Maglev__FrontendInfo *m, struct arena *arena);
struct way_backend wire_way_backend(const Maglev__BackendInfo *m);
/* What the state of the data plane says of it as a whole. */
void wire_way_plane(const Maglev__VPPLBState *m, struct way_maglevd *to);

/* The speaker itself, without its announcements and sessions. */
void wire_way_speaker(const Maglev__SpeakerInfo *m, struct arena *arena, struct way_speaker *to);
struct way_announcement wire_way_announcement(const Maglev__AnnouncementInfo *m);
struct way_session wire_way_session(const Maglev__SessionInfo *m);

/* The router itself, without its listeners, routes and pools. */
void wire_way_router(const Maglev__RouterInfo *m, struct way_router *to);
struct way_listener wire_way_listener(const Maglev__RouterListener *m);
struct way_route wire_way_route(const Maglev__RouterRoute *m, struct arena *arena);
struct way_router_pool wire_way_pool(const Maglev__RouterPool *m, struct arena *arena);
struct way_explanation wire_way_explanation(const Maglev__RequestExplanation *m,
					    struct arena *arena);

/* What a request has besides host and path; each may be NULL. */
struct wire_way_request {
	const char *method, *header, *listener;
};
/* Fills an initialised message, which borrows from both and from the arena. */
void wire_way_fill_explain(const struct way_query *q, const struct wire_way_request *more,
			   struct arena *arena, Maglev__ExplainRequestRequest *to);

/*
 * The request for the newest figures of the frontends and backends of a maglevd that the way shows.
 * Returns false if it shows none.
 */
bool wire_way_fill_history(const struct way *way, const char *maglevd, struct arena *arena,
			   Maglev__GetHistoryRequest *to);
/* Replaces the frontends and backends by copies with the figures of the answer. */
void wire_way_take_history(const Maglev__HistoryResponse *m, struct arena *arena,
			   struct way_maglevd *to);

/* In the arena; at: unix ns. */
Maglev__Way *wire_way(const struct way *way, const struct way_query *q, int64_t at,
		      struct arena *arena);
