/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups and comparisons over a finished configuration. The arrays are sorted by name, so names
 * are found by binary search.
 */
#include "core/l4/config.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/str.h"
#include "core/l4/schema.h"

const char *l4_check_type_name(enum l4_check_type t)
{
	assert((size_t)t < l4_kind_check_type.n_words);
	return l4_kind_check_type.words[t];
}

const char *l4_dns_type_name(enum l4_dns_type t)
{
	assert((size_t)t < l4_kind_dns_type.n_words);
	return l4_kind_dns_type.words[t];
}

const char *l4_dns_rcode_name(enum l4_dns_rcode r)
{
	assert((size_t)r < l4_kind_dns_rcode.n_words);
	return l4_kind_dns_rcode.words[r];
}

uint16_t l4_dns_type_number(enum l4_dns_type t)
{
	static const uint16_t numbers[] = {
		[L4_DNS_A] = 1,	  [L4_DNS_AAAA] = 28, [L4_DNS_CNAME] = 5,
		[L4_DNS_MX] = 15, [L4_DNS_NS] = 2,    [L4_DNS_PTR] = 12,
		[L4_DNS_SOA] = 6, [L4_DNS_SRV] = 33,  [L4_DNS_TXT] = 16,
	};

	assert((size_t)t < ARRAY_SIZE(numbers));
	return numbers[t];
}

const char *l4_protocol_name(uint8_t protocol)
{
	assert(protocol == L4_PROTOCOL_ANY || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP);
	if (protocol == L4_PROTOCOL_ANY)
		return "any";
	return protocol == IPPROTO_TCP ? "tcp" : "udp";
}

const char *l4_dataplane_name(enum l4_dataplane d)
{
	assert((size_t)d < l4_kind_dataplane.n_words);
	return l4_kind_dataplane.words[d];
}

void l4_codes_print(const struct l4_codes *codes, struct buf *out)
{
	for (size_t i = 0; i < codes->n; i++) {
		const struct l4_code_range *r = &codes->items[i];

		if (i)
			buf_addc(out, ',');
		buf_addu(out, r->first);
		if (r->last != r->first)
			buf_printf(out, "-%u", (unsigned)r->last);
	}
}

/* Checks, backends and frontends share one search: it gets names by index through this. */
typedef const char *(*name_at_fn)(const struct l4_config *c, size_t i);

static const char *check_at(const struct l4_config *c, size_t i)
{
	return c->checks[i].name;
}

static const char *backend_at(const struct l4_config *c, size_t i)
{
	return c->backends[i].name;
}

static const char *frontend_at(const struct l4_config *c, size_t i)
{
	return c->frontends[i].name;
}

/* The index of the first entry whose name comes after name (an upper bound). */
static size_t behind(const struct l4_config *c, name_at_fn name_at, size_t n, const char *name)
{
	size_t lo = 0, hi = n;

	assert(c && name);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(name_at(c, mid), name) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static size_t find(const struct l4_config *c, name_at_fn name_at, size_t n, const char *name)
{
	size_t i = behind(c, name_at, n, name);

	return i && strcmp(name_at(c, i - 1), name) == 0 ? i - 1 : SIZE_MAX;
}

const struct l4_check *l4_config_check(const struct l4_config *c, const char *name)
{
	size_t i = find(c, check_at, c->n_checks, name);

	return i == SIZE_MAX ? NULL : &c->checks[i];
}

size_t l4_config_backend(const struct l4_config *c, const char *name)
{
	return find(c, backend_at, c->n_backends, name);
}

size_t l4_config_frontend(const struct l4_config *c, const char *name)
{
	return find(c, frontend_at, c->n_frontends, name);
}

size_t l4_config_backend_behind(const struct l4_config *c, const char *name)
{
	return name ? behind(c, backend_at, c->n_backends, name) : 0;
}

size_t l4_config_frontend_behind(const struct l4_config *c, const char *name)
{
	return name ? behind(c, frontend_at, c->n_frontends, name) : 0;
}

bool l4_check_equal(const struct l4_check *a, const struct l4_check *b)
{
	assert(a && b);
	return schema_equal(&l4_schema_check, a, b);
}

struct l4_check *l4_check_copy(const struct l4_check *config, struct arena *arena)
{
	struct l4_check *copy = arena_new_of(arena, struct l4_check);

	schema_copy(&l4_schema_check, copy, config, arena);
	return copy;
}

bool l4_pool_has(const struct l4_pool *p, size_t backend)
{
	size_t at = sorted_place(p->n_members, i, p->members[i].backend < backend);

	return at < p->n_members && p->members[at].backend == backend;
}
