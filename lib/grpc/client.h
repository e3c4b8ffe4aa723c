/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: calls to one gRPC server.
 *
 * All calls use one connection. It is opened by the first call that needs it and opened again by
 * the first call after it was lost. Open calls of a lost connection end with UNAVAILABLE; no
 * request is sent twice. Responses must not be compressed: the client does not offer it, so that a
 * server cannot make it expand a few bytes to many.
 *
 * Each call ends with exactly one done(), called from the loop and never from grpc_client_call(),
 * unless grpc_client_cancel() came first. done() may begin calls and free the client; message() and
 * state() may begin and cancel calls. Everything runs on one loop and nothing blocks: the name of
 * the target is looked up in a child process, again for each connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/grpc/grpc.h"
#include "lib/loop/loop.h"
#include "lib/pb/pb.h"

struct grpc_client;
struct grpc_client_call;
struct tls_context;

/* Strings are copied. */
struct grpc_client_config {
	const char *target;	 /* "host:port", "[v6]:port" */
	struct tls_context *tls; /* NULL: plaintext; borrowed */
	const char *tls_name;	 /* NULL: the host of target */
	const char *user_agent;	 /* NULL: "maglev" */
	size_t max_message;	 /* of a response, encoded; 0: 16 MiB */
	struct pb_bounds bounds; /* of a response, decoded; see pb.h */
	int64_t connect_timeout; /* ns, for each address and for the lookup; 0: 5 s */
	/* The connection was opened, lost or could not be opened, and why; may be NULL. */
	void (*state)(bool connected, const char *why, void *user);
	void *user;
};

/* Opens no connection yet. -EINVAL if target is malformed; *ret is untouched then. */
int grpc_client_new(struct ev_loop *loop, const struct grpc_client_config *config,
		    struct grpc_client **ret);
/* Open calls are dropped without done(). NULL is allowed. */
void grpc_client_free(struct grpc_client *c);
/*
 * Replaces the TLS context for connections opened from now on; an open connection keeps its own.
 * Borrowed. A client with TLS stays with TLS, one without stays without.
 */
void grpc_client_set_tls(struct grpc_client *c, struct tls_context *tls);

/* One field; the name is in lower case. */
struct grpc_metadata {
	const char *name, *value;
};

/*
 * Calls that begin from now on carry this metadata instead of the previous one, at most
 * GRPC_METADATA_MAX fields. Values are copied, names are borrowed. n may be 0.
 */
void grpc_client_set_metadata(struct grpc_client *c, const struct grpc_metadata *fields, size_t n);

struct grpc_client_events {
	/* A decoded message, freed on return. At most once for unary methods. May be NULL. */
	void (*message)(const ProtobufCMessage *message, void *user);
	/*
	 * The call has ended. text is the server's message or why the server could not be reached:
	 * one line that is safe to show, of at most 2 KiB; never NULL, freed when this returns.
	 * Required.
	 */
	void (*done)(enum grpc_status status, const char *text, void *user);
	void *user;
	/* If not NULL, called instead of message() with the encoded bytes, freed on return. */
	void (*content)(struct str bytes, void *user);
};

/*
 * Begins a call. The request is encoded before this returns, method is borrowed, events is copied.
 * timeout is in ns and is sent to the server as well; 0 means none. If it passes while the name of
 * the server is looked up, the status is UNAVAILABLE. The result is valid until done() is called
 * or it is cancelled.
 */
struct grpc_client_call *grpc_client_call(struct grpc_client *c, const struct grpc_method *method,
					  const ProtobufCMessage *request, int64_t timeout,
					  const struct grpc_client_events *events);
/* Cancels the call and frees it; done() is not called. Not after done(). */
void grpc_client_cancel(struct grpc_client_call *call);
