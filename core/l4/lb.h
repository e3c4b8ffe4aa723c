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

/* Identifies a VIP in the data plane. */
struct lb_vip_key {
	struct addr address;
	uint8_t protocol; /* L4_PROTOCOL_ANY, IPPROTO_TCP, IPPROTO_UDP */
	uint16_t port;
};

enum lb_encap {
	LB_ENCAP_GRE4,
	LB_ENCAP_GRE6,
	LB_ENCAP_OTHER /* observed only: a foreign VIP with an encapsulation that we never want */
};

/* An application server of a VIP. */
struct lb_as {
	struct addr address;
	uint8_t weight; /* 0..100 */
	/*
	 * Wanted: tear its flows down. Observed: that was done and still holds, because the
	 * weight has been 0 since; it keeps the periodic sync from flushing again. With a wanted
	 * weight above 0 it is a one-time request: it is never observed as done, so the code that
	 * sets it must clear it.
	 */
	bool flush;
	bool hold; /* wanted only: the guard keeps the observed weight */
	/*
	 * Observed only, monotonic ns: the weight is 0 and was 0 at every look since then. 0: it is
	 * not 0.
	 */
	int64_t idle_since;
};

struct lb_vip {
	struct lb_vip_key key;
	enum lb_encap encap;
	bool src_ip_sticky;
	uint32_t table_length; /* slots for new flows; 0: not known, or decided by the data plane */
	VEC(struct lb_as) as;
};

/* Settings that apply to all VIPs. */
struct lb_conf {
	struct addr src4, src6;
	uint32_t sticky_buckets_per_core;
	uint32_t flow_timeout_s;
};

struct lb_state {
	bool has_conf; /* wanted: always true. observed: false if nothing is set yet */
	struct lb_conf conf;
	VEC(struct lb_vip) vips;
};

/* An interface that a data plane should be on. Texts are borrowed. */
struct lb_interface {
	const char *name;
	bool attached;
	const char *mode;    /* "native", "generic"; "": not attached, or not known */
	const char *problem; /* why it is not attached; "": it is, or was not tried yet */
};

/* The interfaces of a data plane, in the order of the configuration, and what is wrong with it. */
struct lb_attachment {
	const struct lb_interface *interfaces;
	size_t n;
	const char *problem; /* "": none */
};

enum lb_status {
	LB_DISCONNECTED, /* cannot be written to */
	LB_DEGRADED,	 /* can be written to, but is not on all of its interfaces */
	LB_CONNECTED,
};
#define LB_STATUSES 3
const char *lb_status_name(enum lb_status s); /* "disconnected", "degraded", "connected" */
/* attachment is NULL for a data plane without interfaces of its own. */
enum lb_status lb_status_judge(bool connected, const struct lb_attachment *attachment);

const char *lb_encap_name(enum lb_encap e); /* "gre4", "gre6", "other" */
int lb_vip_key_cmp(const struct lb_vip_key *a, const struct lb_vip_key *b);
bool lb_conf_equal(const struct lb_conf *a, const struct lb_conf *b);

#define LB_PROTOCOL_STRLEN 4
/* "tcp", "udp", "any", or the number of another protocol; returns buf. */
const char *lb_protocol_format(uint8_t protocol, char buf[static LB_PROTOCOL_STRLEN]);

#define LB_VIP_KEY_STRLEN 72
/* "198.51.100.10:80/tcp", "[2001:db8::1]:53/udp", "198.51.100.10 any"; returns buf. */
const char *lb_vip_key_format(const struct lb_vip_key *k, char buf[static LB_VIP_KEY_STRLEN]);

/* Copies into *ret, which is empty. flush, hold and idle_since are cleared in the copy. */
void lb_state_copy(const struct lb_state *from, struct lb_state *ret);
void lb_state_free(struct lb_state *s);
void lb_vip_free(struct lb_vip *v);
/* Lookups return NULL if there is no such entry; removals return false then. */
struct lb_vip *lb_state_vip(const struct lb_state *s, const struct lb_vip_key *key);
/*
 * Finds the entry or inserts a zeroed one in order. The pointer is valid until the next
 * change of the list.
 */
struct lb_vip *lb_state_put_vip(struct lb_state *s, const struct lb_vip_key *key);
bool lb_state_remove_vip(struct lb_state *s, const struct lb_vip_key *key);
struct lb_as *lb_vip_as(const struct lb_vip *v, const struct addr *address);
struct lb_as *lb_vip_put_as(struct lb_vip *v, const struct addr *address);
bool lb_vip_remove_as(struct lb_vip *v, const struct addr *address);

/* Sets idle_since of an AS. since: its value before, 0 if there was none. */
void lb_as_note_idle(struct lb_as *as, int64_t since, int64_t now);
/* The same for all ASes of a state that was just observed; before is the state until now. */
void lb_state_note_idle(struct lb_state *s, const struct lb_state *before, int64_t now);
