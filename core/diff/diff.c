/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: from wanted and observed state to a list of operations.
 *
 * Both sides are sorted, so a VIP is one walk over pairs of ASes: one that is only wanted is new,
 * one that is only observed is stale, and a pair may differ. The walk is made twice. The first
 * pass emits only adds and raises, the second only lowers and removals. If the list is carried
 * out step by step, there is never less in service than the smaller of what was there and what is
 * wanted.
 *
 * Operations are plain values, without pointers into either side. lb_state_apply() defines what
 * each of them means.
 */
#include "core/diff/diff.h"

#include <assert.h>

#include "base/cleanup.h"

static const char *const kind_names[LB_OP_KINDS] = {
	[LB_OP_CONF] = "conf",	   [LB_OP_VIP_ADD] = "vip-add", [LB_OP_VIP_DEL] = "vip-del",
	[LB_OP_AS_ADD] = "as-add", [LB_OP_AS_DEL] = "as-del",	[LB_OP_AS_WEIGHT] = "as-weight",
};

/* ---- the walk ---- */

/* A position in both lists of ASes. */
struct walk {
	const struct lb_vip *want, *have; /* have may be NULL */
	size_t w, h;
};

/* The ASes of one address: at least one of the two is set. */
struct pair {
	const struct lb_as *want, *have;
};

/* The usual merge step: the smaller address comes first, equal addresses form one pair. */
static bool next_pair(struct walk *walk, struct pair *ret)
{
	const struct lb_as *want =
		walk->w < walk->want->as.n ? &walk->want->as.items[walk->w] : NULL;
	const struct lb_as *have =
		walk->have && walk->h < walk->have->as.n ? &walk->have->as.items[walk->h] : NULL;
	int order = want && have ? addr_cmp(&want->address, &have->address) : 0;

	if (order < 0)
		have = NULL;
	else if (order > 0)
		want = NULL;
	walk->w += want != NULL;
	walk->h += have != NULL;
	*ret = (struct pair){ want, have };
	return want || have;
}

/*
 * The weight that the AS is to have. Under the all-down guard it keeps the weight it has; an AS
 * that does not exist yet is then added with weight 0.
 */
static uint8_t target(const struct pair *p)
{
	if (p->want->hold)
		return p->have ? p->have->weight : 0;
	return p->want->weight;
}

/* ---- operations ---- */

static void push_add(struct lb_ops *out, const struct lb_vip *vip, const struct pair *p)
{
	vec_push(&out->list, (struct lb_op){
				     .kind = LB_OP_AS_ADD,
				     .vip = vip->key,
				     .as = p->want->address,
				     .weight = target(p),
			     });
}

static void push_weight(struct lb_ops *out, const struct lb_vip *vip, const struct pair *p)
{
	vec_push(&out->list, (struct lb_op){
				     .kind = LB_OP_AS_WEIGHT,
				     .vip = vip->key,
				     .as = p->want->address,
				     .weight = target(p),
				     .old_weight = p->have ? p->have->weight : target(p),
				     .flush = p->want->flush,
			     });
}

/*
 * Deletions always flush: the data plane would otherwise keep sending known flows
 * to the old server.
 */
static void push_delete(struct lb_ops *out, const struct lb_vip *vip, const struct lb_as *have)
{
	vec_push(&out->list, (struct lb_op){
				     .kind = LB_OP_AS_DEL,
				     .vip = vip->key,
				     .as = have->address,
				     .old_weight = have->weight,
				     .flush = true,
			     });
}

/*
 * Creates a VIP. held is the old VIP if it was torn down for this, because the guard keeps its
 * weights; otherwise NULL. Flushes come last, after all ASes are in service.
 */
static void build_vip(const struct lb_vip *want, const struct lb_vip *held, struct lb_ops *out)
{
	struct walk walk = { .want = want, .have = held };
	struct pair p;

	vec_push(&out->list, (struct lb_op){
				     .kind = LB_OP_VIP_ADD,
				     .vip = want->key,
				     .encap = want->encap,
				     .src_ip_sticky = want->src_ip_sticky,
				     .table_length = want->table_length,
			     });
	while (next_pair(&walk, &p))
		if (p.want)
			push_add(out, want, &p);

	for (size_t i = 0; i < want->as.n; i++)
		if (want->as.items[i].flush)
			push_weight(out, want, &(struct pair){ .want = &want->as.items[i] });
}

