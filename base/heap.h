/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap: a priority queue that yields its smallest node first.
 *
 * Nodes are members of the caller's structs, so nothing is allocated and nothing can fail. A node
 * is in at most one heap at a time.
 *
 * Nodes are ordered by two numbers, major before minor. Where both are equal the order is not
 * defined: a caller that wants a total order counts up the minor one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Members other than major and minor belong to the heap. */
struct heap_node {
	struct heap_node *child, *next;
	struct heap_node *prev; /* the previous sibling; for a first child, the parent */
	uint64_t major, minor;
};

/* A zeroed struct is an empty heap. */
struct heap {
	struct heap_node *first; /* the smallest; NULL: empty */
	size_t n;
};

/* Constant time. The node's numbers must not change while it is in the heap. */
void heap_add(struct heap *h, struct heap_node *node);
/* Removes a node, which must be in this heap. The amortized cost is logarithmic in n. */
void heap_remove(struct heap *h, struct heap_node *node);
/* Removes and returns the smallest node; NULL if the heap is empty. */
struct heap_node *heap_take(struct heap *h);
