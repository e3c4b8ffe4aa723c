/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages: what is said to VPP's lb plugin and what it answers, as bytes. Pure.
 *
 * Fields are those of lib/vpp/api.h: what follows number, client and context. Nothing is encoded
 * that VPP would crash on or misread: vpplb_check() comes first.
 */
#pragma once

#include "core/diff/diff.h"
#include "lib/vpp/api.h"

enum vpplb_message {
	VPPLB_SET_WEIGHT, /* first: the one that tells a VPP that can be programmed */
	VPPLB_CONF,
	VPPLB_CONF_GET,
	VPPLB_VIP,
	VPPLB_AS,
	VPPLB_VIP_DUMP,
	VPPLB_AS_DUMP,
	VPPLB_PING,
	/* without those that follow there is less to show */
	VPPLB_VERSION,
	VPPLB_CLI,
	VPPLB_ROUTE,
};
#define VPPLB_MESSAGES 11
#define VPPLB_NEEDED VPPLB_VERSION /* all before it */

extern const struct vpp_message vpplb_messages[VPPLB_MESSAGES];

/*
 * Whether VPP may be told what op says. -EINVAL: it would crash, or take it for something else; no
 * configuration that was validated leads to such an op.
 */
int vpplb_check(const struct lb_op *op);
/* Adds the fields of op, which passed the check; returns which message they are of. */
enum vpplb_message vpplb_encode(const struct lb_op *op, struct buf *fields);
/* Everything: VPP's own filters do not work. */
void vpplb_encode_vip_dump(struct buf *fields);
void vpplb_encode_as_dump(struct buf *fields);
void vpplb_encode_cli(const char *command, struct buf *fields);
/* The route of one host. */
void vpplb_encode_route(const struct addr *host, struct buf *fields);

/* 0 when VPP's answer means that op holds now, else a negative errno. */
int vpplb_outcome(const struct lb_op *op, int32_t retval);

/* All leave r bad when the message is shorter than it must be, and *ret is then worth nothing. */
int32_t vpplb_decode_conf(struct vpp_reader *r, struct lb_conf *ret); /* the return value */

struct vpplb_vip {
	struct lb_vip_key key;
	bool host; /* a single address; others are not ours, and have no place in a key */
	enum lb_encap encap;
	uint32_t table_length; /* 0: not told */
};
void vpplb_decode_vip(struct vpp_reader *r, struct vpplb_vip *ret);

struct vpplb_as {
	struct lb_vip_key vip;
	bool host;
	struct addr address;
	bool used; /* false: deleted, and only waiting to be collected */
	uint8_t weight;
	uint32_t buckets;
};
void vpplb_decode_as(struct vpp_reader *r, struct vpplb_as *ret);

struct vpplb_version {
	struct str version, build_date, build_directory; /* within the message */
};
int32_t vpplb_decode_version(struct vpp_reader *r, struct vpplb_version *ret);
int32_t vpplb_decode_pid(struct vpp_reader *r, uint32_t *ret);

struct vpplb_cli {
	int32_t retval;
	struct str text; /* within the message */
};
struct vpplb_cli vpplb_decode_cli(struct vpp_reader *r);
/* The column of the route's counters; VPP_NO_COLUMN when there is no such route. */
uint32_t vpplb_decode_route(struct vpp_reader *r);

/*
 * Whether the VPP that told this table can be programmed. If not, one sentence that says what is
 * missing.
 */
bool vpplb_supported(const struct vpp_table *t, struct buf *problem);
