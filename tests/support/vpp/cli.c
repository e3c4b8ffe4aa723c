/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CLI commands of lb: their output, exact to the space, because clients parse some of it;
 * and the commands with which an operator changes state by hand.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/support/vpp/machine.h"

#define WORDS_MAX 32

/* ---- show ---- */

static void print_core(const struct machine *m, struct buf *out)
{
	const struct flows *f = &m->plugin.flows;

	if (!f->places)
		return;
	buf_printf(out, "core 1\n  timeout: %us\n  usage: %u / %u\n", f->timeout,
		   flows_alive(f, m->now), f->buckets * FLOWS_PER_BUCKET);
}

static void show_lb(struct machine *m, struct buf *out)
{
	const struct plugin *p = &m->plugin;
	struct addr src4 = { .family = AF_INET }, src6 = { .family = AF_INET6 };
	char text4[ADDR_STRLEN], text6[ADDR_STRLEN];

	memcpy(src4.bytes, p->src4, sizeof(p->src4));
	memcpy(src6.bytes, p->src6, sizeof(p->src6));
	buf_printf(out, "lb_main ip4-src-address: %s \n ip6-src-address: %s \n",
		   addr_format(&src4, text4), addr_format(&src6, text6));
	buf_printf(out, " #vips: %zu\n #ass: %zu\n", p->vip_pool.n, p->as_pool.n - 1);
	print_core(m, out);
}

static bool is_nat(const struct plugin_vip *vip)
{
	return vip->type == PLUGIN_IP4_NAT4 || vip->type == PLUGIN_IP6_NAT6;
}

/* VPP swaps the bytes of the port once too often here, and so do we. */
static void print_nat(const struct plugin_vip *vip, const char *indent, struct buf *out)
{
	buf_printf(out, "%stype:%s port:%u target_port:%u", indent,
		   vip->dscp_or_srv_type ? "nodeport" : "clusterip",
		   __builtin_bswap16(vip->key.port), vip->target_port);
}

static void print_short(const struct plugin_vip *vip, struct buf *out)
{
	char prefix[IP46_STRLEN];

	buf_printf(out, "%s %s new_size:%u #as:%zu%s", plugin_type_name(vip->type),
		   ip46_format_prefix(&vip->key.prefix, vip->key.plen, prefix), vip->table_length,
		   vip->slots.n, vip->used ? "" : " removed");
	if (vip->key.port)
		buf_printf(out, "  protocol:%u port:%u ", vip->key.protocol, vip->key.port);
	if (vip->type == PLUGIN_IP4_L3DSR)
		buf_printf(out, "  dscp:%u", vip->dscp_or_srv_type);
	if (is_nat(vip))
		print_nat(vip, " ", out);
	buf_addc(out, '\n');
}

static void print_head(const struct plugin_vip *vip, uint32_t index, struct buf *out)
{
	char prefix[IP46_STRLEN];

	buf_printf(out, " %s [%u] %s%s%s\n  new_size:%u\n", plugin_type_name(vip->type), index,
		   ip46_format_prefix(&vip->key.prefix, vip->key.plen, prefix),
		   vip->src_ip_sticky ? " src_ip_sticky" : "", vip->used ? "" : " removed",
		   vip->table_length);
	if (vip->key.port)
		buf_printf(out, "  protocol:%u port:%u\n", vip->key.protocol, vip->key.port);
	if (vip->type == PLUGIN_IP4_L3DSR)
		buf_printf(out, "  dscp:%u\n", vip->dscp_or_srv_type);
	if (is_nat(vip))
		print_nat(vip, "  ", out);
}

static void print_as(const struct plugin *p, const struct plugin_vip *vip, const uint32_t *buckets,
		     struct buf *out)
{
	char address[IP46_STRLEN];

	pool_foreach(slot, &vip->slots)
	{
		uint32_t i = vip->as_of_slot.items[slot];
		const struct plugin_as *as = &p->ass.items[i];

		buf_printf(out, "    %s weight:%u buckets:%u flows:%u dpo:%u %s\n",
			   ip46_format(&as->address, address), as->weight, buckets[slot],
			   flows_of(&p->flows, i), as->stats_index,
			   as->flags & PLUGIN_AS_USED ? "used" : " removed");
	}
}

