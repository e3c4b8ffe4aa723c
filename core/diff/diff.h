/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: from wanted and observed to a list of operations, in an order that two instances share
 * (NFR-2.1) and that never passes through all weights zero.
 *
 * VIPs by address, protocol, port. Within a VIP two passes, each in AS order: first adds and
 * raises, then lowers (drains and flushes among them) and removals. A VIP whose encapsulation,
 * stickiness or length of table changed is torn down (ASes with flush, then the VIP) and made
 * anew, as that is the only way a data plane takes it. An AS that is not wanted any more is deleted
 * with flush.
 *
 * A wanted flush is sent unless it is known to be done, also where the weight does not change, and
 * also after an add: data planes hand a forgotten AS its old place back, flows and all.
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

struct lb_op {
	enum lb_op_kind kind;
	struct lb_vip_key vip; /* all but CONF */
	struct lb_conf conf;   /* CONF */
	enum lb_encap encap;   /* VIP_ADD */
	bool src_ip_sticky;    /* VIP_ADD */
	uint32_t table_length; /* VIP_ADD; 0: the data plane's own affair */
	struct addr as;	       /* AS_* */
	uint8_t weight;	       /* AS_ADD, AS_WEIGHT */
	uint8_t old_weight;    /* AS_WEIGHT, AS_DEL: what was observed */
	bool flush;	       /* AS_DEL, AS_WEIGHT */
};

struct lb_ops {
	VEC(struct lb_op) list;
};

void diff_conf(const struct lb_conf *want, const struct lb_state *have, struct lb_ops *out);
/* have may be NULL: the VIP is not there. */
void diff_vip(const struct lb_vip *want, const struct lb_vip *have, struct lb_ops *out);
/* The operations that remove a VIP: ASes with flush, then the VIP. */
void diff_remove_vip(const struct lb_vip *have, struct lb_ops *out);

const char *lb_op_kind_name(enum lb_op_kind k); /* "conf", "vip-add", "as-weight", ... */
/* One line, no newline: "as-weight 198.51.100.10:80/tcp 10.0.0.11 100->0 flush". */
void lb_op_print(const struct lb_op *op, struct buf *out);

/*
 * What a state is after op. False, and s untouched, when op does not fit: an add of what is there,
 * a change or removal of what is not, the removal of a VIP that still has ASes.
 */
bool lb_state_apply(struct lb_state *s, const struct lb_op *op);
