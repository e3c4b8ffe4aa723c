/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pairing heap: a tree in which no node is smaller than its parent. Adding a node makes a tree of
 * one and links it with the root. Removing a node leaves its children, which are linked in pairs
 * from the left, and the pairs then into one tree from the right; this two-pass scheme gives the
 * amortized logarithmic cost. There is no recursion, because the depth of the tree is not bounded.
 */
#include "base/heap.h"

static bool is_before(const struct heap_node *a, const struct heap_node *b)
{
	return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}

/* Makes the larger root the first child of the other. Either may be NULL. */
static struct heap_node *link_two(struct heap_node *a, struct heap_node *b)
{
	if (!a || !b)
		return a ? a : b;
	if (is_before(b, a)) {
		struct heap_node *smaller = b;

		b = a;
		a = smaller;
	}
	b->prev = a;
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	a->child = b;
	return a;
}

/*
 * First pass: links pairs of siblings. The results are chained by next in reverse order, which is
 * the order that the second pass needs.
 */
static struct heap_node *link_pairs(struct heap_node *first)
{
	struct heap_node *pairs = NULL;

	while (first) {
		struct heap_node *second = first->next, *rest = second ? second->next : NULL;
		struct heap_node *both;

		first->next = first->prev = NULL;
		if (second)
			second->next = second->prev = NULL;
		both = link_two(first, second);
		both->next = pairs;
		pairs = both;
		first = rest;
	}
	return pairs;
}

/* Second pass: links the pairs into one tree, from the last to the first. */
static struct heap_node *link_all(struct heap_node *first)
{
	struct heap_node *pairs = link_pairs(first), *root = NULL;

	while (pairs) {
		struct heap_node *rest = pairs->next;

		pairs->next = NULL;
		root = link_two(root, pairs);
		pairs = rest;
	}
	return root;
}

/*
 * Unlinks a node that is not the root from its siblings. A first child is recognized by its prev,
 * which is the parent and has it as child.
 */
static void cut(struct heap_node *node)
{
	if (node->prev->child == node)
		node->prev->child = node->next;
	else
		node->prev->next = node->next;
	if (node->next)
		node->next->prev = node->prev;
}

void heap_add(struct heap *h, struct heap_node *node)
{
	node->child = node->next = node->prev = NULL;
	h->first = link_two(h->first, node);
	h->n++;
}

/*
 * A removed inner node is unlinked with its subtree, and the tree of its children is linked with
 * the root again.
 */
void heap_remove(struct heap *h, struct heap_node *node)
{
	struct heap_node *left;

	if (node != h->first)
		cut(node);
	left = link_all(node->child);
	h->first = node == h->first ? left : link_two(h->first, left);
	h->n--;
	node->child = node->next = node->prev = NULL;
}

struct heap_node *heap_take(struct heap *h)
{
	struct heap_node *first = h->first;

	if (first)
		heap_remove(h, first);
	return first;
}
