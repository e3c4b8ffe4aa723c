/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/filter.h"

#include <assert.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

/* protobuf-c stores a field at an offset, and a count of elements at another one. */
static const void *member(const ProtobufCMessage *m, unsigned offset)
{
	return (const char *)m + offset;
}

static const char *text_of(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
	const char *text = *(const char *const *)member(m, f->offset);

	return text ? text : "";
}

static bool has_name(const ProtobufCMessage *m, const char *glob)
{
	const ProtobufCFieldDescriptor *f = &m->descriptor->fields[0];

	if (!glob)
		return true;
	assert(f->type == PROTOBUF_C_TYPE_STRING && f->label != PROTOBUF_C_LABEL_REPEATED);
	return fnmatch(glob, text_of(m, f), 0) == 0;
}

/* A word for a boolean: a session that is up has a state of its own, FRR's word. */
static bool has_state(const ProtobufCMessage *m, const char *state)
{
	const ProtobufCFieldDescriptor *word =
		protobuf_c_message_descriptor_get_field_by_name(m->descriptor, "state");
	const ProtobufCFieldDescriptor *up =
		protobuf_c_message_descriptor_get_field_by_name(m->descriptor, "up");

	if (!state)
		return true;
	if (up && (strcmp(state, "up") == 0 || strcmp(state, "down") == 0))
		return *(const protobuf_c_boolean *)member(m, up->offset) ==
		       (strcmp(state, "up") == 0);
	return word && strcasecmp(text_of(m, word), state) == 0;
}

static const ProtobufCFieldDescriptor *list_of(const ProtobufCMessageDescriptor *d)
{
	for (unsigned i = 0; i < d->n_fields; i++)
		if (d->fields[i].label == PROTOBUF_C_LABEL_REPEATED &&
		    d->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
			return &d->fields[i];
	return NULL;
}

const ProtobufCMessage *filter_answer(const ProtobufCMessage *message, const struct command *c,
				      struct arena *arena)
{
	const char *state = c->args[SLOT_FILTER_STATE], *glob = c->args[SLOT_FILTER_NAME];
	const ProtobufCFieldDescriptor *list = list_of(message->descriptor);
	ProtobufCMessage *const *from, **to;
	ProtobufCMessage *copy;
	size_t n, kept = 0;

	if ((!state && !glob) || !list)
		return message;
	n = *(const size_t *)member(message, list->quantifier_offset);
	from = *(ProtobufCMessage *const *const *)member(message, list->offset);
	to = arena_array_of(arena, n, ProtobufCMessage *);
	for (size_t i = 0; i < n; i++)
		if (has_name(from[i], glob) && has_state(from[i], state))
			to[kept++] = from[i];
	copy = arena_copy(arena, message, message->descriptor->sizeof_message);
	memcpy((char *)copy + list->offset, &to, sizeof(to));
	memcpy((char *)copy + list->quantifier_offset, &kept, sizeof(kept));
	return copy;
}
