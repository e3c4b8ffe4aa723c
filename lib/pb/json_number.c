/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/pb/internal.h"
#include "lib/pb/json_read.h"

/* Sign and magnitude, so that both INT64_MIN and UINT64_MAX can be held. */
struct integer {
	bool negative;
	uint64_t magnitude;
};

/* The largest magnitude of each type, for positive and for negative numbers. */
static const struct {
	bool integer;
	uint64_t above, below;
} ranges[] = {
	[PROTOBUF_C_TYPE_INT32] = { true, INT32_MAX, (uint64_t)INT32_MAX + 1 },
	[PROTOBUF_C_TYPE_SINT32] = { true, INT32_MAX, (uint64_t)INT32_MAX + 1 },
	[PROTOBUF_C_TYPE_SFIXED32] = { true, INT32_MAX, (uint64_t)INT32_MAX + 1 },
	[PROTOBUF_C_TYPE_INT64] = { true, INT64_MAX, (uint64_t)INT64_MAX + 1 },
	[PROTOBUF_C_TYPE_SINT64] = { true, INT64_MAX, (uint64_t)INT64_MAX + 1 },
	[PROTOBUF_C_TYPE_SFIXED64] = { true, INT64_MAX, (uint64_t)INT64_MAX + 1 },
	[PROTOBUF_C_TYPE_UINT32] = { true, UINT32_MAX, 0 },
	[PROTOBUF_C_TYPE_FIXED32] = { true, UINT32_MAX, 0 },
	[PROTOBUF_C_TYPE_UINT64] = { true, UINT64_MAX, 0 },
	[PROTOBUF_C_TYPE_FIXED64] = { true, UINT64_MAX, 0 },
	[PROTOBUF_C_TYPE_FLOAT] = { 0 },
	[PROTOBUF_C_TYPE_DOUBLE] = { 0 },
};

/* A number in a string must be plain digits; 1e3 is accepted only as a JSON number. */
static int integer_of_text(const char *text, struct integer *ret)
{
	bool negative = *text == '-';
	uint64_t magnitude;
	int e = str_to_u64(str_of(text + negative), UINT64_MAX, &magnitude);

	if (e == 0)
		*ret = (struct integer){ negative, magnitude };
	return e;
}

/*
 * A JSON number is converted exactly: 1e3 is 1000, and digits are never rounded through a double.
 */
static int integer_of_number(struct str text, struct integer *ret)
{
	int64_t negative;
	uint64_t v;
	int e = json_to_u64(text, &v);

	if (e == 0) {
		*ret = (struct integer){ false, v };
		return 0;
	}
	if (*text.p == '-')
		e = json_to_i64(text, &negative);
	if (e == 0)
		*ret = (struct integer){ true, -(uint64_t)negative };
	return e;
}

static int integer_of(const struct json_node *json, struct integer *ret)
{
	if (json->kind == JSON_KIND_STRING)
		return integer_of_text(json->text, ret);
	if (json->kind == JSON_KIND_NUMBER)
		return integer_of_number(json_text(json), ret);
	return -EINVAL;
}

/* -magnitude in unsigned arithmetic is the two's complement of the value. */
static int read_integer(ProtobufCType type, const struct json_node *json, void *slot)
{
	struct integer i = { 0 };
	uint64_t bits;
	int e = integer_of(json, &i);

	if (e < 0)
		return e;
	if (i.magnitude > (i.negative ? ranges[type].below : ranges[type].above))
		return -ERANGE;
	bits = i.negative ? -i.magnitude : i.magnitude;
	if (pb__type_size(type) == sizeof(uint64_t))
		*(uint64_t *)slot = bits;
	else
		*(uint32_t *)slot = (uint32_t)bits;
	return 0;
}

/* Only for numbers in strings; a JSON number has been checked by the parser. */
static int real_of_text(const char *text, double *ret)
{
	static const struct {
		const char *word;
		double value;
	} words[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };
	char *end;
	double v;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i].word) == 0) {
			*ret = words[i].value;
			return 0;
		}
	/* strtod() would also accept spaces, "inf" and hexadecimal */
	if (!*text || text[strspn(text, "0123456789+-.eE")])
		return -EINVAL;
	v = strtod(text, &end);
	if (*end)
		return -EINVAL;
	if (isinf(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

static int read_real(ProtobufCType type, const struct json_node *json, void *slot)
{
	double v = 0;
	int e = -EINVAL;

	if (json->kind == JSON_KIND_STRING)
		e = real_of_text(json->text, &v);
	else if (json->kind == JSON_KIND_NUMBER)
		e = json_to_double(json_text(json), &v);
	if (e < 0)
		return e;
	if (type == PROTOBUF_C_TYPE_DOUBLE) {
		*(double *)slot = v;
		return 0;
	}
	/* a decimal slightly above FLT_MAX rounds to FLT_MAX and is accepted */
	if (isfinite(v) && isinf((float)v))
		return -ERANGE;
	*(float *)slot = (float)v;
	return 0;
}

int pb__json_number(ProtobufCType type, const struct json_node *json, void *slot)
{
	assert((size_t)type < ARRAY_SIZE(ranges));
	return ranges[type].integer ? read_integer(type, json, slot) : read_real(type, json, slot);
}

/* ---- base64 ---- */

/* The alphabets of RFC 4648, sections 4 and 5; they differ only in the values 62 and 63. */
static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/* Padding completes a group of four: at most two '=', and only if the length is a multiple of 4. */
static struct str without_padding(struct str text)
{
	for (int i = 0; i < 2 && text.n && text.n % 4 == (i ? 3 : 0); i++)
		if (text.p[text.n - 1] == '=')
			text.n--;
	return text;
}

/* One digit left over (n % 4 == 1) cannot hold a byte. */
bool pb__from_base64(struct str text, uint8_t *out, size_t *ret_n)
{
	uint32_t bits = 0;
	size_t n = 0;

	text = without_padding(text);
	if (text.n % 4 == 1)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		int digit = digit_of(text.p[i]);

		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		if (i % 4 != 0)
			out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	*ret_n = n;
	return true;
}
