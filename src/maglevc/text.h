/* SPDX-License-Identifier: Apache-2.0 */
/* text: formatting that all views share. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/* Appends s of any length with buf_add_shown(). */
void text_add_clean(struct buf *out, struct str s);
/*
 * Appends the lines of s, cleaned, each after prefix and with a newline; nothing if s is empty.
 */
void text_add_lines(struct buf *out, const char *prefix, const char *s);

#define TEXT_AGE_LEN 32

/*
 * Formats an age in its two largest units: "3m12s", "1d4h", "45s", "2h". Times in the future are
 * "0s". Returns buf.
 */
const char *text_age(int64_t ns, char buf[static TEXT_AGE_LEN]);

#define TEXT_TIME_LEN 24

/* Formats a time in UTC with seconds: "2026-04-15T09:30:00Z". Returns buf. */
const char *text_time(int64_t unix_ns, char buf[static TEXT_TIME_LEN]);
