/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* malloc(0) and calloc() of 0 bytes may return NULL, which is not a failure. */
static void *checked(void *p, size_t size)
{
	if (p || !size)
		return p;
	fprintf(stderr, "out of memory (%zu bytes)\n", size);
	abort();
}

void *mem_alloc(size_t size)
{
	return checked(malloc(size), size);
}

void *mem_zalloc(size_t size)
{
	return checked(calloc(1, size), size);
}

/* A size of 0 becomes 1, because realloc(p, 0) would free p. */
void *mem_resize(void *p, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return checked(NULL, SIZE_MAX);
	return checked(realloc(p, total ? total : 1), total ? total : 1);
}

size_t mem_grown(size_t cap, size_t first, size_t need)
{
	size_t want = cap ? cap : first;

	assert(want);
	while (want < need)
		if (__builtin_mul_overflow(want, 2, &want))
			checked(NULL, need);
	return want;
}

void *mem_copy(const void *p, size_t size)
{
	void *copy = mem_alloc(size ? size : 1);

	if (size)
		memcpy(copy, p, size);
	return copy;
}

char *mem_strdup(const char *s)
{
	assert(s);
	return mem_copy(s, strlen(s) + 1);
}
