/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from JSON. lib/json parses the text into a tree (it refuses invalid UTF-8, NULs and
 * duplicate keys); then each value is stored where the descriptor says. A cursor walks down the
 * tree along with the descriptor and knows the path for complaints. json_number.c converts
 * numbers.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/json/cursor.h"
#include "lib/pb/internal.h"
#include "lib/pb/json_read.h"
#include "lib/pb/pb.h"

/*
 * Nesting of arrays and objects: more than PB__DEPTH_MAX messages can have, even if each is in a
 * list or a map.
 */
#define JSON_DEPTH 128

struct reader {
	struct arena *arena;   /* of the message */
	struct arena *scratch; /* of the JSON tree and temporary data; freed at the end */
	unsigned depth;	       /* of messages, against PB__DEPTH_MAX */
	char *reason;
	size_t reason_size;
};

/* Returns -EINVAL; the path is empty for the document itself. */
static int fail(const struct reader *r, const struct json_cursor *at, const char *text)
{
	const char *path = json_path(at, r->scratch);

	snprintf(r->reason, r->reason_size, "%s%s%s", path, *path ? ": " : "", text);
	return -EINVAL;
}

/* ---- values ---- */

static int read_bool(const struct reader *r, const struct json_cursor *json, void *slot)
{
	if (json->node->kind != JSON_KIND_BOOL)
		return fail(r, json, "true or false is wanted");
	*(protobuf_c_boolean *)slot = json->node->truth;
	return 0;
}

static int read_string(const struct reader *r, const struct json_cursor *json, void *slot)
{
	if (json->node->kind != JSON_KIND_STRING)
		return fail(r, json, "a string is wanted");
	*(char **)slot = arena_strndup(r->arena, json->node->text, json->node->n);
	return 0;
}

static int read_bytes(const struct reader *r, const struct json_cursor *json, void *slot)
{
	ProtobufCBinaryData bytes;

	if (json->node->kind != JSON_KIND_STRING)
		return fail(r, json, "a string of base64 is wanted");
	bytes.data = arena_alloc(r->arena, json->node->n);
	if (!pb__from_base64(json_text(json->node), bytes.data, &bytes.len))
		return fail(r, json, "this is not base64");
	*(ProtobufCBinaryData *)slot = bytes;
	return 0;
}

/* protojson accepts numbers too, also those without a name, because proto3 enums are open. */
static int read_enum(const struct reader *r, const struct json_cursor *json,
		     const ProtobufCEnumDescriptor *type, int *slot)
{
	const ProtobufCEnumValue *value;

	if (json->node->kind != JSON_KIND_STRING)
		return pb__json_number(PROTOBUF_C_TYPE_INT32, json->node, slot) == 0
			       ? 0
			       : fail(r, json, "the name of a value is wanted, or its number");
	value = protobuf_c_enum_descriptor_get_value_by_name(type, json->node->text);
	if (!value)
		return fail(r, json, "there is no value of this name");
	*slot = value->value;
	return 0;
}

static int read_number(const struct reader *r, ProtobufCType type, const struct json_cursor *json,
		       void *slot)
{
	int e = pb__json_number(type, json->node, slot);

	if (e == -ERANGE)
		return fail(r, json, "the number does not fit");
	return e < 0 ? fail(r, json, "a number is wanted") : 0;
}

static int read_message(struct reader *r, const ProtobufCMessageDescriptor *type,
			const struct json_cursor *json, ProtobufCMessage **ret);

static int read_value(struct reader *r, const ProtobufCFieldDescriptor *f,
		      const struct json_cursor *json, void *slot)
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
	default: /* all numeric types */
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

/* Allocates n values of a repeated field and sets its count. */
static void make_room(struct reader *r, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
		      size_t n)
{
	*(void **)((char *)m + f->offset) = arena_array(r->arena, n, pb__type_size(f->type));
	*(size_t *)((char *)m + f->quantifier_offset) = n;
}

/* On an error the field may be half filled, but then the whole message is discarded. */
static int read_list(struct reader *r, const ProtobufCFieldDescriptor *f,
		     const struct json_cursor *json, ProtobufCMessage *m)
{
	int e = 0;

	if (json->node->kind != JSON_KIND_ARRAY)
		return fail(r, json, "an array is wanted");
	make_room(r, m, f, json->node->n);
	for (size_t i = 0; e == 0 && i < json->node->n; i++) {
		struct json_cursor item = json_item(json, i);

		e = read_value(r, f, &item, pb__slot(m, f, i));
	}
	return e;
}

/* JSON keys are strings; a key of another type is parsed as a string with that value. */
static int read_key(struct reader *r, const ProtobufCFieldDescriptor *f,
		    const struct json_cursor *json, void *slot)
{
	struct json_node text = { .kind = JSON_KIND_STRING, .text = json->key };
	struct json_cursor key = *json;

	if (f->type == PROTOBUF_C_TYPE_BOOL) {
		bool truth = strcmp(json->key, "true") == 0;

		*(protobuf_c_boolean *)slot = truth;
		return truth || strcmp(json->key, "false") == 0
			       ? 0
			       : fail(r, json, "the key is neither true nor false");
	}
	text.n = (uint32_t)strlen(json->key);
	key.node = &text;
	return read_value(r, f, &key, slot);
}

