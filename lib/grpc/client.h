/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: calls to one gRPC server, over one connection that is made when first needed and made
 * again after it was lost (calls under way then end with UNAVAILABLE; nothing is sent twice).
 *
 * A call ends with exactly one done(), from the loop, never from within the function that began it,
 * unless it was cancelled by its owner. done() may begin calls and free the client; message() and
 * state() may begin and cancel calls. Everything runs on the one loop, and nothing blocks: a name
 * is looked up by a child process, for each connection anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/grpc/grpc.h"
#include "lib/loop/loop.h"

struct grpc_client;
struct grpc_client_call;
struct tls_context;

struct grpc_client_config {
	const char *target;	 /* "host:port", "[v6]:port" */
	struct tls_context *tls; /* NULL: plaintext; borrowed */
	const char *tls_name;	 /* NULL: the host of target */
	const char *user_agent;
	size_t max_message;	 /* 0: 16 MiB, of an answer */
	int64_t connect_timeout; /* ns; 0: 5 s */
	/* Connected or not any more, with a word why; may be NULL. */
	void (*state)(bool connected, const char *why, void *user);
	void *user;
};

/* -EINVAL when target is not of that form; *ret untouched then. */
int grpc_client_new(struct ev_loop *loop, const struct grpc_client_config *config,
		    struct grpc_client **ret);
/* Calls under way are dropped without done(). */
void grpc_client_free(struct grpc_client *c);
/* Where there was one: connections made from now on use it; one that is there keeps its own. */
void grpc_client_set_tls(struct grpc_client *c, struct tls_context *tls);

struct grpc_client_events {
	/* A message; decoded, gone when this returns. Once for unary methods. */
	void (*message)(const ProtobufCMessage *message, void *user);
	/* text: what the server said, or why it could not be reached; valid UTF-8, never NULL. */
	void (*done)(enum grpc_status status, const char *text, void *user);
	void *user;
	/* Not NULL: the bytes of a message, in place of message(); gone when this returns. */
	void (*content)(struct str bytes, void *user);
};

/* The request is encoded before this returns. timeout in ns, sent along; 0: none. */
struct grpc_client_call *grpc_client_call(struct grpc_client *c, const struct grpc_method *method,
					  const ProtobufCMessage *request, int64_t timeout,
					  const struct grpc_client_events *events);
/* No done() any more. */
void grpc_client_cancel(struct grpc_client_call *call);
