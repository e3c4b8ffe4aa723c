/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb: messages from bytes and back.
 *
 * protobuf-c unpacks and packs; this file adds the checks that it lacks. It follows nested
 * messages to any depth, does not bound the memory that a few bytes can make it allocate, and
 * stores strings as C strings, which lose everything after a NUL. So the bytes are first walked
 * here along the descriptor. This walk accepts the same encoding as protobuf-c or less, so that
 * no string reaches protobuf-c unchecked. The result lives in the caller's arena.
 *
 * layout.c knows the memory layout of a message; encode.c, json_write.c and json_read.c use it.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/pb/internal.h"
#include "lib/pb/pb.h"

#define MEMORY_MAX ((size_t)64 << 20)
#define FIELD_ID_MAX ((1u << 29) - 1)
#define KEY_BYTES 5    /* varint of field number and wire type; protobuf-c reads no more */
#define LENGTH_BYTES 5 /* varint of a length; likewise */
#define VARINT_BYTES 10

/* The path to the current field, linked on the stack; formatted only for an error. */
struct step {
	const struct step *up;
	const char *name;
};

struct walk {
	size_t depth;
	size_t memory; /* upper bound of what unpacking will allocate */
	struct pb_bounds bounds;
	const struct step *where; /* the current field */
	struct arena *arena;
	const char *bad; /* path of the first invalid string */
};

/* One field as it is encoded in a message. */
struct item {
	const ProtobufCFieldDescriptor *field; /* NULL: unknown field */
	ProtobufCWireType wire;
	struct str value; /* payload of a length-prefixed field, without the length */
};

/* On false *rest is untouched: the varint is cut short or longer than max_bytes. */
static bool take_varint(struct str *rest, size_t max_bytes, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < rest->n && i < max_bytes; i++) {
		value |= (uint64_t)(rest->p[i] & 0x7f) << (7 * i);
		if (rest->p[i] & 0x80)
			continue;
		*rest = (struct str){ rest->p + i + 1, rest->n - i - 1 };
		*ret = value;
		return true;
	}
	return false;
}

static bool take_bytes(struct str *rest, size_t n, struct str *ret)
{
	if (n > rest->n)
		return false;
	*ret = (struct str){ rest->p, n };
	*rest = (struct str){ rest->p + n, rest->n - n };
	return true;
}

static bool take_value(struct str *rest, struct item *item)
{
	uint64_t number;

	switch (item->wire) {
	case PROTOBUF_C_WIRE_TYPE_VARINT:
		return take_varint(rest, VARINT_BYTES, &number);
	case PROTOBUF_C_WIRE_TYPE_64BIT:
		return take_bytes(rest, 8, &item->value);
	case PROTOBUF_C_WIRE_TYPE_32BIT:
		return take_bytes(rest, 4, &item->value);
	case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
		return take_varint(rest, LENGTH_BYTES, &number) &&
		       take_bytes(rest, number, &item->value);
	}
	return false; /* groups (wire types 3 and 4) and undefined types */
}

static bool take_item(struct str *rest, const ProtobufCMessageDescriptor *type, struct item *ret)
{
	uint64_t key;

	if (!take_varint(rest, KEY_BYTES, &key))
		return false;
	if (key >> 3 == 0 || key >> 3 > FIELD_ID_MAX)
		return false;
	*ret = (struct item){
		.field = protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3)),
		.wire = (ProtobufCWireType)(key & 7),
	};
	return take_value(rest, ret);
}

/* An upper bound for what protobuf-c allocates for one field, its bookkeeping included. */
static size_t memory_of(const struct item *item)
{
	size_t fixed = 64 + sizeof(ProtobufCMessageUnknownField);

	if (!item->field)
		return fixed + item->value.n;
	if (item->field->type == PROTOBUF_C_TYPE_MESSAGE)
		return fixed + ((const ProtobufCMessageDescriptor *)item->field->descriptor)
				       ->sizeof_message;
	if (item->field->type == PROTOBUF_C_TYPE_STRING ||
	    item->field->type == PROTOBUF_C_TYPE_BYTES)
		return fixed + item->value.n + 1;
	/* packed: a value takes at least one byte of the encoding */
	return fixed + item->value.n * pb__type_size(item->field->type);
}

static const char *path_of(const struct step *last, struct arena *arena)
{
	const char *path = last->name;

	for (const struct step *s = last->up; s; s = s->up)
		path = arena_printf(arena, "%s.%s", s->name, path);
	return path;
}

