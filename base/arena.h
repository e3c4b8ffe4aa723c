/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory with one lifetime.
 *
 * Everything allocated from an arena dies with it; nothing is freed alone. A configuration
 * snapshot is one arena, a sync pass another. Memory is zeroed and aligned for any type.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
/*
 * An arena in one mapping that a child process shares: what the child allocates there, the parent
 * has at the same address. NULL when there is no address space for it; asking for
 * more than limit in all aborts. The pages cost nothing until they are touched.
 */
struct arena *arena_new_shared(size_t limit);
/* Frees everything that came from it. NULL is fine. */
void arena_free(struct arena *a);
void arena_freep(struct arena **a); /* for _cleanup_ */
/* Forgets everything but keeps one block for reuse. */
void arena_reset(struct arena *a);
/* Bytes handed out so far: what a bound is checked against. */
size_t arena_used(const struct arena *a);

void *arena_alloc(struct arena *a, size_t size);
/* n items of size bytes each; aborts when the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t size);
void *arena_copy(struct arena *a, const void *p, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#define arena_new_of(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array_of(a, n, type) ((type *)arena_array((a), (n), sizeof(type)))
