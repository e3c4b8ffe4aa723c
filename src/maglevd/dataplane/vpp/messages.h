/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages: the messages to VPP's lb plugin and its answers, as bytes. Pure.
 *
 * The fields are those of lib/vpp/api.h: what follows number, client and context. vpplb_check()
 * comes first, so that nothing is encoded that VPP would crash on or misinterpret.
 */
#pragma once

#include "core/diff/diff.h"
#include "lib/vpp/api.h"

enum vpplb_message {
	VPPLB_SET_WEIGHT, /* first: only a VPP that can be programmed has it */
	VPPLB_CONF,
	VPPLB_CONF_GET,
	VPPLB_VIP,
	VPPLB_AS,
	VPPLB_VIP_DUMP,
	VPPLB_AS_DUMP,
	VPPLB_PING,
	/* without the following ones only less is shown */
	VPPLB_VERSION,
	VPPLB_CLI,
	VPPLB_ROUTE,
};
#define VPPLB_MESSAGES 11
#define VPPLB_NEEDED VPPLB_VERSION /* the messages before this one */

extern const struct vpp_message vpplb_messages[VPPLB_MESSAGES];

/*
 * Whether op may be sent to VPP. -EINVAL: VPP would crash, or misinterpret it; no validated
 * configuration leads to such an op.
 */
int vpplb_check(const struct lb_op *op);
/*
 * Appends the fields of op, which must have passed the check; returns which message they belong
 * to.
 */
enum vpplb_message vpplb_encode(const struct lb_op *op, struct buf *fields);
/* Dumps of everything, because VPP's own filters do not work. */
void vpplb_encode_vip_dump(struct buf *fields);
void vpplb_encode_as_dump(struct buf *fields);
void vpplb_encode_cli(const char *command, struct buf *fields);
/* Looks up the route of exactly this host. */
void vpplb_encode_route(const struct addr *host, struct buf *fields);

/* 0 when VPP's answer means that op holds now, else a negative errno. */
int vpplb_outcome(const struct lb_op *op, int32_t retval);

/*
 * The decoders leave r bad when the message is too short; *ret is then undefined. Those that
 * return an int32_t return VPP's return value, 0 for success.
 */
int32_t vpplb_decode_conf(struct vpp_reader *r, struct lb_conf *ret); /* VPP's return value */

struct vpplb_vip {
	struct lb_vip_key key;
	bool host; /* a single address; VIPs of a longer prefix are not ours */
	enum lb_encap encap;
	uint32_t table_length; /* 0: the message has no room for it (65536) */
};
void vpplb_decode_vip(struct vpp_reader *r, struct vpplb_vip *ret);

struct vpplb_as {
	struct lb_vip_key vip;
	bool host;
	struct addr address;
	bool used; /* false: deleted, and waiting for VPP's garbage collection */
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
 * Whether the VPP with this table of messages can be programmed. If not, problem gets one
 * sentence that names what is missing.
 */
bool vpplb_supported(const struct vpp_table *t, struct buf *problem);
