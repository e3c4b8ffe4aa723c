/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex: a compiled pattern, with the workspace that one search needs.
 *
 * The pattern is compiled to machine code where the kernel allows it; a hardened service may not
 * map writable code, and then PCRE2's interpreter runs under the same limits. Steps, memory and
 * time of a search are bounded, so a bad pattern costs a verdict and does not hang the program.
 *
 * PCRE2 restarts its step count at each position where a match could start, and a large subject
 * has many. So every pattern gets a callout at its beginning, which PCRE2 calls once per
 * position, and the callout checks the time. It uses processor time, not wall-clock time, because
 * the load of the machine must not change a verdict.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lib/regex/regex.h"

#include <assert.h>
#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

/* Enough for patterns that keep a backtracking point for every byte of 64 KiB, as (.|\n)* does. */
#define STACK_MAX ((size_t)16 * 1024 * 1024) /* of the machine code */
#define HEAP_LIMIT_KIB (32 * 1024)	     /* of the interpreter */
#define TIME_LIMIT (10 * NSEC_PER_MSEC)
#define PLACES_PER_LOOK 8 /* reading the clock costs as much as many steps */

struct regex {
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *workspace; /* scratch memory of pcre2_match(); its result is not read */
};

/* Where regex_compile() puts the reason. */
struct complaint {
	char *reason;
	size_t size;
};

/* PCRE2_NEVER_UTF rejects (*UTF) in the pattern: a subject that is not UTF-8 would be an error. */
static pcre2_code *compile(struct str pattern, const struct complaint *to)
{
	PCRE2_UCHAR words[REGEX_REASON_SIZE - 32];
	size_t offset;
	int error;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, PCRE2_NEVER_UTF, &error,
					 &offset, NULL);

	if (code)
		return code;
	pcre2_get_error_message(error, words, sizeof(words));
	snprintf(to->reason, to->size, "%s at offset %zu", (const char *)words, offset);
	return NULL;
}

/* The length of the options such as (*CRLF), which PCRE2 accepts only at the very beginning. */
static size_t leading_options(const char *pattern)
{
	const char *at = pattern;

	while (at[0] == '(' && at[1] == '*') {
		size_t n = strspn(at + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_=0123456789");

		if (at[2 + n] != ')')
			break;
		at += n + 3;
	}
	return (size_t)(at - pattern);
}

/* Compiles the pattern with the callout inserted after its options. */
static pcre2_code *compile_bounded(const char *pattern, const struct complaint *to)
{
	size_t options = leading_options(pattern);
	struct buf b = { 0 };
	pcre2_code *code;

	buf_add(&b, pattern, options);
	buf_add_lit(&b, "(?C)");
	buf_adds(&b, pattern + options);
	code = compile((struct str){ b.p, b.n }, to);
	buf_free(&b);
	return code;
}

/* The budget of one search. */
struct search {
	unsigned places;
	int64_t until; /* ns of processor time; 0 until the first check */
};

static int64_t processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* A non-zero return ends the search with that error. Most searches never read the clock. */
static int on_place(pcre2_callout_block *block, void *user)
{
	struct search *s = user;

	if (++s->places % PLACES_PER_LOOK)
		return 0;
	if (!s->until)
		s->until = processor_time() + TIME_LIMIT;
	return processor_time() > s->until ? PCRE2_ERROR_MATCHLIMIT : 0;
}

/* One stack for the process, since there is one search at a time. NULL without machine code. */
static pcre2_jit_stack *shared_stack(void)
{
	static pcre2_jit_stack *stack;

	if (!stack)
		stack = pcre2_jit_stack_create((size_t)32 * 1024, STACK_MAX, NULL);
	return stack;
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
	pcre2_jit_stack_assign(re->limits, NULL, shared_stack());
	return re;
}

int regex_compile(const char *pattern, struct regex **ret, char *reason, size_t reason_size)
{
	const struct complaint to = { reason, reason_size };
	pcre2_code *code;

	assert(pattern && ret && reason && reason_size);

	/* First without the callout, so that the offset in an error is that of the user's text. */
	code = compile(str_of(pattern), &to);
	if (!code)
		return -EINVAL;
	pcre2_code_free(code);
	code = compile_bounded(pattern, &to);
	if (!code)
		return -EINVAL;
	/* If this fails, the interpreter runs: slower, with the same results. */
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
	struct search search = { 0 };
	int r;

	assert(re && (p || !n));

	pcre2_set_callout(re->limits, on_place, &search);
	r = pcre2_match(re->code, n ? p : "", n, 0, 0, re->workspace, re->limits);
	if (r == PCRE2_ERROR_NOMATCH)
		return REGEX_NO_MATCH;
	/* Every other error is a limit: steps, time, heap, or the stack of the machine code. */
	return r < 0 ? REGEX_LIMIT : REGEX_MATCH;
}
