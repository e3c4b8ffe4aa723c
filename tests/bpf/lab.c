/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bpf/lab.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <lb.skel.h>

#include "base/addr.h"
#include "base/cleanup.h"

const uint8_t lab_second_mac[6] = { 2, 0, 0, 0, 3, 2 };
const uint8_t lab_second_router_mac[6] = { 2, 0, 0, 0, 3, 1 };

static const char *const network[] = {
	"cd /proc/sys/net && echo 0 > ipv6/conf/default/accept_dad && echo 1 > ipv4/ip_forward",
	"cd /proc/sys/net && echo 1 | tee ipv6/conf/*/forwarding ipv4/conf/*/forwarding >/dev/null",
	"ip link set lo up",
	"ip link add l0 address 02:00:00:00:02:02 type veth peer name r0",
	"ip link add l1 address 02:00:00:00:03:02 type veth peer name r1",
	"for i in l0 r0 l1 r1; do ip link set $i up; done",
	"ip addr add 10.0.2.2/24 dev l0; ip addr add 10.0.3.2/24 dev l1",
	"ip addr add 2001:db8:2::2/64 dev l0 nodad; ip addr add 2001:db8:3::2/64 dev l1 nodad",
	"ip neigh replace 10.0.2.1 dev l0 lladdr 02:00:00:00:02:01 nud permanent",
	"ip neigh replace 10.0.3.1 dev l1 lladdr 02:00:00:00:03:01 nud permanent",
	"ip neigh replace 2001:db8:2::1 dev l0 lladdr 02:00:00:00:02:01 nud permanent",
	"ip neigh replace 2001:db8:3::1 dev l1 lladdr 02:00:00:00:03:01 nud permanent",
	"ip route add 10.0.11.0/24 via 10.0.2.1; ip route add 2001:db8:11::/64 via 2001:db8:2::1",
	"ip route add 10.0.12.0/24 via 10.0.3.1; ip route add 2001:db8:12::/64 via 2001:db8:3::1",
	"ip route add blackhole 10.0.13.0/24; ip route add unreachable 10.0.14.0/24",
	"ip route add prohibit 10.0.15.0/24; ip route add 10.0.16.0/24 via 10.0.2.9",
	"ip route add 2001:db8:16::/64 via 2001:db8:2::9",
	"ip route add 10.0.17.0/24 via 10.0.2.1 mtu lock 1400",
};

static const struct {
	const char *map;
	uint32_t entries;
	bool by_cpu; /* so many for each CPU */
} sizes[] = {
	{ ABI_MAP_VIPS, LAB_VIPS, false },	  { ABI_MAP_SERVERS, LAB_SERVERS, false },
	{ ABI_MAP_HOSTS, LAB_SERVERS, false },	  { ABI_MAP_FLOWS, LAB_BUCKETS, false },
	{ ABI_MAP_TABLES, 32 * 64, false },	  { ABI_MAP_VIP_COUNTS, LAB_VIPS, true },
	{ ABI_MAP_AS_COUNTS, LAB_SERVERS, true }, { ABI_MAP_HOPS, LAB_SERVERS, true },
};

static void map_of(const struct lab *lab, const char *name, struct xdp_map *ret)
{
	assert_int_equal(xdp_map(lab->object, name, ret), 0);
}

static void *memory_of(const struct lab *lab, const char *name)
{
	struct xdp_map map;
	void *memory;

	map_of(lab, name, &map);
	assert_int_equal(xdp_map_memory(&map, &memory), 0);
	return memory;
}

