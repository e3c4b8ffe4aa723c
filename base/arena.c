/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena is a list of blocks, newest first. Small requests are cut from the newest block. A
 * request larger than a quarter of a block that does not fit into the newest one gets a block of
 * its own after it in the list, so that a large array does not waste the rest of the current block.
 * A shared arena is a single block that fills its mapping, with the struct arena at the front.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define BLOCK_SIZE ((size_t)16 * 1024)
#define ALIGN alignof(max_align_t)

struct block {
	struct block *next;
	size_t size; /* usable bytes after the header */
	size_t used;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena {
	struct block *blocks;
	size_t used;
	size_t mapping;	    /* bytes of a shared arena's mapping; 0 otherwise */
	void (*full)(void); /* of a shared arena, if there is no room; NULL: abort() */
};

/*
 * mem_resize() and not mem_zalloc(): arena_alloc() clears each piece when it hands it out, which
 * a block that is used again after arena_reset() needs anyway.
 */
static struct block *block_new(size_t size)
{
	struct block *b = mem_resize(NULL, 1, sizeof(*b) + size);

	b->next = NULL;
	b->size = size;
	b->used = 0;
	return b;
}

struct arena *arena_new(void)
{
	return mem_zalloc(sizeof(struct arena));
}

/*
 * MAP_NORESERVE, because limit is a generous bound of which most is never touched. The mapping is
 * made before fork(), so both processes have it at the same address and pointers stay valid.
 */
struct arena *arena_new_shared(size_t limit, void (*full)(void))
{
	size_t room = (sizeof(struct arena) + ALIGN - 1) & ~(ALIGN - 1);
	size_t size = room + sizeof(struct block) + limit;
	struct arena *a = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (a == MAP_FAILED)
		return NULL;
	a->mapping = size;
	a->full = full;
	a->blocks = (struct block *)((char *)a + room);
	a->blocks->size = limit;
	return a;
}

void arena_trim(struct arena *a)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), end, left;

	if (!a->mapping)
		return;
	end = (size_t)(a->blocks->bytes + a->blocks->used - (unsigned char *)a);
	left = (end + page - 1) / page * page;
	if (left >= a->mapping || munmap((char *)a + left, a->mapping - left) < 0)
		return;
	a->blocks->size = a->blocks->used + (left - end);
	a->mapping = left;
}

static void free_blocks(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	if (a->mapping) {
		munmap(a, a->mapping);
		return;
	}
	free_blocks(a->blocks);
	free(a);
}

void arena_freep(struct arena **a)
{
	arena_free(*a);
}

void arena_reset(struct arena *a)
{
	struct block *keep = a->blocks;

	a->used = 0;
	if (!keep)
		return;
	free_blocks(keep->next);
	keep->next = NULL;
	keep->used = 0;
}

size_t arena_used(const struct arena *a)
{
	return a->used;
}

/* Inserts a block of its own after the newest one, which stays open for small requests. */
static struct block *add_large(struct arena *a, size_t size)
{
	struct block *b = block_new(size);

	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		a->blocks = b;
	}
	return b;
}

/* More than the caller's limit was asked for. */
static _Noreturn void exceed(const struct arena *a)
{
	if (a->full)
		a->full();
	abort();
}

/*
 * The block from which size bytes can be cut. Only the newest block is tried: what is left over
 * in older ones is small.
 */
static struct block *block_for(struct arena *a, size_t size)
{
	struct block *b = a->blocks;

	if (b && b->size - b->used >= size)
		return b;
	if (a->mapping)
		exceed(a);
	if (size > BLOCK_SIZE / 4)
		return add_large(a, size);

	b = block_new(BLOCK_SIZE);
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

/* Sizes are rounded up so that the next piece is aligned again. */
void *arena_alloc(struct arena *a, size_t size)
{
	struct block *b;
	void *p;

	assert(a);
	assert(size < SIZE_MAX / 2);

	size = (size + ALIGN - 1) & ~(ALIGN - 1);
	b = block_for(a, size);
	p = b->bytes + b->used;
	b->used += size;
	a->used += size;
	return memset(p, 0, size);
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		abort();
	return arena_alloc(a, total);
}

void *arena_copy(struct arena *a, const void *p, size_t size)
{
	void *copy = arena_alloc(a, size);

	if (size)
		memcpy(copy, p, size);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy;

	assert(n < SIZE_MAX / 2);
	copy = arena_alloc(a, n + 1);

	if (n)
		memcpy(copy, s, n);
	return copy;
}

/* Formats twice: once for the length, once into place. */
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	assert(n >= 0);
	text = arena_alloc(a, (size_t)n + 1);
	vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return text;
}
