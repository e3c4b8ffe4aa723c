/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speaker_methods: the methods of the service maglev.Speaker, in one list for the server and all
 * clients, as api_methods is for maglev.Maglev.
 */
#pragma once

#include "lib/grpc/grpc.h"
#include "proto/speaker.pb-c.h"

/*
 * X(number, name, handler, request, response, whether the response is a stream), in the order of
 * the .proto file. request and response are the names that protobuf-c gives to the messages.
 */
#define SPEAKER_METHODS_LIST(X)                                                                    \
	X(GET_SPEAKER, "GetSpeaker", get_speaker, get_speaker_request, speaker_info, false)        \
	X(LIST_ANNOUNCEMENTS, "ListAnnouncements", list_announcements, list_announcements_request, \
	  list_announcements_response, false)                                                      \
	X(GET_ANNOUNCEMENT, "GetAnnouncement", get_announcement, get_announcement_request,         \
	  announcement_info, false)                                                                \
	X(LIST_SESSIONS, "ListSessions", list_sessions, list_sessions_request,                     \
	  list_sessions_response, false)                                                           \
	X(DRAIN_VIP, "DrainVIP", drain_vip, drain_viprequest, announcement_info, false)            \
	X(UNDRAIN_VIP, "UndrainVIP", undrain_vip, undrain_viprequest, announcement_info, false)    \
	X(WATCH_SPEAKER, "WatchSpeaker", watch_speaker, watch_speaker_request, speaker_event, true)

#define SPEAKER__NUMBER(number, name, handler, request, response, stream) SPEAKER_##number,

enum speaker_method { SPEAKER_METHODS_LIST(SPEAKER__NUMBER) SPEAKER_METHODS };

/* Indexed by number, in the form that clients and routes of a server use. */
extern const struct grpc_method speaker_methods[SPEAKER_METHODS];