static void print_long(const struct plugin *p, uint32_t index, struct buf *out)
{
	const struct plugin_vip *vip = &p->vips.items[index];
	_cleanup_(cleanup_free) uint32_t *buckets =
		mem_zalloc((vip->slots.used.n + 1) * sizeof(*buckets));

	plugin_buckets(p, index, buckets);
	print_head(vip, index, out);
	buf_adds(out, "  counters:\n");
	for (size_t i = 0; i < PLUGIN_COUNTERS; i++)
		buf_printf(out, "    %s: %" PRIu64 "\n", plugin_counter_names[i],
			   p->counters[i].items[index]);
	buf_printf(out, "  #as:%zu\n", vip->slots.n);
	print_as(p, vip, buckets, out);
	buf_addc(out, '\n');
}

static void show_vips(struct machine *m, struct buf *out)
{
	pool_foreach(i, &m->plugin.vip_pool)
	{
		if (i)
			print_short(&m->plugin.vips.items[i], out);
	}
}

static void show_vips_verbose(struct machine *m, struct buf *out)
{
	pool_foreach(i, &m->plugin.vip_pool)
	{
		if (i)
			print_long(&m->plugin, i, out);
	}
}

/* ---- lb vip, lb as, lb conf ---- */

struct words {
	char *w[WORDS_MAX + 1]; /* ends with NULL */
	size_t n;
};

/* Removes a word from the command; true if it was there. */
static bool take(struct words *in, const char *word)
{
	for (size_t i = 0; i < in->n; i++)
		if (strcmp(in->w[i], word) == 0) {
			memmove(&in->w[i], &in->w[i + 1], (in->n-- - i) * sizeof(in->w[0]));
			return true;
		}
	return false;
}

/* Removes a word and the one after it, which is returned; NULL if it was not there. */
static const char *take_value(struct words *in, const char *word)
{
	for (size_t i = 0; i + 1 < in->n; i++)
		if (strcmp(in->w[i], word) == 0) {
			const char *value = in->w[i + 1];

			memmove(&in->w[i], &in->w[i + 2], (in->n - i - 1) * sizeof(in->w[0]));
			in->n -= 2;
			return value;
		}
	return NULL;
}

static uint32_t take_number(struct words *in, const char *word, uint32_t otherwise)
{
	const char *value = take_value(in, word);

	return value ? (uint32_t)strtoul(value, NULL, 10) : otherwise;
}

/* <prefix> [protocol tcp|udp port <n>] */
static int take_key(struct words *in, struct plugin_key *ret)
{
	const char *protocol = take_value(in, "protocol");
	uint16_t port = (uint16_t)take_number(in, "port", 0);
	struct ip46 prefix;
	uint8_t plen;

	if (in->n == 0 || ip46_parse_prefix(in->w[0], &prefix, &plen) < 0)
		return -EINVAL;
	take(in, in->w[0]);
	*ret = plugin_key_of(prefix, plen, protocol && strcmp(protocol, "udp") == 0 ? 17 : 6, port);
	return 0;
}

