/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the wire format that server and client share: frames, header values, timeouts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/grpc/grpc.h"
#include "lib/grpc/timeout.h"

/* frame.c: collects messages from DATA frames, which may be cut anywhere. */
struct grpc__reader {
	struct buf bytes; /* one message with its prefix, as far as it has arrived */
	bool whole;	  /* the message is complete; grpc__next() begins another */
};

/*
 * Takes bytes from *bytes up to the end of a message. Returns 1 if the message is complete, 0 if
 * more bytes are needed, -EMSGSIZE if its prefix says that it is longer than max.
 */
int grpc__read(struct grpc__reader *r, struct str *bytes, size_t max);
/*
 * The content of a complete message, decompressed if needed, valid until the next call with r.
 * -EMSGSIZE if it becomes larger than max, -EBADMSG if it is not gzip, -EPROTO if it is compressed
 * but grpc-encoding was not gzip.
 */
int grpc__content(struct grpc__reader *r, bool gzip, size_t max, struct str *ret);
void grpc__next(struct grpc__reader *r);
void grpc__reader_free(struct grpc__reader *r);

/* Appends a frame: the prefix, then the message. */
void grpc__frame(struct buf *out, const ProtobufCMessage *message);
void grpc__frame_parts(struct buf *out, struct str a, struct str b);

/* gzip.c: appends to out, also partly before a failure. -EBADMSG, or -EMSGSIZE above max. */
int grpc__gunzip(struct str in, size_t max, struct buf *out);

/* text.c */
/* grpc-message: percent-encoded UTF-8. encode() cuts the text after 2048 bytes. */
void grpc__message_encode(struct str text, struct buf *out);
void grpc__message_decode(struct str value, struct buf *out);
/* True for "application/grpc", also with "+proto" or parameters. */
bool grpc__is_grpc(struct str content_type);
/* The gRPC status for a response without grpc-status: by HTTP status, by HTTP/2 error code. */
enum grpc_status grpc__status_of_http(unsigned status);
enum grpc_status grpc__status_of_h2(uint32_t error);
