/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the API socket. Each kind has a handler that reads its fields at their offsets
 * and answers. Integers are big-endian, except where VPP forgets to swap them.
 *
 * VPP 26.06 is modelled as well, because its differences are dangerous: the messages and CRCs are
 * the same, but IPv4 prefix lengths are counted from 96, and the encapsulation is in host order.
 */
#include "tests/support/vpp/machine.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define HEADER 10 /* id, client index, context */
#define PREFIX_LEN 18
#define PATH_LEN 167
#define INVALID_SW_IF_INDEX (-2)
#define AT_PREFIX 10
#define AT_PROTOCOL 28
#define AT_PORT 29
#define AT_AS 31

struct call {
	struct machine *m;
	const uint8_t *p;
	size_t n;
	uint32_t to;
	const struct machine_request *request;
};

/* ---- reading ---- */

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_old(const struct machine *m)
{
	return m->who == PERSONALITY_OLD;
}

/*
 * VPP 26.10 counts an IPv4 prefix length from the start of the sixteen bytes; 26.06 takes it as
 * it is sent.
 */
static struct plugin_key get_key(const struct call *c)
{
	const uint8_t *prefix = c->p + AT_PREFIX;
	uint8_t plen = prefix[IP46_WIRE_LEN];

	if (prefix[0] == 0 && !is_old(c->m))
		plen = (uint8_t)(plen + 96);
	return plugin_key_of(ip46_decode(prefix), plen, c->p[AT_PROTOCOL], get16(c->p + AT_PORT));
}

/* ---- writing ---- */

static void put8(struct buf *b, uint8_t v)
{
	buf_addc(b, (char)v);
}

static void put16(struct buf *b, uint16_t v)
{
	v = htons(v);
	buf_add(b, &v, sizeof(v));
}

static void put32(struct buf *b, uint32_t v)
{
	v = htonl(v);
	buf_add(b, &v, sizeof(v));
}

/* Strings have a fixed width on the wire and are padded with zeros. */
static void put_text(struct buf *b, const char *s, size_t width)
{
	size_t n = strlen(s);

	assert(n < width);
	buf_add(b, s, n);
	for (; n < width; n++)
		put8(b, 0);
}

static void put_address(struct buf *b, const struct ip46 *a)
{
	uint8_t wire[IP46_WIRE_LEN];

	ip46_encode(a, wire);
	buf_add(b, wire, sizeof(wire));
}

/*
 * A reply starts with its number and the context of the request, which VPP does not interpret.
 */
static void start(struct buf *b, const struct call *c, enum msg reply)
{
	assert(c->m->table.ids[reply]);
	put16(b, c->m->table.ids[reply]);
	buf_add(b, c->p + 6, 4); /* the context, unchanged */
}

static void start_reply(struct buf *b, const struct call *c, enum msg reply, int retval)
{
	start(b, c, reply);
	put32(b, (uint32_t)retval);
}

static void hand_over(const struct call *c, struct buf *b)
{
	c->request->reply(c->request->user, c->to, (struct str){ b->p, b->n });
	buf_free(b);
}

static void reply(const struct call *c, enum msg kind, int retval)
{
	struct buf b = { 0 };

	start_reply(&b, c, kind, retval);
	hand_over(c, &b);
}

/* ---- what every VPP has ---- */

/*
 * The reply has a layout of its own, with a client index before the context, and carries the
 * table of message numbers. It goes to the connection itself, since the client has no index yet.
 */
static void on_sockclnt_create(const struct call *c)
{
	const struct table *t = &c->m->table;
	struct buf b = { 0 };

	put16(&b, t->ids[MSG_SOCKCLNT_CREATE_REPLY]);
	put32(&b, 0);
	buf_add(&b, c->p + 2, 4);
	put32(&b, 0);
	put32(&b, c->request->own_index);
	put16(&b, (uint16_t)t->entries.n);
	for (size_t i = 0; i < t->entries.n; i++) {
		put16(&b, t->entries.items[i].id);
		buf_add(&b, t->entries.items[i].name, TABLE_NAME_LEN);
	}
	hand_over(&(struct call){ .to = c->request->own_index, .request = c->request }, &b);
}

static void on_sockclnt_delete(const struct call *c)
{
	reply(c, MSG_SOCKCLNT_DELETE_REPLY, 1);
}

static void on_control_ping(const struct call *c)
{
	struct buf b = { 0 };

	start_reply(&b, c, MSG_CONTROL_PING_REPLY, 0);
	buf_add(&b, c->p + 2, 4);
	put32(&b, c->m->pid);
	hand_over(c, &b);
}

static void on_api_versions(const struct call *c)
{
	struct buf b = { 0 };

	start_reply(&b, c, MSG_API_VERSIONS_REPLY, 0);
	put32(&b, 0);
	hand_over(c, &b);
}

