/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex: searches arbitrary bytes for a PCRE2 pattern, in bounded time.
 *
 * The subject comes from the network and need not be text, so pattern and subject are bytes:
 * there is no UTF mode, and a pattern cannot switch it on. "." matches one byte, and a character
 * outside ASCII in the pattern matches its UTF-8 bytes. ^ and $ match at the ends of the subject,
 * unless the pattern says (?m).
 *
 * Usable from any thread, and several threads may use one pattern at the same time. A thread keeps
 * the memory that its searches need until it ends: at most 16 MiB for machine code and 32 MiB for
 * the interpreter, which only the worst patterns need.
 */
#pragma once

#include <stddef.h>

struct regex;

enum regex_result {
	REGEX_NO_MATCH,
	REGEX_MATCH,
	REGEX_LIMIT, /* gave up: too many steps, too much time or memory; no verdict */
};

/* PCRE2's match limit: backtracking steps per starting position. */
#define REGEX_MATCH_LIMIT 100000
#define REGEX_REASON_SIZE 160 /* enough for every reason */

/*
 * Compiles a NUL-terminated pattern. -EINVAL if it is not valid; reason then says what is wrong
 * and at which offset, and *ret is untouched. The caller frees *ret with regex_free().
 */
int regex_compile(const char *pattern, struct regex **ret, char *reason, size_t reason_size);
/* The same for a pattern that has to match the subject as a whole, as routes do. */
int regex_compile_whole(const char *pattern, struct regex **ret, char *reason, size_t reason_size);
/* NULL is allowed. No thread may still use the pattern. */
void regex_free(struct regex *re);
void regex_freep(struct regex **re); /* for _cleanup_ */
/*
 * Whether the pattern is found anywhere in the n bytes at p, or matches all of them after
 * regex_compile_whole(). Gives up after about 10 ms of processor time.
 */
enum regex_result regex_match(const struct regex *re, const void *p, size_t n);
