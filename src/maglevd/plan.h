/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: computes what to do for one VIP, from the model and the observed state, and the order in
 * which VIPs are visited. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "core/diff/diff.h"
#include "core/l4/desired.h"
#include "core/l4/lb.h"
#include "core/l4/model.h"

/* The frontends that are programmed (those with pools), sorted by VIP key. */
struct plan_order {
	size_t *frontends; /* position -> frontend */
	size_t *positions; /* frontend -> position; SIZE_MAX when not programmed */
	size_t n;
};

/* Replaces what o holds; o must be zero or built. */
void plan_order_build(struct plan_order *o, const struct l4_config *c);
void plan_order_free(struct plan_order *o);
/* The frontend with that key; SIZE_MAX if there is none. */
size_t plan_order_find(const struct plan_order *o, const struct l4_config *c,
		       const struct lb_vip_key *key);

/* A flush that the operator requested, once, independent of health. */
struct plan_flush {
	struct lb_vip_key vip;
	struct addr as;
	/* part of the operations that are being applied */
	bool under_way;
};

/* At most one for each AS of the configuration: a second request joins the one that waits. */
struct plan_flushes {
	VEC(struct plan_flush) list;
};

/* Remembers a flush of a backend in a frontend. */
void plan_flush_ask(struct plan_flushes *flushes, const struct l4_config *c, size_t frontend,
		    size_t backend);
/* Forgets the flushes whose AS is not in this configuration. */
void plan_flushes_keep(struct plan_flushes *flushes, const struct plan_order *o,
		       const struct l4_config *c);

/* What a plan depends on; all borrowed. */
struct plan_facts {
	const struct l4_model *model;
	const struct lb_state *observed;
	struct plan_flushes *flushes; /* plan_frontend() marks those of its VIP as under way */
	/* the all-down guard is active: weights are not lowered */
	bool guard;
};

/* Appends the operations that bring the VIP of a frontend into line; none if it is. */
void plan_frontend(const struct plan_facts *facts, size_t frontend, struct lb_ops *out);

struct plan_step {
	struct lb_vip_key key;
	size_t frontend; /* SIZE_MAX: the VIP is observed, but not configured */
};

/*
 * The first VIP, configured or observed, after *after (NULL: the first of all). False at the end.
 */
bool plan_next(const struct plan_order *o, const struct plan_facts *facts,
	       const struct lb_vip_key *after, struct plan_step *ret);

/*
 * Everything at once, including the global configuration and the removal of VIPs that are not
 * configured. For showing: it may take long with many VIPs.
 */
void plan_everything(const struct plan_order *o, const struct plan_facts *facts,
		     struct lb_ops *out);
