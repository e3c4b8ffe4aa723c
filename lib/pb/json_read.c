/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from JSON. jansson reads the text (it refuses broken UTF-8, NULs and names given twice);
 * the values then go where the descriptor says. json_number.c reads what must fit into a type.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/pb/internal.h"
#include "lib/pb/json_read.h"
#include "lib/pb/pb.h"

/* A place in the document: a name, or the index of an element when name is NULL. */
struct step {
	const struct step *up;
	const char *name;
	size_t index;
};

struct reader {
	struct arena *arena;
	const struct step *at;
	unsigned depth;
	char *reason;
	size_t reason_size;
};

static void add_path(struct buf *out, const struct step *s)
{
	if (s->up)
		add_path(out, s->up);
	if (!s->name)
		buf_printf(out, "[%zu]", s->index);
	else
		buf_printf(out, "%s%s", s->up ? "." : "", s->name);
}

static int fail(const struct reader *r, const char *text)
{
	struct buf path = { 0 };

	if (r->at) {
		add_path(&path, r->at);
		buf_add_lit(&path, ": ");
	}
	snprintf(r->reason, r->reason_size, "%s%s", buf_cstr(&path), text);
	buf_free(&path);
	return -EINVAL;
}

/* ---- values ---- */

static int read_bool(const struct reader *r, json_t *json, void *slot)
{
	if (!json_is_boolean(json))
		return fail(r, "true or false is wanted");
	*(protobuf_c_boolean *)slot = json_is_true(json);
	return 0;
}

static int read_string(const struct reader *r, json_t *json, void *slot)
{
	if (!json_is_string(json))
		return fail(r, "a string is wanted");
	*(char **)slot = arena_strdup(r->arena, json_string_value(json));
	return 0;
}

static int read_bytes(const struct reader *r, json_t *json, void *slot)
{
	ProtobufCBinaryData bytes;

	if (!json_is_string(json))
		return fail(r, "a string of base64 is wanted");
	bytes.data = arena_alloc(r->arena, json_string_length(json));
	if (!pb__from_base64((struct str){ json_string_value(json), json_string_length(json) },
			     bytes.data, &bytes.len))
		return fail(r, "this is not base64");
	*(ProtobufCBinaryData *)slot = bytes;
	return 0;
}

static int read_enum(const struct reader *r, json_t *json, const ProtobufCEnumDescriptor *type,
		     int *slot)
{
	const ProtobufCEnumValue *value;

	if (!json_is_string(json))
		return pb__json_number(PROTOBUF_C_TYPE_INT32, json, slot) == 0
			       ? 0
			       : fail(r, "the name of a value is wanted, or its number");
	value = protobuf_c_enum_descriptor_get_value_by_name(type, json_string_value(json));
	if (!value)
		return fail(r, "there is no value of this name");
	*slot = value->value;
	return 0;
}

static int read_number(const struct reader *r, ProtobufCType type, json_t *json, void *slot)
{
	int e = pb__json_number(type, json, slot);

	if (e == -ERANGE)
		return fail(r, "the number does not fit");
	return e < 0 ? fail(r, "a number is wanted") : 0;
}

static int read_message(struct reader *r, const ProtobufCMessageDescriptor *type, json_t *json,
			ProtobufCMessage **ret);

static int read_value(struct reader *r, const ProtobufCFieldDescriptor *f, json_t *json, void *slot)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_BOOL:
		return read_bool(r, json, slot);
	case PROTOBUF_C_TYPE_ENUM:
		return read_enum(r, json, f->descriptor, slot);
	case PROTOBUF_C_TYPE_STRING:
		return read_string(r, json, slot);
	case PROTOBUF_C_TYPE_BYTES:
		return read_bytes(r, json, slot);
	case PROTOBUF_C_TYPE_MESSAGE:
		return read_message(r, f->descriptor, json, slot);
	default: /* protobuf-c's many kinds of numbers */
		return read_number(r, f->type, json, slot);
	}
}

/* ---- fields ---- */

static ProtobufCMessage *new_message(struct arena *arena, const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage *m = arena_alloc(arena, type->sizeof_message);

	protobuf_c_message_init(type, m);
	return m;
}

/* Room for n values of a repeated field. */
static void make_room(struct reader *r, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
		      size_t n)
{
	*(void **)((char *)m + f->offset) = arena_array(r->arena, n, pb__type_size(f->type));
	*(size_t *)((char *)m + f->quantifier_offset) = n;
}

static int read_list(struct reader *r, const ProtobufCFieldDescriptor *f, json_t *json,
		     ProtobufCMessage *m)
{
	struct step here = { .up = r->at };
	int e = 0;

	if (!json_is_array(json))
		return fail(r, "an array is wanted");
	make_room(r, m, f, json_array_size(json));
	r->at = &here;
	for (; e == 0 && here.index < json_array_size(json); here.index++)
		e = read_value(r, f, json_array_get(json, here.index), pb__slot(m, f, here.index));
	r->at = here.up;
	return e;
}

