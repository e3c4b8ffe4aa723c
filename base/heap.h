/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap: the smallest first. Nodes are part of the caller's structs, so nothing is allocated and
 * nothing can fail; a node is in one heap at a time.
 *
 * Nodes are ordered by two numbers, major before minor. Where both are equal the order is not
 * defined: a caller that wants a total order counts up the minor one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
	struct heap_node *child, *next;
	struct heap_node *prev; /* the sibling before it, or the parent of the first child */
	uint64_t major, minor;
};

/* All zeros is an empty heap. */
struct heap {
	struct heap_node *first; /* the smallest; NULL: empty */
	size_t n;
};

/* Constant time. The node's numbers must not change while it is in the heap. */
void heap_add(struct heap *h, struct heap_node *node);
/* A node that is in the heap. About the logarithm of n, on average over many calls. */
void heap_remove(struct heap *h, struct heap_node *node);
/* Takes the smallest out; NULL when the heap is empty. */
struct heap_node *heap_take(struct heap *h);
