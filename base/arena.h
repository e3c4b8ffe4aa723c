/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: memory with one lifetime.
 *
 * Everything allocated from an arena is freed together with it; nothing is freed on its own. A
 * configuration snapshot is one arena, a sync pass another. Memory is zeroed and aligned for any
 * type. Allocation never returns NULL (base/mem.h).
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
/*
 * An arena in one mapping that a child process shares: the parent finds what the child allocates
 * there at the same address. Returns NULL if there is no address space for it. Allocating more
 * than limit bytes in all calls full(), which must not return; NULL: abort(). The pages cost
 * nothing until they are touched.
 */
struct arena *arena_new_shared(size_t limit, void (*full)(void));
/*
 * Gives the address space of a shared arena back that is not used. Little more can be allocated
 * from it afterwards. Nothing for other arenas.
 */
void arena_trim(struct arena *a);
/* Frees the arena and everything allocated from it. NULL is allowed. */
void arena_free(struct arena *a);
void arena_freep(struct arena **a); /* for _cleanup_ */
/*
 * Frees all allocations, but keeps one block for reuse: a loop that resets its arena in every
 * turn does not call malloc() again.
 */
void arena_reset(struct arena *a);
/*
 * Bytes allocated since arena_new() or arena_reset(), padding included. Callers check their
 * bounds against it.
 */
size_t arena_used(const struct arena *a);

void *arena_alloc(struct arena *a, size_t size);
/* n items of size bytes each; aborts if the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t size);
void *arena_copy(struct arena *a, const void *p, size_t size);
char *arena_strdup(struct arena *a, const char *s);
/* n bytes of s and a NUL; s need not be terminated. */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#define arena_new_of(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array_of(a, n, type) ((type *)arena_array((a), (n), sizeof(type)))
