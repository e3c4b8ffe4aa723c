/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/flows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

#define FIRST_SIZE 64

/* ---- the table ---- */

void flows_init(struct flows *f, uint64_t seed)
{
	*f = (struct flows){ .seed = seed };
}

void flows_free(struct flows *f)
{
	free(f->buckets);
	*f = (struct flows){ 0 };
}

uint64_t flows_hash(const struct flows *f, const struct udp_path *path)
{
	uint64_t words[sizeof(*path) / sizeof(uint64_t)], h = f->seed;

	memcpy(words, path, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		h ^= words[i];
		h = random_next(&h);
	}
	return h;
}

static struct flow_node **bucket(const struct flows *f, uint64_t hash)
{
	return &f->buckets[hash & (f->size - 1)];
}

/* A path has zeros where nothing is set, so all its bytes count. */
static bool is_same(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct udp_path)) == 0;
}

struct flow_node *flows_find(const struct flows *f, const struct udp_path *path, uint64_t hash)
{
	struct flow_node *n = f->size ? *bucket(f, hash) : NULL;

	while (n && (n->hash != hash || !is_same(&n->path, path)))
		n = n->next;
	return n;
}

static void put(struct flows *f, struct flow_node *node)
{
	struct flow_node **b = bucket(f, node->hash);

	node->next = *b;
	*b = node;
}

static void grow(struct flows *f)
{
	struct flows old = *f;

	f->size = old.size ? old.size * 2 : FIRST_SIZE;
	f->buckets = mem_zalloc(f->size * sizeof(struct flow_node *));
	for (size_t i = 0; i < old.size; i++)
		for (struct flow_node *n = old.buckets[i], *next; n; n = next) {
			next = n->next;
			put(f, n);
		}
	free(old.buckets);
}

void flows_add(struct flows *f, struct flow_node *node, const struct udp_path *path, uint64_t hash)
{
	if (f->n >= f->size)
		grow(f);
	node->path = *path;
	node->hash = hash;
	put(f, node);
	f->n++;
}

void flows_remove(struct flows *f, struct flow_node *node)
{
	struct flow_node **at = bucket(f, node->hash);

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	f->n--;
}

struct flow_node *flows_next(const struct flows *f, const struct flow_node *node)
{
	size_t i = 0;

	if (node && node->next)
		return node->next;
	if (node)
		i = (node->hash & (f->size - 1)) + 1;
	for (; i < f->size; i++)
		if (f->buckets[i])
			return f->buckets[i];
	return NULL;
}

/* ---- the wheel ---- */

void flow_wheel_init(struct flow_wheel *w, int64_t now)
{
	w->now = now;
	for (size_t i = 0; i <= FLOW_WHEEL; i++)
		TAILQ_INIT(&w->slots[i]);
}

static void put_at(struct flow_wheel *w, struct flow_node *node, uint32_t slot)
{
	node->slot = slot;
	TAILQ_INSERT_TAIL(&w->slots[slot], node, in_wheel);
}

void flow_wheel_add(struct flow_wheel *w, struct flow_node *node, int64_t due)
{
	if (due <= w->now)
		due = w->now + 1;
	if (due >= w->now + FLOW_WHEEL)
		due = w->now + FLOW_WHEEL - 1;
	put_at(w, node, (uint32_t)(due % FLOW_WHEEL));
}

void flow_wheel_remove(struct flow_wheel *w, struct flow_node *node)
{
	TAILQ_REMOVE(&w->slots[node->slot], node, in_wheel);
}

static void make_due(struct flow_wheel *w, uint32_t slot)
{
	struct flow_node *n;

	TAILQ_FOREACH(n, &w->slots[slot], in_wheel)
	{
		n->slot = FLOW_WHEEL;
	}
	TAILQ_CONCAT(&w->slots[FLOW_WHEEL], &w->slots[slot], in_wheel);
}

/* After a long stop all slots are due, each once. */
void flow_wheel_turn(struct flow_wheel *w, int64_t now)
{
	if (now > w->now + FLOW_WHEEL)
		w->now = now - FLOW_WHEEL;
	while (w->now < now)
		make_due(w, (uint32_t)(++w->now % FLOW_WHEEL));
}

void flow_wheel_hurry(struct flow_wheel *w)
{
	for (uint32_t i = 0; i < FLOW_WHEEL; i++)
		make_due(w, i);
}

struct flow_node *flow_wheel_take(struct flow_wheel *w)
{
	struct flow_node *n = TAILQ_FIRST(&w->slots[FLOW_WHEEL]);

	if (n)
		TAILQ_REMOVE(&w->slots[FLOW_WHEEL], n, in_wheel);
	return n;
}
