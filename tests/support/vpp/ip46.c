/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vpp/ip46.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/str.h"

#define PAD4 12 /* zeros before an IPv4 address */

static struct addr addr_of(const struct ip46 *a, bool is4)
{
	struct addr ret = { .family = is4 ? AF_INET : AF_INET6 };

	memcpy(ret.bytes, is4 ? a->b + PAD4 : a->b, is4 ? 4 : 16);
	return ret;
}

struct ip46 ip46_of(const struct addr *a)
{
	struct ip46 ret = { 0 };

	assert(addr_is_set(a));
	if (a->family == AF_INET)
		memcpy(ret.b + PAD4, a->bytes, 4);
	else
		memcpy(ret.b, a->bytes, 16);
	return ret;
}

struct ip46 ip46_decode(const uint8_t wire[static IP46_WIRE_LEN])
{
	struct ip46 ret = { 0 };

	if (wire[0] == 0)
		memcpy(ret.b + PAD4, wire + 1, 4);
	else
		memcpy(ret.b, wire + 1, 16);
	return ret;
}

void ip46_encode(const struct ip46 *a, uint8_t wire[static IP46_WIRE_LEN])
{
	memset(wire, 0, IP46_WIRE_LEN);
	wire[0] = !ip46_is4(a);
	if (ip46_is4(a))
		memcpy(wire + 1, a->b + PAD4, 4);
	else
		memcpy(wire + 1, a->b, 16);
}

bool ip46_is4(const struct ip46 *a)
{
	static const uint8_t zeros[PAD4];

	return memcmp(a->b, zeros, PAD4) == 0;
}

bool ip46_prefix_is4(const struct ip46 *a, uint8_t plen)
{
	return plen >= 96 && ip46_is4(a);
}

int ip46_cmp(const struct ip46 *a, const struct ip46 *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

void ip46_mask(struct ip46 *a, uint8_t plen)
{
	unsigned keep = plen <= 128 ? plen : 64 + (plen & 63);

	for (unsigned bit = keep; bit < 128; bit++)
		a->b[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

bool ip46_covers(const struct ip46 *prefix, uint8_t plen, const struct ip46 *a)
{
	struct ip46 masked = *a;

	ip46_mask(&masked, plen);
	return ip46_cmp(&masked, prefix) == 0;
}

const char *ip46_format(const struct ip46 *a, char buf[static IP46_STRLEN])
{
	struct addr plain = addr_of(a, ip46_is4(a));

	return addr_format(&plain, buf);
}

const char *ip46_format_prefix(const struct ip46 *a, uint8_t plen, char buf[static IP46_STRLEN])
{
	bool is4 = ip46_prefix_is4(a, plen);
	struct addr plain = addr_of(a, is4);
	char text[ADDR_STRLEN];

	snprintf(buf, IP46_STRLEN, "%s/%d", addr_format(&plain, text), is4 ? plen - 96 : plen);
	return buf;
}

int ip46_parse_prefix(const char *text, struct ip46 *ret, uint8_t *ret_plen)
{
	const char *slash = strchr(text, '/');
	char address[ADDR_STRLEN];
	struct addr plain;
	uint64_t length;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	if (addr_parse(address, &plain) < 0 ||
	    str_to_u64(str_of(slash + 1), plain.family == AF_INET ? 32 : 128, &length) < 0)
		return -EINVAL;
	*ret = ip46_of(&plain);
	*ret_plen = (uint8_t)(length + (plain.family == AF_INET ? 96 : 0));
	return 0;
}
