/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: from wanted and observed state to a list of operations, in an order that two instances
 * share (NFR-2.1) and that never passes through a state in which all weights are zero.
 *
 * VIPs are ordered by address, protocol, port. Within a VIP there are two passes, each in AS
 * order: first adds and raises, then lowers (including drains and flushes) and removals. A VIP
 * whose encapsulation, stickiness or table length changed is torn down (ASes with flush, then the
 * VIP) and created again, because a data plane accepts these only at creation. An AS that is no
 * longer wanted is deleted with flush.
 *
 * A wanted flush is sent unless it is known to be done, even if the weight does not change, and
 * even after an add: data planes may give an AS that was deleted its old slot back, together with
 * its flows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"
#include "core/l4/lb.h"

enum lb_op_kind {
	LB_OP_CONF,
	LB_OP_VIP_ADD,
	LB_OP_VIP_DEL,
	LB_OP_AS_ADD,
	LB_OP_AS_DEL,
	LB_OP_AS_WEIGHT
};
#define LB_OP_KINDS 6

/* A plain value without pointers. The comment of a member names the kinds that use it. */
struct lb_op {
	enum lb_op_kind kind;
	struct lb_vip_key vip; /* all but CONF */
	struct lb_conf conf;   /* CONF */
	enum lb_encap encap;   /* VIP_ADD */
	bool src_ip_sticky;    /* VIP_ADD */
	uint32_t table_length; /* VIP_ADD; 0: the data plane decides */
	struct addr as;	       /* AS_* */
	uint8_t weight;	       /* AS_ADD, AS_WEIGHT */
	uint8_t old_weight;    /* AS_WEIGHT, AS_DEL: what was observed */
	bool flush;	       /* AS_DEL, AS_WEIGHT */
};

/* Ordered; the caller frees list with vec_free(). */
struct lb_ops {
	VEC(struct lb_op) list;
};

/* Appends LB_OP_CONF if the wanted global settings are not those observed. */
void diff_conf(const struct lb_conf *want, const struct lb_state *have, struct lb_ops *out);
/*
 * Appends the operations that turn have into want. have may be NULL if the VIP does not exist;
 * otherwise both have the same key.
 */
void diff_vip(const struct lb_vip *want, const struct lb_vip *have, struct lb_ops *out);
/* Appends the operations that remove a VIP: its ASes with flush, then the VIP. */
void diff_remove_vip(const struct lb_vip *have, struct lb_ops *out);

const char *lb_op_kind_name(enum lb_op_kind k); /* "conf", "vip-add", "as-weight", ... */
/* One line, no newline: "as-weight 198.51.100.10:80/tcp 10.0.0.11 100->0 flush". */
void lb_op_print(const struct lb_op *op, struct buf *out);

/*
 * Applies op to s. Returns false, with s untouched, if op does not fit: an add of something that
 * exists, a change or removal of something that does not, the removal of a VIP that still has ASes.
 */
bool lb_state_apply(struct lb_state *s, const struct lb_op *op);
