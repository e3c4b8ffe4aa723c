/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change of a VIP: the VIP is marked as changing, its servers are written, its table is built and
 * put in use, flows are ended, removed servers are freed, and the mark is removed. A maglevd that
 * finds the mark after a crash builds the table again from the servers in the maps.
 *
 * A server that is to be removed gets weight 0 first, so that the new table does not contain it.
 */
#include "src/maglevd/dataplane/xdp/run.h"

#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"

typedef int (*op_fn)(struct xdplb_run *run, const struct lb_op *op);

void xdplb__run_begin(struct xdplb_run *run, struct xdplb_inventory *inventory,
		      const struct lb_op *ops, size_t n)
{
	assert(!run->inventory);
	run->inventory = inventory;
	run->ops = ops;
	run->n = n;
	run->done = 0;
	run->err = 0;
	run->vip = 0;
}

/* The mark is written before anything of the change, so that a crash at any point is noticed. */
static void change_begin(struct xdplb_run *run, uint32_t vip)
{
	run->vip = vip;
	run->first = run->done;
	run->ended = run->rebuild = false;
	run->flush.n = run->gone.n = 0;
	xdplb__inventory_set_changing(run->inventory, vip, true);
}

void xdplb__run_begin_repair(struct xdplb_run *run, struct xdplb_inventory *inventory, uint32_t vip)
{
	xdplb__run_begin(run, inventory, NULL, 0);
	change_begin(run, vip);
	run->rebuild = run->ended = true;
}

static int run_conf(struct xdplb_run *run, const struct lb_op *op)
{
	return xdplb__inventory_conf(run->inventory, &op->conf);
}

static int run_vip_add(struct xdplb_run *run, const struct lb_op *op)
{
	return xdplb__inventory_vip_add(run->inventory, op);
}

/* A VIP with servers is refused: their ids would refer to a VIP that is gone. */
static int run_vip_del(struct xdplb_run *run, const struct lb_op *op)
{
	uint32_t vip = xdplb__inventory_vip(run->inventory, &op->vip);

	if (!vip)
		return -ENOENT;
	if (run->inventory->vips[vip].servers.n)
		return -EBUSY;
	xdplb__inventory_vip_del(run->inventory, vip);
	return 0;
}

/* A server of weight 0 is in no table, so the table need not be built again. */
static int run_as_add(struct xdplb_run *run, const struct lb_op *op)
{
	uint32_t id;
	int r = xdplb__inventory_server_add(run->inventory, run->vip, op, &id);

	if (r == 0 && op->weight)
		run->rebuild = true;
	return r;
}

/* Flows are ended in change_end(), when no packet can be sent to the server by the old table. */
static int run_as_weight(struct xdplb_run *run, const struct lb_op *op)
{
	uint32_t id = xdplb__inventory_server(run->inventory, run->vip, &op->as);
	struct abi_as *s = &run->inventory->maps->servers[id];

	if (!id)
		return -ENOENT;
	if ((s->weight & ABI_AS_WEIGHT) != op->weight)
		run->rebuild = true;
	s->weight = op->weight; /* and not ABI_AS_FLUSHED */
	if (op->flush)
		vec_push(&run->flush, (uint16_t)id);
	return 0;
}

/* The server is only noted here; it is removed in change_end(), when no table names it any more. */
static int run_as_del(struct xdplb_run *run, const struct lb_op *op)
{
	uint32_t id = xdplb__inventory_server(run->inventory, run->vip, &op->as);
	struct abi_as *s = &run->inventory->maps->servers[id];

	if (!id)
		return -ENOENT;
	if (s->weight & ABI_AS_WEIGHT)
		run->rebuild = true;
	s->weight = 0;
	vec_push(&run->gone, (uint16_t)id);
	return 0;
}

