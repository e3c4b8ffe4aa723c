/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * choose: which VIP a packet is for, and which of its servers gets it. A known flow keeps its
 * server; a new one goes to the server of its slot in the VIP's table.
 */
#pragma once

#include "bpf/flow.h"
#include "bpf/hash.h"

/*
 * Results of find() in place of a VIP, besides ABI_CELL_BY_PORT: not one of our
 * addresses; to be dropped.
 */
#define NOT_OURS ABI_CELL_EMPTY
#define NOT_WANTED ABI_CELL_GONE

static __always_inline int is_vip(__u32 vip)
{
	return vip != NOT_OURS && vip < NOT_WANTED;
}

struct choice {
	struct abi_as server; /* vip 0: none */
	__u32 id;
	enum abi_kind kind;
};

static __always_inline int is_key(const struct abi_vip_key *a, const struct abi_vip_key *b)
{
	return a->address[3] == b->address[3] && a->address[2] == b->address[2] &&
	       a->address[1] == b->address[1] && a->address[0] == b->address[0] &&
	       a->port == b->port && a->protocol == b->protocol;
}

/*
 * Lookup with at most ABI_VIP_PROBES probes. vip is read once, as volatile: user space may change
 * the cell between two reads. Not unrolled, to keep the program small for the verifier.
 */
static __always_inline __u32 find_key(const struct abi_config *config,
				      const struct abi_vip_key *key)
{
	__u32 home = abi_vip_home(key), index, vip;
	const struct abi_vip_cell *cell;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < ABI_VIP_PROBES; i++) {
		index = (home + i) & config->vip_mask;
		cell = bpf_map_lookup_elem(&lb_vip_cells, &index);
		if (!cell)
			break;
		vip = *(const volatile __u32 *)&cell->vip;
		if (vip == ABI_CELL_EMPTY)
			break;
		if (vip != ABI_CELL_GONE && is_key(&cell->key, key))
			return vip;
	}
	return NOT_OURS;
}

/* The all-port VIP of the destination, or ABI_CELL_BY_PORT, or NOT_OURS. */
static __always_inline __u32 find_address(const struct abi_config *config, const struct packet *p)
{
	struct abi_vip_key key = { 0 };

	__builtin_memcpy(key.address, p->destination, sizeof(key.address));
	return find_key(config, &key);
}

/* The per-port VIP of the packet; else what its address has. */
static __always_inline __u32 find_vip(const struct abi_config *config, const struct packet *p)
{
	struct abi_vip_key key = { .port = p->ports[1], .protocol = p->protocol };
	__u32 vip;

	__builtin_memcpy(key.address, p->destination, sizeof(key.address));
	vip = find_key(config, &key);
	return vip ? vip : find_address(config, p);
}

/* The mask proves to the verifier that the index is in bounds. */
static __always_inline void count_vip(const struct abi_config *config, __u32 cpu, __u32 vip,
				      enum abi_kind kind, __u32 bytes)
{
	__u32 index = cpu * config->vips + vip;
	struct abi_vip_counts *counts = bpf_map_lookup_elem(&lb_vip_counts, &index);

	if (!counts)
		return;
	counts->packets[kind & (ABI_KINDS - 1)]++;
	counts->bytes += bytes;
}

/* The AS as it is in one moment: one read of its word. vip 0: there is none. */
static __always_inline struct abi_as read_as(__u32 id)
{
	const volatile __u64 *word = bpf_map_lookup_elem(&lb_servers, &id);
	union {
		__u64 word;
		struct abi_as as;
	} read = { .word = word ? *word : 0 };

	return read.as;
}

/*
 * Chooses by the table. Fragments and VIPs with source stickiness are hashed by source address
 * alone. table is read once: it is the word by which user space switches tables. An AS of another
 * VIP is none: its id was given away in the meantime.
 */
