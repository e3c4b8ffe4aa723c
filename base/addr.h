/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr: IP addresses, and an address with a port (an endpoint).
 *
 * A zeroed struct addr is "none" (family AF_UNSPEC). The bytes after the four of an IPv4 address
 * are zero, so that two addresses can be compared with memcmp(). Nothing here allocates or
 * blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct addr {
	uint8_t family; /* AF_UNSPEC, AF_INET, AF_INET6 */
	uint8_t bytes[16];
};

#define ADDR_STRLEN 46 /* INET6_ADDRSTRLEN, NUL included */

/* Parses one plain address: no zone, no port, no brackets. -EINVAL otherwise, *ret untouched. */
int addr_parse(const char *text, struct addr *ret);
/* Writes the canonical text (RFC 5952), or "-" for none, into buf and returns buf. */
const char *addr_format(const struct addr *a, char buf[static ADDR_STRLEN]);
/* A total order for sorted lists: none, then IPv4 by number, then IPv6 by number. */
int addr_cmp(const struct addr *a, const struct addr *b);
static inline bool addr_is_set(const struct addr *a)
{
	return a->family != AF_UNSPEC;
}
/* 127.0.0.0/8 or ::1. */
bool addr_is_loopback(const struct addr *a);
/*
 * Whether a is of the family of network and has the same first `bits` bits. The other bits of
 * network are ignored. bits is at most 128.
 */
bool addr_is_in(const struct addr *a, const struct addr *network, unsigned bits);

/* An address to bind or to connect to. */
struct endpoint {
	struct addr addr; /* none: any address, both families */
	uint16_t port;
};

#define ENDPOINT_STRLEN (ADDR_STRLEN + 8)

/*
 * Parses "192.0.2.1:80", "[2001:db8::1]:80" or ":80" (any address). An IPv6 address needs its
 * brackets, and the port is always required. -EINVAL otherwise, *ret untouched.
 */
int endpoint_parse(const char *text, struct endpoint *ret);
/* Orders by address, then by port. */
int endpoint_cmp(const struct endpoint *a, const struct endpoint *b);
/* The text that endpoint_parse() reads; returns buf. */
const char *endpoint_format(const struct endpoint *e, char buf[static ENDPOINT_STRLEN]);
/*
 * Fills *ret and returns the length of the address in it. An endpoint without an address becomes
 * [::], which accepts both families on a dual-stack socket.
 */
socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret);
/*
 * Fills *ret from a socket address. An IPv4 peer of a dual-stack socket (::ffff:a.b.c.d) becomes
 * the IPv4 address that it is. -EAFNOSUPPORT for any family but IPv4 and IPv6, *ret untouched.
 */
int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret);
