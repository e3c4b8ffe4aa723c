/* SPDX-License-Identifier: Apache-2.0 */
/*
 * render: answers of the server as text.
 *
 * Each function takes the response message of its call. Pure: everything else that is needed, the
 * time included, is in struct render. Text is appended to out, complaints to err.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"
#include "src/maglevc/command.h"

struct render {
	bool color;
	int64_t now;		       /* ns since the epoch */
	const struct command *command; /* the command that was answered */
	const char *server;	       /* that has answered */
	size_t server_width;	       /* of the longest name; 0: there is only one server */
	void *sum;		       /* what a view adds up over all servers; NULL: nothing */
	struct buf *out, *err;
};

typedef void (*render_fn)(const ProtobufCMessage *message, const struct render *r);

void render_frontends(const ProtobufCMessage *message, const struct render *r);
void render_frontend(const ProtobufCMessage *message, const struct render *r);
void render_backends(const ProtobufCMessage *message, const struct render *r);
void render_backend(const ProtobufCMessage *message, const struct render *r);
void render_history(const ProtobufCMessage *message, const struct render *r);
void render_healthchecks(const ProtobufCMessage *message, const struct render *r);
void render_healthcheck(const ProtobufCMessage *message, const struct render *r);
void render_vpp_info(const ProtobufCMessage *message, const struct render *r);
void render_lb_state(const ProtobufCMessage *message, const struct render *r);
void render_lb_counters(const ProtobufCMessage *message, const struct render *r);
/* The operations of a sync, carried out or planned. */
void render_sync(const ProtobufCMessage *message, const struct render *r);
/* One line: the state of a backend after pause, resume, enable or disable. */
void render_act(const ProtobufCMessage *message, const struct render *r);
/* The configuration: the text of the answer, in the format that was asked for. */
void render_config(const ProtobufCMessage *message, const struct render *r);
/* A line each, of a stream. */
void render_event(const ProtobufCMessage *message, const struct render *r);
void render_speaker_event(const ProtobufCMessage *message, const struct render *r);
void render_router_event(const ProtobufCMessage *message, const struct render *r);
/* What an act on several backends does, or would do; sum is a struct many_sum (many.h). */
void render_many(const ProtobufCMessage *message, const struct render *r);
void render_overrides(const ProtobufCMessage *message, const struct render *r);
/* One line: the weight that was set. */
void render_weight(const ProtobufCMessage *message, const struct render *r);
void render_config_check(const ProtobufCMessage *message, const struct render *r);
void render_speaker(const ProtobufCMessage *message, const struct render *r);
void render_announcements(const ProtobufCMessage *message, const struct render *r);
void render_announcement(const ProtobufCMessage *message, const struct render *r);
void render_sessions(const ProtobufCMessage *message, const struct render *r);
/* One line: the state of a VIP after its drain began or ended. */
void render_drain(const ProtobufCMessage *message, const struct render *r);
void render_router(const ProtobufCMessage *message, const struct render *r);
void render_listeners(const ProtobufCMessage *message, const struct render *r);
void render_streams(const ProtobufCMessage *message, const struct render *r);
void render_routes(const ProtobufCMessage *message, const struct render *r);
void render_route(const ProtobufCMessage *message, const struct render *r);
void render_pools(const ProtobufCMessage *message, const struct render *r);
void render_pool(const ProtobufCMessage *message, const struct render *r);
void render_generations(const ProtobufCMessage *message, const struct render *r);
/* What a generation has changed. */
void render_generation(const ProtobufCMessage *message, const struct render *r);
/* The way of a request. */
void render_route_for(const ProtobufCMessage *message, const struct render *r);
/* One line: the generation that is in force now. */
void render_rollback(const ProtobufCMessage *message, const struct render *r);
/* The way of a packet, and what is wrong with it. */
void render_way(const ProtobufCMessage *message, const struct render *r);
void render_config_reload(const ProtobufCMessage *message, const struct render *r);
