/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/testkit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct plugin kit_plugin;
uint32_t kit_now;

int kit_set_up(void **state)
{
	plugin_init(&kit_plugin);
	kit_now = 1;
	return 0;
}

int kit_tear_down(void **state)
{
	plugin_free(&kit_plugin);
	return 0;
}

/* ---- helpers for the tests ---- */

struct ip46 kit_ip(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return ip46_of(&a);
}

struct plugin_key kit_key(const char *prefix, uint8_t protocol, uint16_t port)
{
	struct ip46 address;
	uint8_t plen;

	assert_int_equal(ip46_parse_prefix(prefix, &address, &plen), 0);
	return plugin_key_of(address, plen, protocol, port);
}

int kit_add_vip_as(const char *prefix, uint8_t protocol, uint16_t port, uint32_t encap,
		   uint32_t slots)
{
	struct plugin_vip_args args = { .key = kit_key(prefix, protocol, port),
					.encap = encap,
					.table_length = slots };

	return plugin_vip_add(&kit_plugin, kit_now, &args);
}

int kit_add_vip(const char *prefix, uint16_t port)
{
	return kit_add_vip_as(prefix, TCP, port, PLUGIN_GRE4, SLOTS);
}

int kit_del_vip(const char *prefix, uint16_t port)
{
	struct plugin_key k = kit_key(prefix, TCP, port);

	return plugin_vip_del(&kit_plugin, kit_now, &k);
}

struct plugin_as_args kit_as_args(const char *vip, const char *address, uint8_t weight, bool flush)
{
	return (struct plugin_as_args){ .vip = kit_key(vip, TCP, 80),
					.address = kit_ip(address),
					.weight = weight,
					.flush = flush };
}

int kit_add_as(const char *vip, const char *address, uint8_t weight)
{
	struct plugin_as_args args = kit_as_args(vip, address, weight, false);

	return plugin_as_add(&kit_plugin, kit_now, &args);
}

int kit_add_as_flush(const char *vip, const char *address, uint8_t weight)
{
	struct plugin_as_args args = kit_as_args(vip, address, weight, true);

	return plugin_as_add(&kit_plugin, kit_now, &args);
}

int kit_del_as(const char *vip, const char *address, bool flush)
{
	struct plugin_as_args args = kit_as_args(vip, address, 0, flush);

	return plugin_as_del(&kit_plugin, kit_now, &args);
}

int kit_set_weight(const char *vip, const char *address, uint8_t weight, bool flush)
{
	struct plugin_as_args args = kit_as_args(vip, address, weight, flush);

	return plugin_as_set_weight(&kit_plugin, &args);
}

uint32_t kit_index_of(const char *prefix, uint8_t protocol, uint16_t port)
{
	struct plugin_key k = kit_key(prefix, protocol, port);
	uint32_t i;

	assert_int_equal(plugin_vip_find(&kit_plugin, &k, &i), 0);
	return i;
}

unsigned kit_listed(const char *address, uint8_t flags)
{
	struct ip46 a = kit_ip(address);
	unsigned n = 0;

	pool_foreach(i, &kit_plugin.as_pool)
	{
		if (i && ip46_cmp(&kit_plugin.ass.items[i].address, &a) == 0 &&
		    kit_plugin.ass.items[i].flags == flags)
			n++;
	}
	return n;
}

uint8_t kit_weight_of(const char *vip, const char *address)
{
	struct ip46 a = kit_ip(address);
	const struct plugin_vip *v = &kit_plugin.vips.items[kit_index_of(vip, TCP, 80)];

	pool_foreach(slot, &v->slots)
	{
		const struct plugin_as *as = &kit_plugin.ass.items[v->as_of_slot.items[slot]];

		if (ip46_cmp(&as->address, &a) == 0)
			return as->weight;
	}
	fail();
	return 0;
}

uint32_t kit_buckets_of(const char *vip, const char *address)
{
	struct ip46 a = kit_ip(address);
	uint32_t i = kit_index_of(vip, TCP, 80), buckets[64];
	const struct plugin_vip *v = &kit_plugin.vips.items[i];

	plugin_buckets(&kit_plugin, i, buckets);
	pool_foreach(slot, &v->slots)
	{
		if (ip46_cmp(&kit_plugin.ass.items[v->as_of_slot.items[slot]].address, &a) == 0)
			return buckets[slot];
	}
	fail();
	return 0;
}

bool kit_has_route(const char *prefix)
{
	struct plugin_key k = kit_key(prefix, TCP, 0);

	return fib_find(&kit_plugin.fib, &k.prefix, k.plen) != NULL;
}

const char *kit_packet_to_port(const char *to, uint8_t protocol, uint16_t port, uint32_t flow)
{
	static char text[IP46_STRLEN];
	struct plugin_packet packet = {
		.to = kit_ip(to), .protocol = protocol, .port = port, .flow = flow, .length = 48
	};
	uint32_t as = plugin_packet(&kit_plugin, kit_now, &packet);

	return as ? ip46_format(&kit_plugin.ass.items[as].address, text) : NOBODY;
}

const char *kit_packet_to(const char *to, uint32_t flow)
{
	return kit_packet_to_port(to, TCP, 80, flow);
}

uint64_t kit_counted(enum plugin_counter kind, uint32_t vip)
{
	return kit_plugin.counters[kind].items[vip];
}

uint32_t kit_flow_to(const char *vip, const char *address)
{
	for (uint32_t flow = 1; flow < SLOTS; flow++)
		if (strcmp(kit_packet_to(vip, flow), address) == 0)
			return flow;
	fail();
	return 0;
}

void kit_wait_seconds(uint32_t seconds)
{
	for (uint32_t until = kit_now + seconds; kit_now < until;)
		if (++kit_now % PLUGIN_COLLECT_EVERY == 0)
			plugin_collect(&kit_plugin, kit_now);
}

void kit_have_two(void)
{
	assert_int_equal(kit_add_vip(VIP, 80), 0);
	assert_int_equal(kit_add_as(VIP, A, 100), 0);
	assert_int_equal(kit_add_as(VIP, B, 100), 0);
}
