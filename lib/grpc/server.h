/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: gRPC over HTTP/2, for unary and server-streaming methods.
 *
 * A table says which handler serves which method; the server itself answers UNIMPLEMENTED, content
 * types that are not gRPC (415), messages that do not decode (INVALID_ARGUMENT), deadlines
 * (DEADLINE_EXCEEDED) and what is over a limit (RESOURCE_EXHAUSTED). A handler gets the decoded
 * request, which is gone when it returns, and a call that lives until it is ended by grpc_reply(),
 * grpc_fail() or grpc_finish(), now or later from the loop, or until the client goes away: then
 * cancelled() is told, and the call must not be touched any more. Strings of a request are checked:
 * one with a NUL or with bytes that are not UTF-8 never reaches a handler. Everything runs on the
 * one loop; nothing blocks; the library never logs. Handlers and cancelled() may end any call, and
 * may drain the server, but never free it.
 *
 * The server adds grpc.health.v1 and, with a descriptor set, reflection (v1 and v1alpha). Requests
 * may be compressed with gzip.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/str.h"
#include "lib/grpc/grpc.h"
#include "lib/loop/loop.h"

struct grpc_call;
struct grpc_server;
struct tls_context;

typedef void (*grpc_handler_fn)(struct grpc_call *call, const ProtobufCMessage *request,
				void *user);

struct grpc_route {
	struct grpc_method method;
	grpc_handler_fn handler;
};

/* A call has ended; strings live during the call. */
struct grpc_trace {
	struct endpoint peer;
	const char *path;
	enum grpc_status status;
	int64_t duration; /* ns */
};

/* Zero means the default. */
struct grpc_server_config {
	struct endpoint listen;		 /* no address: any, both families; port 0: any free one */
	const struct grpc_route *routes; /* borrowed */
	size_t n_routes;
	void *user;		 /* of handlers and of trace */
	struct tls_context *tls; /* NULL: plaintext with prior knowledge; borrowed, replaceable */
	const void *descriptor_set; /* a serialised FileDescriptorSet; NULL: no reflection */
	size_t descriptor_set_size;
	size_t max_connections;	 /* 4096 */
	size_t max_streams;	 /* 128 at once, per connection */
	size_t max_message;	 /* 4 MiB, of a request */
	size_t max_queued;	 /* 1 MiB, of answers that one call of a stream has waiting */
	size_t max_unread;	 /* 16 MiB, of answers that one connection has waiting */
	size_t max_unread_all;	 /* 256 MiB, of all: then who has any waiting gets no more */
	int64_t keepalive;	 /* 60 s without a frame: PING; another 20 s: closed */
	int64_t request_timeout; /* 20 s, for all of a request to come */
	void (*trace)(const struct grpc_trace *trace, void *user);
};

struct grpc_server_stats {
	size_t connections, calls; /* open now */
	uint64_t accepted;
	uint64_t refused; /* over the limit, or out of descriptors */
	uint64_t calls_started;
	uint64_t protocol_errors; /* connections ended for what they did, or did not do in time */
	uint64_t resets;	  /* streams that ended in an error, by either side */
	uint64_t bytes_in, bytes_out;
};

/* Listens. -errno of socket, bind or listen; *ret untouched then. */
int grpc_server_new(struct ev_loop *loop, const struct grpc_server_config *config,
		    struct grpc_server **ret);
/* Closes everything at once; calls under way are cancelled. NULL is fine. */
void grpc_server_free(struct grpc_server *s);
struct endpoint grpc_server_endpoint(const struct grpc_server *s);
const struct grpc_server_stats *grpc_server_stats(const struct grpc_server *s);
/* Connections made from now on use this context; those that are open keep theirs. */
void grpc_server_set_tls(struct grpc_server *s, struct tls_context *tls);
/* Serves a connected, non-blocking socket as if it had been accepted; fd is taken. */
void grpc_server_adopt(struct grpc_server *s, int fd, struct endpoint peer);
/*
 * Stops listening, sends GOAWAY, lets unary calls finish and ends streams with UNAVAILABLE; done is
 * called once, from the loop, when no connection is left.
 */
void grpc_server_drain(struct grpc_server *s, void (*done)(void *user), void *user);

/* The common name of the client's verified certificate; NULL without one. */
const char *grpc_peer_name(const struct grpc_call *call);
struct endpoint grpc_peer(const struct grpc_call *call);

/* The one answer of a unary method. */
void grpc_reply(struct grpc_call *call, const ProtobufCMessage *response);
/* The same with bytes that are the message already; refused when max_unread is exceeded by now. */
void grpc_reply_encoded(struct grpc_call *call, struct str message);
/* Ends the call without an answer, or a stream early. The text is made valid UTF-8. */
void grpc_fail(struct grpc_call *call, enum grpc_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * One more message of a stream. -ENOBUFS, and nothing queued, when max_queued would be exceeded, or
 * max_unread or max_unread_all are by now and this call has more than 64 KiB of it.
 */
int grpc_send(struct grpc_call *call, const ProtobufCMessage *message);
/* The same with bytes that are a message already, in two parts: what is shared, and what is not. */
int grpc_send_encoded(struct grpc_call *call, struct str shared, struct str own);
/* Bytes of answers that the call has waiting. */
size_t grpc_queued(struct grpc_call *call);
/* Told once, when nothing waits any more. It may not send: let the loop turn first. */
void grpc_on_drained(struct grpc_call *call, void (*drained)(void *user), void *user);
/* The stream is over, with OK. */
void grpc_finish(struct grpc_call *call);
/* Told once if the call ends by any other hand than its handler's. */
void grpc_on_cancel(struct grpc_call *call, void (*cancelled)(void *user), void *user);
