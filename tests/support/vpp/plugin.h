/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin: the state of VPP's lb plugin and what its verbs do to it, mistakes included.
 *
 * Pure: now is VPP's uptime in seconds. Verbs return 0 or the number that VPP's reply would
 * carry. What would crash VPP leaves a word in crash; what VPP takes without a murmur but no
 * sound client sends is written down in misuse.
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

/* The numbers are those of the API. */
enum plugin_encap {
	PLUGIN_GRE4 = 0,
	PLUGIN_GRE6 = 1,
	PLUGIN_L3DSR = 2,
	PLUGIN_NAT4 = 3,
	PLUGIN_NAT6 = 4,
};

/* VPP's own; a VIP of an encapsulation that VPP does not know becomes the first. */
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

#define PLUGIN_KEEP UINT32_MAX /* in lb_conf */
#define PLUGIN_ALL_PORTS 255   /* the protocol of an all-port VIP */
#define PLUGIN_AS_USED 1
#define PLUGIN_COLLECT_EVERY 60 /* seconds */
#define PLUGIN_GRACE 10

struct plugin_key {
	struct ip46 prefix;
	uint8_t plen; /* of the sixteen bytes */
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
	uint8_t dscp_or_srv_type; /* one byte of memory in VPP, and stale in most VIPs */
	uint16_t target_port;
	uint32_t table_length, last_collection;
	struct pool slots;
	VEC(uint32_t) as_of_slot;
	uint32_t *table; /* AS of each slot of new flows; NULL: to be built */
};

struct plugin {
	uint8_t src4[4], src6[16];
	uint32_t buckets, flow_timeout;
	struct pool vip_pool, as_pool; /* number 0 of each is VPP's own */
	VEC(struct plugin_vip) vips;
	VEC(struct plugin_as) ass;
	VEC(uint64_t) counters[PLUGIN_COUNTERS]; /* by VIP; empty until the first VIP was made */
	struct fib fib;
	struct flows flows;
	const char *crash;
	VEC(const char *) misuse;
};

void plugin_init(struct plugin *p);
void plugin_free(struct plugin *p);

int plugin_conf(struct plugin *p, const uint8_t src4[static 4], const uint8_t src6[static 16],
		uint32_t buckets, uint32_t flow_timeout);
/* Masks the prefix and makes an all-port key of a port 0, as every verb does first. */
struct plugin_key plugin_key_of(struct ip46 prefix, uint8_t plen, uint8_t protocol, uint16_t port);
int plugin_vip_add(struct plugin *p, uint32_t now, const struct plugin_vip_args *args);
int plugin_vip_del(struct plugin *p, uint32_t now, const struct plugin_key *key);
/* The number of a VIP that is in use; -6. */
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
/* Always 0: VPP does not say when there is no such VIP. */
int plugin_flush_vip(struct plugin *p, const struct plugin_key *key);

/* What VPP's own timer does every PLUGIN_COLLECT_EVERY. */
void plugin_collect(struct plugin *p, uint32_t now);

/*
 * How many slots of the table of new flows each AS has; by_slot has a place for each of vip's
 * slots.
 */
void plugin_buckets(const struct plugin *p, uint32_t vip, uint32_t *by_slot);
/* The table itself, one AS for each slot; it lives until the VIP or its ASes change. */
const uint32_t *plugin_table(struct plugin *p, uint32_t vip);

struct plugin_packet {
	struct ip46 to;
	uint8_t protocol;
	uint16_t port;
	uint32_t flow; /* stands for the hash of the five-tuple */
	uint32_t length;
};

/* The AS that it is sent to; 0: dropped. */
uint32_t plugin_packet(struct plugin *p, uint32_t now, const struct plugin_packet *packet);

extern const char *const plugin_counter_names[PLUGIN_COUNTERS];
const char *plugin_type_name(enum plugin_type type);
bool plugin_type_is_gre4(enum plugin_type type);