/* First pass. A raise also carries a wanted flush, so the second pass can leave the AS alone. */
static void add_and_raise(const struct lb_vip *want, const struct lb_vip *have, struct lb_ops *out)
{
	struct walk walk = { .want = want, .have = have };
	struct pair p;

	while (next_pair(&walk, &p)) {
		if (p.want && !p.have)
			push_add(out, want, &p);
		else if (p.want && target(&p) > p.have->weight)
			push_weight(out, want, &p);
	}
}

/*
 * Whether the second pass has to touch a wanted AS. Raises were handled in the first pass; a new AS
 * is touched only if a flush is wanted. At an equal weight a flush is sent until it is known done.
 */
static bool lowers(const struct pair *p)
{
	if (!p->have)
		return p->want->flush;
	if (target(p) != p->have->weight)
		return target(p) < p->have->weight;
	return p->want->flush && !p->have->flush;
}

static void lower_and_remove(const struct lb_vip *want, const struct lb_vip *have,
			     struct lb_ops *out)
{
	struct walk walk = { .want = want, .have = have };
	struct pair p;

	while (next_pair(&walk, &p)) {
		if (!p.want)
			push_delete(out, want, p.have);
		else if (lowers(&p))
			push_weight(out, want, &p);
	}
}

/*
 * Whether a property differs that a data plane accepts only when a VIP is created. A table length
 * of 0 is unknown on that side and is not compared.
 */
static bool made_differently(const struct lb_vip *want, const struct lb_vip *have)
{
	bool lengths_known = want->table_length && have->table_length;

	return want->encap != have->encap || want->src_ip_sticky != have->src_ip_sticky ||
	       (lengths_known && want->table_length != have->table_length);
}

void diff_conf(const struct lb_conf *want, const struct lb_state *have, struct lb_ops *out)
{
	if (have->has_conf && lb_conf_equal(want, &have->conf))
		return;
	vec_push(&out->list, (struct lb_op){ .kind = LB_OP_CONF, .conf = *want });
}

void diff_vip(const struct lb_vip *want, const struct lb_vip *have, struct lb_ops *out)
{
	assert(!have || lb_vip_key_cmp(&want->key, &have->key) == 0);

	if (!have) {
		build_vip(want, NULL, out);
	} else if (made_differently(want, have)) {
		diff_remove_vip(have, out);
		build_vip(want, have, out);
	} else {
		add_and_raise(want, have, out);
		lower_and_remove(want, have, out);
	}
}

void diff_remove_vip(const struct lb_vip *have, struct lb_ops *out)
{
	for (size_t i = 0; i < have->as.n; i++)
		push_delete(out, have, &have->as.items[i]);
	vec_push(&out->list, (struct lb_op){ .kind = LB_OP_VIP_DEL, .vip = have->key });
}

/* ---- one line for people ---- */

const char *lb_op_kind_name(enum lb_op_kind k)
{
	assert((size_t)k < ARRAY_SIZE(kind_names));
	return kind_names[k];
}

static void print_conf(const struct lb_conf *c, struct buf *out)
{
	char src4[ADDR_STRLEN], src6[ADDR_STRLEN];

	buf_printf(out, "%s %s buckets %u timeout %us", addr_format(&c->src4, src4),
		   addr_format(&c->src6, src6), c->sticky_buckets_per_core, c->flow_timeout_s);
}

void lb_op_print(const struct lb_op *op, struct buf *out)
{
	char vip[LB_VIP_KEY_STRLEN], as[ADDR_STRLEN];

	lb_vip_key_format(&op->vip, vip);
	addr_format(&op->as, as);
	buf_printf(out, "%s ", lb_op_kind_name(op->kind));
	switch (op->kind) {
	case LB_OP_CONF:
		print_conf(&op->conf, out);
		break;
	case LB_OP_VIP_ADD:
		buf_printf(out, "%s %s%s", vip, lb_encap_name(op->encap),
			   op->src_ip_sticky ? " src-ip-sticky" : "");
		break;
	case LB_OP_VIP_DEL:
		buf_adds(out, vip);
		break;
	case LB_OP_AS_ADD:
		buf_printf(out, "%s %s %u", vip, as, op->weight);
		break;
	case LB_OP_AS_DEL:
		buf_printf(out, "%s %s %u%s", vip, as, op->old_weight, op->flush ? " flush" : "");
		break;
	case LB_OP_AS_WEIGHT:
		buf_printf(out, "%s %s %u->%u%s", vip, as, op->old_weight, op->weight,
			   op->flush ? " flush" : "");
		break;
	}
}
