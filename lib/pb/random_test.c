/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages filled at random, by the descriptor: what is written is read back, as bytes and as
 * JSON. To repeat a failure, run the test with the seed of the message in MAGLEV_TEST_SEED.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "lib/pb/internal.h"
#include "lib/pb/pb.h"
#include "lib/pb/pb_test.pb-c.h"

static uint64_t dice;

static uint64_t roll(void)
{
	return random_next(&dice);
}

static char *random_text(struct arena *a)
{
	static const char *const characters[] = {
		"a",
		"\"",
		"\\",
		"\n",
		"\x01",
		"\x7f",
		"/",
		"\xc3\xbc",
		"\xe2\x82\xac",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x9f\x98\x80",
		"\xf4\x8f\xbf\xbf",
	};
	struct buf text = { 0 };
	char *copy;

	for (uint64_t n = roll() % 6; n; n--)
		buf_adds(&text, characters[roll() % ARRAY_SIZE(characters)]);
	copy = arena_strdup(a, buf_cstr(&text));
	buf_free(&text);
	return copy;
}

static double random_real(bool is_float)
{
	static const double values[] = { 0,	   -0.0,      1,	-1.5,
					 0.1,	   3e38,      1e-45,	NAN,
					 INFINITY, -INFINITY, 16777217, 3.4028234663852886e38 };
	double v = values[roll() % ARRAY_SIZE(values)];

	if (roll() % 2)
		return v;
	return is_float ? (double)((float)roll() / 3.0f) : (double)roll() / 3e9;
}

static uint64_t random_integer(void)
{
	static const uint64_t values[] = {
		0, 1, 127, 128, INT32_MAX, 1ULL << 31, UINT32_MAX, INT64_MAX, 1ULL << 63, UINT64_MAX
	};

	return roll() % 2 ? values[roll() % ARRAY_SIZE(values)] : roll() >> (roll() % 64);
}

static void fill_bytes(struct arena *a, ProtobufCBinaryData *slot)
{
	slot->len = roll() % 8;
	slot->data = arena_alloc(a, slot->len);
	for (size_t i = 0; i < slot->len; i++)
		slot->data[i] = (uint8_t)roll();
}

static ProtobufCMessage *random_message(struct arena *a, const ProtobufCMessageDescriptor *type,
					unsigned depth);

static void fill_value(struct arena *a, const ProtobufCFieldDescriptor *f, void *slot,
		       unsigned depth)
{
	uint64_t integer = random_integer();
	float single = (float)random_real(true);
	double real = random_real(false);

	if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		*(ProtobufCMessage **)slot = random_message(a, f->descriptor, depth + 1);
	else if (f->type == PROTOBUF_C_TYPE_STRING)
		*(char **)slot = random_text(a);
	else if (f->type == PROTOBUF_C_TYPE_BYTES)
		fill_bytes(a, slot);
	else if (f->type == PROTOBUF_C_TYPE_BOOL)
		*(protobuf_c_boolean *)slot = roll() % 2;
	else if (f->type == PROTOBUF_C_TYPE_FLOAT)
		memcpy(slot, &single, sizeof(single));
	else if (f->type == PROTOBUF_C_TYPE_DOUBLE)
		memcpy(slot, &real, sizeof(real));
	else
		memcpy(slot, &integer, pb__type_size(f->type));
}

/* Keys ascend, since maps come back from JSON in that order. */
static void fix_key(struct arena *a, ProtobufCMessage *entry, size_t i)
{
	const ProtobufCFieldDescriptor *f = pb__map_key(entry->descriptor);
	void *slot = (char *)entry + f->offset;

	if (f->type == PROTOBUF_C_TYPE_STRING)
		*(char **)slot = arena_printf(a, "%zu%s", i, *(char **)slot);
	else if (pb__type_size(f->type) == sizeof(uint64_t))
		*(uint64_t *)slot = i;
	else
		*(uint32_t *)slot = (uint32_t)i;
}

static void fill_list(struct arena *a, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
		      unsigned depth)
{
	bool is_map = pb__map_entry(m->descriptor, f);
	size_t n = roll() % (is_map ? 3 : 4);

	*(void **)((char *)m + f->offset) = arena_array(a, n, pb__type_size(f->type));
	*(size_t *)((char *)m + f->quantifier_offset) = n;
	for (size_t i = 0; i < n; i++) {
		fill_value(a, f, pb__slot(m, f, i), depth);
		if (is_map)
			fix_key(a, *(ProtobufCMessage **)pb__slot(m, f, i), i);
	}
}

static ProtobufCMessage *random_message(struct arena *a, const ProtobufCMessageDescriptor *type,
					unsigned depth)
{
	ProtobufCMessage *m = arena_alloc(a, type->sizeof_message);

	protobuf_c_message_init(type, m);
	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];
		bool entry_value = f->id == 2 && strstr(type->name, "Entry");

		if (f->type == PROTOBUF_C_TYPE_MESSAGE && !entry_value && depth > 3)
			continue;
		if (!entry_value && roll() % 3 == 0)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			fill_list(a, m, f, depth);
			continue;
		}
		if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
			*(uint32_t *)((char *)m + f->quantifier_offset) = f->id;
		fill_value(a, f, (char *)m + f->offset, depth);
	}
	return m;
}

static void assert_same(const ProtobufCMessage *a, const ProtobufCMessage *b, uint64_t seed)
{
	_cleanup_(buf_free) struct buf x = { 0 }, y = { 0 };

	pb_encode(a, &x);
	pb_encode(b, &y);
	if (x.n != y.n || (x.n && memcmp(x.p, y.p, x.n) != 0))
		fail_msg("MAGLEV_TEST_SEED=%llu", (unsigned long long)seed);
}

static void one_round(const ProtobufCMessageDescriptor *type, uint64_t seed)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();
	_cleanup_(buf_free) struct buf bytes = { 0 }, json = { 0 };
	ProtobufCMessage *m, *back;
	char reason[200];

	dice = seed;
	m = random_message(a, type, 0);
	pb_encode(m, &bytes);
	if (pb_decode(type, (struct str){ bytes.p, bytes.n }, NULL, a, &back, NULL) < 0)
		fail_msg("MAGLEV_TEST_SEED=%llu does not decode", (unsigned long long)seed);
	assert_same(m, back, seed);

	pb_json_write(back, roll() % 2 ? PB_JSON_PRETTY : PB_JSON_COMPACT, &json);
	if (pb_json_read(type, (struct str){ json.p, json.n }, a, &back, reason, sizeof(reason)) <
	    0)
		fail_msg("MAGLEV_TEST_SEED=%llu: %s", (unsigned long long)seed, reason);
	assert_same(m, back, seed);
}

static void whatever_is_written_is_read_back_the_same(void **state)
{
	static const ProtobufCMessageDescriptor *const types[] = {
		&pbtest__tree__descriptor, &pbtest__scalars__descriptor, &pbtest__lists__descriptor,
		&pbtest__maps__descriptor, &pbtest__choice__descriptor,
	};
	const char *wish = getenv("MAGLEV_TEST_SEED");
	uint64_t seed = 20260415;

	for (unsigned i = 0; i < 150; i++) {
		if (wish)
			seed = strtoull(wish, NULL, 0);
		else if (i == 75 && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			seed += 1;
		for (size_t t = 0; t < ARRAY_SIZE(types); t++)
			one_round(types[t], seed);
		seed++;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_written_is_read_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
