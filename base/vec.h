/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec: a growing array of one type. A zeroed struct is empty; growth moves items, so pointers
 * into it are valid only until the next push or insert.
 *
 *	VEC(struct op) ops = { 0 };
 *	vec_push(&ops, op);
 *	for (size_t i = 0; i < ops.n; i++) use(&ops.items[i]);
 *	vec_free(&ops);
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(T)                                                                                     \
	struct {                                                                                   \
		T *items;                                                                          \
		size_t n, cap;                                                                     \
	}

/* The type-independent part of vec_reserve(). The capacity doubles, so n pushes cost O(n). */
static inline void *vec__grow(void *items, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return items;
	*cap = mem_grown(*cap, 8, need);
	return mem_resize(items, *cap, size);
}

/* Makes room for need items in all. */
#define vec_reserve(v, need)                                                                       \
	((v)->items = vec__grow((v)->items, &(v)->cap, (need), sizeof((v)->items[0])))

#define vec_push(v, ...)                                                                           \
	do {                                                                                       \
		vec_reserve((v), (v)->n + 1);                                                      \
		(v)->items[(v)->n++] = (__VA_ARGS__);                                              \
	} while (0)

/* Moves the items from index i up by one; the caller fills items[i]. */
#define vec_insert_at(v, i)                                                                        \
	do {                                                                                       \
		assert((i) <= (v)->n);                                                             \
		vec_reserve((v), (v)->n + 1);                                                      \
		memmove(&(v)->items[(i) + 1], &(v)->items[(i)],                                    \
			((v)->n - (i)) * sizeof((v)->items[0]));                                   \
		(v)->n++;                                                                          \
	} while (0)

/* Removes items[i] and keeps the order of the others. The item itself is not freed. */
#define vec_remove_at(v, i)                                                                        \
	do {                                                                                       \
		assert((i) < (v)->n);                                                              \
		memmove(&(v)->items[(i)], &(v)->items[(i) + 1],                                    \
			((v)->n - (i)-1) * sizeof((v)->items[0]));                                 \
		(v)->n--;                                                                          \
	} while (0)

/* Frees the array, not what its items own, and leaves an empty vec. */
#define vec_free(v)                                                                                \
	do {                                                                                       \
		free((v)->items);                                                                  \
		(v)->items = NULL;                                                                 \
		(v)->n = (v)->cap = 0;                                                             \
	} while (0)