static __always_inline void choose_by_table(const struct abi_config *config, __u32 vip,
					    const struct packet *p, struct choice *c)
{
	const struct abi_vip *v = bpf_map_lookup_elem(&lb_vips, &vip);
	const struct abi_table_line *line;
	__u32 table, slot, key;

	c->server.vip = 0;
	c->kind = ABI_KIND_NO_SERVER;
	if (!v)
		return;
	table = *(const volatile __u32 *)&v->table;
	slot = hash_slot(p, p->tracking == TRACK_NONE || v->flags & ABI_VIP_SRC_STICKY,
			 config->table_size);
	key = (table - 1) * config->table_lines + slot / ABI_LINE_SLOTS;
	line = bpf_map_lookup_elem(&lb_tables, &key);
	if (!table || !line)
		return;
	c->id = line->as[slot % ABI_LINE_SLOTS];
	c->server = read_as(c->id);
	if (c->server.vip == vip)
		c->kind = ABI_KIND_UNTRACKED;
	else
		c->server.vip = 0;
}

/*
 * Chooses by the flow; true if the packet belongs to a known flow whose server still accepts it.
 * A changed generation means that the AS was flushed or its index was given to another server. A
 * server of weight 0 keeps its connections, but a client that opens another one from the same port
 * gets the table's choice: otherwise a drain would never end.
 */
static __always_inline int choose_by_flow(struct place *at, __u32 vip, const struct packet *p,
					  struct choice *c)
{
	if (!at->flow)
		return 0;
	if (!flow_is_alive(at, at->flow))
		return 0;
	c->id = ABI_FLOW_AS(at->flow);
	c->server = read_as(c->id);
	if (c->server.generation != ABI_FLOW_GENERATION(at->flow))
		return 0;
	if (c->server.vip != vip) { /* the tags collide: leave the other VIP's flow alone */
		at->slot = -1;
		return 0;
	}
	if (p->opens && !(c->server.weight & ABI_AS_WEIGHT))
		return 0;
	if (p->tracking == TRACK)
		flow_touch(at);
	c->kind = ABI_KIND_NEXT;
	return 1;
}

/*
 * The state of this CPU, with the count of new flows cleared in a new quarter of a tick. Never
 * NULL, but the verifier wants the check.
 */
static __always_inline struct abi_cpu *cpu_of(__u32 now)
{
	__u32 key = 0;
	struct abi_cpu *cpu = bpf_map_lookup_elem(&lb_cpu, &key);

	if (cpu && cpu->stamp != now) {
		cpu->stamp = now;
		cpu->new_flows = 0;
	}
	return cpu;
}

/* Whether so many flows are new that a connection must show a second packet before it is stored. */
static __always_inline int is_flood(const struct abi_settings *s, __u32 now)
{
	const struct abi_cpu *cpu = cpu_of(now);

	return cpu && cpu->new_flows >= s->new_flows;
}

/* Stores the flow at its place: that of the stale entry with its tag, or one that is made free. */
static __always_inline void store(struct place *at, __u32 now, struct choice *c)
{
	struct abi_cpu *cpu = cpu_of(now);

	if (!at->flow)
		flow_make_room(at);
	if (at->slot < 0)
		return;
	flow_store(at, c->id, c->server.generation);
	c->kind = ABI_KIND_FIRST;
	if (cpu)
		cpu->new_flows++;
}

/*
 * Fragments, and new connections during a flood, are sent by the table alone. All others look for
 * their flow first. Packets that only find (ICMP errors) never store one.
 */
static __always_inline void choose(const struct abi_config *config, const struct abi_settings *s,
				   __u32 vip, const struct packet *p, struct choice *c)
{
	__u64 hash = hash_flow(p, vip, config->seed);
	__u64 jiffies = bpf_jiffies64();
	__u32 shift = config->clock_shift & 31, key = hash & config->flow_mask;
	__u32 now = jiffies >> (shift - ABI_SHORT_TICKS);
	struct place at = { .timeout = s->flow_timeout, .now = jiffies >> shift };

	at.bucket = bpf_map_lookup_elem(&lb_flows, &key);
	if (!at.bucket || p->tracking == TRACK_NONE || (p->opens && is_flood(s, now))) {
		choose_by_table(config, vip, p, c);
		return;
	}
	flow_find(&at, hash);
	if (choose_by_flow(&at, vip, p, c))
		return;
	choose_by_table(config, vip, p, c);
	if (c->server.vip && p->tracking == TRACK)
		store(&at, now, c);
}
