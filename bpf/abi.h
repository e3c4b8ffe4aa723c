/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * abi: the interface between the XDP program and user space: maps, their keys and values, flags
 * and limits.
 *
 * User space writes all maps except the flow table, the counters and the next hops; the program
 * writes those and reads the rest. Of the flow table, user space only clears flows that are over.
 * There are no locks. A packet never sees half of a change, because each change ends in one aligned
 * store that makes it visible:
 *
 *	a table		is filled while unused, then abi_vip.table is stored
 *	an AS		is one word, which is stored whole; its host was written before
 *	the settings	are written into the idle half, then abi_config.active is stored
 *	a flush		is one store of the AS with another generation
 *
 * A table, AS, host or VIP index that was released rests for ABI_REST_S seconds before it is used
 * again, which is far longer than a packet stays in the program. docs/design/xdp.md has the
 * details.
 *
 * Addresses are in network order and 128 bits wide, IPv4 as ::ffff:a.b.c.d. Everything else is in
 * host order unless noted. Any change of meaning or layout requires a new ABI_LAYOUT.
 */
#pragma once

#include <linux/types.h>

#define ABI_LAYOUT 2
#define ABI_PROGRAM "maglev_lb"

/* The maps, by their names in the object file and as pins. */
#define ABI_MAP_CONFIG "lb_config"	   /* array[1] of abi_config, mmap */
#define ABI_MAP_VIP_CELLS "lb_vip_cells"   /* array of abi_vip_cell, mmap; a power of two */
#define ABI_MAP_VIPS "lb_vips"		   /* array of abi_vip, mmap; index 0 is none */
#define ABI_MAP_SERVERS "lb_servers"	   /* array of abi_as, mmap; index 0 is no server */
#define ABI_MAP_HOSTS "lb_hosts"	   /* array of abi_host, mmap; index 0 is none */
#define ABI_MAP_TABLES "lb_tables"	   /* array of abi_table_line, mmap */
#define ABI_MAP_FLOWS "lb_flows"	   /* array of abi_bucket, mmap; a power of two */
#define ABI_MAP_LINKS "lb_links"	   /* hash: __u32 ifindex -> abi_link */
#define ABI_MAP_VIP_COUNTS "lb_vip_counts" /* array of abi_vip_counts, mmap; by CPU and VIP */
#define ABI_MAP_AS_COUNTS "lb_as_counts"   /* array of abi_as_counts, mmap; by CPU and AS */
#define ABI_MAP_HOPS "lb_hops"		   /* array of abi_hop, mmap; by CPU and host */
#define ABI_MAP_EVENTS "lb_events"	   /* per CPU array of __u64, by enum abi_event */
#define ABI_MAP_CPU "lb_cpu"		   /* per CPU array[1] of abi_cpu */

/*
 * The entry of VIP, AS or host i for a CPU is cpu * abi_config.vips + i, or cpu *
 * abi_config.servers + i: the kernel's per-CPU arrays would cost a packet one more cache line for
 * a pointer. There are as many hosts as servers, since each AS may have one of its own.
 */

#define ABI_MAX_AS 65535 /* an AS is 16 bits in tables and flows; 0 means none */
#define ABI_REST_S 1	 /* seconds before an index is used again */

/* The key of a VIP. Port and protocol 0: the entry of the address itself. */
struct abi_vip_key {
	__u32 address[4];
	__u16 port; /* network order */
	__u8 protocol;
	__u8 zero;
};
_Static_assert(sizeof(struct abi_vip_key) == 20, "abi_vip_key");
_Static_assert(__builtin_offsetof(struct abi_vip_key, protocol) == 18, "abi_vip_key.protocol");

/*
 * One round of the hash of VIP keys and flows: xor, multiply, fold the high half down. Both sides
 * must compute the same, so it is part of the ABI.
 */
#define ABI_MIX_FACTOR 0x9fb21c651e98df25ull
static __inline__ __attribute__((always_inline)) __u64 abi_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * ABI_MIX_FACTOR;
	return hash ^ hash >> 32;
}

