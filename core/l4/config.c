/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups and comparisons over a finished configuration. The arrays are sorted by name, so a name
 * is found by halving.
 */
#include "core/l4/config.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/str.h"

const char *l4_check_type_name(enum l4_check_type t)
{
	static const char *const names[] = {
		[L4_CHECK_ICMP] = "icmp",
		[L4_CHECK_TCP] = "tcp",
		[L4_CHECK_HTTP] = "http",
		[L4_CHECK_HTTPS] = "https",
	};

	assert((size_t)t < sizeof(names) / sizeof(names[0]));
	return names[t];
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
	static const char *const names[] = {
		[L4_DATAPLANE_VPP] = "vpp",
		[L4_DATAPLANE_XDP] = "xdp",
		[L4_DATAPLANE_NONE] = "none",
	};

	assert((size_t)d < sizeof(names) / sizeof(names[0]));
	return names[d];
}

void l4_codes_print(const struct l4_http_params *p, struct buf *out)
{
	for (size_t i = 0; i < p->n_codes; i++) {
		const struct l4_code_range *r = &p->codes[i];

		if (i)
			buf_addc(out, ',');
		buf_addu(out, r->first);
		if (r->last != r->first)
			buf_printf(out, "-%u", (unsigned)r->last);
	}
}

/* The three kinds of entry, each with its name, seen alike: a name by index. */
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

/* Index of the first name that is behind name. */
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

bool l4__same_codes(const struct l4_http_params *a, const struct l4_http_params *b)
{
	if (a->n_codes != b->n_codes)
		return false;
	for (size_t i = 0; i < a->n_codes; i++)
		if (a->codes[i].first != b->codes[i].first || a->codes[i].last != b->codes[i].last)
			return false;
	return true;
}

static bool same_http(const struct l4_http_params *a, const struct l4_http_params *b)
{
	return cstr_eq(a->path, b->path) && cstr_eq(a->host, b->host) &&
	       cstr_eq(a->server_name, b->server_name) && cstr_eq(a->regexp, b->regexp) &&
	       l4__same_codes(a, b) && a->insecure_skip_verify == b->insecure_skip_verify;
}

static bool same_schedule(const struct schedule *a, const struct schedule *b)
{
	return a->interval == b->interval && a->fast_interval == b->fast_interval &&
	       a->down_interval == b->down_interval;
}

/* http is zeroed for the types that have none, so it can always be compared. */
bool l4_check_equal(const struct l4_check *a, const struct l4_check *b)
{
	assert(a && b);
	return a->type == b->type && a->port == b->port &&
	       same_schedule(&a->schedule, &b->schedule) && a->rule.rise == b->rule.rise &&
	       a->rule.fall == b->rule.fall && a->timeout == b->timeout &&
	       a->keep_alive == b->keep_alive && addr_cmp(&a->src4, &b->src4) == 0 &&
	       addr_cmp(&a->src6, &b->src6) == 0 && same_http(&a->http, &b->http);
}
