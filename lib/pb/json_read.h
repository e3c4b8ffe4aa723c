/* SPDX-License-Identifier: Apache-2.0 */
/* What JSON has no types for: numbers of a size, and bytes. */
#pragma once

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/str.h"

/*
 * A number, or a string with one, into *slot, a number of that type; a floating-point one may also
 * be "NaN", "Infinity" or "-Infinity". -EINVAL when it is none, -ERANGE when it does not fit.
 */
int pb__json_number(ProtobufCType type, const json_t *json, void *slot);

/*
 * base64 or base64url, with or without padding. out has room for text.n bytes; false, and both
 * outputs of no use, when it is neither.
 */
bool pb__from_base64(struct str text, uint8_t *out, size_t *ret_n);