static const struct {
	op_fn run;
	bool on_server; /* can be part of a change of a VIP */
} verbs[LB_OP_KINDS] = {
	[LB_OP_CONF] = { run_conf, false },	  [LB_OP_VIP_ADD] = { run_vip_add, false },
	[LB_OP_VIP_DEL] = { run_vip_del, false }, [LB_OP_AS_ADD] = { run_as_add, true },
	[LB_OP_AS_DEL] = { run_as_del, true },	  [LB_OP_AS_WEIGHT] = { run_as_weight, true },
};

/* A server that is removed and added again in one request needs two changes. */
static bool is_going(const struct xdplb_run *run, const struct addr *address)
{
	uint32_t id = xdplb__inventory_server(run->inventory, run->vip, address);

	for (size_t i = 0; i < run->gone.n; i++)
		if (run->gone.items[i] == id)
			return true;
	return false;
}

/* Whether the next operation is part of the change under way. */
static bool belongs(const struct xdplb_run *run)
{
	const struct lb_op *op;

	if (run->err || run->done == run->n)
		return false;
	op = &run->ops[run->done];
	return verbs[op->kind].on_server &&
	       lb_vip_key_cmp(&op->vip, &run->inventory->vips[run->vip].key) == 0 &&
	       !is_going(run, &op->as);
}

/* The new table is in use: flows are ended, removed servers are freed, then the mark is removed. */
static void change_end(struct xdplb_run *run)
{
	for (size_t i = 0; i < run->flush.n; i++)
		xdplb__inventory_flush(run->inventory, run->flush.items[i]);
	for (size_t i = 0; i < run->gone.n; i++)
		xdplb__inventory_server_del(run->inventory, run->gone.items[i]);
	xdplb__inventory_set_changing(run->inventory, run->vip, false);
	run->vip = 0;
}

/* Carries out the next operation. -EAGAIN leaves it to be tried again when a place is free. */
static enum xdplb_pace one_op(struct xdplb_run *run)
{
	const struct lb_op *op = &run->ops[run->done];
	int r;

	assert((size_t)op->kind < ARRAY_SIZE(verbs));
	if (verbs[op->kind].on_server && !run->vip) {
		uint32_t vip = xdplb__inventory_vip(run->inventory, &op->vip);

		if (!vip) {
			run->err = -ENOENT;
			return PLANE_MORE;
		}
		change_begin(run, vip);
	}
	r = verbs[op->kind].run(run, op);
	if (r == -EAGAIN)
		return PLANE_WAIT;
	if (r < 0)
		run->err = r;
	else
		run->done++;
	return PLANE_MORE;
}

/* Without a table no operation of the change counts as done. The VIP stays marked in the maps. */
static enum xdplb_pace change_failed(struct xdplb_run *run, int err)
{
	run->err = err;
	run->done = run->first;
	run->vip = 0;
	run->inventory->full = "tables";
	return PLANE_MORE;
}

/* Operations first, then the table, then the end of the change. */
static enum xdplb_pace change_step(struct xdplb_run *run)
{
	int r = 0;

	if (!run->ended && belongs(run))
		return one_op(run);
	run->ended = true;
	if (run->rebuild) {
		if (!run->table->inventory)
			r = xdplb__table_begin(run->table, run->inventory, run->vip);
		if (r < 0)
			return r == -EAGAIN ? PLANE_WAIT : change_failed(run, r);
		if (!xdplb__table_step(run->table))
			return PLANE_MORE;
	}
	change_end(run);
	return PLANE_MORE;
}

/* After an error a change under way is still completed with the operations done so far. */
enum xdplb_pace xdplb__run_step(struct xdplb_run *run)
{
	assert(run->inventory);
	if (run->vip)
		return change_step(run);
	if (!run->err && run->done < run->n)
		return one_op(run);
	run->inventory = NULL;
	return PLANE_DONE;
}

/* The table builder is shared with xdplb_remake: it is stopped only if it is used here. */
void xdplb__run_stop(struct xdplb_run *run)
{
	if (run->inventory)
		xdplb__table_stop(run->table);
	run->inventory = NULL;
	run->vip = 0;
}

void xdplb__run_free(struct xdplb_run *run)
{
	xdplb__run_stop(run);
	vec_free(&run->flush);
	vec_free(&run->gone);
}
