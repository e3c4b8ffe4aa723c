/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/service/stale.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define BITS 64

static size_t words_of(size_t n)
{
	return (n + BITS - 1) / BITS;
}

void stale_free(struct stale *s)
{
	free(s->words);
	*s = (struct stale){ 0 };
}

void stale_reset(struct stale *s, size_t n)
{
	stale_free(s);
	s->words = mem_zalloc((words_of(n) + 1) * sizeof(*s->words)); /* never 0 bytes */
	s->n = n;
}

void stale_mark(struct stale *s, size_t i)
{
	uint64_t bit = UINT64_C(1) << (i % BITS);

	assert(i < s->n);
	s->waiting += !(s->words[i / BITS] & bit);
	s->words[i / BITS] |= bit;
}

/* The first thing in the set, starting at first and wrapping around; the set must not be empty. */
static size_t find(const struct stale *s, size_t first)
{
	size_t word = first / BITS;
	uint64_t bits = s->words[word] & (~UINT64_C(0) << (first % BITS));

	while (!bits) {
		word = word + 1 < words_of(s->n) ? word + 1 : 0;
		bits = s->words[word];
	}
	return word * BITS + (size_t)__builtin_ctzll(bits);
}

size_t stale_next(const struct stale *s)
{
	return s->waiting ? find(s, s->next) : SIZE_MAX;
}

size_t stale_take(struct stale *s)
{
	size_t i = stale_next(s);

	if (i == SIZE_MAX)
		return i;
	s->words[i / BITS] &= ~(UINT64_C(1) << (i % BITS));
	s->waiting--;
	s->next = i + 1 < s->n ? i + 1 : 0;
	return i;
}
