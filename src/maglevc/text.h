/* SPDX-License-Identifier: Apache-2.0 */
/* text: the small words that all views share. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/* Appends s with a question mark for every control character and for bytes that are not UTF-8. */
void text_add_clean(struct buf *out, struct str s);
/* The lines of s, cleaned, each behind prefix; nothing for an empty s. */
void text_add_lines(struct buf *out, const char *prefix, const char *s);

#define TEXT_AGE_LEN 32

/* The two largest units: "3m12s", "1d4h", "45s", "2h"; "0s" for what lies ahead. Returns buf. */
const char *text_age(int64_t ns, char buf[static TEXT_AGE_LEN]);

#define TEXT_TIME_LEN 24

/* UTC, to the second: "2026-04-15T09:30:00Z". Returns buf. */
const char *text_time(int64_t unix_ns, char buf[static TEXT_TIME_LEN]);
