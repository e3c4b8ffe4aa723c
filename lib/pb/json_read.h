/* SPDX-License-Identifier: Apache-2.0 */
/* Types that JSON does not have: numbers of a certain size, and bytes. Private to lib/pb. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/str.h"
#include "lib/json/tree.h"

/*
 * Parses a JSON number, or a string that holds one, into *slot, whose size follows from type. A
 * floating-point value may also be "NaN", "Infinity" or "-Infinity". -EINVAL if it is no number,
 * -ERANGE if it does not fit; *slot is untouched then.
 */
int pb__json_number(ProtobufCType type, const struct json_node *json, void *slot);

/*
 * Decodes base64 or base64url, with or without padding. out needs room for text.n bytes. On false
 * the contents of out are undefined and *ret_n is untouched.
 */
bool pb__from_base64(struct str text, uint8_t *out, size_t *ret_n);
