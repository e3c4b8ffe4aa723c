/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the operator's configuration, checked and resolved.
 *
 * A struct l4_config is immutable and lives in one arena. Every name is a valid NUL-terminated
 * string in it, every reference is resolved, every default is filled in. Checks, backends and
 * frontends are sorted by name, and the members of a pool by the name of their backend. The pools
 * of a frontend are in the order of the file, which is the order of failover. Only
 * l4_config_build() (validate.h) makes one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/schema.h"
#include "base/str.h"
#include "core/health/health.h"
#include "core/health/schedule.h"

enum l4_check_type {
	L4_CHECK_ICMP,
	L4_CHECK_TCP,
	L4_CHECK_HTTP,
	L4_CHECK_HTTPS,
	L4_CHECK_TLS,
	L4_CHECK_UDP,
	L4_CHECK_DNS,
};
#define L4_CHECK_TYPES 7

struct l4_code_range {
	uint16_t first, last; /* 100..599, first <= last */
};

struct l4_codes {
	const struct l4_code_range *items;
	size_t n;
};

/* Authorities in a file: its path, and what was in it when the configuration was read. */
struct l4_ca {
	const char *file; /* NULL: none */
	const char *pem;
};

struct l4_http_params {
	const char *path;	 /* begins with '/' */
	const char *host;	 /* NULL: the backend's address */
	const char *server_name; /* NULL: none given; only of https and tls, as the last two */
	const char *regexp;	 /* NULL: any body passes */
	struct l4_codes codes;	 /* at least 1 */
	bool insecure_skip_verify;
	struct l4_ca ca; /* in place of the system's authorities */
};

/* The question in bytes, and what the answer must contain: both, if there are two. NULL: none. */
struct l4_talk {
	const char *send, *send_hex; /* at most one; send_hex: pairs of hexadecimal digits */
	const char *expect, *regexp;
};

enum l4_dns_type {
	L4_DNS_A,
	L4_DNS_AAAA,
	L4_DNS_CNAME,
	L4_DNS_MX,
	L4_DNS_NS,
	L4_DNS_PTR,
	L4_DNS_SOA,
	L4_DNS_SRV,
	L4_DNS_TXT,
};

/* By their number in messages. */
enum l4_dns_rcode {
	L4_DNS_NOERROR,
	L4_DNS_FORMERR,
	L4_DNS_SERVFAIL,
	L4_DNS_NXDOMAIN,
	L4_DNS_NOTIMP,
	L4_DNS_REFUSED,
};

struct l4_dns {
	const char *name; /* NULL: not a dns check */
	enum l4_dns_type type;
	enum l4_dns_rcode rcode;
	struct addr address; /* of A or AAAA; none: any answer with that code passes */
};

/* Which ports of a backend are probed. */
enum l4_check_ports {
	L4_PORTS_GIVEN, /* that of the check */
	L4_PORTS_VIP,	/* all those of the frontends that use the backend */
};
#define L4_PORTS_MAX 32 /* of one backend */

struct l4_check {
	const char *name;
	enum l4_check_type type;
	uint16_t port; /* 0 for icmp and with L4_PORTS_VIP */
	enum l4_check_ports ports;
	struct schedule schedule;
	struct health_rule rule;
	int64_t timeout; /* ns */
	bool keep_alive;
	struct addr src4, src6;	    /* none: the kernel chooses */
	struct l4_http_params http; /* http and https; of tls the last members; else zeroed */
	struct l4_talk talk;	    /* tcp, tls and udp only */
	struct l4_dns dns;	    /* dns only */
};

struct l4_backend {
	const char *name;
	struct addr address;
	const struct l4_check *check; /* NULL: static, always up */
	bool enabled;
	const size_t *frontends; /* indices of the frontends that reference it, ascending */
	size_t n_frontends;
	const uint16_t *ports; /* with L4_PORTS_VIP: those to be probed, ascending; at least 1 */
	size_t n_ports;	       /* 0: that of the check */
};

struct l4_member {
	size_t backend;	 /* index into l4_config.backends */
	unsigned weight; /* 0..100, as in the file */
};

struct l4_pool {
	const char *name;
	const struct l4_member *members;
	size_t n_members;   /* at least 1 */
	int64_t slow_start; /* ns; 0: none. See slow.h */
};

