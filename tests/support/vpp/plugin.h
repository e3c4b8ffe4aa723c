/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin: the state of VPP's lb plugin and the effect of its API messages, bugs included.
 *
 * Pure: now is VPP's uptime in seconds. Functions return 0 or the retval of VPP's reply. A request
 * that would crash VPP leaves a reason in crash. A request that VPP accepts silently but that no
 * correct client sends is recorded in misuse.
 */
#pragma once

#include "tests/support/vpp/fib.h"
#include "tests/support/vpp/flows.h"

enum plugin_error {
	PLUGIN_NO_SUCH_ENTRY = -6,
	PLUGIN_INVALID_MEMORY_SIZE = -70,
	PLUGIN_INVALID_ARGUMENT = -73,
	PLUGIN_VALUE_EXIST = -81,
	PLUGIN_INVALID_ADDRESS_FAMILY = -97,
};

/* Encapsulations, with the numbers of the API. */
enum plugin_encap {
	PLUGIN_GRE4 = 0,
	PLUGIN_GRE6 = 1,
	PLUGIN_L3DSR = 2,
	PLUGIN_NAT4 = 3,
	PLUGIN_NAT6 = 4,
};

/*
 * Types of VIPs inside VPP. A VIP with an encapsulation that VPP does not know gets the first.
 */
enum plugin_type {
	PLUGIN_IP6_GRE6,
	PLUGIN_IP6_GRE4,
	PLUGIN_IP4_GRE6,
	PLUGIN_IP4_GRE4,
	PLUGIN_IP4_L3DSR,
	PLUGIN_IP4_NAT4,
	PLUGIN_IP6_NAT6,
};

enum plugin_counter {
	PLUGIN_EXISTING,
	PLUGIN_FIRST,
	PLUGIN_UNTRACKED,
	PLUGIN_NO_SERVER,
	PLUGIN_COUNTERS,
};

#define PLUGIN_KEEP UINT32_MAX /* in lb_conf: leave this value unchanged */
#define PLUGIN_ALL_PORTS 255   /* the protocol of an all-port VIP */
#define PLUGIN_AS_USED 1
#define PLUGIN_COLLECT_EVERY 60 /* seconds */
#define PLUGIN_GRACE 10

struct plugin_key {
	struct ip46 prefix;
	uint8_t plen; /* counted over all sixteen bytes */
	uint8_t protocol;
	uint16_t port; /* 0: all ports */
};

struct plugin_vip_args {
	struct plugin_key key;
	uint32_t encap, table_length;
	uint8_t dscp, srv_type;
	uint16_t target_port;
	bool src_ip_sticky;
};

struct plugin_as {
	struct ip46 address;
	uint8_t flags, weight;
	uint32_t vip, last_used, stats_index;
};

struct plugin_vip {
	struct plugin_key key;
	enum plugin_type type;
	bool used, src_ip_sticky;
	uint8_t dscp_or_srv_type; /* a union in VPP, stale in most VIPs */
	uint16_t target_port;
	uint32_t table_length, last_collection;
	struct pool slots;
	VEC(uint32_t) as_of_slot;
	uint32_t *table; /* AS of each slot of the table of new flows; NULL: not built yet */
};

struct plugin {
	uint8_t src4[4], src6[16];
	uint32_t buckets, flow_timeout;
	struct pool vip_pool, as_pool; /* index 0 of each is reserved by VPP */
	VEC(struct plugin_vip) vips;
	VEC(struct plugin_as) ass;
	VEC(uint64_t) counters[PLUGIN_COUNTERS]; /* by VIP; empty before the first VIP */
	struct fib fib;
	struct flows flows;
	const char *crash;
	VEC(const char *) misuse;
};

void plugin_init(struct plugin *p);
void plugin_free(struct plugin *p);

int plugin_conf(struct plugin *p, const uint8_t src4[static 4], const uint8_t src6[static 16],
		uint32_t buckets, uint32_t flow_timeout);
/*
 * Makes a key as every API message does first: masks the prefix, and turns port 0 into an
 * all-port key.
 */
struct plugin_key plugin_key_of(struct ip46 prefix, uint8_t plen, uint8_t protocol, uint16_t port);
int plugin_vip_add(struct plugin *p, uint32_t now, const struct plugin_vip_args *args);
int plugin_vip_del(struct plugin *p, uint32_t now, const struct plugin_key *key);
/*
 * Finds the index of a VIP that is in use; -6 (VNET_API_ERROR_NO_SUCH_ENTRY) if there is none.
 */
int plugin_vip_find(const struct plugin *p, const struct plugin_key *key, uint32_t *ret);

struct plugin_as_args {
	struct plugin_key vip;
	struct ip46 address;
	uint8_t weight;
	bool flush;
};

int plugin_as_add(struct plugin *p, uint32_t now, const struct plugin_as_args *args);
int plugin_as_del(struct plugin *p, uint32_t now, const struct plugin_as_args *args);
int plugin_as_set_weight(struct plugin *p, const struct plugin_as_args *args);
/* Always returns 0: VPP does not report a missing VIP here. */
int plugin_flush_vip(struct plugin *p, const struct plugin_key *key);

/* Garbage collection, which VPP's own timer runs every PLUGIN_COLLECT_EVERY seconds. */
void plugin_collect(struct plugin *p, uint32_t now);

/*
 * Counts the slots of the table of new flows that each AS has. by_slot is indexed by the slots
 * of the VIP (vip->slots) and must be large enough for all of them.
 */
void plugin_buckets(const struct plugin *p, uint32_t vip, uint32_t *by_slot);
/* The table of new flows, one AS per slot. Valid until the VIP or its ASes change. */
const uint32_t *plugin_table(struct plugin *p, uint32_t vip);

struct plugin_packet {
	struct ip46 to;
	uint8_t protocol;
	uint16_t port;
	uint32_t flow; /* takes the place of the hash of the five-tuple */
	uint32_t length;
};

/* Returns the AS to which the packet is sent; 0 if it is dropped. */
uint32_t plugin_packet(struct plugin *p, uint32_t now, const struct plugin_packet *packet);

extern const char *const plugin_counter_names[PLUGIN_COUNTERS];
const char *plugin_type_name(enum plugin_type type);
bool plugin_type_is_gre4(enum plugin_type type);
