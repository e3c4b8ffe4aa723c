/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path: one form for the paths of requests that mean the same. Pure.
 *
 * A rule that protects "/admin" must also hold for "/a/../admin", "//admin" and "/%61dmin", because
 * a server reads all of them as "/admin". So a path is brought into one form before rules are
 * compared with it, and the server gets that form: both then speak of the same path.
 *
 * normalize: "." and ".." segments are resolved (RFC 3986, 5.2.4), empty segments are dropped,
 * encoded letters, digits, '-', '.', '_' and '~' are decoded, and the digits of other escapes
 * become capitals. Refused are an escape that is none, an encoded NUL, and a segment that some
 * servers take for "." or "..", but not all: if '\', "%2F" or "%5C" separate segments, or ';' or
 * "%3B" ends one.
 *
 * strict: the same. Refused are also '\', "%2F", "%5C", encoded control bytes, "%C0" and "%C1",
 * which no UTF-8 has, and ".." above the root.
 *
 * as-is: nothing is changed or refused.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum l7_paths { L7_PATHS_NORMALIZE, L7_PATHS_STRICT, L7_PATHS_AS_IS };

/* Whether the path, which starts with '/', is taken by every policy and changed by none. */
bool l7_path_is_plain(struct str path);
/*
 * Appends the form of a path, which starts with '/', to out; it is not longer. Returns -EINVAL if
 * the path is refused; then out is as it was.
 */
int l7_path_normalize(struct str path, enum l7_paths policy, struct buf *out);
