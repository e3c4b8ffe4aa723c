/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb: what protobuf-c leaves to its users.
 *
 * protobuf-c neither checks that strings are UTF-8 without NULs, nor supports JSON. This room
 * does both for any message by walking its descriptor, so there is no second description of a
 * message. No function blocks or keeps state; decoded messages live in the caller's arena.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/*
 * Bounds of what one message may cost, checked before anything is allocated. Few bytes can ask for
 * much memory: two encode an empty entry of a list. 0 means the default.
 */
struct pb_bounds {
	size_t memory; /* bytes of the decoded message; 64 MiB */
	size_t text;   /* bytes of one string; no bound of its own */
};

/*
 * Decodes into the arena. bounds may be NULL: the defaults. -EBADMSG if the bytes are not such a
 * message or nest deeper than 32 messages. -E2BIG if it exceeds the bounds. -EILSEQ if a string
 * contains a NUL or is not UTF-8; *ret_where (may be NULL) then names the field ("pools.name"), in
 * the arena. *ret is untouched on failure. Unknown fields are kept in the message.
 */
int pb_decode(const ProtobufCMessageDescriptor *type, struct str bytes,
	      const struct pb_bounds *bounds, struct arena *arena, ProtobufCMessage **ret,
	      const char **ret_where);

/*
 * A long message in pieces: first each message of a repeated field by itself, then all the rest,
 * so that a list can be processed in slices. The caller sets type and bytes, and the bytes must
 * stay until the last piece. Errors are those of pb_decode(); pieces that were returned before
 * stay valid.
 */
struct pb_pieces {
	const ProtobufCMessageDescriptor *type;
	struct str bytes;		/* not decoded yet */
	struct buf others;		/* encoding of all other fields, for pb_pieces_others() */
	const struct pb_bounds *bounds; /* of each piece, and of all the rest; may be NULL */
};

/* 1 and the next message, in the arena, with the field it belongs to; 0 after the last one. */
int pb_pieces_next(struct pb_pieces *p, struct arena *arena,
		   const ProtobufCFieldDescriptor **ret_field, ProtobufCMessage **ret);
/* Call after pb_pieces_next() returned 0: the message without its pieces. */
int pb_pieces_others(const struct pb_pieces *p, struct arena *arena, ProtobufCMessage **ret);
void pb_pieces_free(struct pb_pieces *p);

/*
 * Appends the encoding. In strings that are not UTF-8, U+FFFD replaces each bad byte; the message
 * itself is not changed.
 */
void pb_encode(const ProtobufCMessage *message, struct buf *out);

enum pb_json_style {
	PB_JSON_COMPACT, /* one line */
	PB_JSON_PRETTY,	 /* indented by two spaces */
	/*
	 * One line, and for display: the values of strings have buf_add_shown() applied to each of
	 * their lines, so that they are safe to show after the JSON was parsed.
	 */
	PB_JSON_SHOWN,
};

/*
 * Appends JSON in protojson's mapping with the field names of the .proto file. Every field is
 * written, also with its default value, except absent messages and unset members of a oneof.
 * 64-bit integers are strings, bytes are base64, enums are names, a map is an object sorted by
 * key. The JSON is valid whatever the strings contain.
 */
void pb_json_write(const ProtobufCMessage *message, enum pb_json_style style, struct buf *out);

/*
 * Parses JSON into a message in the arena. Field names are those of the .proto file or their
 * lowerCamelCase form; numbers may be numbers or strings, both exact; null means that the field
 * is absent. -EINVAL with the path in reason ("pools[0].name: a string is wanted") for an unknown
 * field, a value of the wrong type or out of range, a field given twice or two members of one
 * oneof. If the text is not JSON or has a key twice, reason begins with the place, "line 3,
 * column 7: ". *ret is untouched on failure. The caller bounds the size of the text.
 */
int pb_json_read(const ProtobufCMessageDescriptor *type, struct str json, struct arena *arena,
		 ProtobufCMessage **ret, char *reason, size_t reason_size);
