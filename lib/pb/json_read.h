/* SPDX-License-Identifier: Apache-2.0 */
/* Types that JSON does not have: numbers of a certain size, and bytes. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/str.h"
#include "lib/json/tree.h"

/*
 * A number, or a string with one, into *slot, a number of that type; a floating-point one may also
 * be "NaN", "Infinity" or "-Infinity". -EINVAL when it is none, -ERANGE when it does not fit.
 */
int pb__json_number(ProtobufCType type, const struct json_node *json, void *slot);

/*
 * base64 or base64url, with or without padding. out has room for text.n bytes; false, and both
 * outputs of no use, when it is neither.
 */
bool pb__from_base64(struct str text, uint8_t *out, size_t *ret_n);