static int check_string(struct walk *w, struct str value)
{
	if (value.n > w->bounds.text)
		return -E2BIG;
	if (!memchr(value.p, '\0', value.n) && utf8_valid(value.p, value.n))
		return 0;
	w->bad = path_of(w->where, w->arena);
	return -EILSEQ;
}

static int check_message(struct walk *w, const ProtobufCMessageDescriptor *type, struct str bytes);

/*
 * Only length-prefixed values can hold text or messages. A string field with another wire type
 * needs no check here, because protobuf-c refuses the message.
 */
static int check_item(struct walk *w, const struct item *item)
{
	struct step here = { w->where, item->field ? item->field->name : NULL };
	int r = 0;

	w->memory += memory_of(item);
	if (w->memory > w->bounds.memory)
		return -E2BIG;
	if (!item->field || item->wire != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
		return 0;
	w->where = &here;
	if (item->field->type == PROTOBUF_C_TYPE_STRING)
		r = check_string(w, item->value);
	else if (item->field->type == PROTOBUF_C_TYPE_MESSAGE)
		r = check_message(w, item->field->descriptor, item->value);
	w->where = here.up;
	return r;
}

/* Recursive, at most PB__DEPTH_MAX levels. */
static int check_message(struct walk *w, const ProtobufCMessageDescriptor *type, struct str bytes)
{
	struct item item;
	int r = 0;

	if (w->depth == PB__DEPTH_MAX)
		return -EBADMSG;
	w->depth++;
	while (r == 0 && bytes.n)
		r = take_item(&bytes, type, &item) ? check_item(w, &item) : -EBADMSG;
	w->depth--;
	return r;
}

/* The walk checks depth, memory and strings before protobuf-c allocates anything. */
int pb_decode(const ProtobufCMessageDescriptor *type, struct str bytes,
	      const struct pb_bounds *bounds, struct arena *arena, ProtobufCMessage **ret,
	      const char **ret_where)
{
	ProtobufCAllocator allocator = pb__allocator(arena);
	struct walk walk = { .arena = arena, .memory = type->sizeof_message };
	ProtobufCMessage *message;
	int r;

	assert(type && arena && ret && (bytes.p || !bytes.n));
	walk.bounds.memory = bounds && bounds->memory ? bounds->memory : MEMORY_MAX;
	walk.bounds.text = bounds && bounds->text ? bounds->text : SIZE_MAX;
	r = check_message(&walk, type, bytes);
	if (r == -EILSEQ && ret_where)
		*ret_where = walk.bad;
	if (r < 0)
		return r;
	message = protobuf_c_message_unpack(type, &allocator, bytes.n, (const uint8_t *)bytes.p);
	if (!message)
		return -EBADMSG;
	*ret = message;
	return 0;
}

/* ---- in pieces ---- */

/* Only repeated messages are returned one by one; repeated scalars stay with the others. */
static bool is_piece(const struct item *item)
{
	return item->field && item->field->label == PROTOBUF_C_LABEL_REPEATED &&
	       item->field->type == PROTOBUF_C_TYPE_MESSAGE &&
	       item->wire == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
}

/* Fields that are no pieces are collected as bytes, in their order, and decoded at the end. */
int pb_pieces_next(struct pb_pieces *p, struct arena *arena,
		   const ProtobufCFieldDescriptor **ret_field, ProtobufCMessage **ret)
{
	assert(p->type && arena && ret_field && ret);

	while (p->bytes.n) {
		const char *start = p->bytes.p;
		struct item item;
		int r;

		if (!take_item(&p->bytes, p->type, &item))
			return -EBADMSG;
		if (!is_piece(&item)) {
			buf_add(&p->others, start, (size_t)(p->bytes.p - start));
			continue;
		}
		r = pb_decode(item.field->descriptor, item.value, p->bounds, arena, ret, NULL);
		if (r < 0)
			return r;
		*ret_field = item.field;
		return 1;
	}
	return 0;
}

int pb_pieces_others(const struct pb_pieces *p, struct arena *arena, ProtobufCMessage **ret)
{
	assert(!p->bytes.n);
	return pb_decode(p->type, (struct str){ p->others.p, p->others.n }, p->bounds, arena, ret,
			 NULL);
}

void pb_pieces_free(struct pb_pieces *p)
{
	buf_free(&p->others);
}
