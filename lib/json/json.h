/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: values as JSON text (RFC 8259), appended to a buffer.
 *
 * The output is valid UTF-8 JSON whatever bytes come in. The caller writes the braces, brackets
 * and commas of objects and arrays.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

/*
 * Appends the n bytes as a quoted string. Quotes, backslashes and characters that are not
 * printable (utf8_printable()) are escaped, so that no text steers the terminal that shows it.
 * Bytes that are not UTF-8 become U+FFFD, one for each maximal subpart as the Unicode standard
 * recommends.
 */
void json_write_string(struct buf *out, const char *p, size_t n);

/*
 * Appends the shortest number that parses to v. JSON has no form for values that are not finite:
 * they become the strings "NaN", "+Inf" and "-Inf". LC_NUMERIC must be "C", as it is by default.
 */
void json_write_double(struct buf *out, double v);