/*
 * VIPs are found in a table with open addressing: the cell of a key is one of the ABI_VIP_PROBES
 * cells from its home on (modulo the size), and never after the first empty cell. A cell is
 * filled key first and vip last, and emptied by storing vip alone.
 */
#define ABI_VIP_PROBES 8
#define ABI_CELL_EMPTY 0u
#define ABI_CELL_GONE 0xfffffffeu /* emptied, while cells after it are still in use */
/*
 * In the cell of an address (port and protocol 0) that has only per-port VIPs. Every address with
 * a VIP has such a cell: with this value, or with its all-port VIP.
 */
#define ABI_CELL_BY_PORT 0xffffffffu

struct abi_vip_cell {
	struct abi_vip_key key;
	__u32 vip; /* index, or ABI_CELL_* */
	__u32 reserved[2];
};
_Static_assert(sizeof(struct abi_vip_cell) == 32, "abi_vip_cell");

/* The first cell to look at, to be masked with abi_config.vip_mask. */
static __inline__ __attribute__((always_inline)) __u32 abi_vip_home(const struct abi_vip_key *key)
{
	const __u32 *a = key->address;
	__u64 hash = abi_mix((__u64)a[0] << 32 | a[1], (__u64)a[2] << 32 | a[3]);

	return (__u32)abi_mix(hash, (__u64)key->port << 8 | key->protocol);
}

#define ABI_VIP_SRC_STICKY 1u /* new flows are hashed by source address alone */
#define ABI_VIP_GRE6 2u	      /* for user space to read back; the program uses abi_as.family */
#define ABI_VIP_CHANGING 4u   /* for user space: the table may not match the servers yet */

struct abi_vip {
	__u32 table; /* number + 1; 0: no server takes new flows */
	__u32 flags; /* ABI_VIP_* */
};
_Static_assert(sizeof(struct abi_vip) == 8, "abi_vip");

#define ABI_AS_WEIGHT 0x7fu  /* of abi_as.weight: the weight; 0: no new connections */
#define ABI_AS_FLUSHED 0x80u /* for user space: flushed, and weight 0 since */

/* One server of one VIP. A server behind two VIPs has two of these, and one abi_host. */
struct abi_as {
	__u32 vip; /* 0: unused */
	__u16 host;
	__u8 generation; /* flows store it; a change invalidates all flows to the AS */
	__u8 weight;	 /* ABI_AS_* */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct abi_as) == 8, "abi_as");
_Static_assert(__builtin_offsetof(struct abi_as, generation) == 6, "abi_as.generation");

/* The address of a server, whichever VIPs it is behind. */
struct abi_host {
	__u32 address[4];
	__u8 family; /* 4 or 6: of the outer header */
	__u8 reserved[15];
};
_Static_assert(sizeof(struct abi_host) == 32, "abi_host");

/*
 * Table n is the lines [n * table_lines, (n + 1) * table_lines) of the map. The slot of a new
 * flow is a fixed function of its packet, the same on every balancer: see bpf/hash.h. A line
 * is a cache line.
 */
#define ABI_LINE_SLOTS 32
struct abi_table_line {
	__u16 as[ABI_LINE_SLOTS];
};
_Static_assert(sizeof(struct abi_table_line) == 64, "abi_table_line");

/*
 * A flow is one 64-bit word, read and written whole:
 *
 *	 0..15	AS, 0 = empty
 *	16..23	generation of the AS when the flow was stored
 *	24..38	when it was last seen, in ticks of 2^clock_shift jiffies (0.5 to 1 s)
 *	39	a second packet was seen: not to be evicted while it is alive
 *	40..63	tag: hash bits other than those that selected the bucket
 */
#define ABI_BUCKET_FLOWS 8
struct abi_bucket {
	__u64 flow[ABI_BUCKET_FLOWS];
};
_Static_assert(sizeof(struct abi_bucket) == 64, "abi_bucket");