static int read_key(struct reader *r, const ProtobufCFieldDescriptor *f, const char *key,
		    void *slot)
{
	json_t *text;
	int e;

	if (f->type == PROTOBUF_C_TYPE_BOOL) {
		*(protobuf_c_boolean *)slot = strcmp(key, "true") == 0;
		return strcmp(key, "true") == 0 || strcmp(key, "false") == 0
			       ? 0
			       : fail(r, "the key is neither true nor false");
	}
	text = json_string(key);
	e = read_value(r, f, text, slot);
	json_decref(text);
	return e;
}

static int read_entry(struct reader *r, const ProtobufCMessageDescriptor *type, const char *key,
		      json_t *value, ProtobufCMessage **ret)
{
	ProtobufCMessage *entry = new_message(r->arena, type);
	const ProtobufCFieldDescriptor *k = pb__map_key(type), *v = pb__map_value(type);
	struct step here = { .up = r->at, .name = key };
	int e;

	r->at = &here;
	e = read_key(r, k, key, (char *)entry + k->offset);
	if (e == 0)
		e = read_value(r, v, value, (char *)entry + v->offset);
	r->at = here.up;
	if (e == 0)
		*ret = entry;
	return e;
}

static int read_map(struct reader *r, const ProtobufCFieldDescriptor *f, json_t *json,
		    ProtobufCMessage *m)
{
	const char *key;
	json_t *value;
	size_t i = 0;
	int e = 0;

	if (!json_is_object(json))
		return fail(r, "an object is wanted");
	make_room(r, m, f, json_object_size(json));
	json_object_foreach(json, key, value)
	{
		if (e == 0)
			e = read_entry(r, f->descriptor, key, value, pb__slot(m, f, i++));
	}
	return e;
}

static int read_single(struct reader *r, const ProtobufCFieldDescriptor *f, json_t *json,
		       ProtobufCMessage *m)
{
	uint32_t *chosen = (uint32_t *)((char *)m + f->quantifier_offset);

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
		if (*chosen)
			return fail(r, "another field of the same oneof is there");
		*chosen = f->id;
	} else if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->quantifier_offset) {
		*(protobuf_c_boolean *)chosen = true;
	}
	return read_value(r, f, json, (char *)m + f->offset);
}

/* lowerCamelCase of a field's name, as protoc makes it. */
static bool is_camel_of(const char *name, const char *field)
{
	const char *rest = pb__skip_camel(name, field, false);

	return rest && !*rest;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
						  const char *name)
{
	const ProtobufCFieldDescriptor *f =
		protobuf_c_message_descriptor_get_field_by_name(type, name);

	for (unsigned i = 0; !f && i < type->n_fields; i++)
		if (is_camel_of(name, type->fields[i].name))
			f = &type->fields[i];
	return f;
}

/* Both spellings of a name are two names to jansson. */
static int read_field(struct reader *r, const ProtobufCFieldDescriptor *f, json_t *json,
		      ProtobufCMessage *m, bool *seen)
{
	if (!f)
		return fail(r, "there is no field of this name");
	if (json_is_null(json))
		return 0;
	if (seen[f - m->descriptor->fields])
		return fail(r, "the field is there twice");
	seen[f - m->descriptor->fields] = true;
	if (pb__map_entry(m->descriptor, f))
		return read_map(r, f, json, m);
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return read_list(r, f, json, m);
	return read_single(r, f, json, m);
}

static int read_fields(struct reader *r, json_t *json, ProtobufCMessage *m)
{
	bool *seen = arena_array_of(r->arena, m->descriptor->n_fields, bool);
	struct step here = { .up = r->at };
	const char *key;
	json_t *value;
	int e = 0;

	r->at = &here;
	json_object_foreach(json, key, value)
	{
		if (e < 0)
			break;
		here.name = key;
		e = read_field(r, find_field(m->descriptor, key), value, m, seen);
	}
	r->at = here.up;
	return e;
}

/* At most PB__DEPTH_MAX deep. */
static int read_message(struct reader *r, const ProtobufCMessageDescriptor *type, json_t *json,
			ProtobufCMessage **ret)
{
	ProtobufCMessage *m;
	int e;

	if (!json_is_object(json))
		return fail(r, "an object is wanted");
	if (r->depth == PB__DEPTH_MAX)
		return fail(r, "too many objects within objects");
	m = new_message(r->arena, type);
	r->depth++;
	e = read_fields(r, json, m);
	r->depth--;
	if (e == 0)
		*ret = m;
	return e;
}

int pb_json_read(const ProtobufCMessageDescriptor *type, struct str json, struct arena *arena,
		 ProtobufCMessage **ret, char *reason, size_t reason_size)
{
	struct reader r = { .arena = arena, .reason = reason, .reason_size = reason_size };
	json_error_t error;
	json_t *document;
	int e;

	assert(type && arena && ret && (reason || !reason_size) && (json.p || !json.n));
	document = json_loadb(json.n ? json.p : "", json.n,
			      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!document) {
		snprintf(reason, reason_size, "line %d, column %d: %s", error.line, error.column,
			 error.text);
		return -EINVAL;
	}
	e = read_message(&r, type, document, ret);
	json_decref(document);
	return e;
}
