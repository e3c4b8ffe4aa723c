/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory layout of protobuf-c's messages, in one place: functions that count and address the
 * values of a field for every label. Private to lib/pb.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* Nesting of messages, the outermost being 1. It bounds the recursion for both encodings. */
#define PB__DEPTH_MAX 32

/* The size of one value in memory. */
size_t pb__type_size(ProtobufCType type);
/*
 * The number of values of a field: any number for a repeated field, otherwise 1 or 0. It is 0 for
 * a message that is NULL, for the members of a oneof that are not selected, and for an optional
 * field that is not set. A proto3 scalar without "optional" always has one.
 */
size_t pb__count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f);
/* The address of value i, i < pb__count(). */
const void *pb__value(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i);
/* The same address in a message that the caller may change. */
void *pb__slot(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i);

/* An allocator for protobuf-c that allocates from the arena and frees nothing. */
ProtobufCAllocator pb__allocator(struct arena *arena);

/*
 * If name begins with the field's name in camel case (attr_list is attrList, or AttrList if
 * upper), returns the rest of name, otherwise NULL.
 */
const char *pb__skip_camel(const char *name, const char *field, bool upper);

/*
 * The descriptor of the entries if the field is a map, otherwise NULL. protobuf-c treats a map<K,
 * V> as what it is on the wire, repeated entries, and does not mark it as a map. protoc names the
 * entry message after the field, so a repeated field attrs of X whose message is X.AttrsEntry
 * with exactly key = 1 and value = 2 is taken for a map. A hand-written message of that form has
 * the same encoding.
 */
const ProtobufCMessageDescriptor *pb__map_entry(const ProtobufCMessageDescriptor *type,
						const ProtobufCFieldDescriptor *f);
static inline const ProtobufCFieldDescriptor *pb__map_key(const ProtobufCMessageDescriptor *entry)
{
	return &entry->fields[0];
}
static inline const ProtobufCFieldDescriptor *pb__map_value(const ProtobufCMessageDescriptor *entry)
{
	return &entry->fields[1];
}
