/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as JSON: one walk over the descriptor. Output goes straight into the caller's buffer. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/json/json.h"
#include "lib/pb/internal.h"
#include "lib/pb/pb.h"

struct writer {
	struct buf *out;
	bool pretty, shown;
	unsigned depth;
};

/* ---- braces and commas ---- */

static void new_line(const struct writer *w)
{
	if (!w->pretty)
		return;
	buf_addc(w->out, '\n');
	for (unsigned i = 0; i < w->depth; i++)
		buf_add_lit(w->out, "  ");
}

static void open_brace(struct writer *w, char brace)
{
	buf_addc(w->out, brace);
	w->depth++;
}

/* Called before each element of an object or list. */
static void next(const struct writer *w, bool *first)
{
	if (!*first)
		buf_addc(w->out, ',');
	*first = false;
	new_line(w);
}

/* An empty object or list stays on one line. */
static void close_brace(struct writer *w, char brace, bool empty)
{
	w->depth--;
	if (!empty)
		new_line(w);
	buf_addc(w->out, brace);
}

static void after_name(const struct writer *w)
{
	buf_adds(w->out, w->pretty ? ": " : ":");
}

/* ---- values ---- */

static void write_base64(struct buf *out, const uint8_t *p, size_t n)
{
	buf_addc(out, '"');
	base64_encode(out, (struct str){ (const char *)p, n });
	buf_addc(out, '"');
}

/* Writes the values that are not JSON numbers, and -0; false if v is an ordinary number. */
static bool write_special(struct buf *out, double v)
{
	if (isnan(v))
		buf_add_lit(out, "\"NaN\"");
	else if (isinf(v))
		buf_adds(out, v > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	else if (v == 0 && signbit(v))
		buf_add_lit(out, "-0.0"); /* parsers read -0 as the integer 0 */
	else
		return false;
	return true;
}

static void write_double(struct buf *out, double v)
{
	if (!write_special(out, v))
		json_write_double(out, v);
}

/* The shortest decimal that parses to the same float; nine digits always suffice. */
static void write_float(struct buf *out, float v)
{
	char text[32];

	if (write_special(out, (double)v))
		return;
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)v);
		if (strtof(text, NULL) == v)
			break;
	}
	buf_adds(out, text);
}

static void write_signed(struct buf *out, int64_t v)
{
	if (v < 0)
		buf_addc(out, '-');
	buf_addu(out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* protojson writes an enum value without a name as its number. */
static void write_enum(struct buf *out, const ProtobufCEnumDescriptor *type, int v)
{
	const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type, v);

	if (value)
		json_write_string(out, value->name, strlen(value->name));
	else
		write_signed(out, v);
}

static void write_shown(struct buf *out, struct str text)
{
	_cleanup_(buf_free) struct buf shown = { 0 };
	struct str line;

	while (str_cut(&text, '\n', &line)) {
		buf_add_shown(&shown, line, SIZE_MAX);
		if (text.p)
			buf_addc(&shown, '\n');
	}
	json_write_string(out, shown.p, shown.n);
}

static void write_string(const struct writer *w, const char *text)
{
	struct str s = str_of(text ? text : "");

	if (w->shown && utf8_printable_run(s.p, s.n) < s.n)
		write_shown(w->out, s);
	else
		json_write_string(w->out, s.p, s.n);
}

static void write_message(struct writer *w, const ProtobufCMessage *m);

/* protojson writes 64-bit integers as strings, because JavaScript cannot hold them as numbers. */
static void write_value(struct writer *w, const ProtobufCFieldDescriptor *f, const void *v)
{
	const ProtobufCBinaryData *bytes = v;

	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		write_signed(w->out, *(const int32_t *)v);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		buf_addu(w->out, *(const uint32_t *)v);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		buf_addc(w->out, '"');
		write_signed(w->out, *(const int64_t *)v);
		buf_addc(w->out, '"');
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		buf_addc(w->out, '"');
		buf_addu(w->out, *(const uint64_t *)v);
		buf_addc(w->out, '"');
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		write_float(w->out, *(const float *)v);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		write_double(w->out, *(const double *)v);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		buf_adds(w->out, *(const protobuf_c_boolean *)v ? "true" : "false");
		break;
	case PROTOBUF_C_TYPE_ENUM:
		write_enum(w->out, f->descriptor, *(const int *)v);
		break;
	case PROTOBUF_C_TYPE_STRING:
		write_string(w, *(const char *const *)v);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		write_base64(w->out, bytes->data, bytes->len);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		write_message(w, *(const ProtobufCMessage *const *)v);
		break;
	}
}

