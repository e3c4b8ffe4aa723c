/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the API from bytes: the first byte picks the method, and whether it is its request or
 * its response. What was decoded must encode, come back the same, and be JSON that can be read.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "lib/pb/pb.h"
#include "proto/maglev.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void bytes_round_trip(const ProtobufCMessage *m, struct arena *arena)
{
	struct buf once = { 0 }, twice = { 0 };
	ProtobufCMessage *back = NULL;
	int r;

	pb_encode(m, &once);
	r = pb_decode(m->descriptor, (struct str){ once.p, once.n }, NULL, arena, &back, NULL);
	assert(r == 0 && back);
	pb_encode(back, &twice);
	assert(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
	buf_free(&once);
	buf_free(&twice);
}

static void json_round_trip(const ProtobufCMessage *m, struct arena *arena)
{
	struct buf once = { 0 }, twice = { 0 };
	ProtobufCMessage *back = NULL;
	char reason[100];
	int r;

	pb_json_write(m, PB_JSON_COMPACT, &once);
	r = pb_json_read(m->descriptor, (struct str){ once.p, once.n }, arena, &back, reason,
			 sizeof(reason));
	assert(r == 0 && back);
	pb_json_write(back, PB_JSON_COMPACT, &twice);
	assert(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
	buf_free(&once);
	buf_free(&twice);
}

/* What is a message as a whole is one in pieces. */
static void read_in_pieces(const ProtobufCMessageDescriptor *type, struct str bytes,
			   struct arena *arena)
{
	struct pb_pieces pieces = { .type = type, .bytes = bytes };
	const ProtobufCFieldDescriptor *field;
	ProtobufCMessage *one;
	int r;

	while ((r = pb_pieces_next(&pieces, arena, &field, &one)) > 0)
		assert(field && one);
	assert(r == 0);
	r = pb_pieces_others(&pieces, arena, &one);
	assert(r == 0);
	pb_pieces_free(&pieces);
}

/* What is decoded within bounds takes no more memory than they allow, and is a message. */
static void bounds_hold(const ProtobufCMessageDescriptor *type, struct str bytes)
{
	static const struct pb_bounds bounds = { .memory = 4096, .text = 16 };
	struct arena *arena = arena_new();
	ProtobufCMessage *m;

	if (pb_decode(type, bytes, &bounds, arena, &m, NULL) == 0) {
		assert(arena_used(arena) <= bounds.memory);
		assert(pb_decode(type, bytes, NULL, arena, &m, NULL) == 0);
	}
	arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ProtobufCServiceDescriptor *service = &maglev__maglev__descriptor;
	const ProtobufCMethodDescriptor *method;
	const ProtobufCMessageDescriptor *type;
	struct arena *arena = arena_new();
	ProtobufCMessage *m;
	const char *where;
	struct str bytes;

	if (size > 0) {
		method = &service->methods[(data[0] & 0x7f) % service->n_methods];
		type = data[0] & 0x80 ? method->output : method->input;
		bytes = (struct str){ (const char *)data + 1, size - 1 };
		bounds_hold(type, bytes);
		if (pb_decode(type, bytes, NULL, arena, &m, &where) == 0) {
			bytes_round_trip(m, arena);
			json_round_trip(m, arena);
			read_in_pieces(type, bytes, arena);
		}
	}
	arena_free(arena);
	return 0;
}
