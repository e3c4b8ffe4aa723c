/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: labels and selectors as objects of Kubernetes have them (metav1.LabelSelector), and what
 * core/labels makes of them.
 *
 *	struct pool { struct k8s_object object; struct k8s_list labels, namespaces;
 *		      struct wire_selector only; };
 *
 *	K8S_FIELD("metadata.labels", K8S_MAP, struct pool, labels),
 *	K8S_FIELD("spec.selectors", K8S_LIST, struct pool, namespaces, .of = &wire_selector_layout),
 *	WIRE_SELECTOR("spec.only", struct pool, only),
 */
#pragma once

#include "base/arena.h"
#include "core/labels/labels.h"
#include "lib/k8s/kind.h"

struct wire_selector {
	uint8_t present;	     /* K8S_YES: there is one. An element of a list always is. */
	struct k8s_list labels;	     /* matchLabels */
	struct k8s_list expressions; /* of struct wire_expression */
};

struct wire_expression {
	const char *key, *op;
	struct k8s_list values;
};

/* An element of a list of selectors. */
extern const struct k8s_layout wire_selector_layout;
extern const struct k8s_layout wire_expression_layout;

/* The fields of a single selector, for a table of fields. */
#define WIRE_SELECTOR(where, owner, member)                                                        \
	K8S_FIELD(where, K8S_PRESENT, owner, member.present),                                      \
		K8S_FIELD(where ".matchLabels", K8S_MAP, owner, member.labels),                    \
		K8S_FIELD(where ".matchExpressions", K8S_LIST, owner, member.expressions,          \
			  .of = &wire_expression_layout)

/* The labels of a K8S_MAP without a copy: valid as long as the object. */
struct labels wire_labels(const struct k8s_list *map);
/*
 * Requirements are in the arena, their texts are those of the object: both must outlive the result.
 */
struct labels_selector wire_selector(const struct wire_selector *s, struct arena *arena);
/* The same for a list of struct wire_selector. */
struct labels_selectors wire_selectors(const struct k8s_list *list, struct arena *arena);