#define ABI_FLOW_STAMP_MASK 0x7fffu
#define ABI_FLOW_CONFIRMED (1ull << 39)
#define ABI_FLOW_AS(flow) ((__u32)((flow)&0xffffu))
#define ABI_FLOW_GENERATION(flow) ((__u8)((flow) >> 16))
#define ABI_FLOW_STAMP(flow) ((__u32)((flow) >> 24) & ABI_FLOW_STAMP_MASK)
#define ABI_FLOW_TAG(flow) ((__u32)((flow) >> 40))
#define ABI_FLOW(as, generation, stamp, tag)                                                       \
	((__u64)(as) | (__u64)(__u8)(generation) << 16 |                                           \
	 (__u64)((stamp)&ABI_FLOW_STAMP_MASK) << 24 | (__u64)(tag) << 40)

/*
 * The program's clock is the kernel's jiffies, which are free to read, while asking for
 * the time costs a call. Their number per second is 10^9 /
 * clock_getres(CLOCK_MONOTONIC_COARSE) in nanoseconds.
 */
#define ABI_CLOCK_SHIFT(hz) ((hz) < 128 ? 6u : (hz) < 256 ? 7u : (hz) < 512 ? 8u : 9u)
/* Seconds in ticks of the flow clock, rounded up: a flow lives at least that long. */
#define ABI_FLOW_TIMEOUT(s, hz) ((__u32)(((__u64)(s) * (hz) >> ABI_CLOCK_SHIFT(hz)) + 1))
/*
 * A cached next hop and the count of new flows are valid for a quarter of such a tick: the shift
 * is smaller by this.
 */
#define ABI_SHORT_TICKS 2

#define ABI_SET_TX 1u	 /* leave by the ingress device with XDP_TX instead of a redirect */
#define ABI_SET_LINKS 2u /* look egress devices up in lb_links */

struct abi_settings {
	__u32 flags;	    /* ABI_SET_* */
	__u32 flow_timeout; /* ABI_FLOW_TIMEOUT() */
	__u32 icmp_gap_ns;  /* the least gap between ICMP errors of one CPU, ... */
	__u32 icmp_burst;   /* ... except for bursts of this many */
	__u32 source6[4];
	__u32 source4; /* 0 (and :: for source6): none, servers of that family get nothing */
	/*
	 * When a CPU has stored this many flows in a quarter of a tick, TCP packets that open a
	 * connection are sent by the table without storing a flow; the second packet of the
	 * connection stores it. This protects the flow table from SYN floods.
	 */
	__u32 new_flows;
	__u32 reserved[6];
};
_Static_assert(sizeof(struct abi_settings) == 64, "abi_settings");
_Static_assert(__builtin_offsetof(struct abi_settings, source4) == 32, "abi_settings.source4");

struct abi_config {
	/* Written once, before the program is attached. */
	__u32 layout;	   /* ABI_LAYOUT */
	__u32 table_size;  /* slots in use, at most table_lines * ABI_LINE_SLOTS */
	__u32 table_lines; /* lines from one table to the next */
	__u32 flow_mask;   /* buckets - 1 */
	__u64 seed[2];	   /* for the hash of the flow table only; random per boot */
	__u32 vip_mask;	   /* cells - 1 */
	__u32 clock_shift; /* ABI_CLOCK_SHIFT() */
	/* The word that switches the settings. Readers take it once per packet. */
	__u32 active; /* 0 or 1 */
	/* Written once: entries of lb_vips, and of lb_servers and lb_hosts. */
	__u32 vips, servers;
	__u32 reserved[3];
	struct abi_settings settings[2];
};
_Static_assert(sizeof(struct abi_config) == 192, "abi_config");
_Static_assert(__builtin_offsetof(struct abi_config, active) == 40, "abi_config.active");
_Static_assert(__builtin_offsetof(struct abi_config, settings) == 64, "abi_config.settings");

/* An egress device that is a VLAN: frames go to the device below it, with this tag. */
struct abi_link {
	__u32 ifindex;
	__u16 vlan;	/* id, host order */
	__u16 tag_type; /* network order: 0x8100 or 0x88a8 */
};
_Static_assert(sizeof(struct abi_link) == 8, "abi_link");

