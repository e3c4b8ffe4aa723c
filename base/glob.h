/* SPDX-License-Identifier: Apache-2.0 */
/* glob: patterns for names, in which "*" stands for any text and "?" for any one byte. Pure. */
#pragma once

#include <stdbool.h>

/* Whether the pattern matches all of the text. Takes at most strlen(pattern) * strlen(text). */
bool glob_match(const char *pattern, const char *text);
