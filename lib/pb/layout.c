/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "lib/pb/internal.h"

/* The C types that protobuf-c generates. */
static const size_t type_sizes[] = {
	[PROTOBUF_C_TYPE_INT32] = sizeof(int32_t),
	[PROTOBUF_C_TYPE_SINT32] = sizeof(int32_t),
	[PROTOBUF_C_TYPE_SFIXED32] = sizeof(int32_t),
	[PROTOBUF_C_TYPE_INT64] = sizeof(int64_t),
	[PROTOBUF_C_TYPE_SINT64] = sizeof(int64_t),
	[PROTOBUF_C_TYPE_SFIXED64] = sizeof(int64_t),
	[PROTOBUF_C_TYPE_UINT32] = sizeof(uint32_t),
	[PROTOBUF_C_TYPE_FIXED32] = sizeof(uint32_t),
	[PROTOBUF_C_TYPE_UINT64] = sizeof(uint64_t),
	[PROTOBUF_C_TYPE_FIXED64] = sizeof(uint64_t),
	[PROTOBUF_C_TYPE_FLOAT] = sizeof(float),
	[PROTOBUF_C_TYPE_DOUBLE] = sizeof(double),
	[PROTOBUF_C_TYPE_BOOL] = sizeof(protobuf_c_boolean),
	[PROTOBUF_C_TYPE_ENUM] = sizeof(int),
	[PROTOBUF_C_TYPE_STRING] = sizeof(char *),
	[PROTOBUF_C_TYPE_BYTES] = sizeof(ProtobufCBinaryData),
	[PROTOBUF_C_TYPE_MESSAGE] = sizeof(ProtobufCMessage *),
};

size_t pb__type_size(ProtobufCType type)
{
	assert((size_t)type < ARRAY_SIZE(type_sizes));
	return type_sizes[type];
}

static const void *at(const ProtobufCMessage *m, size_t offset)
{
	return (const char *)m + offset;
}

/*
 * quantifier_offset is the offset of the oneof's case, of the has_ flag or of the count n_,
 * depending on the field. An optional string has no flag: it is absent if it is NULL or still the
 * default.
 */
static bool is_there(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	const void *value = at(m, f->offset);

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
	    *(const uint32_t *)at(m, f->quantifier_offset) != f->id)
		return false;
	if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		return *(ProtobufCMessage *const *)value != NULL;
	if (f->label != PROTOBUF_C_LABEL_OPTIONAL || f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return true;
	if (f->type == PROTOBUF_C_TYPE_STRING)
		return *(char *const *)value && *(const void *const *)value != f->default_value;
	return *(const protobuf_c_boolean *)at(m, f->quantifier_offset);
}

size_t pb__count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)at(m, f->quantifier_offset);
	return is_there(m, f);
}

const void *pb__value(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i)
{
	const void *member = at(m, f->offset);

	assert(i < pb__count(m, f));
	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return member;
	return *(const char *const *)member + i * pb__type_size(f->type);
}

void *pb__slot(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i)
{
	char *member = (char *)m + f->offset;

	assert(i < pb__count(m, f));
	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return member;
	return *(char **)member + i * pb__type_size(f->type);
}

static void *on_alloc(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

/* The memory is freed together with the arena. */
static void on_free(void *arena, void *p)
{
}

ProtobufCAllocator pb__allocator(struct arena *arena)
{
	return (ProtobufCAllocator){ on_alloc, on_free, arena };
}

const char *pb__skip_camel(const char *name, const char *field, bool upper)
{
	for (; *field; field++) {
		if (*field == '_') {
			upper = true;
			continue;
		}
		if (*name++ != (upper ? toupper((unsigned char)*field) : *field))
			return NULL;
		upper = false;
	}
	return name;
}

/* attr_list -> AttrListEntry, as protoc names the message of a map's entries. */
static bool is_entry_name(const char *name, const char *field)
{
	const char *rest = pb__skip_camel(name, field, true);

	return rest && strcmp(rest, "Entry") == 0;
}

const ProtobufCMessageDescriptor *pb__map_entry(const ProtobufCMessageDescriptor *type,
						const ProtobufCFieldDescriptor *f)
{
	const ProtobufCMessageDescriptor *entry = f->descriptor;
	size_t outer = strlen(type->name);

	if (f->label != PROTOBUF_C_LABEL_REPEATED || f->type != PROTOBUF_C_TYPE_MESSAGE)
		return NULL;
	if (entry->n_fields != 2 || entry->fields[0].id != 1 || entry->fields[1].id != 2 ||
	    strcmp(entry->fields[0].name, "key") != 0 ||
	    strcmp(entry->fields[1].name, "value") != 0)
		return NULL;
	if (strncmp(entry->name, type->name, outer) != 0 || entry->name[outer] != '.' ||
	    !is_entry_name(entry->name + outer + 1, f->name))
		return NULL;
	return entry;
}
