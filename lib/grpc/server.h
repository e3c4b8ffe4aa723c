/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: gRPC over HTTP/2, for unary and server-streaming methods.
 *
 * A table of routes maps methods to handlers. The server itself answers unknown methods
 * (UNIMPLEMENTED), content types that are not gRPC (HTTP status 415), messages that cannot be
 * decoded (INVALID_ARGUMENT), expired deadlines (DEADLINE_EXCEEDED) and exceeded limits
 * (RESOURCE_EXHAUSTED).
 *
 * A handler gets a call and the decoded request, which is freed when the handler returns. The call
 * lives until grpc_reply(), grpc_fail() or grpc_finish() ends it, from the handler or later from
 * the loop. If the call ends in another way (the client cancels, the deadline expires, the server
 * drains), cancelled() is called. In both cases the call must not be used afterwards. A request
 * with a string that contains NUL or is not UTF-8 is refused before the handler.
 *
 * Everything runs on one loop, nothing blocks, and the library does not log. Handlers and
 * cancelled() may end any call and may drain the server, but must not free it.
 *
 * A connection with nothing but calls of Health/Watch is among the first that are closed when there
 * is no room for another one.
 *
 * The server adds grpc.health.v1 and, if there is a descriptor set, reflection (v1 and v1alpha).
 * Requests may be compressed with gzip.
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

/* user is that of the server's configuration. */
typedef void (*grpc_handler_fn)(struct grpc_call *call, const ProtobufCMessage *request,
				void *user);

struct grpc_route {
	struct grpc_method method;
	grpc_handler_fn handler;
};

/* Describes a call that has ended. The strings are valid during the trace() callback. */
struct grpc_trace {
	struct endpoint peer;
	const char *path;
	enum grpc_status status;
	int64_t duration; /* ns */
};

/* Copied. Zero means the default, which is the number in each comment. Times are in ns. */
struct grpc_server_config {
	struct endpoint listen;		 /* no address: any, both families; port 0: a free one */
	int inherited;			 /* a socket that listens already, instead; 0: none */
	const struct grpc_route *routes; /* borrowed */
	size_t n_routes;
	void *user;		 /* passed to handlers and trace() */
	struct tls_context *tls; /* NULL: plaintext with prior knowledge; borrowed, replaceable */
	const void
		*descriptor_set; /* serialised FileDescriptorSet, borrowed; NULL: no reflection */
	size_t descriptor_set_size;
	size_t max_connections;	 /* 4096; see lib/stream/crowd.h for the one that is closed */
	size_t max_per_source;	 /* a quarter of max_connections; not for local clients */
	size_t max_streams;	 /* 128 at once, per connection */
	size_t max_message;	 /* 4 MiB: one request, after decompression */
	size_t max_queued;	 /* 1 MiB: responses queued in one streaming call */
	size_t max_unread;	 /* 16 MiB: responses queued in one connection */
	size_t max_unread_all;	 /* 256 MiB in all; above, clients with unread responses get none */
	int64_t keepalive;	 /* 60 s without input: PING; 20 s later: closed */
	int64_t request_timeout; /* 20 s until a request must be complete */
	/* names, in lower case, of the metadata that calls keep; NULL ends the list; borrowed */
	const char *metadata[GRPC_METADATA_MAX];
	void (*trace)(const struct grpc_trace *trace, void *user);
	void *trace_user; /* of trace(); NULL: user */
};

struct grpc_server_stats {
	size_t connections, calls; /* open now */
	uint64_t accepted;
	uint64_t refused; /* connections over a limit, or without a descriptor */
	uint64_t evicted; /* connections closed to make room for others */
	uint64_t calls_started;
	uint64_t protocol_errors; /* connections ended by protocol errors, abuse or timeouts */
	uint64_t resets;	  /* streams ended by an error, from either side */
	uint64_t bytes_in, bytes_out;
};

/* Creates a server and listens. Returns -errno of socket, bind or listen and leaves *ret alone. */
int grpc_server_new(struct ev_loop *loop, const struct grpc_server_config *config,
		    struct grpc_server **ret);
/* Closes everything at once; open calls are cancelled. NULL is allowed. */
void grpc_server_free(struct grpc_server *s);
/* The bound address, with the port that the kernel chose if it was 0. */
struct endpoint grpc_server_endpoint(const struct grpc_server *s);
/* The listening socket, to be passed to another process; it still belongs to the server. */
int grpc_server_socket(const struct grpc_server *s);
/* Stops listening without a trace, because another process has the same socket. */
void grpc_server_hand_over(struct grpc_server *s);
/* Up to date when it returns; owned by the server. */
const struct grpc_server_stats *grpc_server_stats(const struct grpc_server *s);
/* Connections accepted from now on use this context; open connections keep theirs. Borrowed. */
void grpc_server_set_tls(struct grpc_server *s, struct tls_context *tls);
/* Serves a connected, non-blocking socket as if it had been accepted. Takes ownership of fd. */
void grpc_server_adopt(struct grpc_server *s, int fd, struct endpoint peer);
/*
 * Stops listening, sends GOAWAY, lets unary calls finish and ends streaming calls with UNAVAILABLE.
 * done is called once, from the loop, when no connection is left; it may free the server. At most
 * once per server.
 */
void grpc_server_drain(struct grpc_server *s, void (*done)(void *user), void *user);

/* The common name of the client's verified certificate, NULL without one. Owned by the call. */
const char *grpc_peer_name(const struct grpc_call *call);
struct endpoint grpc_peer(const struct grpc_call *call);
/*
 * What the client sent under the name config.metadata[i], as valid UTF-8; NULL: nothing. Anybody
 * can send anything. Owned by the call.
 */
const char *grpc_metadata(const struct grpc_call *call, size_t i);

/* Sends the response of a unary method and ends the call. */
void grpc_reply(struct grpc_call *call, const ProtobufCMessage *response);
/* The same for an encoded message. Ends with RESOURCE_EXHAUSTED if max_unread is exceeded. */
void grpc_reply_encoded(struct grpc_call *call, struct str message);
/* Ends the call with an error, after what was sent before. The text is made valid UTF-8. */
void grpc_fail(struct grpc_call *call, enum grpc_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Sends one message of a streaming method. Returns -ENOBUFS and queues nothing if max_queued would
 * be exceeded, or if max_unread or max_unread_all is exceeded and this call would have more than
 * 64 KiB queued.
 */
int grpc_send(struct grpc_call *call, const ProtobufCMessage *message);
/*
 * The same for an encoded message, which is the concatenation of two parts: one that is the same
 * for many calls and one of this call. Either may be empty. Both are copied.
 */
int grpc_send_encoded(struct grpc_call *call, struct str shared, struct str own);
/* Bytes of responses queued in the call. */
size_t grpc_queued(struct grpc_call *call);
/* Calls drained() once, when the queue becomes empty. It may send. */
void grpc_on_drained(struct grpc_call *call, void (*drained)(void *user), void *user);
/* Ends a streaming call with OK. */
void grpc_finish(struct grpc_call *call);
/* Calls cancelled() once if the call is ended by anything but the functions above. */
void grpc_on_cancel(struct grpc_call *call, void (*cancelled)(void *user), void *user);
