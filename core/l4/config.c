/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: lookups by name, and the words for its enums. Names are looked up by halving, since every
 * list that has names is sorted by them.
 */
#include "core/l4/config.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const type_names[] = { "icmp", "tcp", "http", "https" };
static const char *const dataplane_names[] = { "vpp", "xdp", "none" };

/* Index of name among n items of size bytes that begin with their name; SIZE_MAX when absent. */
static size_t find(const void *items, size_t n, size_t size, const char *name)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *const *at = (const void *)((const char *)items + mid * size);
		int order = strcmp(*at, name);

		if (order == 0)
			return mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return SIZE_MAX;
}

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool http_equal(const struct l4_http_params *a, const struct l4_http_params *b)
{
	if (a->n_codes != b->n_codes || a->insecure_skip_verify != b->insecure_skip_verify)
		return false;
	for (size_t i = 0; i < a->n_codes; i++)
		if (a->codes[i].first != b->codes[i].first || a->codes[i].last != b->codes[i].last)
			return false;
	return text_equal(a->path, b->path) && text_equal(a->host, b->host) &&
	       text_equal(a->server_name, b->server_name) && text_equal(a->regexp, b->regexp);
}

static bool timing_equal(const struct l4_check *a, const struct l4_check *b)
{
	return a->schedule.interval == b->schedule.interval &&
	       a->schedule.fast_interval == b->schedule.fast_interval &&
	       a->schedule.down_interval == b->schedule.down_interval && a->timeout == b->timeout &&
	       a->rule.rise == b->rule.rise && a->rule.fall == b->rule.fall;
}

const char *l4_check_type_name(enum l4_check_type t)
{
	assert((size_t)t < ARRAY_SIZE(type_names));
	return type_names[t];
}

const char *l4_protocol_name(uint8_t protocol)
{
	if (protocol == IPPROTO_TCP)
		return "tcp";
	return protocol == IPPROTO_UDP ? "udp" : "any";
}

const char *l4_dataplane_name(enum l4_dataplane d)
{
	assert((size_t)d < ARRAY_SIZE(dataplane_names));
	return dataplane_names[d];
}

const struct l4_check *l4_config_check(const struct l4_config *c, const char *name)
{
	size_t i = find(c->checks, c->n_checks, sizeof(*c->checks), name);

	return i == SIZE_MAX ? NULL : &c->checks[i];
}

size_t l4_config_backend(const struct l4_config *c, const char *name)
{
	return find(c->backends, c->n_backends, sizeof(*c->backends), name);
}

size_t l4_config_frontend(const struct l4_config *c, const char *name)
{
	return find(c->frontends, c->n_frontends, sizeof(*c->frontends), name);
}

bool l4_check_equal(const struct l4_check *a, const struct l4_check *b)
{
	return a->type == b->type && a->port == b->port && a->keep_alive == b->keep_alive &&
	       addr_cmp(&a->src4, &b->src4) == 0 && addr_cmp(&a->src6, &b->src6) == 0 &&
	       timing_equal(a, b) && http_equal(&a->http, &b->http);
}