static void on_show_version(const struct call *c)
{
	struct buf b = { 0 };

	start_reply(&b, c, MSG_SHOW_VERSION_REPLY, 0);
	put_text(&b, "vpe", 32);
	put_text(&b, c->m->version, 32);
	put_text(&b, c->m->build_date, 32);
	put_text(&b, c->m->build_directory, 256);
	hand_over(c, &b);
}

/* The length comes from the client. A message that is shorter than it claims is dropped. */
static void on_cli_inband(const struct call *c)
{
	uint32_t n = get32(c->p + 10);
	struct buf line = { 0 }, text = { 0 }, b = { 0 };

	if (n > c->n - 14)
		return;
	buf_add(&line, c->p + 14, n);
	machine_cli(c->m, buf_cstr(&line), &text);
	start_reply(&b, c, MSG_CLI_INBAND_REPLY, 0);
	put32(&b, (uint32_t)text.n);
	buf_add(&b, text.p, text.n);
	hand_over(c, &b);
	buf_free(&line);
	buf_free(&text);
}

static void put_path(struct buf *b, enum fib_kind kind)
{
	put32(b, UINT32_MAX); /* no interface */
	put32(b, 0);
	put32(b, 0);
	put8(b, 1); /* weight */
	put8(b, 0);
	put32(b, kind == FIB_AS ? 2 : 0); /* type 2: drop, as there is no next hop */
	for (size_t i = 18; i < PATH_LEN; i++)
		put8(b, 0);
}

/* This message uses real prefix lengths, so an IPv4 one has to be converted to our form. */
static void on_ip_route_lookup(const struct call *c)
{
	const uint8_t *wire = c->p + 15;
	struct ip46 prefix = ip46_decode(wire);
	uint8_t plen = (uint8_t)(wire[IP46_WIRE_LEN] + (wire[0] == 0 ? 96 : 0));
	const struct fib_route *route = fib_find(&c->m->plugin.fib, &prefix, plen);
	static const uint8_t nothing[PREFIX_LEN];
	struct buf b = { 0 };

	start_reply(&b, c, MSG_IP_ROUTE_LOOKUP_REPLY, route ? 0 : PLUGIN_NO_SUCH_ENTRY);
	put32(&b, 0);
	put32(&b, route ? route->stats_index : 0);
	buf_add(&b, route ? wire : nothing, PREFIX_LEN);
	put8(&b, route != NULL);
	if (route)
		put_path(&b, route->kind);
	hand_over(c, &b);
}

/* ---- lb ---- */

static void on_lb_conf(const struct call *c)
{
	reply(c, MSG_LB_CONF_REPLY,
	      plugin_conf(&c->m->plugin, c->p + 10, c->p + 14, get32(c->p + 30), get32(c->p + 34)));
}

static void on_lb_conf_get(const struct call *c)
{
	const struct plugin *p = &c->m->plugin;
	struct buf b = { 0 };

	start_reply(&b, c, MSG_LB_CONF_GET_REPLY, 0);
	buf_add(&b, p->src4, sizeof(p->src4));
	buf_add(&b, p->src6, sizeof(p->src6));
	put32(&b, p->buckets);
	put32(&b, p->flow_timeout);
	hand_over(c, &b);
}

/* Fields at the offsets of lb_add_del_vip, which the second version shares. */
static int add_del_vip(const struct call *c, bool sticky, bool is_del)
{
	struct plugin_vip_args args = { .key = get_key(c),
					.encap = get32(c->p + 31),
					.dscp = c->p[35],
					.srv_type = c->p[36], /* host order, cut to 8 bits */
					.target_port = get16(c->p + 40),
					.table_length = get32(c->p + 44),
					.src_ip_sticky = sticky };

	if (is_old(c->m))
		args.encap = __builtin_bswap32(args.encap);
	if (is_del)
		return plugin_vip_del(&c->m->plugin, c->m->now, &args.key);
	return plugin_vip_add(&c->m->plugin, c->m->now, &args);
}

static void on_lb_add_del_vip(const struct call *c)
{
	reply(c, MSG_LB_ADD_DEL_VIP_REPLY, add_del_vip(c, false, c->p[48]));
}

static void on_lb_add_del_vip_v2(const struct call *c)
{
	reply(c, MSG_LB_ADD_DEL_VIP_V2_REPLY, add_del_vip(c, c->p[48], c->p[49]));
}

static int add_del_as(const struct call *c, uint8_t weight, bool is_del, bool flush)
{
	struct plugin_as_args args = { .vip = get_key(c),
				       .address = ip46_decode(c->p + AT_AS),
				       .weight = weight,
				       .flush = flush };

	if (is_del)
		return plugin_as_del(&c->m->plugin, c->m->now, &args);
	return plugin_as_add(&c->m->plugin, c->m->now, &args);
}

