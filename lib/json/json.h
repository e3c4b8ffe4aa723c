/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: values as JSON text (RFC 8259), added to a buffer.
 *
 * Whatever bytes come in, what goes out is valid UTF-8 JSON. Objects and arrays are the caller's
 * braces and commas.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

/*
 * The n bytes as a string, with its quotes. Quote, backslash and control characters are escaped;
 * bytes that are not UTF-8 become U+FFFD, one for each maximal subpart, as browsers do it.
 */
void json_write_string(struct buf *out, const char *p, size_t n);

/*
 * The shortest number that reads back as v. JSON has no word for what is not finite: that becomes
 * the string "NaN", "+Inf" or "-Inf". The program leaves LC_NUMERIC alone.
 */
void json_write_double(struct buf *out, double v);
