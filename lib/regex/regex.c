/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex: a compiled pattern, with the workspace that one search needs.
 *
 * The pattern is translated to machine code where the kernel allows that (a hardened service may
 * not map writable code); elsewhere PCRE2's interpreter takes over, under the same limits. Steps
 * and memory of a search are bounded, so a bad pattern costs a verdict and not a hang.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lib/regex/regex.h"

#include <assert.h>
#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define HEAP_LIMIT_KIB 1024

struct regex {
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *workspace; /* of the search going on; nothing in it outlives that */
};

static void say_why(int error, size_t offset, char *reason, size_t size)
{
	PCRE2_UCHAR words[REGEX_REASON_SIZE - 32];

	pcre2_get_error_message(error, words, sizeof(words));
	snprintf(reason, size, "%s at offset %zu", (const char *)words, offset);
}

static struct regex *wrap(pcre2_code *code)
{
	struct regex *re = mem_zalloc(sizeof(*re));

	re->code = code;
	re->limits = pcre2_match_context_create(NULL);
	re->workspace = pcre2_match_data_create(1, NULL);
	if (!re->limits || !re->workspace)
		abort();
	pcre2_set_match_limit(re->limits, REGEX_MATCH_LIMIT);
	pcre2_set_heap_limit(re->limits, HEAP_LIMIT_KIB);
	return re;
}

int regex_compile(const char *pattern, struct regex **ret, char *reason, size_t reason_size)
{
	pcre2_code *code;
	size_t offset;
	int error;

	assert(pattern && ret && reason && reason_size);

	code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_NEVER_UTF, &error,
			     &offset, NULL);
	if (!code) {
		say_why(error, offset, reason, reason_size);
		return -EINVAL;
	}
	/* Without machine code the interpreter searches: slower, and nothing else. */
	(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	*ret = wrap(code);
	return 0;
}

void regex_free(struct regex *re)
{
	if (!re)
		return;
	pcre2_match_data_free(re->workspace);
	pcre2_match_context_free(re->limits);
	pcre2_code_free(re->code);
	free(re);
}

void regex_freep(struct regex **re)
{
	regex_free(*re);
}

enum regex_result regex_match(const struct regex *re, const void *p, size_t n)
{
	int r;

	assert(re && (p || !n));

	r = pcre2_match(re->code, n ? p : "", n, 0, 0, re->workspace, re->limits);
	if (r == PCRE2_ERROR_NOMATCH)
		return REGEX_NO_MATCH;
	/* Every other error is a bound that was met: steps, heap, or stack of the machine code. */
	return r < 0 ? REGEX_LIMIT : REGEX_MATCH;
}
