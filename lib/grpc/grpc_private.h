/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of gRPC share on the wire: frames, texts, timeouts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "lib/grpc/grpc.h"

#define GRPC__TIMEOUT_STRLEN 16

/* frame.c: messages out of DATA, however it was cut. */
struct grpc__reader {
	struct buf bytes; /* of one message and its prefix, so far */
	bool whole;	  /* it is complete; grpc__next() begins another */
};

/*
 * Takes from *bytes up to the end of a message: 1 when one is whole, 0 when more is needed,
 * -EMSGSIZE when it would be longer than max.
 */
int grpc__read(struct grpc__reader *r, struct str *bytes, size_t max);
/*
 * The content of a whole message, uncompressed if need be, valid until the next call. -EMSGSIZE
 * when it grows beyond max, -EBADMSG when it is not gzip, -EPROTO when it is compressed and gzip
 * was not agreed on.
 */
int grpc__content(struct grpc__reader *r, bool gzip, size_t max, struct str *ret);
void grpc__next(struct grpc__reader *r);
void grpc__reader_free(struct grpc__reader *r);

/* Appends a frame: the prefix, then the message. */
void grpc__frame(struct buf *out, const ProtobufCMessage *message);
void grpc__frame_parts(struct buf *out, struct str a, struct str b);

/* gzip.c: -EBADMSG, or -EMSGSIZE above max. Appends to out; what was added stays on failure. */
int grpc__gunzip(struct str in, size_t max, struct buf *out);

/* text.c */
/* grpc-timeout: at most eight digits and a unit. -EINVAL otherwise. */
int grpc__timeout_parse(struct str s, int64_t *ret_ns);
const char *grpc__timeout_format(int64_t ns, char text[static GRPC__TIMEOUT_STRLEN]);
/* grpc-message: valid UTF-8, percent-encoded, cut off when very long; and back. */
void grpc__message_encode(struct str text, struct buf *out);
void grpc__message_decode(struct str value, struct buf *out);
/* "application/grpc", also with "+proto" or parameters. */
bool grpc__is_grpc(struct str content_type);
/* For answers that are not gRPC's: of HTTP, and of HTTP/2. */
enum grpc_status grpc__status_of_http(unsigned status);
enum grpc_status grpc__status_of_h2(uint32_t error);
