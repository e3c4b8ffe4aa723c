/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checks: what translation cannot judge by itself: regular expressions, certificates, authorities.
 *
 * A router refuses a document with a pattern or a certificate that it cannot use. So each is tried
 * here first, with the same libraries, and the object that has it is told in its status.
 */
#pragma once

#include "core/l7/config.h"

#define CHECKS_PATTERNS_MAX 100000 /* different ones; more are refused */

struct checks;

struct checks *checks_new(void);
void checks_free(struct checks *c); /* NULL is allowed */
/* For struct gw_calls. */
struct l7_calls checks_regex(struct checks *c);
/* NULL if they are a certificate and its key as PEM, else why not; valid until the next call. */
const char *checks_pair(struct checks *c, const char *certificate, const char *key);
/* The same for authorities. */
const char *checks_ca(struct checks *c, const char *text);
/* Whether a pattern matches the whole text. */
bool checks_matches(const struct l7_regex *regex, struct str text);
