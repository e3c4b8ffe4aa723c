/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages: the lb plugin's API, version 1.2.0 with weights.
 *
 * Older plugins have most of the same messages with the same checksums but another meaning: an
 * IPv4 prefix becomes an IPv6 prefix there that attracts unrelated traffic. lb_as_set_weight was
 * added after those bugs were fixed, so its presence tells which VPP can be programmed.
 */
#include "src/maglevd/dataplane/vpp/messages.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "core/l4/config.h"
#include "lib/vpp/segment.h"

#define PROTOCOL_ALL_PORTS 255
#define AS_USED 0x01
#define WEIGHT_MAX 100
#define TABLE_LENGTH_MAX 65536
#define BUCKETS_MAX ((uint32_t)1 << 24)

/* VPP's numbers; the plugin's others are NAT and L3DSR. */
enum { ENCAP_GRE4, ENCAP_GRE6 };

/* VPP's API error numbers. */
enum { NO_SUCH_ENTRY = -6, MEMORY_SIZE = -70, ARGUMENT = -73, VALUE_EXIST = -81, FAMILY = -97 };

/* The names with the checksums of their definitions: VPP reports the same, and both must match. */
const struct vpp_message vpplb_messages[VPPLB_MESSAGES] = {
	[VPPLB_SET_WEIGHT] = { "lb_as_set_weight_2d89bdbd", "lb_as_set_weight_reply_e8d4e804" },
	[VPPLB_CONF] = { "lb_conf_56cd3261", "lb_conf_reply_e8d4e804" },
	[VPPLB_CONF_GET] = { "lb_conf_get_51077d14", "lb_conf_get_reply_923427ac" },
	[VPPLB_VIP] = { "lb_add_del_vip_v2_7c520e0f", "lb_add_del_vip_v2_reply_e8d4e804" },
	[VPPLB_AS] = { "lb_add_del_as_v2_2f1d3b0e", "lb_add_del_as_v2_reply_e8d4e804" },
	[VPPLB_VIP_DUMP] = { "lb_vip_dump_56110cb7", "lb_vip_details_1329ec9b" },
	[VPPLB_AS_DUMP] = { "lb_as_v2_dump_1063f819", "lb_as_v2_details_90064aae" },
	[VPPLB_PING] = { "control_ping_51077d14", "control_ping_reply_f6b0b8ca" },
	[VPPLB_VERSION] = { "show_version_51077d14", "show_version_reply_c919bde1" },
	[VPPLB_CLI] = { "cli_inband_f8377302", "cli_inband_reply_05879051" },
	[VPPLB_ROUTE] = { "ip_route_lookup_710d6471", "ip_route_lookup_reply_5d8febcb" },
};

/* ---- what may be sent ---- */

static bool is_power_of_two(uint32_t v)
{
	return v && (v & (v - 1)) == 0;
}

/* VPP stores IPv4 addresses inside ::/96, and takes IPv6 addresses of that prefix for IPv4. */
static bool is_misread(const struct addr *a)
{
	static const uint8_t zeros[12];

	return a->family == AF_INET6 && memcmp(a->bytes, zeros, sizeof(zeros)) == 0;
}

static bool address_fits(const struct addr *a)
{
	return addr_is_set(a) && !is_misread(a);
}

/* VPP requires a power of two, and treats a timeout of UINT32_MAX as "leave as it is". */
static bool conf_fits(const struct lb_conf *c)
{
	return c->src4.family == AF_INET && c->src6.family == AF_INET6 &&
	       is_power_of_two(c->sticky_buckets_per_core) &&
	       c->sticky_buckets_per_core <= BUCKETS_MAX && c->flow_timeout_s &&
	       c->flow_timeout_s != UINT32_MAX;
}

/* The VIPs that a configuration can have. Others may be deleted, but are never added. */
static bool is_ours(const struct lb_vip_key *k)
{
	if (k->protocol == L4_PROTOCOL_ANY)
		return k->port == 0;
	return (k->protocol == IPPROTO_TCP || k->protocol == IPPROTO_UDP) && k->port;
}

static bool vip_fits(const struct lb_op *op)
{
	return is_ours(&op->vip) && (op->encap == LB_ENCAP_GRE4 || op->encap == LB_ENCAP_GRE6) &&
	       is_power_of_two(op->table_length) && op->table_length <= TABLE_LENGTH_MAX;
}

static bool op_fits(const struct lb_op *op)
{
	if (op->kind == LB_OP_CONF)
		return conf_fits(&op->conf);
	if (!address_fits(&op->vip.address))
		return false;
	switch (op->kind) {
	case LB_OP_CONF:
	case LB_OP_VIP_DEL: /* also VIPs that other programs have added */
		return true;
	case LB_OP_VIP_ADD:
		return vip_fits(op);
	case LB_OP_AS_DEL:
		return address_fits(&op->as);
	case LB_OP_AS_ADD:
	case LB_OP_AS_WEIGHT:
		return address_fits(&op->as) && op->weight <= WEIGHT_MAX;
	}
	return false;
}

