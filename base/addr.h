/* SPDX-License-Identifier: Apache-2.0 */
/*
 * addr: IP addresses, and an address with a port.
 *
 * A zeroed struct addr is "none" (family AF_UNSPEC). The bytes behind the four of an IPv4 address
 * are zero, so that addresses compare as memory.
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

#define ADDR_STRLEN 46

/* One plain address: no zone, no port, no brackets. -EINVAL otherwise. */
int addr_parse(const char *text, struct addr *ret);
/* Canonical text (RFC 5952), "-" for none; returns buf. */
const char *addr_format(const struct addr *a, char buf[static ADDR_STRLEN]);
/* Total order: none, IPv4 by number, IPv6 by number. */
int addr_cmp(const struct addr *a, const struct addr *b);
static inline bool addr_is_set(const struct addr *a)
{
	return a->family != AF_UNSPEC;
}
bool addr_is_loopback(const struct addr *a);
/* Whether the first bits are those of the network; its other bits do not matter. */
bool addr_is_in(const struct addr *a, const struct addr *network, unsigned bits);

struct endpoint {
	struct addr addr; /* none: any address, both families */
	uint16_t port;
};

#define ENDPOINT_STRLEN (ADDR_STRLEN + 8)

/* "192.0.2.1:80", "[2001:db8::1]:80", ":80" (any address). -EINVAL otherwise. */
int endpoint_parse(const char *text, struct endpoint *ret);
const char *endpoint_format(const struct endpoint *e, char buf[static ENDPOINT_STRLEN]);
/* Fills *ret and returns its length. An any-address endpoint becomes [::]. */
socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret);
/*
 * An IPv4 peer of a dual-stack socket (::ffff:a.b.c.d) becomes the IPv4 address that it is.
 * -EAFNOSUPPORT for anything but IPv4 and IPv6.
 */
int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret);