static int read_entry(struct reader *r, const ProtobufCMessageDescriptor *type,
		      const struct json_cursor *json, ProtobufCMessage **ret)
{
	ProtobufCMessage *entry = new_message(r->arena, type);
	const ProtobufCFieldDescriptor *k = pb__map_key(type), *v = pb__map_value(type);
	int e = read_key(r, k, json, (char *)entry + k->offset);

	if (e == 0)
		e = read_value(r, v, json, (char *)entry + v->offset);
	if (e == 0)
		*ret = entry;
	return e;
}

static int read_map(struct reader *r, const ProtobufCFieldDescriptor *f,
		    const struct json_cursor *json, ProtobufCMessage *m)
{
	int e = 0;

	if (json->node->kind != JSON_KIND_OBJECT)
		return fail(r, json, "an object is wanted");
	make_room(r, m, f, json->node->n);
	for (size_t i = 0; e == 0 && i < json->node->n; i++) {
		struct json_cursor member = json_member_at(json, i);

		e = read_entry(r, f->descriptor, &member, pb__slot(m, f, i));
	}
	return e;
}

/* For a oneof quantifier_offset is the selected field's number, otherwise the has_ flag. */
static int read_single(struct reader *r, const ProtobufCFieldDescriptor *f,
		       const struct json_cursor *json, ProtobufCMessage *m)
{
	uint32_t *chosen = (uint32_t *)((char *)m + f->quantifier_offset);

	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
		if (*chosen)
			return fail(r, json, "another field of the same oneof is there");
		*chosen = f->id;
	} else if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->quantifier_offset) {
		*(protobuf_c_boolean *)chosen = true;
	}
	return read_value(r, f, json, (char *)m + f->offset);
}

/* Whether name is the lowerCamelCase form of a field's name, as protoc derives it. */
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

/*
 * The parser refuses duplicate keys but does not know that both spellings mean one field; `seen`
 * does.
 */
static int read_field(struct reader *r, const ProtobufCFieldDescriptor *f,
		      const struct json_cursor *json, ProtobufCMessage *m, bool *seen)
{
	if (!f)
		return fail(r, json, "there is no field of this name");
	if (json->node->kind == JSON_KIND_NULL)
		return 0;
	if (seen[f - m->descriptor->fields])
		return fail(r, json, "the field is there twice");
	seen[f - m->descriptor->fields] = true;
	if (pb__map_entry(m->descriptor, f))
		return read_map(r, f, json, m);
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return read_list(r, f, json, m);
	return read_single(r, f, json, m);
}

static int read_fields(struct reader *r, const struct json_cursor *json, ProtobufCMessage *m)
{
	bool *seen = arena_array_of(r->scratch, m->descriptor->n_fields, bool);
	int e = 0;

	for (size_t i = 0; e == 0 && i < json->node->n; i++) {
		struct json_cursor member = json_member_at(json, i);

		e = read_field(r, find_field(m->descriptor, member.key), &member, m, seen);
	}
	return e;
}

/* Recursive, at most PB__DEPTH_MAX levels. */
static int read_message(struct reader *r, const ProtobufCMessageDescriptor *type,
			const struct json_cursor *json, ProtobufCMessage **ret)
{
	ProtobufCMessage *m;
	int e;

	if (json->node->kind != JSON_KIND_OBJECT)
		return fail(r, json, "an object is wanted");
	if (r->depth == PB__DEPTH_MAX)
		return fail(r, json, "too many objects within objects");
	m = new_message(r->arena, type);
	r->depth++;
	e = read_fields(r, json, m);
	r->depth--;
	if (e == 0)
		*ret = m;
	return e;
}

/* The caller has bounded the text, so its own length is the limit for everything in it. */
static int parse(struct str json, struct arena *arena, const struct json_node **ret,
		 struct errs *errors)
{
	size_t most = json.n < UINT32_MAX - 1 ? json.n + 1 : UINT32_MAX - 1;
	struct json_options options = {
		.limits = { .bytes = most, .string = most, .members = most, .depth = JSON_DEPTH },
	};

	return json_parse(json, &options, arena, ret, errors);
}

/* The JSON tree lives in a scratch arena, so that the caller's arena holds only the message. */
int pb_json_read(const ProtobufCMessageDescriptor *type, struct str json, struct arena *arena,
		 ProtobufCMessage **ret, char *reason, size_t reason_size)
{
	_cleanup_(arena_freep) struct arena *scratch = arena_new();
	struct reader r = {
		.arena = arena, .scratch = scratch, .reason = reason, .reason_size = reason_size
	};
	struct errs errors = { .arena = scratch };
	const struct json_node *tree;
	struct json_cursor root;

	assert(type && arena && ret && (reason || !reason_size) && (json.p || !json.n));
	if (parse(json, scratch, &tree, &errors) < 0) {
		const struct err *first = &errors.items[0];

		snprintf(reason, reason_size, "line %u, column %u: %s%s%s", first->at.line,
			 first->at.column, first->key, *first->key ? ": " : "", first->text);
		return -EINVAL;
	}
	root = json_cursor_of(tree, NULL);
	return read_message(&r, type, &root, ret);
}