static void find_maps(struct lab *lab)
{
	map_of(lab, ABI_MAP_VIP_CELLS, &lab->cells_map);
	map_of(lab, ABI_MAP_LINKS, &lab->links);
	map_of(lab, ABI_MAP_EVENTS, &lab->events);
	map_of(lab, ABI_MAP_CPU, &lab->cpu);
	lab->cells = memory_of(lab, ABI_MAP_VIP_CELLS);
	lab->config = memory_of(lab, ABI_MAP_CONFIG);
	lab->vips = memory_of(lab, ABI_MAP_VIPS);
	lab->servers = memory_of(lab, ABI_MAP_SERVERS);
	lab->hosts = memory_of(lab, ABI_MAP_HOSTS);
	lab->vip_counts = memory_of(lab, ABI_MAP_VIP_COUNTS);
	lab->as_counts = memory_of(lab, ABI_MAP_AS_COUNTS);
	lab->hops = memory_of(lab, ABI_MAP_HOPS);
	lab->tables = memory_of(lab, ABI_MAP_TABLES);
	lab->flows = memory_of(lab, ABI_MAP_FLOWS);
}

static const char *load(struct lab *lab)
{
	static char reason[256];
	size_t size;
	const void *elf = lb__elf_bytes(&size);
	int r;

	assert_int_equal(xdp_object_open(elf, size, &lab->object), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(
			xdp_object_resize(lab->object, sizes[i].map,
					  sizes[i].entries *
						  (sizes[i].by_cpu ? xdp_cpu_numbers() : 1)),
			0);
	r = xdp_object_load(lab->object);
	if (r == -EPERM) {
		snprintf(reason, sizeof(reason), "BPF is not permitted here");
		return reason;
	}
	if (r < 0)
		fprintf(stderr, "%s\n", xdp_why());
	assert_int_equal(r, 0);
	lab->program = xdp_object_program(lab->object, ABI_PROGRAM);
	assert_true(lab->program >= 0);
	find_maps(lab);
	return NULL;
}

/* /proc/sys/net is that of the process which opens it. */
static void build_network(struct lab *lab)
{
	for (size_t i = 0; i < ARRAY_SIZE(network); i++) {
		if (system(network[i]) != 0)
			fail_msg("failed: %s", network[i]);
	}
	lab->l0 = if_nametoindex("l0");
	lab->l1 = if_nametoindex("l1");
}

const char *lab_start(struct lab *lab)
{
	const char *reason;
	struct timespec tick;

	if (unshare(CLONE_NEWNET) < 0)
		return "a network namespace needs root";
	reason = load(lab);
	if (reason)
		return reason;
	build_network(lab);
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	lab->hz = (unsigned)(1000000000 / tick.tv_nsec);
	lab->flow_timeout = ABI_FLOW_TIMEOUT(LAB_FLOW_TIMEOUT_S, lab->hz);
	return NULL;
}

int lab_skip(const char *reason)
{
	printf("1..1\nok 1 - packets through the program # SKIP %s\n", reason);
	return 0;
}

static struct addr address(const char *text)
{
	struct addr a;

	assert_int_equal(addr_parse(text, &a), 0);
	return a;
}

/* 128 bits, as the maps have it. */
static void put_address(const char *text, __u32 ret[4])
{
	struct addr a = address(text);

	memset(ret, 0, 16);
	if (a.family == AF_INET6) {
		memcpy(ret, a.bytes, 16);
		return;
	}
	ret[2] = htonl(0xffff);
	memcpy(&ret[3], a.bytes, 4);
}

static void write_settings(struct lab *lab)
{
	struct abi_settings *s = &lab->config->settings[0];
	__u32 mapped[4];

	memset(lab->config, 0, sizeof(*lab->config));
	lab->config->layout = ABI_LAYOUT;
	lab->config->table_size = LAB_TABLE_SIZE;
	lab->config->table_lines = 32;
	lab->config->flow_mask = LAB_BUCKETS - 1;
	lab->config->seed[0] = 0x0123456789abcdef;
	lab->config->seed[1] = 0xfedcba9876543210;
	lab->config->vip_mask = lab->cells_map.entries - 1;
	lab->config->clock_shift = ABI_CLOCK_SHIFT(lab->hz);
	lab->config->vips = LAB_VIPS;
	lab->config->servers = LAB_SERVERS;
	s->flow_timeout = lab->flow_timeout;
	s->new_flows = 1000000;
	put_address(LAB_SOURCE6, s->source6);
	put_address(LAB_SOURCE4, mapped);
	s->source4 = mapped[3];
}

void lab_reset(struct lab *lab)
{
	const unsigned cpus = xdp_cpu_numbers();

	memset(lab->vip_counts, 0, (size_t)cpus * LAB_VIPS * sizeof(*lab->vip_counts));
	memset(lab->as_counts, 0, (size_t)cpus * LAB_SERVERS * sizeof(*lab->as_counts));
	memset(lab->hops, 0, (size_t)cpus * LAB_SERVERS * sizeof(*lab->hops));
	for (uint32_t i = 0; i < ABI_EVENTS; i++)
		assert_int_equal(xdp_map_clear(&lab->events, i), 0);
	assert_int_equal(xdp_map_clear(&lab->cpu, 0), 0);
	memset(lab->cells, 0, lab->cells_map.entries * sizeof(*lab->cells));
	memset(lab->servers, 0, LAB_SERVERS * sizeof(*lab->servers));
	memset(lab->hosts, 0, LAB_SERVERS * sizeof(*lab->hosts));
	memset(lab->vips, 0, LAB_VIPS * sizeof(*lab->vips));
	memset(lab->flows, 0, LAB_BUCKETS * sizeof(*lab->flows));
	write_settings(lab);
	lab->n_tables = 0;
	lab->n_vips = lab->n_servers = 1; /* 0 is nobody */
}

struct abi_settings *lab_settings(struct lab *lab)
{
	return &lab->config->settings[lab->config->active];
}

void lab_put_cell(struct lab *lab, const struct abi_vip_key *key, uint32_t vip)
{
	uint32_t home = abi_vip_home(key);

	for (uint32_t i = 0; i < ABI_VIP_PROBES; i++) {
		struct abi_vip_cell *cell = &lab->cells[(home + i) & lab->config->vip_mask];

		if (cell->vip && memcmp(&cell->key, key, sizeof(*key)) != 0)
			continue;
		cell->key = *key;
		__atomic_store_n(&cell->vip, vip, __ATOMIC_RELEASE);
		return;
	}
	fail_msg("no cell is free");
}

uint32_t lab_add_vip(struct lab *lab, const char *text, uint8_t protocol, uint16_t port)
{
	struct abi_vip_key key = { .port = htons(port), .protocol = protocol };
	uint32_t vip = lab->n_vips++;

	put_address(text, key.address);
	lab_put_cell(lab, &key, vip);
	key.port = 0;
	key.protocol = 0;
	if (port)
		lab_put_cell(lab, &key, ABI_CELL_BY_PORT);
	return vip;
}

uint32_t lab_add_server(struct lab *lab, uint32_t vip, const char *text)
{
	uint32_t id = lab->n_servers++;

	lab->hosts[id].family = address(text).family == AF_INET ? 4 : 6;
	put_address(text, lab->hosts[id].address);
	lab->servers[id] =
		(struct abi_as){ .vip = vip, .host = (__u16)id, .generation = 1, .weight = 100 };
	return id;
}

void lab_set_table(struct lab *lab, uint32_t vip, const uint32_t *ids, uint32_t n)
{
	uint32_t table = lab->n_tables++ % 64;
	struct abi_table_line *line = &lab->tables[(size_t)table * lab->config->table_lines];

	if (n == 0) {
		lab->vips[vip].table = 0;
		return;
	}
	for (uint32_t slot = 0; slot < LAB_TABLE_SIZE; slot++)
		line[slot / ABI_LINE_SLOTS].as[slot % ABI_LINE_SLOTS] =
			(__u16)ids[slot * n / LAB_TABLE_SIZE];
	__atomic_store_n(&lab->vips[vip].table, table + 1, __ATOMIC_RELEASE);
}

uint32_t lab_add_one(struct lab *lab, const char *text, uint8_t protocol, uint16_t port,
		     const char *server)
{
	uint32_t vip = lab_add_vip(lab, text, protocol, port);
	uint32_t id = lab_add_server(lab, vip, server);

	lab_set_table(lab, vip, &id, 1);
	return vip;
}

uint32_t lab_run(const struct lab *lab, const struct frame *in, struct frame *ret)
{
	struct xdp_run run = { .frame = in->bytes,
			       .size = (uint32_t)in->size,
			       .ifindex = lab->l0,
			       .out = ret->bytes,
			       .out_size = sizeof(ret->bytes) };

	assert_int_equal(xdp_run(lab->program, &run), 0);
	ret->size = run.out_size;
	return run.verdict;
}

uint32_t lab_server_of(const struct lab *lab, const struct frame_spec *spec)
{
	struct frame in, out;
	uint32_t verdict;

	frame_build(spec, &in);
	verdict = lab_run(lab, &in, &out);
	if (verdict != XDP_REDIRECT)
		return 0;
	for (uint32_t id = 1; id < lab->n_servers; id++) {
		const struct abi_host *host = &lab->hosts[lab->servers[id].host];
		bool v4 = host->family == 4;

		if (memcmp(out.bytes + 14 + (v4 ? 16 : 24), v4 ? &host->address[3] : host->address,
			   v4 ? 4 : 16) == 0)
			return id;
	}
	fail_msg("sent to nobody that is known");
	return 0;
}

uint64_t lab_vip_packets(const struct lab *lab, uint32_t vip, enum abi_kind kind)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < xdp_cpu_numbers(); cpu++)
		sum += lab->vip_counts[cpu * LAB_VIPS + vip].packets[kind];
	return sum;
}

