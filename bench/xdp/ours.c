/* SPDX-License-Identifier: Apache-2.0 */
/* The program of this tree, its maps filled as maglevd fills them. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <lb.skel.h>

#include "base/cleanup.h"
#include "bench/xdp/subject.h"

#define TABLE_LINES ((TABLE_SIZE + ABI_LINE_SLOTS - 1) / ABI_LINE_SLOTS)
#define BUCKETS (FLOWS / ABI_BUCKET_FLOWS)
#define CELLS 32768

/* The maps that are filled, in memory. */
struct plane {
	struct abi_as *as;
	struct abi_host *hosts;
	struct abi_table_line *lines;
	struct abi_vip *vips;
	struct abi_vip_cell *cells;
};

static void *memory_of(const struct subject *s, const char *name)
{
	struct xdp_map map;
	void *memory;

	check(xdp_map(s->object, name, &map), name);
	check(xdp_map_memory(&map, &memory), name);
	return memory;
}

static void configure(const struct subject *s, uint32_t vips, uint32_t servers)
{
	struct abi_config *c = memory_of(s, ABI_MAP_CONFIG);
	struct timespec tick;
	unsigned hz;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	hz = (unsigned)(1000000000 / tick.tv_nsec);
	c->layout = ABI_LAYOUT;
	c->table_size = TABLE_SIZE;
	c->table_lines = TABLE_LINES;
	c->flow_mask = BUCKETS - 1;
	c->seed[0] = 0x243f6a8885a308d3;
	c->seed[1] = 0x13198a2e03707344;
	c->settings[0].flags = ABI_SET_TX;
	c->vip_mask = CELLS - 1;
	c->clock_shift = ABI_CLOCK_SHIFT(hz);
	c->settings[0].flow_timeout = ABI_FLOW_TIMEOUT(40, hz);
	c->settings[0].new_flows = NEW_FLOWS * (1u << ABI_CLOCK_SHIFT(hz)) / 4 / hz;
	c->settings[0].source4 = htonl(0x0a000202);
	c->vips = vips;
	c->servers = servers;
}

static void add_servers(const struct plane *p, uint32_t index, const struct vip *v)
{
	uint32_t first = 1 + (index - 1) * SERVERS;

	for (uint32_t i = 0; i < SERVERS; i++) {
		uint32_t host = v->first_server + i;

		p->hosts[host] =
			(struct abi_host){ .address = { 0, 0, htonl(0xffff), server_address(host) },
					   .family = 4 };
		p->as[first + i] = (struct abi_as){
			.vip = index, .host = (__u16)host, .generation = 1, .weight = 100
		};
	}
}

static void add_table(const struct plane *p, uint32_t index)
{
	uint32_t first = 1 + (index - 1) * SERVERS, table = index - 1;
	struct abi_table_line *lines = p->lines + (size_t)table * TABLE_LINES;

	for (uint32_t slot = 0; slot < TABLE_SIZE; slot++)
		lines[slot / ABI_LINE_SLOTS].as[slot % ABI_LINE_SLOTS] =
			(__u16)(first + server_of_slot(slot));
	p->vips[index].table = table + 1;
}

static void add_cell(const struct plane *p, uint32_t index, const struct vip *v)
{
	struct abi_vip_key key = { .port = htons(80), .protocol = v->protocol };
	uint32_t home;

	memcpy(key.address, v->address, sizeof(key.address));
	if (!v->v6)
		key.address[2] = htonl(0xffff);
	home = abi_vip_home(&key);
	while (p->cells[home & (CELLS - 1)].vip)
		home++;
	p->cells[home & (CELLS - 1)] = (struct abi_vip_cell){ .key = key, .vip = index };
}

static void resize(const struct subject *s, uint32_t vips, uint32_t servers)
{
	const uint32_t cpus = xdp_cpu_numbers();
	const struct {
		const char *map;
		uint32_t entries;
	} sizes[] = {
		{ ABI_MAP_FLOWS, BUCKETS },
		{ ABI_MAP_VIP_CELLS, CELLS },
		{ ABI_MAP_TABLES, (vips - 1) * TABLE_LINES },
		{ ABI_MAP_VIPS, vips },
		{ ABI_MAP_VIP_COUNTS, cpus * vips },
		{ ABI_MAP_SERVERS, servers },
		{ ABI_MAP_AS_COUNTS, cpus * servers },
		{ ABI_MAP_HOSTS, servers },
		{ ABI_MAP_HOPS, cpus * servers },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check(xdp_object_resize(s->object, sizes[i].map, sizes[i].entries), sizes[i].map);
}

static void fill(const struct subject *s, const struct vip *vips, size_t n)
{
	const struct plane p = { .as = memory_of(s, ABI_MAP_SERVERS),
				 .hosts = memory_of(s, ABI_MAP_HOSTS),
				 .lines = memory_of(s, ABI_MAP_TABLES),
				 .vips = memory_of(s, ABI_MAP_VIPS),
				 .cells = memory_of(s, ABI_MAP_VIP_CELLS) };

	for (uint32_t i = 0; i < n; i++) {
		add_servers(&p, i + 1, &vips[i]);
		add_table(&p, i + 1);
		add_cell(&p, i + 1, &vips[i]);
	}
}

void ours_open(struct subject *s, const struct vip *vips, size_t n)
{
	size_t size;
	const void *elf = lb__elf_bytes(&size);
	const uint32_t servers = (uint32_t)n * SERVERS + 1;

	s->name = "ours";
	check(xdp_object_open(elf, size, &s->object), "open");
	resize(s, (uint32_t)n + 1, servers);
	check(xdp_object_load(s->object), "load");
	s->program = xdp_object_program(s->object, ABI_PROGRAM);
	s->flows = memory_of(s, ABI_MAP_FLOWS);
	configure(s, (uint32_t)n + 1, servers);
	fill(s, vips, n);
}

void ours_forget(const struct subject *s)
{
	memset(s->flows, 0, BUCKETS * sizeof(struct abi_bucket));
}

void ours_tell_events(const struct subject *s)
{
	struct xdp_map events;
	uint64_t n;

	check(xdp_map(s->object, ABI_MAP_EVENTS, &events), "events");
	for (uint32_t i = 0; i < ABI_EVENTS; i++) {
		check(xdp_map_sum(&events, i, &n, 1), "events");
		if (n)
			fprintf(stderr, "event %u: %llu\n", i, (unsigned long long)n);
	}
}