int vpplb_check(const struct lb_op *op)
{
	return op_fits(op) ? 0 : -EINVAL;
}

/* ---- requests ---- */

static uint8_t host_length(const struct addr *a)
{
	return a->family == AF_INET6 ? 128 : 32;
}

static void put_key(struct buf *b, const struct lb_vip_key *k)
{
	vpp_put_prefix(b, &k->address, host_length(&k->address));
	vpp_put_u8(b, k->protocol == L4_PROTOCOL_ANY ? PROTOCOL_ALL_PORTS : k->protocol);
	vpp_put_u16(b, k->port);
}

static void put_conf(struct buf *b, const struct lb_conf *c)
{
	buf_add(b, c->src4.bytes, 4);
	buf_add(b, c->src6.bytes, 16);
	vpp_put_u32(b, c->sticky_buckets_per_core);
	vpp_put_u32(b, c->flow_timeout_s);
}

/* A deletion also sends fields that VPP ignores, with valid values because VPP checks them. */
static void put_vip(struct buf *b, const struct lb_op *op, bool del)
{
	put_key(b, &op->vip);
	vpp_put_u32(b, op->encap == LB_ENCAP_GRE6 ? ENCAP_GRE6 : ENCAP_GRE4);
	vpp_put_u8(b, 0);  /* DSCP, of L3DSR */
	vpp_put_u32(b, 0); /* type, of NAT */
	vpp_put_u16(b, 0); /* target port, of NAT */
	vpp_put_u16(b, 0); /* node port, not used */
	vpp_put_u32(b, del ? 1024 : op->table_length);
	vpp_put_u8(b, op->src_ip_sticky);
	vpp_put_u8(b, del);
}

static void put_as(struct buf *b, const struct lb_op *op, bool del)
{
	put_key(b, &op->vip);
	vpp_put_addr(b, &op->as);
	vpp_put_u8(b, del ? 0 : op->weight);
	vpp_put_u8(b, del);
	vpp_put_u8(b, op->flush);
}

static void put_weight(struct buf *b, const struct lb_op *op)
{
	put_key(b, &op->vip);
	vpp_put_addr(b, &op->as);
	vpp_put_u8(b, op->weight);
	vpp_put_u8(b, op->flush);
}

enum vpplb_message vpplb_encode(const struct lb_op *op, struct buf *fields)
{
	assert(op_fits(op));
	switch (op->kind) {
	case LB_OP_CONF:
		put_conf(fields, &op->conf);
		return VPPLB_CONF;
	case LB_OP_VIP_ADD:
	case LB_OP_VIP_DEL:
		put_vip(fields, op, op->kind == LB_OP_VIP_DEL);
		return VPPLB_VIP;
	case LB_OP_AS_ADD:
	case LB_OP_AS_DEL:
		put_as(fields, op, op->kind == LB_OP_AS_DEL);
		return VPPLB_AS;
	case LB_OP_AS_WEIGHT:
		put_weight(fields, op);
		return VPPLB_SET_WEIGHT;
	}
	assert(false);
	return VPPLB_PING;
}

/* An IPv6 prefix of length 0. */
static void put_everything(struct buf *b)
{
	static const struct addr any = { .family = AF_INET6 };

	vpp_put_prefix(b, &any, 0);
}

void vpplb_encode_vip_dump(struct buf *fields)
{
	put_everything(fields);
	vpp_put_u8(fields, 255); /* limits of the prefix length, which VPP ignores */
	vpp_put_u8(fields, 255);
	vpp_put_u8(fields, PROTOCOL_ALL_PORTS);
	vpp_put_u16(fields, 0);
}

void vpplb_encode_as_dump(struct buf *fields)
{
	put_everything(fields);
	vpp_put_u8(fields, 0);
	vpp_put_u16(fields, 0);
}

void vpplb_encode_cli(const char *command, struct buf *fields)
{
	vpp_put_text(fields, str_of(command));
}

void vpplb_encode_route(const struct addr *host, struct buf *fields)
{
	vpp_put_u32(fields, 0); /* the table that lb uses */
	vpp_put_u8(fields, 1);	/* exactly this prefix */
	vpp_put_prefix(fields, host, host_length(host));
}

/* ---- answers ---- */

int vpplb_outcome(const struct lb_op *op, int32_t retval)
{
	bool deletes = op->kind == LB_OP_VIP_DEL || op->kind == LB_OP_AS_DEL;

	switch (retval) {
	case 0:
		return 0;
	case NO_SUCH_ENTRY: /* a deletion of what does not exist has succeeded */
		return deletes ? 0 : -ENOENT;
	case MEMORY_SIZE:
	case ARGUMENT:
		return -EINVAL;
	case VALUE_EXIST:
		return -EEXIST;
	case FAMILY:
		return -EAFNOSUPPORT;
	default:
		return -EREMOTEIO;
	}
}