/* ---- maps: in the order of their keys; the last of equal keys counts ---- */

static const void *key_of(const ProtobufCMessage *entry)
{
	return pb__value(entry, pb__map_key(entry->descriptor), 0);
}

static int key_cmp(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	const ProtobufCFieldDescriptor *f = pb__map_key(a->descriptor);
	const void *x = key_of(a), *y = key_of(b);
	uint64_t u = 0, v = 0;

	if (f->type == PROTOBUF_C_TYPE_STRING) {
		const char *s = *(const char *const *)x, *t = *(const char *const *)y;

		return strcmp(s ? s : "", t ? t : "");
	}
	memcpy(&u, x, pb__type_size(f->type));
	memcpy(&v, y, pb__type_size(f->type));
	return (u > v) - (u < v);
}

/*
 * Equal keys keep the order of the array, in which the entries came: the last one is the valid
 * one.
 */
static int entry_cmp(const void *a, const void *b)
{
	const ProtobufCMessage *const *const *x = a, *const *const *y = b;
	int order = key_cmp(**x, **y);

	return order ? order : (*x > *y) - (*x < *y);
}

/*
 * JSON names are strings whatever the type of the key, so a number or boolean is quoted
 * afterwards.
 */
static void write_key(struct writer *w, const ProtobufCMessage *entry)
{
	const ProtobufCFieldDescriptor *f = pb__map_key(entry->descriptor);
	size_t at = w->out->n;
	bool quoted;

	write_value(w, f, key_of(entry));
	quoted = w->out->p[at] == '"';
	if (!quoted) {
		buf_addc(w->out, '"');
		memmove(w->out->p + at + 1, w->out->p + at, w->out->n - at - 1);
		w->out->p[at] = '"';
		buf_addc(w->out, '"');
	}
	after_name(w);
}

static void write_entry(struct writer *w, const ProtobufCMessage *entry)
{
	const ProtobufCFieldDescriptor *f = pb__map_value(entry->descriptor);

	write_key(w, entry);
	if (pb__count(entry, f))
		write_value(w, f, pb__value(entry, f, 0));
	else
		buf_add_lit(w->out, "{}"); /* an entry may omit an empty message on the wire */
}

/* Pointers to the entries are sorted, so that the message itself is not changed. */
static void write_map(struct writer *w, const ProtobufCMessage *m,
		      const ProtobufCFieldDescriptor *f)
{
	size_t n = pb__count(m, f);
	const ProtobufCMessage *const **order = mem_resize(NULL, n, sizeof(*order));
	bool first = true;

	for (size_t i = 0; i < n; i++)
		order[i] = pb__value(m, f, i);
	if (n)
		qsort(order, n, sizeof(*order), entry_cmp);
	open_brace(w, '{');
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && key_cmp(*order[i], *order[i + 1]) == 0)
			continue;
		next(w, &first);
		write_entry(w, *order[i]);
	}
	close_brace(w, '}', n == 0);
	free(order);
}

/* ---- messages ---- */

/* An empty list is written too: consumers need not tell absent from empty. */
static void write_list(struct writer *w, const ProtobufCMessage *m,
		       const ProtobufCFieldDescriptor *f)
{
	size_t n = pb__count(m, f);
	bool first = true;

	open_brace(w, '[');
	for (size_t i = 0; i < n; i++) {
		next(w, &first);
		write_value(w, f, pb__value(m, f, i));
	}
	close_brace(w, ']', n == 0);
}

static void write_field(struct writer *w, const ProtobufCMessage *m,
			const ProtobufCFieldDescriptor *f)
{
	if (pb__map_entry(m->descriptor, f))
		write_map(w, m, f);
	else if (f->label == PROTOBUF_C_LABEL_REPEATED)
		write_list(w, m, f);
	else
		write_value(w, f, pb__value(m, f, 0));
}

/* Recursive; pb_decode() bounds the depth of a message. */
static void write_message(struct writer *w, const ProtobufCMessage *m)
{
	bool first = true;

	open_brace(w, '{');
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (f->label != PROTOBUF_C_LABEL_REPEATED && pb__count(m, f) == 0)
			continue;
		next(w, &first);
		json_write_string(w->out, f->name, strlen(f->name));
		after_name(w);
		write_field(w, m, f);
	}
	close_brace(w, '}', first);
}

void pb_json_write(const ProtobufCMessage *message, enum pb_json_style style, struct buf *out)
{
	struct writer w = { .out = out,
			    .pretty = style == PB_JSON_PRETTY,
			    .shown = style == PB_JSON_SHOWN };

	assert(message && out);
	write_message(&w, message);
}
