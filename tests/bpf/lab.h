/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab: the program under test in a network namespace of its own, with its maps in reach.
 *
 * l0 is where packets come in; behind it is the router, with a permanent neighbour entry. The
 * namespace has no name and ends with the process. Table and flow table are small.
 *
 *	10.0.11.0/24, 2001:db8:11::/64	by l0 and the router
 *	10.0.12.0/24, 2001:db8:12::/64	by l1, another device, and another router
 *	10.0.13.0/24 blackhole, 10.0.14.0/24 unreachable, 10.0.15.0/24 prohibit
 *	10.0.16.0/24, 2001:db8:16::/64	by l0 and a router that nobody has resolved
 *	10.0.17.0/24			by the first router, with an MTU of 1400
 *	all else			no route
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "lib/xdp/xdp.h"
#include "tests/bpf/frame.h"

#define LAB_SOURCE4 "10.0.2.2"
#define LAB_SOURCE6 "2001:db8:2::2"
#define LAB_TABLE_SIZE 1009
#define LAB_BUCKETS 256
#define LAB_VIPS 64
#define LAB_SERVERS 256
#define LAB_FLOW_TIMEOUT_S 40

extern const uint8_t lab_second_mac[6], lab_second_router_mac[6];

struct lab {
	struct xdp_object *object;
	int program;
	unsigned l0, l1; /* interface indexes */
	struct xdp_map cells_map, links, events, cpu;
	unsigned hz, flow_timeout; /* the latter in ticks */
	struct abi_config *config;
	struct abi_vip_cell *cells;
	struct abi_vip *vips;
	struct abi_as *servers;
	struct abi_host *hosts; /* that of a server has the same number */
	struct abi_vip_counts *vip_counts;
	struct abi_as_counts *as_counts;
	struct abi_hop *hops;
	struct abi_table_line *tables;
	struct abi_bucket *flows;
	uint32_t n_vips, n_servers, n_tables; /* handed out so far */
};

/* NULL, or why the tests cannot run here. Namespace and program last until the process ends. */
const char *lab_start(struct lab *lab);
/* Reports the whole program as skipped; what main() returns. */
int lab_skip(const char *reason);
/* Empty maps, settings as for all tests; for a test's setup. */
void lab_reset(struct lab *lab);

uint32_t lab_add_vip(struct lab *lab, const char *address, uint8_t protocol, uint16_t port);
/* Where the program looks for a key; in place of what the same key had. */
void lab_put_cell(struct lab *lab, const struct abi_vip_key *key, uint32_t vip);
/* A server of a VIP, in no table yet. */
uint32_t lab_add_server(struct lab *lab, uint32_t vip, const char *address);
/* A new table of the VIP: the servers in equal, consecutive shares. n 0: no table. */
void lab_set_table(struct lab *lab, uint32_t vip, const uint32_t *ids, uint32_t n);
/* All three at once: one VIP, one server, which has the whole table. The VIP. */
uint32_t lab_add_one(struct lab *lab, const char *address, uint8_t protocol, uint16_t port,
		     const char *server);
struct abi_settings *lab_settings(struct lab *lab);

/* Runs a frame that comes in on l0; the verdict. */
uint32_t lab_run(const struct lab *lab, const struct frame *in, struct frame *ret);
/* The server that a packet was sent to, 0 when it was not sent. */
uint32_t lab_server_of(const struct lab *lab, const struct frame_spec *spec);

uint64_t lab_vip_packets(const struct lab *lab, uint32_t vip, enum abi_kind kind);
uint64_t lab_vip_bytes(const struct lab *lab, uint32_t vip);
uint64_t lab_server_packets(const struct lab *lab, uint32_t id);
uint64_t lab_server_bytes(const struct lab *lab, uint32_t id);
uint64_t lab_events(const struct lab *lab, enum abi_event event);
/* All fates but being sent. */
uint64_t lab_all_events(const struct lab *lab);

/* The only flow that is stored, or NULL when there is none or more. */
uint64_t *lab_only_flow(const struct lab *lab);
unsigned lab_count_flows(const struct lab *lab);
/* Makes a stored flow older. */
void lab_age(uint64_t *flow, unsigned units);

void lab_assert_same(const struct frame *got, const struct frame *want);