/* The first version has no weight: VPP uses 100. It ignores flush when an AS is added. */
static void on_lb_add_del_as(const struct call *c)
{
	reply(c, MSG_LB_ADD_DEL_AS_REPLY,
	      add_del_as(c, 100, c->p[48], c->p[48] ? c->p[49] : false));
}

static void on_lb_add_del_as_v2(const struct call *c)
{
	reply(c, MSG_LB_ADD_DEL_AS_V2_REPLY, add_del_as(c, c->p[48], c->p[49], c->p[50]));
}

static void on_lb_as_set_weight(const struct call *c)
{
	struct plugin_as_args args = { .vip = get_key(c),
				       .address = ip46_decode(c->p + AT_AS),
				       .weight = c->p[48],
				       .flush = c->p[49] };

	reply(c, MSG_LB_AS_SET_WEIGHT_REPLY, plugin_as_set_weight(&c->m->plugin, &args));
}

static void on_lb_flush_vip(const struct call *c)
{
	struct plugin_key key = get_key(c);

	reply(c, MSG_LB_FLUSH_VIP_REPLY, plugin_flush_vip(&c->m->plugin, &key));
}

static void on_lb_add_del_intf_nat4(const struct call *c)
{
	reply(c, MSG_LB_ADD_DEL_INTF_NAT4_REPLY,
	      get32(c->p + 11) == 0 ? 0 : INVALID_SW_IF_INDEX); /* only local0 exists */
}

static void on_lb_add_del_intf_nat6(const struct call *c)
{
	reply(c, MSG_LB_ADD_DEL_INTF_NAT6_REPLY, get32(c->p + 11) == 0 ? 0 : INVALID_SW_IF_INDEX);
}

/* ---- dumps ---- */

static void put_vip_name(struct buf *b, const struct machine *m, const struct plugin_vip *vip)
{
	const struct plugin_key *key = &vip->key;
	bool from96 = ip46_prefix_is4(&key->prefix, key->plen) && !is_old(m);

	put_address(b, &key->prefix);
	put8(b, (uint8_t)(key->plen - (from96 ? 96 : 0)));
	put8(b, is_old(m) ? 0 : key->protocol);
	put16(b, key->port);
}

static uint32_t encap_of(const struct machine *m, enum plugin_type type)
{
	static const uint32_t encaps[] = {
		[PLUGIN_IP6_GRE6] = PLUGIN_GRE6,   [PLUGIN_IP6_GRE4] = PLUGIN_GRE4,
		[PLUGIN_IP4_GRE6] = PLUGIN_GRE6,   [PLUGIN_IP4_GRE4] = PLUGIN_GRE4,
		[PLUGIN_IP4_L3DSR] = PLUGIN_L3DSR, [PLUGIN_IP4_NAT4] = PLUGIN_NAT4,
		[PLUGIN_IP6_NAT6] = PLUGIN_NAT6,
	};

	return is_old(m) ? type : encaps[type];
}

static void on_lb_vip_dump(const struct call *c)
{
	const struct plugin *p = &c->m->plugin;

	pool_foreach(i, &p->vip_pool)
	{
		const struct plugin_vip *vip = &p->vips.items[i];
		uint32_t srv_type = htole32(vip->dscp_or_srv_type);
		uint16_t target_port = htole16(vip->target_port);
		struct buf b = { 0 };

		if (i == 0 || (!vip->used && !is_old(c->m)))
			continue;
		start(&b, c, MSG_LB_VIP_DETAILS);
		put_vip_name(&b, c->m, vip);
		put32(&b, encap_of(c->m, vip->type));
		put8(&b, vip->dscp_or_srv_type);
		buf_add(&b, &srv_type, sizeof(srv_type));
		buf_add(&b, &target_port, sizeof(target_port));
		put16(&b, is_old(c->m) ? 0 : (uint16_t)vip->table_length);
		hand_over(c, &b);
	}
}

/*
 * The sixteen bytes are compared in the internal form of VPP, so an ordinary IPv4 prefix never
 * matches. This is a bug of VPP.
 */
static bool is_asked_for(const struct call *c, const struct plugin_key *key)
{
	static const struct ip46 all;
	struct ip46 asked;

	memcpy(asked.b, c->p + AT_PREFIX + 1, sizeof(asked.b));
	return ip46_cmp(&asked, &all) == 0 ||
	       (ip46_cmp(&asked, &key->prefix) == 0 && c->p[AT_PROTOCOL] == key->protocol &&
		get16(c->p + AT_PORT) == key->port);
}

