/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal: shared by the files of the API.
 */
#pragma once

#include "base/arena.h"
#include "src/maglevd/api/api.h"
#include "src/maglevd/engine.h"
#include "wire/api.h"
#include "wire/api_methods.h"

struct api {
	struct api_setup setup;
	struct service *service;
	struct watch *watch;
	int64_t started; /* unix ns, of the API and so of the process */
};

/* A long answer that is being made. */
struct api__answer {
	struct service_answer base; /* the first member, so that the parts can find the rest */
	struct api *api;
	/* for the parts alone; empty at the first part, also when the answer starts again */
	struct wire_lb_walk walk;
	int64_t reading; /* when the counters that the parts show were read */
	char *name;	 /* of a plan: the frontend; of a state: the backend; "": all */
	int err;
};

/*
 * Makes the answer from parts and sends it, like service_answer(). Takes over name, which may be
 * NULL.
 */
void api__answer(struct api *a, struct grpc_call *call, service_part_fn part, int err, char *name);
/* The answer that a part belongs to. */
struct api__answer *api__answer_of(struct service_answer *base);

/*
 * Handlers, one for each row of API_METHODS_LIST, in read.c, operate.c, operate_many.c, config.c,
 * dataplane.c, history.c and api.c. user is the struct api.
 */
#define API_HANDLER(name)                                                                          \
	void api__##name(struct grpc_call *call, const ProtobufCMessage *request, void *user)

#define API__DECLARE(number, name, handler, takes, gives, stream) API_HANDLER(handler);
API_METHODS_LIST(API__DECLARE)

/* False if the times of a note are wrong for the command; the call has failed then. */
bool api__note(struct grpc_call *call, const struct l4_note *note, enum l4_command c);
/* The log line of a command on a backend, or on n backends: then the first of the selection. */
void api__log_command(const struct l4_note *note, enum l4_command c, const char *backend, size_t n);
/*
 * Answers an act that was carried out: at once, or with --override-file when the file is written.
 * The message is the state after the act, whatever happens until the answer is sent.
 */
void api__reply_act(struct api *a, struct grpc_call *call, const ProtobufCMessage *answer);

/* As service_may_change() and service_scratch(). */
bool api__may_change(struct api *a, struct grpc_call *call);
struct arena *api__scratch(struct api *a);
/* The index of that name. SIZE_MAX: it does not exist, and the call has failed with NOT_FOUND. */
size_t api__frontend(struct api *a, struct grpc_call *call, const char *name);
size_t api__backend(struct api *a, struct grpc_call *call, const char *name);
