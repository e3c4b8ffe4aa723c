/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How protobuf-c lays a message out in memory, said once: values of a field are counted and
 * addressed, whatever its label.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* Messages within messages, the outermost being 1; also the bound of what we read as JSON. */
#define PB__DEPTH_MAX 32

size_t pb__type_size(ProtobufCType type);
/*
 * How many values the field has: those of a repeated one; else 1, or 0 for what is absent: a
 * message that is NULL, the members of a oneof that are not the chosen one, an optional field that
 * is not set. A proto3 scalar is always there.
 */
size_t pb__count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f);
/* Value i of them. */
const void *pb__value(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i);
/* The same place, for one's own message. */
void *pb__slot(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i);

/* What protobuf-c unpacks with it lives in the arena. */
ProtobufCAllocator pb__allocator(struct arena *arena);

/*
 * The rest of name behind the field's name in camel case (attr_list is attrList, or AttrList when
 * upper); NULL when name does not begin so.
 */
const char *pb__skip_camel(const char *name, const char *field, bool upper);

/*
 * The descriptor of the entries when the field is a map, else NULL. protobuf-c sees a
 * map<K, V> as what it is on the wire, repeated entries, and does not say that it was one. protoc
 * names their message after the field: a repeated field attrs of X with a message X.AttrsEntry of
 * exactly key = 1 and value = 2 is taken for a map. Who writes that by hand gets the same bytes.
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
