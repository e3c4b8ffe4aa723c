/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of pools: networks, and ranges, which become the fewest networks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/metal/build.h"
#include "core/metal/number.h"

const char *metal_prefix_format(const struct metal_prefix *p, char buf[static METAL_PREFIX_STRLEN])
{
	char text[ADDR_STRLEN];

	snprintf(buf, METAL_PREFIX_STRLEN, "%s/%u", addr_format(&p->address, text), p->length);
	return buf;
}

bool metal_prefix_has(const struct metal_prefix *p, const struct addr *a)
{
	return addr_is_in(a, &p->address, p->length);
}

struct metal_prefix metal__masked(const struct addr *a, uint8_t length)
{
	unsigned host = metal_bits(a->family) - length;
	metal_number n = metal_number_of(a);

	n = host >= 128 ? 0 : n >> host << host;
	return (struct metal_prefix){ metal_address(a->family, n), length };
}

static int parse_network(struct metal__build *b, const char *text, struct metal__range *ret)
{
	struct str rest = str_of(text), address = { 0 }, length = { 0 };
	struct metal_prefix *one;
	struct addr a;
	uint64_t bits;

	str_cut(&rest, '/', &address);
	if (!str_cut(&rest, '/', &length) || rest.n ||
	    addr_parse(arena_strndup(b->arena, address.p, address.n), &a) < 0 ||
	    str_to_u64(length, metal_bits(a.family), &bits) < 0)
		return metal__fail(b, "invalid CIDR %s", metal__quote(b, text));
	one = arena_new_of(b->arena, struct metal_prefix);
	*one = metal__masked(&a, (uint8_t)bits);
	*ret = (struct metal__range){ one, 1 };
	return 0;
}

/* The largest network that begins with from and ends at to or before. */
static unsigned host_bits(metal_number from, metal_number to, unsigned bits)
{
	unsigned host = 0;

	while (host < bits) {
		metal_number size = (metal_number)1 << host;

		if (from & size || to - from < (size - 1) + size)
			break;
		host++;
	}
	return host;
}

#define PIECES_MAX 256 /* of a range: at most two for each bit */

static void split(struct metal__build *b, const struct addr *first, const struct addr *last,
		  struct metal__range *ret)
{
	metal_number from = metal_number_of(first), to = metal_number_of(last);
	struct metal_prefix pieces[PIECES_MAX];
	unsigned bits = metal_bits(first->family);
	size_t n = 0;

	for (;;) {
		unsigned host = host_bits(from, to, bits);
		metal_number end = host >= 128 ? to : from + (((metal_number)1 << host) - 1);

		pieces[n++] = (struct metal_prefix){ metal_address(first->family, from),
						     (uint8_t)(bits - host) };
		if (end >= to)
			break;
		from = end + 1;
	}
	*ret = (struct metal__range){ arena_copy(b->arena, pieces, n * sizeof(*pieces)), n };
}

int metal__range_parse(struct metal__build *b, const char *text, struct metal__range *ret)
{
	const char *dash = strchr(text, '-'), *first, *last;
	struct str a, z;
	struct addr from, to;

	if (!dash)
		return parse_network(b, text, ret);
	a = str_trim((struct str){ text, (size_t)(dash - text) });
	z = str_trim(str_of(dash + 1));
	first = arena_strndup(b->arena, a.p, a.n);
	last = arena_strndup(b->arena, z.p, z.n);
	if (addr_parse(first, &from) < 0)
		return metal__fail(b, "invalid IP range %s: invalid start IP %s",
				   metal__quote(b, text), metal__quote(b, first));
	if (addr_parse(last, &to) < 0)
		return metal__fail(b, "invalid IP range %s: invalid end IP %s",
				   metal__quote(b, text), metal__quote(b, last));
	if (from.family != to.family)
		return metal__fail(b, "invalid IP range %s: %s and %s are of different families",
				   metal__quote(b, text), metal__quote(b, first),
				   metal__quote(b, last));
	if (addr_cmp(&from, &to) > 0)
		return metal__fail(b, "invalid IP range %s: start IP %s is after the end IP %s",
				   metal__quote(b, text), metal__quote(b, first),
				   metal__quote(b, last));
	split(b, &from, &to, ret);
	return 0;
}