#define L4_PROTOCOL_ANY 0 /* all-port VIP; else IPPROTO_TCP or IPPROTO_UDP */

struct l4_frontend {
	const char *name, *description; /* description: "" when there is none */
	struct addr address;
	uint8_t protocol;
	uint16_t port; /* 0 with L4_PROTOCOL_ANY */
	bool src_ip_sticky, flush_on_down;
	const struct l4_pool *pools;
	size_t n_pools;		  /* 0 is valid: the health is unknown, the VIP is not programmed */
	const size_t *by_address; /* its backends, each once, sorted by address: names.h */
	size_t n_backends;
};

/* The section lb, or vpp.lb; every data plane uses parts of it. */
struct l4_lb {
	struct addr src4, src6; /* may be none if the data plane needs none */
	int64_t sync_interval, flow_timeout, startup_min_delay, startup_max_delay; /* ns */
	uint32_t sticky_buckets_per_core;
	uint32_t new_flows_table_length;
};

enum l4_dataplane { L4_DATAPLANE_VPP, L4_DATAPLANE_XDP, L4_DATAPLANE_NONE };
enum l4_xdp_mode { L4_XDP_AUTO, L4_XDP_NATIVE, L4_XDP_GENERIC };
/* how packets leave by the interface on which they came in */
enum l4_xdp_transmit { L4_XDP_REDIRECT, L4_XDP_TX };

struct l4_xdp {
	struct schema_texts interfaces;
	enum l4_xdp_mode mode;
	enum l4_xdp_transmit transmit;
	const char *pin;
	uint32_t table_size, flow_table_size;
};

struct l4_config {
	unsigned transition_history;
	const char *netns; /* of the probes. NULL: the current one; else a name or a path */
	bool all_down_guard;

	const struct l4_check *checks;
	size_t n_checks;
	const struct l4_backend *backends;
	size_t n_backends;
	const struct l4_frontend *frontends;
	size_t n_frontends;
	const size_t *by_vip;	  /* indices of the frontends, sorted by VIP key: names.h */
	const size_t *by_address; /* indices of the backends, sorted by address, then by name */

	struct l4_lb lb;
	enum l4_dataplane dataplane;
	struct l4_xdp xdp;
};

const char *l4_check_type_name(enum l4_check_type t); /* "icmp" ... */
const char *l4_dns_type_name(enum l4_dns_type t);     /* "A" ... */
const char *l4_dns_rcode_name(enum l4_dns_rcode r);   /* "NOERROR" ... */
/* The number of the type in messages of DNS. */
uint16_t l4_dns_type_number(enum l4_dns_type t);
const char *l4_protocol_name(uint8_t protocol);	    /* "tcp", "udp", "any" */
const char *l4_dataplane_name(enum l4_dataplane d); /* "vpp", "xdp", "none" */
/*
 * Parses one part of the codes: "200" or "200-299". -EINVAL on bad syntax, -ERANGE if a code is out
 * of bounds or the range descends.
 */
int l4_code_range_parse(struct str part, struct l4_code_range *ret);
/* Appends the codes as the file has them: "200-299,404". */
void l4_codes_print(const struct l4_codes *codes, struct buf *out);

/* Lookup by name; NULL, or SIZE_MAX for an index, if there is none. */
const struct l4_check *l4_config_check(const struct l4_config *c, const char *name);
size_t l4_config_backend(const struct l4_config *c, const char *name);
size_t l4_config_frontend(const struct l4_config *c, const char *name);
/*
 * The index of the first entry after name, which need not exist (NULL: the very first). A walk in
 * slices remembers the last name and continues here after a reload.
 */
size_t l4_config_backend_behind(const struct l4_config *c, const char *name);
size_t l4_config_frontend_behind(const struct l4_config *c, const char *name);

/* Whether a backend, by its index, is a member of the pool. */
bool l4_pool_has(const struct l4_pool *p, size_t backend);

/* Whether probes under a and b behave the same. The names are not compared. */
bool l4_check_equal(const struct l4_check *a, const struct l4_check *b);
/*
 * A copy that lives in arena and outlives the configuration. It is made along the table of the
 * schema, so that no member can be missed.
 */
struct l4_check *l4_check_copy(const struct l4_check *config, struct arena *arena);
