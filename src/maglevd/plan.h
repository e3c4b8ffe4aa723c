/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: facts to wanted to difference, for one VIP at a time, and the order in which VIPs are
 * walked. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "core/diff/diff.h"
#include "core/l4/desired.h"
#include "core/l4/lb.h"
#include "core/l4/model.h"

/* The frontends that are programmed, by VIP key. */
struct plan_order {
	size_t *frontends; /* position -> frontend */
	size_t *positions; /* frontend -> position; SIZE_MAX when not programmed */
	size_t n;
};

void plan_order_build(struct plan_order *o, const struct l4_config *c);
void plan_order_free(struct plan_order *o);
/* The frontend with that key; SIZE_MAX if none. */
size_t plan_order_find(const struct plan_order *o, const struct l4_config *c,
		       const struct lb_vip_key *key);

/* A flush that the operator asked for, once, beside whatever health says. */
struct plan_flush {
	struct lb_vip_key vip;
	struct addr as;
	bool under_way;
};

/* At most one for each AS of the configuration: one that still waits is not asked for twice. */
struct plan_flushes {
	VEC(struct plan_flush) list;
};

void plan_flush_ask(struct plan_flushes *flushes, const struct l4_config *c, size_t frontend,
		    size_t backend);
/* Another configuration: those of an AS that it does not have are forgotten. */
void plan_flushes_keep(struct plan_flushes *flushes, const struct plan_order *o,
		       const struct l4_config *c);

struct plan_facts {
	const struct l4_model *model;
	const struct lb_state *observed;
	struct plan_flushes *flushes; /* those of the VIP are marked under way */
	bool guard;
};

/* What makes the VIP of a frontend as it should be. Nothing to do adds nothing. */
void plan_frontend(const struct plan_facts *facts, size_t frontend, struct lb_ops *out);

struct plan_step {
	struct lb_vip_key key;
	size_t frontend; /* SIZE_MAX: the VIP is there but nobody asks for it */
};

/* The first VIP, wanted or observed, behind *after (NULL: the very first). False at the end. */
bool plan_next(const struct plan_order *o, const struct plan_facts *facts,
	       const struct lb_vip_key *after, struct plan_step *ret);

/* All of it at once, conf and what nobody asks for included: for showing, not for doing. */
void plan_everything(const struct plan_order *o, const struct plan_facts *facts,
		     struct lb_ops *out);
