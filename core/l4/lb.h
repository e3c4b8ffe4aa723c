/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb: the state of a load-balancing data plane, wanted or observed.
 *
 * The same struct holds both, so that a difference is one walk over two sorted lists. VIPs are
 * sorted by address, protocol, port; application servers (ASes) by address, IPv4 first (NFR-2.1).
 * The containers own their arrays.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/vec.h"

struct lb_vip_key {
	struct addr address;
	uint8_t protocol; /* L4_PROTOCOL_ANY, IPPROTO_TCP, IPPROTO_UDP */
	uint16_t port;
};

enum lb_encap {
	LB_ENCAP_GRE4,
	LB_ENCAP_GRE6,
	LB_ENCAP_OTHER /* observed only: somebody else's VIP, of a kind that is never wanted */
};

struct lb_as {
	struct addr address;
	uint8_t weight; /* 0..100 */
	/*
	 * Wanted: tear its flows down. Observed: that was done and still holds, as the weight
	 * has been 0 since; it keeps the periodic sync from flushing again. With a wanted weight
	 * above 0 it is an order for once: it never shows as done, so whoever sets it clears it.
	 */
	bool flush;
	bool hold; /* wanted only: the guard keeps whatever weight is there */
};

struct lb_vip {
	struct lb_vip_key key;
	enum lb_encap encap;
	bool src_ip_sticky;
	uint32_t table_length; /* for new flows; 0: not known, or the data plane's own affair */
	VEC(struct lb_as) as;
};

struct lb_conf {
	struct addr src4, src6;
	uint32_t sticky_buckets_per_core;
	uint32_t flow_timeout_s;
};

struct lb_state {
	bool has_conf; /* wanted: always. observed: false when nothing is set yet */
	struct lb_conf conf;
	VEC(struct lb_vip) vips;
};

const char *lb_encap_name(enum lb_encap e); /* "gre4", "gre6", "other" */
int lb_vip_key_cmp(const struct lb_vip_key *a, const struct lb_vip_key *b);
bool lb_conf_equal(const struct lb_conf *a, const struct lb_conf *b);

#define LB_PROTOCOL_STRLEN 4
/* "tcp", "udp", "any", or the number of what is not ours; returns buf. */
const char *lb_protocol_format(uint8_t protocol, char buf[static LB_PROTOCOL_STRLEN]);

#define LB_VIP_KEY_STRLEN 72
/* "198.51.100.10:80/tcp", "[2001:db8::1]:53/udp", "198.51.100.10 any"; returns buf. */
const char *lb_vip_key_format(const struct lb_vip_key *k, char buf[static LB_VIP_KEY_STRLEN]);

/* Into *ret, which is empty; without what was done (flush). */
void lb_state_copy(const struct lb_state *from, struct lb_state *ret);
void lb_state_free(struct lb_state *s);
void lb_vip_free(struct lb_vip *v);
struct lb_vip *lb_state_vip(const struct lb_state *s, const struct lb_vip_key *key);
/* Finds or inserts in order. The pointer lives until the next change of the list. */
struct lb_vip *lb_state_put_vip(struct lb_state *s, const struct lb_vip_key *key);
bool lb_state_remove_vip(struct lb_state *s, const struct lb_vip_key *key);
struct lb_as *lb_vip_as(const struct lb_vip *v, const struct addr *address);
struct lb_as *lb_vip_put_as(struct lb_vip *v, const struct addr *address);
bool lb_vip_remove_as(struct lb_vip *v, const struct addr *address);