int32_t vpplb_decode_conf(struct vpp_reader *r, struct lb_conf *ret)
{
	int32_t retval = vpp_get_i32(r);
	struct str src4 = vpp_get_bytes(r, 4), src6 = vpp_get_bytes(r, 16);

	*ret = (struct lb_conf){ .src4.family = AF_INET, .src6.family = AF_INET6 };
	ret->sticky_buckets_per_core = vpp_get_u32(r);
	ret->flow_timeout_s = vpp_get_u32(r);
	if (!r->bad) {
		memcpy(ret->src4.bytes, src4.p, src4.n);
		memcpy(ret->src6.bytes, src6.p, src6.n);
	}
	return retval;
}

/*
 * The address of a prefix that is no single host is not a key of ours; the caller checks
 * *ret_host.
 */
static struct lb_vip_key get_key(struct vpp_reader *r, bool *ret_host)
{
	struct lb_vip_key k;
	uint8_t length;

	k.address = vpp_get_prefix(r, &length);
	k.protocol = vpp_get_u8(r);
	k.port = vpp_get_u16(r);
	if (k.protocol == PROTOCOL_ALL_PORTS)
		k.protocol = L4_PROTOCOL_ANY;
	*ret_host = length == host_length(&k.address);
	return k;
}

void vpplb_decode_vip(struct vpp_reader *r, struct vpplb_vip *ret)
{
	uint32_t encap;

	ret->key = get_key(r, &ret->host);
	encap = vpp_get_u32(r);
	ret->encap = encap == ENCAP_GRE4   ? LB_ENCAP_GRE4
		     : encap == ENCAP_GRE6 ? LB_ENCAP_GRE6
					   : LB_ENCAP_OTHER;
	vpp_get_bytes(r, 7); /* fields of NAT and L3DSR, undefined for GRE */
	ret->table_length = vpp_get_u16(r);
}

void vpplb_decode_as(struct vpp_reader *r, struct vpplb_as *ret)
{
	ret->vip = get_key(r, &ret->host);
	ret->address = vpp_get_addr(r);
	ret->used = vpp_get_u8(r) & AS_USED;
	vpp_get_u32(r); /* "in use since"; not used, as its meaning differs from the name */
	ret->weight = vpp_get_u8(r);
	ret->buckets = vpp_get_u32(r);
}

int32_t vpplb_decode_version(struct vpp_reader *r, struct vpplb_version *ret)
{
	int32_t retval = vpp_get_i32(r);

	vpp_get_bytes(r, 32); /* "vpe" */
	ret->version = vpp_get_name(r, 32);
	ret->build_date = vpp_get_name(r, 32);
	ret->build_directory = vpp_get_name(r, 256);
	return retval;
}

int32_t vpplb_decode_pid(struct vpp_reader *r, uint32_t *ret)
{
	int32_t retval = vpp_get_i32(r);

	vpp_get_u32(r);
	*ret = vpp_get_u32(r);
	return retval;
}

struct vpplb_cli vpplb_decode_cli(struct vpp_reader *r)
{
	int32_t retval = vpp_get_i32(r);

	return (struct vpplb_cli){ retval, vpp_get_text(r) };
}

uint32_t vpplb_decode_route(struct vpp_reader *r)
{
	int32_t retval = vpp_get_i32(r);
	uint32_t column;

	vpp_get_u32(r); /* the table */
	column = vpp_get_u32(r);
	return retval == 0 && !r->bad ? column : VPP_NO_COLUMN;
}

/* ---- which VPP ---- */

/*
 * Whether VPP knows the message with this very checksum. If not, the problem says what it has
 * instead.
 */
static bool knows(const struct vpp_table *t, const char *name, struct buf *problem)
{
	char bare[VPP_NAME_SIZE];
	const char *like;
	uint16_t id;

	if (vpp_table_find(t, name, &id) == 0)
		return true;
	snprintf(bare, sizeof(bare), "%.*s", (int)(strlen(name) - strlen("_12345678")), name);
	like = vpp_table_like(t, bare);
	if (like)
		buf_printf(problem, "VPP has %s where %s is needed: its version is not supported",
			   like, name);
	else if (!vpp_table_has_prefix(t, "lb_"))
		buf_adds(problem, "the lb plugin is not loaded in VPP");
	else
		buf_printf(problem, "VPP has no %s: it is too old, 26.10 or newer is needed", bare);
	return false;
}

bool vpplb_supported(const struct vpp_table *t, struct buf *problem)
{
	for (size_t i = 0; i < VPPLB_NEEDED; i++)
		if (!knows(t, vpplb_messages[i].request, problem) ||
		    !knows(t, vpplb_messages[i].answer, problem))
			return false;
	return true;
}
