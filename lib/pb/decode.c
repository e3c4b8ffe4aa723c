/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pb: messages from bytes and back.
 *
 * protobuf-c unpacks and packs; here is what it does not do. It follows nested messages as deep as
 * they go, has no bound for what a few bytes can make it allocate, and turns strings into C
 * strings, where whatever stands behind a NUL is lost. So the bytes are walked once before it sees
 * them, beside the descriptor, in the same reading as protobuf-c's or a stricter one: no string
 * gets past that was not looked at. What it unpacks lives in the caller's arena.
 *
 * layout.c knows how a message lies in memory; encode.c, json_write.c and json_read.c stand on it.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/pb/internal.h"
#include "lib/pb/pb.h"

#define MEMORY_MAX ((size_t)64 << 20)
#define FIELD_ID_MAX ((1u << 29) - 1)
#define KEY_BYTES 5    /* of a field's number and type; protobuf-c reads no more */
#define LENGTH_BYTES 5 /* of the length of what follows; likewise */
#define VARINT_BYTES 10

struct step {
	const struct step *up;
	const char *name;
};

struct walk {
	size_t depth;
	size_t memory;		  /* at most what unpacking will take */
	const struct step *where; /* the field that is looked at */
	struct arena *arena;
	const char *bad; /* the path of a string that is none */
};

/* What comes next in the bytes of one message. */
struct item {
	const ProtobufCFieldDescriptor *field; /* NULL: not known here */
	ProtobufCWireType wire;
	struct str value; /* what is length-prefixed; without the length */
};

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
	return false; /* groups, and what there never was */
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

/* An upper bound for what protobuf-c allocates for it, its bookkeeping included. */
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
	/* packed: each byte may be a value */
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
	if (!memchr(value.p, '\0', value.n) && utf8_valid(value.p, value.n))
		return 0;
	w->bad = path_of(w->where, w->arena);
	return -EILSEQ;
}

static int check_message(struct walk *w, const ProtobufCMessageDescriptor *type, struct str bytes);

static int check_item(struct walk *w, const struct item *item)
{
	struct step here = { w->where, item->field ? item->field->name : NULL };
	int r = 0;

	w->memory += memory_of(item);
	if (w->memory > MEMORY_MAX)
		return -EBADMSG;
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

/* At most PB__DEPTH_MAX deep. */
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

int pb_decode(const ProtobufCMessageDescriptor *type, struct str bytes, struct arena *arena,
	      ProtobufCMessage **ret, const char **ret_where)
{
	ProtobufCAllocator allocator = pb__allocator(arena);
	struct walk walk = { .arena = arena, .memory = type->sizeof_message };
	ProtobufCMessage *message;
	int r;

	assert(type && arena && ret && (bytes.p || !bytes.n));
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

static bool is_piece(const struct item *item)
{
	return item->field && item->field->label == PROTOBUF_C_LABEL_REPEATED &&
	       item->field->type == PROTOBUF_C_TYPE_MESSAGE &&
	       item->wire == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
}

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
		r = pb_decode(item.field->descriptor, item.value, arena, ret, NULL);
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
	return pb_decode(p->type, (struct str){ p->others.p, p->others.n }, arena, ret, NULL);
}

void pb_pieces_free(struct pb_pieces *p)
{
	buf_free(&p->others);
}
