/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Almost every message is valid, and protobuf-c packs it directly. A message with a string that
 * is not UTF-8 (a reason from a server that was probed) is packed, unpacked into a copy, repaired
 * there and packed again, so that the caller's message is not changed.
 */
#include <assert.h>
#include <string.h>

#include "lib/pb/internal.h"
#include "lib/pb/pb.h"

static bool has_text(const ProtobufCFieldDescriptor *f)
{
	return f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_broken(const char *text)
{
	return text && !utf8_valid(text, strlen(text));
}

static bool any_broken(const ProtobufCMessage *m);

static bool any_broken_in(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	size_t n = pb__count(m, f);

	for (size_t i = 0; i < n; i++) {
		const void *const *value = pb__value(m, f, i);

		if (f->type == PROTOBUF_C_TYPE_MESSAGE ? any_broken(*value) : is_broken(*value))
			return true;
	}
	return false;
}

/* Recursive, but the program itself built the message, so its depth is known. */
static bool any_broken(const ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (has_text(f) && any_broken_in(m, f))
			return true;
	}
	return false;
}

/* Returns text itself if it is valid; otherwise a repaired copy in the arena. */
static char *mended(char *text, struct arena *arena)
{
	struct buf whole = { 0 };
	char *copy;

	if (!is_broken(text))
		return text;
	buf_add_utf8(&whole, text, strlen(text));
	copy = arena_strndup(arena, whole.p, whole.n);
	buf_free(&whole);
	return copy;
}

static void mend(ProtobufCMessage *m, struct arena *arena);

static void mend_in(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, struct arena *arena)
{
	size_t n = pb__count(m, f);

	for (size_t i = 0; i < n; i++) {
		void **slot = pb__slot(m, f, i);

		if (f->type == PROTOBUF_C_TYPE_MESSAGE)
			mend(*slot, arena);
		else
			*slot = mended(*slot, arena);
	}
}

/* Recursive like any_broken(). Only for our own copy. */
static void mend(ProtobufCMessage *m, struct arena *arena)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++)
		if (has_text(&m->descriptor->fields[i]))
			mend_in(m, &m->descriptor->fields[i], arena);
}

static void pack(const ProtobufCMessage *message, struct buf *out)
{
	/* one byte more, so that out->p is not NULL for an empty message */
	buf_reserve(out, protobuf_c_message_get_packed_size(message) + 1);
	out->n += protobuf_c_message_pack(message, (uint8_t *)out->p + out->n);
}

/* Packing and unpacking is protobuf-c's only way to copy a message. It does not check UTF-8. */
static void pack_mended(const ProtobufCMessage *message, struct buf *out)
{
	struct arena *arena = arena_new();
	ProtobufCAllocator allocator = pb__allocator(arena);
	struct buf broken = { 0 };
	ProtobufCMessage *copy;

	pack(message, &broken);
	copy = protobuf_c_message_unpack(message->descriptor, &allocator, broken.n,
					 (const uint8_t *)broken.p);
	assert(copy);
	mend(copy, arena);
	pack(copy, out);
	buf_free(&broken);
	arena_free(arena);
}

void pb_encode(const ProtobufCMessage *message, struct buf *out)
{
	assert(message && out);
	if (any_broken(message))
		pack_mended(message, out);
	else
		pack(message, out);
}