/* How a packet to a VIP was handled. The kinds are those that VPP counts. */
enum abi_kind {
	ABI_KIND_NEXT,	    /* belongs to a known flow */
	ABI_KIND_FIRST,	    /* began a flow, which is stored now */
	ABI_KIND_UNTRACKED, /* sent by the table, no flow stored */
	ABI_KIND_NO_SERVER, /* dropped */
	ABI_KINDS
};

struct abi_vip_counts {
	__u64 packets[ABI_KINDS];
	__u64 bytes; /* of IP packets as received, sent or not */
	__u64 reserved[3];
};
_Static_assert(sizeof(struct abi_vip_counts) == 64, "abi_vip_counts");

struct abi_as_counts {
	__u64 packets, bytes; /* sent to the AS; bytes of IP packets as received */
};
_Static_assert(sizeof(struct abi_as_counts) == 16, "abi_as_counts");

/*
 * All that sending to a host takes: its address, and the route as the FIB last returned it. One
 * cache line. Only the program uses it.
 */
struct abi_hop {
	__u32 stamp; /* when, in quarters of a tick; valid in that quarter only */
	__u32 ingress, ifindex;
	__u32 mtu;
	__u8 dmac[6], smac[6]; /* in the order of the frame, so that one copy writes both */
	__u8 family, known;
	__u8 reserved[2];
	__u32 address[4];
	__u32 unused[4];
};
_Static_assert(sizeof(struct abi_hop) == 64, "abi_hop");

/* State of the program per CPU. */
struct abi_cpu {
	__u64 icmp_due;	 /* ns: token bucket of ICMP errors, see is_over_limit() */
	__u32 stamp;	 /* a quarter of a tick, ... */
	__u32 new_flows; /* ... and the flows stored in it */
};
_Static_assert(sizeof(struct abi_cpu) == 16, "abi_cpu");

/*
 * What happened to packets for our VIPs, besides being sent. Drops come first, then packets handed
 * to the kernel in a GRE header, then answers, then notes that do not decide a packet's fate.
 */
enum abi_event {
	ABI_DROP_MALFORMED,	 /* truncated TCP or UDP header, or too many extension headers */
	ABI_DROP_FRAGMENT,	 /* a fragment to an address with per-port VIPs */
	ABI_DROP_NO_SERVER,	 /* as counted per VIP */
	ABI_DROP_NO_SOURCE,	 /* no GRE source address of the server's family */
	ABI_DROP_NO_ROUTE,	 /* FIB: none, or an address of this host but not the GRE source */
	ABI_DROP_BLACKHOLE,	 /* FIB: blackhole route */
	ABI_DROP_UNREACHABLE,	 /* FIB: unreachable route */
	ABI_DROP_PROHIBIT,	 /* FIB: prohibit route */
	ABI_DROP_FORWARDING_OFF, /* FIB: forwarding is off on the ingress device */
	ABI_DROP_ROUTE_TYPE,	 /* FIB: light-weight tunnel, or another answer */
	ABI_DROP_NO_ROOM,	 /* no head- or tailroom for the headers */
	ABI_DROP_UNANSWERED,	 /* an answer was due, but must not be sent to this packet */
	ABI_DROP_ICMP_LIMIT,	 /* an answer was due, but the rate limit was reached */
	ABI_PASS_NO_NEIGHBOUR,	 /* the kernel resolves the neighbour and forwards the packet */
	ABI_PASS_FRAGMENT,  /* the kernel fragments the outer packet: the inner one has no DF */
	ABI_ANSWER_TOO_BIG, /* frag-needed, packet-too-big */
	ABI_ANSWER_TIME_EXCEEDED, /* TTL or hop limit ran out */
	ABI_NOTE_ICMP_ERROR, /* an ICMP error was sent to the server of the flow that it quotes */
	ABI_NOTE_EVICTED,    /* a flow with a single packet was replaced by a new one */
	ABI_EVENTS
};
