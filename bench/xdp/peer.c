/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Katran, from an object file of its balancer program with default options, which the caller has
 * compiled: IPIP, one LRU map of flows per CPU. The maps are resized to the number of VIPs here;
 * names and layouts of its maps are those of its release of 2025.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "bench/xdp/subject.h"

#define PROGRAM "balancer_ingress"
#define V6_SERVER N_SERVERS  /* sixteen more, for the IPv6 VIP */
#define FLAG_V6 1	     /* of a server */
#define STATS_OF_ITS_OWN 512 /* entries after those of VIPs */

struct peer_vip_key {
	uint32_t address[4]; /* IPv4 in the first word */
	uint16_t port;	     /* network order */
	uint8_t protocol, zero;
};

struct peer_vip {
	uint32_t flags, number;
};

struct peer_server {
	uint32_t address[4]; /* IPv4 in the first word */
	uint8_t flags, zero[3];
};

struct peer_flow_key {
	uint32_t source[4], destination[4], ports;
	uint8_t protocol, zero[3];
};

struct peer_flow {
	uint32_t server, zero;
	uint64_t seen;
};

static void *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = NULL;
	size_t n = 0, got = 1;

	if (!file)
		check(-errno, path);
	while (got > 0) {
		bytes = mem_resize(bytes, n + 65536, 1);
		got = fread(bytes + n, 1, 65536, file);
		n += got;
	}
	fclose(file);
	*ret_size = n;
	return bytes;
}

static struct xdp_map map_of(const struct subject *s, const char *name)
{
	struct xdp_map map;

	check(xdp_map(s->object, name, &map), name);
	return map;
}

static void put(const struct subject *s, const char *name, const void *key, const void *value)
{
	struct xdp_map map = map_of(s, name);

	check(xdp_map_write(&map, key, value), name);
}

/* One system call for a whole ring: there are tens of millions of entries. */
static void put_ring(const struct subject *s, uint32_t number, uint32_t first_server)
{
	struct xdp_map map = map_of(s, "ch_rings");
	_cleanup_(cleanup_free) uint32_t *keys = mem_resize(NULL, TABLE_SIZE, sizeof(*keys));
	_cleanup_(cleanup_free) uint32_t *values = mem_resize(NULL, TABLE_SIZE, sizeof(*values));
	union bpf_attr attr = { .batch = { .keys = (uintptr_t)keys,
					   .values = (uintptr_t)values,
					   .count = TABLE_SIZE,
					   .map_fd = (uint32_t)map.fd } };

	for (uint32_t slot = 0; slot < TABLE_SIZE; slot++) {
		keys[slot] = number * TABLE_SIZE + slot;
		values[slot] = first_server + server_of_slot(slot);
	}
	if (syscall(SYS_bpf, BPF_MAP_UPDATE_BATCH, &attr, sizeof(attr)) < 0)
		check(-errno, "ch_rings");
}

static void add_vip(const struct subject *s, uint32_t number, const struct vip *v)
{
	struct peer_vip_key key = { .port = htons(80), .protocol = v->protocol };
	struct peer_vip vip = { .number = number };

	if (v->v6)
		memcpy(key.address, v->address, sizeof(key.address));
	else
		key.address[0] = v->address[3];
	put(s, "vip_map", &key, &vip);
	put_ring(s, number, v->v6 ? V6_SERVER : v->first_server);
}

static void add_servers(const struct subject *s)
{
	for (uint32_t i = SHARED_SERVER; i < N_SERVERS + SERVERS; i++) {
		struct peer_server server = { .address = { server_address(i) } };

		if (i >= V6_SERVER)
			server =
				(struct peer_server){ .address = { htonl(0x20010db8),
								   htonl(0x00110000), 0, htonl(i) },
						      .flags = FLAG_V6 };
		put(s, "reals", &i, &server);
	}
}

/* A new, empty map for this CPU, which is the only one that runs packets. */
void peer_forget(const struct subject *s)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_LRU_HASH,
				.key_size = sizeof(struct peer_flow_key),
				.value_size = sizeof(struct peer_flow),
				.max_entries = FLOWS };
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	uint32_t cpu = (uint32_t)sched_getcpu();

	check(fd < 0 ? -errno : 0, "LRU map");
	check(xdp_map_write(&s->lrus, &cpu, &fd), "lru_mapping");
	close(fd);
}

static void open_object(struct subject *s, const char *path, uint32_t vips)
{
	const struct {
		const char *map;
		uint32_t entries;
	} sizes[] = {
		{ "vip_map", vips },
		{ "ch_rings", vips * TABLE_SIZE },
		{ "stats", vips + STATS_OF_ITS_OWN + 1024 },
		{ "reals", N_SERVERS + SERVERS },
		{ "reals_stats", N_SERVERS + SERVERS },
		{ "server_id_map", 1 },
	};
	size_t size;
	_cleanup_(cleanup_free) void *elf = read_file(path, &size);

	check(xdp_object_open(elf, size, &s->object), path);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check(xdp_object_resize(s->object, sizes[i].map, sizes[i].entries), sizes[i].map);
	check(xdp_object_load(s->object), path);
	s->program = xdp_object_program(s->object, PROGRAM);
	check(s->program, PROGRAM);
}

void peer_open(struct subject *s, const char *path, const struct vip *vips, size_t n)
{
	static const uint8_t router[8] = { 2, 0, 0, 0, 2, 1 };
	uint32_t zero = 0;

	s->name = "peer";
	open_object(s, path, (uint32_t)n);
	s->lrus = map_of(s, "lru_mapping");
	put(s, "ctl_array", &zero, router);
	add_servers(s);
	for (uint32_t i = 0; i < n; i++)
		add_vip(s, i, &vips[i]);
	peer_forget(s);
}
