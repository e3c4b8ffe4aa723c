/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/api.h"

#include <stdlib.h>

#include "base/mem.h"
#include "proto/speaker_descriptors.h"
#include "wire/speaker_methods.h"

#define REQUEST_MAX ((size_t)4096) /* bytes: names and reasons are short */
#define EVENTS_MAX ((size_t)1024 * 1024)
#define AT_ONCE 32 /* announcements or sessions in one part of a list */

struct api {
	struct source source;
	struct service *service;
	struct service_watch *watch;
};

#define HANDLER(name)                                                                              \
	static void name(struct grpc_call *call, const ProtobufCMessage *request, void *user)

/* ---- reading ---- */

HANDLER(get_speaker)
{
	struct api *a = user;

	grpc_reply(call, &a->source.speaker(service_scratch(a->service), a->source.user)->base);
}

/* The next part; NULL is the end. */
static const ProtobufCMessage *more_announcements(struct service_answer *w, struct arena *arena)
{
	struct api *a = w->user;
	size_t n = a->source.announcements(a->source.user);
	Maglev__ListAnnouncementsResponse *part =
		arena_new_of(arena, Maglev__ListAnnouncementsResponse);

	if (w->at >= n)
		return NULL;
	maglev__list_announcements_response__init(part);
	part->announcements = arena_array_of(arena, AT_ONCE, Maglev__AnnouncementInfo *);
	while (w->at < n && part->n_announcements < AT_ONCE)
		part->announcements[part->n_announcements++] =
			a->source.announcement(w->at++, arena, a->source.user);
	return &part->base;
}

HANDLER(list_announcements)
{
	struct api *a = user;

	service_answer_in_parts(a->service, call, more_announcements, a);
}

static const ProtobufCMessage *more_sessions(struct service_answer *w, struct arena *arena)
{
	struct api *a = w->user;
	size_t n = a->source.sessions(a->source.user);
	Maglev__ListSessionsResponse *part = arena_new_of(arena, Maglev__ListSessionsResponse);

	if (w->at >= n)
		return NULL;
	maglev__list_sessions_response__init(part);
	part->sessions = arena_array_of(arena, AT_ONCE, Maglev__SessionInfo *);
	while (w->at < n && part->n_sessions < AT_ONCE)
		part->sessions[part->n_sessions++] =
			a->source.session(w->at++, arena, a->source.user);
	return &part->base;
}

HANDLER(list_sessions)
{
	struct api *a = user;

	service_answer_in_parts(a->service, call, more_sessions, a);
}

/* The index of the VIP. SIZE_MAX: there is none, and the call has failed. */
static size_t find(const struct api *a, struct grpc_call *call, const char *name)
{
	size_t i = a->source.find(name, a->source.user);

	if (i == SIZE_MAX)
		grpc_fail(call, GRPC_NOT_FOUND, "no VIP is called \"%s\"", name);
	return i;
}

static void reply(struct api *a, struct grpc_call *call, size_t vip)
{
	grpc_reply(call,
		   &a->source.announcement(vip, service_scratch(a->service), a->source.user)->base);
}

HANDLER(get_announcement)
{
	struct api *a = user;
	size_t i = find(a, call, ((const Maglev__GetAnnouncementRequest *)request)->vip);

	if (i != SIZE_MAX)
		reply(a, call, i);
}

/* ---- the operator ---- */

/* As find(), for a client that may change something. */
static size_t find_to_drain(const struct api *a, struct grpc_call *call, const char *name)
{
	if (!service_may_change(a->service, call))
		return SIZE_MAX;
	if (!a->source.no_drain)
		return find(a, call, name);
	grpc_fail(call, GRPC_FAILED_PRECONDITION, "%s", a->source.no_drain);
	return SIZE_MAX;
}

HANDLER(drain_vip)
{
	struct api *a = user;
	const Maglev__DrainVIPRequest *r = (const Maglev__DrainVIPRequest *)request;
	size_t i = find_to_drain(a, call, r->vip);
	struct who who;

	if (i == SIZE_MAX)
		return;
	who = service_who(a->service, call);
	a->source.drain(i, r->reason, &who, a->source.user);
	service_log_act(&who, "drain", LOG_S("vip", r->vip),
			LOG_S("reason", *r->reason ? r->reason : NULL));
	reply(a, call, i);
}

HANDLER(undrain_vip)
{
	struct api *a = user;
	const char *vip = ((const Maglev__UndrainVIPRequest *)request)->vip;
	size_t i = find_to_drain(a, call, vip);
	struct who who;

	if (i == SIZE_MAX)
		return;
	who = service_who(a->service, call);
	a->source.undrain(i, &who, a->source.user);
	service_log_act(&who, "undrain", LOG_S("vip", vip));
	reply(a, call, i);
}

HANDLER(watch_speaker)
{
	struct api *a = user;

	service_watch_subscribe(a->watch, call, false);
}

/* ---- the server ---- */

/* One handler for each method; one that is missing does not compile. */
static const grpc_handler_fn handlers[SPEAKER_METHODS] = {
#define ROW(number, name, handler, takes, gives, stream) [SPEAKER_##number] = handler,
	SPEAKER_METHODS_LIST(ROW)
#undef ROW
};

static uint64_t generation(void *user)
{
	const struct api *a = user;

	return a->source.generation(a->source.user);
}

int api_new(struct ev_loop *loop, const struct service_options *options,
	    const struct source *source, struct api **ret)
{
	struct api *a = mem_zalloc(sizeof(*a));
	const struct service_config config = {
		.options = options,
		.methods = speaker_methods,
		.handlers = handlers,
		.n_methods = SPEAKER_METHODS,
		.user = a,
		.generation = generation,
		.max_message = REQUEST_MAX,
		.max_queued = EVENTS_MAX,
		.descriptor_set = speaker_descriptors,
		.descriptor_set_size = speaker_descriptors_size,
	};
	int r;

	a->source = *source;
	r = service_new(loop, &config, &a->service);
	if (r < 0) {
		free(a);
		return r;
	}
	a->watch = watch_new(loop, &a->source);
	*ret = a;
	return 0;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	service_free(a->service);
	watch_free(a->watch, &a->source);
	free(a);
}

struct service *api_service(const struct api *a)
{
	return a->service;
}

const struct service_watch_stats *api_watch_stats(const struct api *a)
{
	return service_watch_stats(a->watch);
}
