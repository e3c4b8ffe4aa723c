/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l2/alive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"

static size_t place_of(const struct alive *a, const char *node)
{
	return sorted_place(a->nodes.n, i, strcmp(a->nodes.items[i].node, node) < 0);
}

static struct alive_node *find(const struct alive *a, const char *node)
{
	size_t i = place_of(a, node);
	bool found = i < a->nodes.n && strcmp(a->nodes.items[i].node, node) == 0;

	return found ? &a->nodes.items[i] : NULL;
}

static void free_node(struct alive_node *n)
{
	free(n->node);
	free(n->holder);
}

void alive_free(struct alive *a)
{
	for (size_t i = 0; i < a->nodes.n; i++)
		free_node(&a->nodes.items[i]);
	vec_free(&a->nodes);
}

/* A gap in which the server was away does not count. */
static void advance(struct alive *a, int64_t now)
{
	int64_t gap = a->own_seen ? now - a->own_seen : 0;

	if (gap <= a->rule.duration)
		a->clock += gap;
	a->own_seen = now;
}

void alive_lease(struct alive *a, const char *node, const char *holder, int64_t now)
{
	struct alive_node *n = find(a, node);

	assert(now);
	if (strcmp(node, a->own) == 0)
		advance(a, now);
	if (!n) {
		size_t i = place_of(a, node);

		vec_insert_at(&a->nodes, i);
		n = &a->nodes.items[i];
		*n = (struct alive_node){ .node = mem_strdup(node), .holder = mem_strdup("") };
	}
	if (strcmp(n->holder, holder) != 0) {
		free(n->holder);
		n->holder = mem_strdup(holder);
		n->heard = 0;
	}
	n->seen = a->clock;
}

void alive_forget(struct alive *a, const char *node)
{
	struct alive_node *n = find(a, node);

	if (!n)
		return;
	free_node(n);
	vec_remove_at(&a->nodes, (size_t)(n - a->nodes.items));
}

void alive_heard(struct alive *a, const char *node, int64_t now)
{
	struct alive_node *n = find(a, node);

	if (n)
		n->heard = now;
}

void alive_left(struct alive *a, const char *node, int64_t now)
{
	struct alive_node *n = find(a, node);

	if (n)
		n->heard = now > a->rule.window ? now - a->rule.window : 1;
}

static bool judge(const struct alive *a, const struct alive_node *n, int64_t now)
{
	if (strcmp(n->node, a->own) == 0)
		return true;
	if (!*n->holder)
		return false;
	if (n->heard)
		return now - n->heard < a->rule.window;
	return a->clock - n->seen < a->rule.duration;
}

bool alive_judge(struct alive *a, int64_t now, int64_t *ret_due)
{
	bool changed = false;
	int64_t due = 0;

	for (size_t i = 0; i < a->nodes.n; i++) {
		struct alive_node *n = &a->nodes.items[i];
		bool is_alive = judge(a, n, now);

		changed |= is_alive != n->is_alive;
		n->is_alive = is_alive;
		/* a Lease ages only when the own one is seen to change, and that is an event */
		if (is_alive && n->heard && (!due || n->heard + a->rule.window < due))
			due = n->heard + a->rule.window;
	}
	*ret_due = due;
	return changed;
}

bool alive_is(const struct alive *a, const char *node)
{
	const struct alive_node *n = find(a, node);

	return n ? n->is_alive : strcmp(node, a->own) == 0;
}

int64_t alive_gone_for(const struct alive *a, const struct alive_node *n)
{
	return n->is_alive ? 0 : a->clock - n->seen;
}