uint64_t lab_vip_bytes(const struct lab *lab, uint32_t vip)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < xdp_cpu_numbers(); cpu++)
		sum += lab->vip_counts[cpu * LAB_VIPS + vip].bytes;
	return sum;
}

uint64_t lab_server_packets(const struct lab *lab, uint32_t id)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < xdp_cpu_numbers(); cpu++)
		sum += lab->as_counts[cpu * LAB_SERVERS + id].packets;
	return sum;
}

uint64_t lab_server_bytes(const struct lab *lab, uint32_t id)
{
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < xdp_cpu_numbers(); cpu++)
		sum += lab->as_counts[cpu * LAB_SERVERS + id].bytes;
	return sum;
}

uint64_t lab_events(const struct lab *lab, enum abi_event event)
{
	uint64_t sum;

	assert_int_equal(xdp_map_sum(&lab->events, event, &sum, 1), 0);
	return sum;
}

uint64_t lab_all_events(const struct lab *lab)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < ABI_EVENTS; i++)
		all += lab_events(lab, i);
	return all;
}

static unsigned find_flows(const struct lab *lab, uint64_t **ret_last)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LAB_BUCKETS * ABI_BUCKET_FLOWS; i++) {
		__u64 *flow = &lab->flows[i / ABI_BUCKET_FLOWS].flow[i % ABI_BUCKET_FLOWS];

		if (*flow) {
			*ret_last = (uint64_t *)flow;
			n++;
		}
	}
	return n;
}

uint64_t *lab_only_flow(const struct lab *lab)
{
	uint64_t *flow;

	return find_flows(lab, &flow) == 1 ? flow : NULL;
}

unsigned lab_count_flows(const struct lab *lab)
{
	uint64_t *flow;

	return find_flows(lab, &flow);
}

void lab_age(uint64_t *flow, unsigned units)
{
	uint64_t stamp = (ABI_FLOW_STAMP(*flow) - units) & ABI_FLOW_STAMP_MASK;

	*flow = (*flow & ~((uint64_t)ABI_FLOW_STAMP_MASK << 24)) | stamp << 24;
}

void lab_assert_same(const struct frame *got, const struct frame *want)
{
	for (size_t i = 0; i < got->size && i < want->size; i++) {
		if (got->bytes[i] != want->bytes[i])
			fail_msg("byte %zu is %02x, not %02x", i, got->bytes[i], want->bytes[i]);
	}
	assert_int_equal(got->size, want->size);
}
