/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bgp/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void clear_host_bits(struct addr *a, unsigned length)
{
	size_t bytes = a->family == AF_INET ? 4 : 16;

	for (size_t i = 0; i < bytes; i++) {
		unsigned keep = length >= 8 * (i + 1) ? 8 : length > 8 * i ? length - 8 * i : 0;

		a->bytes[i] &= (uint8_t)(0xff00U >> keep);
	}
}

struct bgp_prefix bgp_vip_prefix(const struct bgp_config *c, const struct bgp_vip *v)
{
	static const struct bgp_advertisement whole = { .length4 = 32, .length6 = 128 };
	const struct bgp_advertisement *a =
		v->advertisement == BGP_NONE ? &whole : &c->advertisements[v->advertisement];
	struct bgp_prefix p = { v->address,
				(uint8_t)(v->address.family == AF_INET ? a->length4 : a->length6) };

	clear_host_bits(&p.address, p.length);
	return p;
}

int bgp_prefix_cmp(const struct bgp_prefix *a, const struct bgp_prefix *b)
{
	int cmp = addr_cmp(&a->address, &b->address);

	return cmp ? cmp : (a->length > b->length) - (a->length < b->length);
}

const char *bgp_prefix_format(const struct bgp_prefix *p, char buf[static BGP_PREFIX_STRLEN])
{
	char text[ADDR_STRLEN];

	snprintf(buf, BGP_PREFIX_STRLEN, "%s/%u", addr_format(&p->address, text), p->length);
	return buf;
}

static int by_name(const void *key, const void *item)
{
	return strcmp(key, ((const struct bgp_vip *)item)->name);
}

const struct bgp_vip *bgp_config_vip(const struct bgp_config *c, const char *name)
{
	return c->n_vips ? bsearch(name, c->vips, c->n_vips, sizeof(*c->vips), by_name) : NULL;
}