static uint32_t take_encap(struct words *in)
{
	static const char *const names[] = { "gre4", "gre6", "l3dsr", "nat4", "nat6" };
	const char *name = take_value(in, "encap");

	for (uint32_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return PLUGIN_GRE4;
}

static void lb_vip(struct machine *m, struct words *in, struct buf *out)
{
	struct plugin_vip_args args = { .table_length = take_number(in, "new_len", 1024),
					.encap = take_encap(in),
					.dscp = (uint8_t)take_number(in, "dscp", 0),
					.src_ip_sticky = take(in, "src_ip_sticky") };
	bool del = take(in, "del");
	uint32_t index;
	int err;

	if (take_key(in, &args.key) < 0 || in->n) {
		buf_adds(out, "lb vip: parse error\n");
		return;
	}
	plugin_collect(&m->plugin, m->now);
	err = del ? plugin_vip_del(&m->plugin, m->now, &args.key)
		  : plugin_vip_add(&m->plugin, m->now, &args);
	if (err)
		buf_printf(out, "lb vip: error %d\n", err);
	else if (!del && plugin_vip_find(&m->plugin, &args.key, &index) == 0)
		buf_printf(out, "lb_vip_add ok %u\n", index);
}

static int change_as(struct machine *m, const struct plugin_as_args *args, bool del)
{
	int err;

	if (del)
		return plugin_as_del(&m->plugin, m->now, args);
	err = plugin_as_add(&m->plugin, m->now, args);
	return err == PLUGIN_VALUE_EXIST ? plugin_as_set_weight(&m->plugin, args) : err;
}

static void lb_as(struct machine *m, struct words *in, struct buf *out)
{
	struct plugin_as_args args = { .weight = (uint8_t)take_number(in, "weight", 100),
				       .flush = take(in, "flush") };
	bool del = take(in, "del");
	struct addr address;
	int err;

	if (take_key(in, &args.vip) < 0 || in->n != 1 || addr_parse(in->w[0], &address) < 0) {
		buf_adds(out, "lb as: parse error\n");
		return;
	}
	args.address = ip46_of(&address);
	err = change_as(m, &args, del);
	if (err)
		buf_printf(out, "lb as: error %d\n", err);
}

static void take_address(struct words *in, const char *word, uint8_t family, uint8_t *ret)
{
	const char *value = take_value(in, word);
	struct addr a;

	if (value && addr_parse(value, &a) == 0 && a.family == family)
		memcpy(ret, a.bytes, family == AF_INET ? 4 : 16);
}

static void lb_conf(struct machine *m, struct words *in, struct buf *out)
{
	uint8_t src4[4], src6[16];
	uint32_t buckets = take_number(in, "buckets", PLUGIN_KEEP);
	uint32_t timeout = take_number(in, "timeout", PLUGIN_KEEP);
	int err;

	memcpy(src4, m->plugin.src4, sizeof(src4));
	memcpy(src6, m->plugin.src6, sizeof(src6));
	take_address(in, "ip4-src-address", AF_INET, src4);
	take_address(in, "ip6-src-address", AF_INET6, src6);
	plugin_collect(&m->plugin, m->now);
	err = in->n ? -EINVAL : plugin_conf(&m->plugin, src4, src6, buckets, timeout);
	if (err)
		buf_printf(out, "lb conf: error %d\n", err);
}

static const struct {
	const char *words;
	void (*show)(struct machine *m, struct buf *out);
} shows[] = {
	{ "show lb", show_lb },
	{ "show lb vips", show_vips },
	{ "show lb vips verbose", show_vips_verbose },
};

static const struct {
	const char *words;
	void (*run)(struct machine *m, struct words *in, struct buf *out);
} commands[] = {
	{ "lb vip ", lb_vip },
	{ "lb as ", lb_as },
	{ "lb conf ", lb_conf },
};

static void split(char *line, struct words *in)
{
	for (char *p = line; in->n < WORDS_MAX; p += strcspn(p, " ")) {
		while (*p == ' ')
			*p++ = '\0';
		if (!*p)
			break;
		in->w[in->n++] = p;
	}
}

static bool run_command(struct machine *m, const char *line, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		size_t n = strlen(commands[i].words);
		struct words in = { 0 };
		char *rest;

		if (strncmp(line, commands[i].words, n) != 0)
			continue;
		rest = mem_strdup(line + n);
		split(rest, &in);
		commands[i].run(m, &in, out);
		free(rest);
		return true;
	}
	return false;
}

void machine_cli(struct machine *m, const char *line, struct buf *out)
{
	bool has_lb = m->who != PERSONALITY_NO_PLUGIN;

	for (size_t i = 0; has_lb && i < ARRAY_SIZE(shows); i++)
		if (strcmp(line, shows[i].words) == 0) {
			shows[i].show(m, out);
			return;
		}
	if (!has_lb || !run_command(m, line, out))
		buf_printf(out, "unknown input `%s'\n", line);
}
