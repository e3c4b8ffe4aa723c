/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: operations in order, several under way at once.
 *
 * VPP carries out everything that is sent, also after an operation that it refused. So operations
 * that add capacity (VIPs, servers, weight) may be under way together, and so may those that
 * remove it, but all answers are awaited between the two groups. So a refused addition is never
 * followed by the removal of what it was to replace, and a whole VIP costs two round trips.
 */
#include <assert.h>
#include <errno.h>

#include "base/cleanup.h"
#include "src/maglevd/dataplane/vpp/internal.h"

enum group { CONFIGURES, GIVES, TAKES };

static enum group group_of(const struct lb_op *op)
{
	switch (op->kind) {
	case LB_OP_CONF:
		return CONFIGURES;
	case LB_OP_VIP_ADD:
	case LB_OP_AS_ADD:
		return GIVES;
	case LB_OP_VIP_DEL:
	case LB_OP_AS_DEL:
		return TAKES;
	case LB_OP_AS_WEIGHT:
		return op->weight > op->old_weight ? GIVES : TAKES;
	}
	return TAKES;
}

/* VIPs and servers have routes, whose columns gather has to look up again. */
static bool changes_routes(const struct lb_op *op)
{
	return op->kind != LB_OP_CONF && op->kind != LB_OP_AS_WEIGHT;
}

/*
 * The first operation that failed counts, in the order of operations. Later ones of the same
 * group may have been carried out; the reconciler reads the state back after a failure.
 */
static void fail(struct vpplb__apply *a, size_t op, int err)
{
	if (a->err && a->failed_at < op)
		return;
	a->err = err;
	a->failed_at = op;
}

static void finish_if_over(struct dataplane *dp)
{
	struct vpplb__apply *a = &dp->apply;
	dataplane_applied_fn done = a->done;

	if (a->under_way || (!a->err && a->sent < a->n))
		return;
	for (size_t i = 0; i < a->sent; i++)
		if (changes_routes(&a->ops[i])) {
			vpplb__gather_moved(dp);
			break;
		}
	a->done = NULL;
	done(a->user, a->err, a->err ? a->failed_at : a->n);
}

/* Operations of another group wait until nothing is under way. */
static bool may_send(const struct vpplb__apply *a)
{
	if (a->err || a->sent == a->n || a->under_way == VPPLB__WINDOW)
		return false;
	return !a->under_way || group_of(&a->ops[a->sent]) == group_of(&a->ops[a->sent - 1]);
}

static void pump(struct dataplane *dp);

static void on_answer(void *user, struct vpp_reader *r)
{
	const struct vpplb__slot *slot = user;
	struct dataplane *dp = slot->dp;
	struct vpplb__apply *a = &dp->apply;
	const struct lb_op *op = &a->ops[slot->op];
	int32_t retval = vpp_get_i32(r);
	int err = vpplb_outcome(op, retval);

	if (r->bad)
		return;
	if (err) {
		struct buf unused = { 0 };

		vpplb__refused(dp, vpplb_messages[vpplb_encode(op, &unused)].answer, retval);
		buf_free(&unused);
		fail(a, slot->op, err);
	}
	a->under_way--;
	pump(dp);
	finish_if_over(dp);
}

/* A slot is free again after VPPLB__WINDOW operations, because VPP answers in order. */
static int send_one(struct dataplane *dp, size_t i)
{
	struct vpplb__slot *slot = &dp->apply.slots[i % VPPLB__WINDOW];
	_cleanup_(buf_free) struct buf fields = { 0 };
	int r = vpplb_check(&dp->apply.ops[i]);
	enum vpplb_message m;

	if (r < 0)
		return r;
	m = vpplb_encode(&dp->apply.ops[i], &fields);
	*slot = (struct vpplb__slot){ dp, i };
	return vpp_api_call(dp->api, &vpplb_messages[m], &fields, on_answer, slot);
}

/* Sends as many operations as may be sent now. */
static void pump(struct dataplane *dp)
{
	struct vpplb__apply *a = &dp->apply;

	while (may_send(a)) {
		int r = send_one(dp, a->sent);

		if (r < 0) {
			fail(a, a->sent, r);
			return;
		}
		a->sent++;
		a->under_way++;
	}
}

/*
 * If nothing could be sent, the failure is reported from the loop. After -ENOTCONN down()
 * follows.
 */
void vpplb__apply(struct dataplane *dp, const struct lb_op *ops, size_t n,
		  dataplane_applied_fn done, void *user)
{
	assert(dp->up && !dp->observe.done && !dp->apply.done && n > 0);
	dp->apply = (struct vpplb__apply){ .done = done, .user = user, .ops = ops, .n = n };
	pump(dp);
	if (!dp->apply.under_way && dp->apply.err != -ENOTCONN)
		ev_timer_start(dp->loop, &dp->tell);
}

void vpplb__apply_tell(struct dataplane *dp)
{
	finish_if_over(dp);
}

void vpplb__apply_drop(struct dataplane *dp)
{
	dp->apply = (struct vpplb__apply){ 0 };
}
