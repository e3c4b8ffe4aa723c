/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal: shared by the files of the API.
 */
#pragma once

#include <sys/queue.h>

#include "base/arena.h"
#include "lib/loop/task.h"
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
	struct arena *scratch; /* for one answer at a time, or one part of it */
	struct api_stats stats;
	struct api__answers answers; /* being made, oldest first */
	struct task work;	     /* makes the answers */
};

/* A long answer that is being made; see answer.c. */
struct api__answer;
/* Makes the next part of an answer, allocated in arena; NULL: there are no more parts. */
typedef const ProtobufCMessage *(*api__part_fn)(struct api__answer *answer, struct arena *arena);

struct api__answer {
	TAILQ_ENTRY(api__answer) queue;
	struct api *api;
	struct grpc_call *call;
	api__part_fn part;
	/* for part() alone; 0 and empty at the first part, also when the answer starts again */
	size_t at;
	struct wire_lb_walk walk;
	int64_t reading; /* when the counters that the parts show were read */
	char *name;	 /* of a plan: the frontend; of a state: the backend; "": all */
	int err;
	bool refused;	     /* set by the last part if it has failed the call */
	uint64_t generation; /* of the configuration that the parts show */
	struct buf bytes;    /* the parts so far, encoded */
};

/*
 * Makes the answer from parts and sends it: in this turn of the loop, or over several turns when
 * it is long. Takes over name, which may be NULL, and the call's grpc_on_cancel().
 */
void api__answer(struct api *a, struct grpc_call *call, api__part_fn part, int err, char *name);
void api__answers_init(struct api *a);
/* All calls must have ended. */
void api__answers_stop(struct api *a);

/*
 * Handlers, one for each row of API_METHODS_LIST, in read.c, operate.c, config.c, dataplane.c and
 * api.c. user is the struct api.
 */
#define API_HANDLER(name)                                                                          \
	void api__##name(struct grpc_call *call, const ProtobufCMessage *request, void *user)

#define API__DECLARE(number, name, handler, takes, gives, stream) API_HANDLER(handler);
API_METHODS_LIST(API__DECLARE)

/* False if this client may only read; the call has then failed with PERMISSION_DENIED. */
bool api__may_change(struct api *a, struct grpc_call *call);
/*
 * An arena for an answer or a part that is encoded at once: the next call of this function
 * empties it.
 */
struct arena *api__scratch(struct api *a);
/* The index of that name. SIZE_MAX: it does not exist, and the call has failed with NOT_FOUND. */
size_t api__frontend(struct api *a, struct grpc_call *call, const char *name);
size_t api__backend(struct api *a, struct grpc_call *call, const char *name);
