/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share. */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "src/maglevd/api/api.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"
#include "wire/api_methods.h"

TAILQ_HEAD(api__answers, api__answer);

struct api {
	struct api_setup setup;
	struct grpc_server *server;
	struct grpc_route routes[API_METHODS];
	struct tls_context *tls;
	struct watch *watch;
	struct arena *scratch; /* of the answer being made */
	struct api_stats stats;
	struct api__answers answers;
	ev_timer more;	/* the next turn: answers are worked on */
	ev_tstamp turn; /* the last one in which that was done ... */
	int64_t until;	/* ... and how long it may be; monotonic ns */
};

/* A long answer that is being made; see answer.c. */
struct api__answer;
/* The next part of it, in arena; NULL: that was all. */
typedef const ProtobufCMessage *(*api__part_fn)(struct api__answer *answer, struct arena *arena);

struct api__answer {
	TAILQ_ENTRY(api__answer) queue;
	struct api *api;
	struct grpc_call *call;
	api__part_fn part;
	size_t at;		 /* the part's own: 0 at first, and when it begins again */
	struct api_lb_walk walk; /* the same; empty at first */
	int64_t reading;	 /* of counters: when they were read */
	char *name;		 /* of a plan: the frontend; "": all */
	int err;
	bool refused;	     /* the part, its last one, has failed the call */
	uint64_t generation; /* of the configuration that it is of */
	struct buf bytes;
};

/* Makes the answer from parts, now or over some turns of the loop, and sends it. name is taken. */
void api__answer(struct api *a, struct grpc_call *call, api__part_fn part, int err, char *name);
/* Goes on with those that are being made. */
void api__work(struct api *a);

/*
 * Handlers, one for each row of API_METHODS_LIST, in read.c, operate.c, config.c, dataplane.c and
 * api.c. user is the struct api.
 */
#define API_HANDLER(name)                                                                          \
	void api__##name(struct grpc_call *call, const ProtobufCMessage *request, void *user)

#define API__DECLARE(number, name, handler, takes, gives, stream) API_HANDLER(handler);
API_METHODS_LIST(API__DECLARE)

/* False, and the call failed with PERMISSION_DENIED, when this client may only read. */
bool api__may_change(struct api *a, struct grpc_call *call);
/* For an answer that is sent before the handler returns; emptied with every call. */
struct arena *api__scratch(struct api *a);
/* The frontend of that name; SIZE_MAX, and the call failed with NOT_FOUND, when there is none. */
size_t api__frontend(struct api *a, struct grpc_call *call, const char *name);
size_t api__backend(struct api *a, struct grpc_call *call, const char *name);
