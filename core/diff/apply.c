/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: the meaning of an operation, on a state in memory.
 *
 * The record of flushes is kept here: a flush that was done stays valid while the weight is 0,
 * because such an AS gets no new flows. Every operation that lets flows in again clears it.
 */
#include "core/diff/diff.h"

#include <assert.h>

#include "base/cleanup.h"

/* vip is the VIP of the operation in s, or NULL if it is not there. */
typedef bool (*apply_fn)(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op);

static bool apply_conf(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op)
{
	s->has_conf = true;
	s->conf = op->conf;
	return true;
}

static bool apply_vip_add(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op)
{
	if (vip)
		return false;
	vip = lb_state_put_vip(s, &op->vip);
	vip->encap = op->encap;
	vip->src_ip_sticky = op->src_ip_sticky;
	vip->table_length = op->table_length;
	return true;
}

static bool apply_vip_del(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op)
{
	return vip && vip->as.n == 0 && lb_state_remove_vip(s, &op->vip);
}

static bool apply_as_add(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op)
{
	if (!vip || lb_vip_as(vip, &op->as))
		return false;
	lb_vip_put_as(vip, &op->as)->weight = op->weight;
	return true;
}

static bool apply_as_del(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op)
{
	return vip && lb_vip_remove_as(vip, &op->as);
}

/*
 * The weight decides whether a flush is remembered: at a weight above 0 new flows arrive at once.
 */
static bool apply_as_weight(struct lb_state *s, struct lb_vip *vip, const struct lb_op *op)
{
	struct lb_as *as = vip ? lb_vip_as(vip, &op->as) : NULL;

	if (!as)
		return false;
	as->weight = op->weight;
	as->flush = op->flush && op->weight == 0;
	if (op->weight)
		as->idle_since = 0;
	return true;
}

bool lb_state_apply(struct lb_state *s, const struct lb_op *op)
{
	static const apply_fn verbs[LB_OP_KINDS] = {
		[LB_OP_CONF] = apply_conf,	 [LB_OP_VIP_ADD] = apply_vip_add,
		[LB_OP_VIP_DEL] = apply_vip_del, [LB_OP_AS_ADD] = apply_as_add,
		[LB_OP_AS_DEL] = apply_as_del,	 [LB_OP_AS_WEIGHT] = apply_as_weight,
	};

	assert((size_t)op->kind < ARRAY_SIZE(verbs));
	return verbs[op->kind](s, lb_state_vip(s, &op->vip), op);
}
