/* SPDX-License-Identifier: Apache-2.0 */
#include "base/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* inet_pton() accepts neither a zone nor "010" octets, so its idea of an address is ours. */
int addr_parse(const char *text, struct addr *ret)
{
	struct addr a = { 0 };

	a.family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(a.family, text, a.bytes) != 1)
		return -EINVAL;
	*ret = a;
	return 0;
}

static char *add_number(char *p, uint8_t n)
{
	if (n >= 100)
		*p++ = (char)('0' + n / 100);
	if (n >= 10)
		*p++ = (char)('0' + n / 10 % 10);
	*p++ = (char)('0' + n % 10);
	return p;
}

/* As inet_ntop() does, whose printf() is a tenth of what a proxy has to do for a request. */
static void format_ipv4(const uint8_t bytes[4], char *p)
{
	for (size_t i = 0; i < 4; i++) {
		p = add_number(p, bytes[i]);
		*p++ = i < 3 ? '.' : '\0';
	}
}

const char *addr_format(const struct addr *a, char buf[static ADDR_STRLEN])
{
	if (a->family == AF_INET)
		format_ipv4(a->bytes, buf);
	else if (!addr_is_set(a) || !inet_ntop(a->family, a->bytes, buf, ADDR_STRLEN))
		memcpy(buf, "-", 2);
	return buf;
}

/*
 * The order of the families relies on their numbers on Linux: 0, 2 and 10. Bytes are in network
 * order, so memcmp() compares numbers.
 */
int addr_cmp(const struct addr *a, const struct addr *b)
{
	if (a->family != b->family) /* AF_UNSPEC < AF_INET < AF_INET6 */
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

bool addr_is_loopback(const struct addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	if (a->family == AF_INET)
		return a->bytes[0] == 127;
	return a->family == AF_INET6 && memcmp(a->bytes, one, sizeof(one)) == 0;
}

/* Compares the whole bytes first, then the leading bits of the last one. */
bool addr_is_in(const struct addr *a, const struct addr *network, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	assert(bits <= 8 * sizeof(a->bytes));
	return a->family == network->family && memcmp(a->bytes, network->bytes, whole) == 0 &&
	       (!rest || (a->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0);
}

/*
 * Parses the host part before the colon of the port: "[v6]", "v4" or "". Brackets are required
 * for IPv6 and refused for IPv4; "[]" is an error.
 */
static int parse_host(struct str host, struct addr *ret)
{
	char text[ADDR_STRLEN];
	bool bracketed = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	struct addr a = { 0 };

	if (bracketed) {
		host.p++;
		host.n -= 2;
	}
	if (host.n) {
		if (host.n >= sizeof(text))
			return -EINVAL;
		memcpy(text, host.p, host.n);
		text[host.n] = '\0';
		if (addr_parse(text, &a) < 0 || bracketed != (a.family == AF_INET6))
			return -EINVAL;
	} else if (bracketed) {
		return -EINVAL;
	}
	*ret = a;
	return 0;
}

/* The last colon separates the port, since an IPv6 address has colons of its own. */
int endpoint_parse(const char *text, struct endpoint *ret)
{
	const char *colon = strrchr(text, ':');
	struct addr host;
	uint64_t port;

	if (!colon || str_to_u64(str_of(colon + 1), UINT16_MAX, &port) < 0)
		return -EINVAL;
	if (parse_host((struct str){ text, (size_t)(colon - text) }, &host) < 0)
		return -EINVAL;
	*ret = (struct endpoint){ host, (uint16_t)port };
	return 0;
}

int endpoint_cmp(const struct endpoint *a, const struct endpoint *b)
{
	int c = addr_cmp(&a->addr, &b->addr);

	return c ? c : (a->port > b->port) - (a->port < b->port);
}

const char *endpoint_format(const struct endpoint *e, char buf[static ENDPOINT_STRLEN])
{
	char host[ADDR_STRLEN];

	if (!addr_is_set(&e->addr))
		snprintf(buf, ENDPOINT_STRLEN, ":%u", e->port);
	else
		snprintf(buf, ENDPOINT_STRLEN, e->addr.family == AF_INET6 ? "[%s]:%u" : "%s:%u",
			 addr_format(&e->addr, host), e->port);
	return buf;
}

socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *in4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	if (e->addr.family == AF_INET) {
		in4->sin_family = AF_INET;
		in4->sin_port = htons(e->port);
		memcpy(&in4->sin_addr, e->addr.bytes, sizeof(in4->sin_addr));
		return sizeof(*in4);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(e->port);
	memcpy(&in6->sin6_addr, e->addr.bytes, sizeof(in6->sin6_addr));
	return sizeof(*in6);
}

/*
 * Unwraps an IPv4-mapped address, so that an IPv4 client looks the same on a dual-stack socket
 * and on an IPv4 socket.
 */
static void addr_of_in6(const struct in6_addr *in6, struct addr *ret)
{
	bool mapped = IN6_IS_ADDR_V4MAPPED(in6);

	*ret = (struct addr){ .family = mapped ? AF_INET : AF_INET6 };
	if (mapped)
		memcpy(ret->bytes, in6->s6_addr + 12, 4);
	else
		memcpy(ret->bytes, in6->s6_addr, 16);
}

int endpoint_from_sockaddr(const struct sockaddr *sa, struct endpoint *ret)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in4 = (const void *)sa;
	struct endpoint e = { 0 };

	if (sa->sa_family == AF_INET) {
		e.addr.family = AF_INET;
		e.port = ntohs(in4->sin_port);
		memcpy(e.addr.bytes, &in4->sin_addr, sizeof(in4->sin_addr));
	} else if (sa->sa_family == AF_INET6) {
		e.port = ntohs(in6->sin6_port);
		addr_of_in6(&in6->sin6_addr, &e.addr);
	} else {
		return -EAFNOSUPPORT;
	}
	*ret = e;
	return 0;
}
