/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb: what protobuf-c leaves to its users.
 *
 * It neither checks that strings are UTF-8 without NULs, nor knows JSON. Both are done here for any
 * message, by walking its descriptor: there is no second description of a message anywhere.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/*
 * Decodes into arena. -EBADMSG when the bytes are no such message, nest deeper than 32 messages or
 * would take more than 64 MiB of memory; -EILSEQ when a string in it has a NUL or is not UTF-8,
 * and *ret_where (may be NULL) then names the field ("pools.name"), in the arena. Fields that are
 * not known are kept.
 */
int pb_decode(const ProtobufCMessageDescriptor *type, struct str bytes, struct arena *arena,
	      ProtobufCMessage **ret, const char **ret_where);

/*
 * A long message in pieces: each message of a repeated field by itself, then all the rest, so that
 * a list can be read in slices. The bytes are borrowed until then. Errors are those of pb_decode();
 * what was given out before stays.
 */
struct pb_pieces {
	const ProtobufCMessageDescriptor *type;
	struct str bytes;  /* that have not been looked at */
	struct buf others; /* of the fields that are no pieces */
};

/* 1 with a message of the field, in the arena; 0 behind the last. */
int pb_pieces_next(struct pb_pieces *p, struct arena *arena,
		   const ProtobufCFieldDescriptor **ret_field, ProtobufCMessage **ret);
/* Behind the last: the message without them. */
int pb_pieces_others(const struct pb_pieces *p, struct arena *arena, ProtobufCMessage **ret);
void pb_pieces_free(struct pb_pieces *p);

/* Appends the encoding; strings that are not UTF-8 go out with U+FFFD in place of bad bytes. */
void pb_encode(const ProtobufCMessage *message, struct buf *out);

enum pb_json_style {
	PB_JSON_COMPACT, /* one line */
	PB_JSON_PRETTY,	 /* two spaces an indent */
};

/*
 * protojson's mapping with the field names of the .proto file: every field is there, also with its
 * default value, but for absent messages and oneof members that are not set; 64-bit integers are
 * strings; bytes are base64; enums are names; a map is an object, in the order of its keys.
 * Whatever is in the strings, the JSON is valid.
 */
void pb_json_write(const ProtobufCMessage *message, enum pb_json_style style, struct buf *out);

/*
 * The way back: field names of the .proto file or in lowerCamelCase; numbers as numbers or strings,
 * both exact; null is as if the field were not there. -EINVAL with the path in reason,
 * "pools[0].name: a string is wanted": an unknown field, a value of the wrong type or out of range,
 * a field or two members of a oneof given twice. For a text that is not JSON, or has a key twice,
 * the reason begins with the place, "line 3, column 7: ". The size of the text is bounded by the
 * caller.
 */
int pb_json_read(const ProtobufCMessageDescriptor *type, struct str json, struct arena *arena,
		 ProtobufCMessage **ret, char *reason, size_t reason_size);