static void dump_vip_as(const struct call *c, uint32_t vip_index, enum msg details)
{
	const struct plugin *p = &c->m->plugin;
	const struct plugin_vip *vip = &p->vips.items[vip_index];
	_cleanup_(cleanup_free) uint32_t *buckets =
		mem_zalloc((vip->slots.used.n + 1) * sizeof(*buckets));

	plugin_buckets(p, vip_index, buckets);
	pool_foreach(slot, &vip->slots)
	{
		const struct plugin_as *as = &p->ass.items[vip->as_of_slot.items[slot]];
		struct buf b = { 0 };

		start(&b, c, details);
		put_vip_name(&b, c->m, vip);
		put_address(&b, &as->address);
		put8(&b, as->flags);
		put32(&b, as->last_used);
		if (details == MSG_LB_AS_V2_DETAILS) {
			put8(&b, as->weight);
			put32(&b, buckets[slot]);
		}
		hand_over(c, &b);
	}
}

static void dump_as(const struct call *c, enum msg details)
{
	pool_foreach(i, &c->m->plugin.vip_pool)
	{
		if (is_asked_for(c, &c->m->plugin.vips.items[i].key))
			dump_vip_as(c, i, details);
	}
}

static void on_lb_as_dump(const struct call *c)
{
	dump_as(c, MSG_LB_AS_DETAILS);
}

static void on_lb_as_v2_dump(const struct call *c)
{
	dump_as(c, MSG_LB_AS_V2_DETAILS);
}

/* ---- the door ---- */

static const struct {
	size_t length; /* shorter messages are dropped */
	void (*run)(const struct call *c);
} handlers[MSG_KNOWN] = {
	[MSG_API_VERSIONS] = { HEADER, on_api_versions },
	[MSG_SOCKCLNT_CREATE] = { 70, on_sockclnt_create },
	[MSG_SOCKCLNT_DELETE] = { 14, on_sockclnt_delete },
	[MSG_CONTROL_PING] = { HEADER, on_control_ping },
	[MSG_SHOW_VERSION] = { HEADER, on_show_version },
	[MSG_CLI_INBAND] = { 14, on_cli_inband },
	[MSG_IP_ROUTE_LOOKUP] = { 33, on_ip_route_lookup },
	[MSG_LB_CONF] = { 38, on_lb_conf },
	[MSG_LB_CONF_GET] = { HEADER, on_lb_conf_get },
	[MSG_LB_ADD_DEL_VIP] = { 49, on_lb_add_del_vip },
	[MSG_LB_ADD_DEL_VIP_V2] = { 50, on_lb_add_del_vip_v2 },
	[MSG_LB_ADD_DEL_AS] = { 50, on_lb_add_del_as },
	[MSG_LB_ADD_DEL_AS_V2] = { 51, on_lb_add_del_as_v2 },
	[MSG_LB_AS_SET_WEIGHT] = { 50, on_lb_as_set_weight },
	[MSG_LB_FLUSH_VIP] = { 31, on_lb_flush_vip },
	[MSG_LB_VIP_DUMP] = { 33, on_lb_vip_dump },
	[MSG_LB_AS_DUMP] = { 31, on_lb_as_dump },
	[MSG_LB_AS_V2_DUMP] = { 31, on_lb_as_v2_dump },
	[MSG_LB_ADD_DEL_INTF_NAT4] = { 15, on_lb_add_del_intf_nat4 },
	[MSG_LB_ADD_DEL_INTF_NAT6] = { 15, on_lb_add_del_intf_nat6 },
};

void machine_init(struct machine *m, enum personality who, uint32_t pid)
{
	*m = (struct machine){ .who = who,
			       .pid = pid,
			       .version = "26.10-rc0~374-gb575ec2c56d",
			       .build_date = "2026-11-15T18:13:15",
			       .build_directory = "",
			       .next_collect = PLUGIN_COLLECT_EVERY };
	if (who == PERSONALITY_OLD) {
		m->version = "26.06-release";
		m->build_date = "2026-06-24T12:00:00";
	}
	table_build(&m->table, who);
	plugin_init(&m->plugin);
}

void machine_free(struct machine *m)
{
	table_free(&m->table);
	plugin_free(&m->plugin);
}

/* VPP up to 26.06 does not have this timer. */
void machine_advance(struct machine *m, uint32_t now)
{
	for (; m->next_collect <= now; m->next_collect += PLUGIN_COLLECT_EVERY)
		if (!is_old(m))
			plugin_collect(&m->plugin, m->next_collect);
	m->now = now;
}

enum msg machine_handle(struct machine *m, const struct machine_request *request)
{
	struct call c = { .m = m,
			  .p = (const uint8_t *)request->bytes.p,
			  .n = request->bytes.n,
			  .request = request };
	enum msg kind;

	if (c.n < 2)
		return MSG_KNOWN;
	kind = table_find(&m->table, get16(c.p));
	if (kind == MSG_KNOWN || !handlers[kind].run || c.n < handlers[kind].length)
		return MSG_KNOWN;
	c.to = get32(c.p + 2);
	handlers[kind].run(&c);
	return kind;
}
