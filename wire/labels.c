/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/labels.h"

#include <assert.h>

static const struct k8s_field expression_fields[] = {
	K8S_FIELD("key", K8S_NAME, struct wire_expression, key),
	K8S_FIELD("operator", K8S_NAME, struct wire_expression, op),
	K8S_FIELD("values", K8S_STRINGS, struct wire_expression, values),
};
const struct k8s_layout wire_expression_layout =
	K8S_LAYOUT(struct wire_expression, expression_fields);

static const struct k8s_field selector_fields[] = {
	K8S_FIELD("matchLabels", K8S_MAP, struct wire_selector, labels),
	K8S_FIELD("matchExpressions", K8S_LIST, struct wire_selector, expressions,
		  .of = &wire_expression_layout),
};
const struct k8s_layout wire_selector_layout = K8S_LAYOUT(struct wire_selector, selector_fields);

/* A list of pairs is handed over as it is. */
static_assert(sizeof(struct label) == sizeof(struct k8s_pair), "the same struct");
static_assert(offsetof(struct label, key) == offsetof(struct k8s_pair, key), "the same struct");
static_assert(offsetof(struct label, value) == offsetof(struct k8s_pair, value), "the same struct");

struct labels wire_labels(const struct k8s_list *map)
{
	return (struct labels){ map->items, map->n };
}

static struct labels_requirement of_label(const struct k8s_pair *pair, struct arena *arena)
{
	const char **value = arena_array_of(arena, 1, const char *);

	*value = pair->value;
	return (struct labels_requirement){
		.key = pair->key, .op = LABELS_IN, .values = value, .n_values = 1
	};
}

static struct labels_requirement of_expression(const struct wire_expression *e)
{
	return (struct labels_requirement){
		.key = e->key ? e->key : "",
		.op = labels_operator_of(e->op),
		.word = e->op ? e->op : "",
		.values = e->values.items,
		.n_values = e->values.n,
	};
}

struct labels_selector wire_selector(const struct wire_selector *s, struct arena *arena)
{
	const struct k8s_pair *pairs = s->labels.items;
	const struct wire_expression *expressions = s->expressions.items;
	size_t n = s->labels.n + s->expressions.n, at = 0;
	struct labels_requirement *items = arena_array_of(arena, n, struct labels_requirement);

	for (size_t i = 0; i < s->labels.n; i++)
		items[at++] = of_label(&pairs[i], arena);
	for (size_t i = 0; i < s->expressions.n; i++)
		items[at++] = of_expression(&expressions[i]);
	return (struct labels_selector){ items, n };
}

struct labels_selectors wire_selectors(const struct k8s_list *list, struct arena *arena)
{
	const struct wire_selector *from = list->items;
	struct labels_selector *items = arena_array_of(arena, list->n, struct labels_selector);

	for (size_t i = 0; i < list->n; i++)
		items[i] = wire_selector(&from[i], arena);
	return (struct labels_selectors){ items, list->n };
}
