/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex: compiled patterns, and the workspace that one search needs.
 *
 * A pattern is not changed after it was compiled, so all threads may use it. Stack, match data and
 * limits of a search belong to the thread: they are created by its first search, serve all
 * patterns, and are freed when the thread ends.
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
#include <pthread.h>
#include <stdint.h>
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
};

/* What the searches of one thread use, one after the other. */
struct workspace {
	pcre2_match_context *limits;
	pcre2_match_data *scratch; /* memory of pcre2_match(); its result is not read */
	pcre2_jit_stack *stack;	   /* NULL without machine code */
};

static _Thread_local struct workspace *workspace; /* NULL until the thread's first search */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Where regex_compile() puts the reason. */
struct complaint {
	char *reason;
	size_t size;
};

/* PCRE2_NEVER_UTF rejects (*UTF) in the pattern: a subject that is not UTF-8 would be an error. */
static pcre2_code *compile(struct str pattern, uint32_t options, const struct complaint *to)
{
	PCRE2_UCHAR words[REGEX_REASON_SIZE - 32];
	size_t offset;
	int error;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
					 PCRE2_NEVER_UTF | options, &error, &offset, NULL);

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
static pcre2_code *compile_bounded(const char *pattern, uint32_t options,
				   const struct complaint *to)
{
	size_t leading = leading_options(pattern);
	struct buf b = { 0 };
	pcre2_code *code;

	buf_add(&b, pattern, leading);
	buf_add_lit(&b, "(?C)");
	buf_adds(&b, pattern + leading);
	code = compile((struct str){ b.p, b.n }, options, to);
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

static void free_workspace(void *p)
{
	struct workspace *w = p;

	pcre2_jit_stack_free(w->stack);
	pcre2_match_data_free(w->scratch);
	pcre2_match_context_free(w->limits);
	free(w);
}

static void on_first_use(void)
{
	if (pthread_key_create(&at_thread_end, free_workspace) != 0)
		abort();
}

static struct workspace *new_workspace(void)
{
	struct workspace *w = mem_zalloc(sizeof(*w));

	w->limits = pcre2_match_context_create(NULL);
	w->scratch = pcre2_match_data_create(1, NULL);
	w->stack = pcre2_jit_stack_create((size_t)32 * 1024, STACK_MAX, NULL);
	if (!w->limits || !w->scratch)
		abort();
	pcre2_set_match_limit(w->limits, REGEX_MATCH_LIMIT);
	pcre2_set_heap_limit(w->limits, HEAP_LIMIT_KIB);
	pcre2_jit_stack_assign(w->limits, NULL, w->stack);
	return w;
}

/* The key only calls the destructor; the variable is what a search reads. */
static struct workspace *own_workspace(void)
{
	if (workspace)
		return workspace;
	pthread_once(&once, on_first_use);
	workspace = new_workspace();
	if (pthread_setspecific(at_thread_end, workspace) != 0)
		abort();
	return workspace;
}

static int make(const char *pattern, uint32_t options, const struct complaint *to,
		struct regex **ret)
{
	pcre2_code *code;

	/* First without the callout, so that the offset in an error is that of the user's text. */
	code = compile(str_of(pattern), options, to);
	if (!code)
		return -EINVAL;
	pcre2_code_free(code);
	code = compile_bounded(pattern, options, to);
	if (!code)
		return -EINVAL;
	/* If this fails, the interpreter runs: slower, with the same results. */
	(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	*ret = mem_zalloc(sizeof(**ret));
	(*ret)->code = code;
	return 0;
}

int regex_compile(const char *pattern, struct regex **ret, char *reason, size_t reason_size)
{
	const struct complaint to = { reason, reason_size };

	assert(pattern && ret && reason && reason_size);
	return make(pattern, 0, &to, ret);
}

/* Options of the compilation, because machine code does not know them as options of a search. */
int regex_compile_whole(const char *pattern, struct regex **ret, char *reason, size_t reason_size)
{
	const struct complaint to = { reason, reason_size };

	assert(pattern && ret && reason && reason_size);
	return make(pattern, PCRE2_ANCHORED | PCRE2_ENDANCHORED, &to, ret);
}

void regex_free(struct regex *re)
{
	if (!re)
		return;
	pcre2_code_free(re->code);
	free(re);
}

void regex_freep(struct regex **re)
{
	regex_free(*re);
}

enum regex_result regex_match(const struct regex *re, const void *p, size_t n)
{
	struct workspace *w = own_workspace();
	struct search search = { 0 };
	int r;

	assert(re && (p || !n));

	pcre2_set_callout(w->limits, on_place, &search);
	r = pcre2_match(re->code, n ? p : "", n, 0, 0, w->scratch, w->limits);
	if (r == PCRE2_ERROR_NOMATCH)
		return REGEX_NO_MATCH;
	/* Every other error is a limit: steps, time, heap, or the stack of the machine code. */
	return r < 0 ? REGEX_LIMIT : REGEX_MATCH;
}
