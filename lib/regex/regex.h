/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex: search arbitrary bytes for a PCRE2 pattern, in bounded time.
 *
 * What is searched comes from strangers and need not be text, so pattern and subject are bytes:
 * there is no UTF mode, and a pattern cannot switch it on. "." is one byte, a letter outside ASCII
 * in the pattern is the bytes it is written with. ^ and $ are the ends of the subject, as usual,
 * unless the pattern says (?m).
 *
 * For one thread.
 */
#pragma once

#include <stddef.h>

struct regex;

enum regex_result {
	REGEX_NO_MATCH,
	REGEX_MATCH,
	REGEX_LIMIT, /* gave up: too many steps, too much time or memory; neither yes nor no */
};

#define REGEX_MATCH_LIMIT 100000
#define REGEX_REASON_SIZE 160 /* enough for every reason */

/* -EINVAL, and why and where in reason, when pattern does not compile; *ret untouched then. */
int regex_compile(const char *pattern, struct regex **ret, char *reason, size_t reason_size);
/* NULL is fine. */
void regex_free(struct regex *re);
void regex_freep(struct regex **re); /* for _cleanup_ */
/* Whether the pattern is found anywhere in the n bytes at p. */
enum regex_result regex_match(const struct regex *re, const void *p, size_t n);
