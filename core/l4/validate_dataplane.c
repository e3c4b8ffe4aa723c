/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which data plane it is, and the sections vpp.lb and xdp: what its driver will be told. VPP
 * checks next to nothing of what it is sent, so the bounds here are what keeps it alive.
 */
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)
#define INTERFACES_MAX 64
#define PIN_MAX 400	   /* names of pins come behind it */
#define INTERFACE_BYTES 15 /* IFNAMSIZ - 1 */

static const struct l4__spot vpp = { .in = &l4__root, .name = "vpp" };
static const struct l4__spot lb = { .in = &vpp, .name = "lb" };
static const struct l4__spot xdp = { .in = &l4__root, .name = "xdp" };

void l4__build_dataplane(struct l4__build *b)
{
	static const char *const list[] = {
		[L4_DATAPLANE_VPP] = "vpp",
		[L4_DATAPLANE_XDP] = "xdp",
		[L4_DATAPLANE_NONE] = "none",
	};
	static const struct l4__words words = { "dataplane", list, ARRAY_SIZE(list) };
	const struct doc_text *d = &b->doc->dataplane;
	int i = b->doc->xdp.set ? L4_DATAPLANE_XDP : L4_DATAPLANE_VPP;

	if (d->set)
		i = l4__choose(b, &l4__root, &words, d);
	if (b->rules->no_dataplane)
		i = L4_DATAPLANE_NONE;
	b->dataplane_known = i >= 0;
	if (i >= 0)
		b->config->dataplane = (enum l4_dataplane)i;
}

static bool is_power_of_two(int64_t v)
{
	return v > 0 && (v & (v - 1)) == 0;
}

static uint32_t build_power(struct l4__build *b, const struct l4__range *range,
			    const struct doc_int *d)
{
	size_t before = l4__errors(b);
	int64_t v = l4__number(b, &lb, range, d);

	if (l4__errors(b) == before && !is_power_of_two(v))
		l4__fail(b, &lb, range->word, d->at, "must be a power of two, not %lld",
			 (long long)v);
	return (uint32_t)v;
}

/* Whole seconds, since that is what a data plane takes. */
static int64_t build_flow_timeout(struct l4__build *b, const struct doc_duration *d)
{
	static const struct l4__range range = { "flow-timeout", NSEC_PER_SEC, 120 * NSEC_PER_SEC,
						40 * NSEC_PER_SEC };
	int64_t v = l4__duration(b, &lb, &range, d);
	char text[DURATION_STRLEN];

	if (v % NSEC_PER_SEC)
		l4__fail(b, &lb, range.word, d->at, "must be whole seconds, not %s",
			 duration_format(v, text));
	return v;
}

static void build_delays(struct l4__build *b, const struct doc_lb *d, struct l4_lb *ret)
{
	static const struct l4__range min = { "startup-min-delay", 0, DAY, 5 * NSEC_PER_SEC };
	static const struct l4__range max = { "startup-max-delay", 0, DAY, 30 * NSEC_PER_SEC };
	char least[DURATION_STRLEN], given[DURATION_STRLEN];
	size_t before = l4__errors(b);
	bool own = d->startup_max_delay.set;

	ret->startup_min_delay = l4__duration(b, &lb, &min, &d->startup_min_delay);
	ret->startup_max_delay = l4__duration(b, &lb, &max, &d->startup_max_delay);
	if (l4__errors(b) != before || ret->startup_max_delay >= ret->startup_min_delay)
		return;
	l4__fail(b, &lb, max.word, own ? d->startup_max_delay.at : d->startup_min_delay.at,
		 "must not be less than startup-min-delay (%s), but is %s%s",
		 duration_format(ret->startup_min_delay, least),
		 duration_format(ret->startup_max_delay, given), own ? "" : " by default");
}

/* Whether any frontend sends to backends of the family. */
static bool sends_to(const struct l4__build *b, int family)
{
	for (size_t i = 0; i < b->config->n_frontends; i++)
		if (b->vips[i].family == family)
			return true;
	return false;
}

static bool needs_source(const struct l4__build *b, int family)
{
	if (!b->dataplane_known)
		return false;
	switch (b->config->dataplane) {
	case L4_DATAPLANE_VPP:
		return true;
	case L4_DATAPLANE_XDP:
		return sends_to(b, family);
	case L4_DATAPLANE_NONE:
		return false;
	}
	return false;
}

static void build_source(struct l4__build *b, const char *word, int family,
			 const struct doc_text *d, struct addr *ret)
{
	const struct l4_doc *doc = b->doc;

	if (d->set)
		l4__address(b, &lb, word, family, d, ret);
	else if (needs_source(b, family))
		l4__fail(b, &lb, word, doc->lb.set ? doc->lb.at : doc->dataplane.at,
			 "is required: %s sends to %s servers from it",
			 l4_dataplane_name(b->config->dataplane), l4__family_name(family));
}

void l4__build_lb(struct l4__build *b)
{
	static const struct l4__range interval = { "sync-interval", 1, DAY, 30 * NSEC_PER_SEC };
	static const struct l4__range buckets = { "sticky-buckets-per-core", 1, 1 << 20, 1024 };
	static const struct l4__range length = { "new-flows-table-length", 1024, 32768, 16384 };
	const struct doc_lb *d = &b->doc->lb;
	struct l4_lb *ret = &b->config->lb;

	build_source(b, "ipv4-src-address", AF_INET, &d->ipv4_src_address, &ret->src4);
	build_source(b, "ipv6-src-address", AF_INET6, &d->ipv6_src_address, &ret->src6);
	ret->sync_interval = l4__duration(b, &lb, &interval, &d->sync_interval);
	ret->flow_timeout = build_flow_timeout(b, &d->flow_timeout);
	build_delays(b, d, ret);
	ret->sticky_buckets_per_core = build_power(b, &buckets, &d->sticky_buckets_per_core);
	ret->new_flows_table_length = build_power(b, &length, &d->new_flows_table_length);
}

/* What the kernel takes as the name of an interface. */
static bool interface_ok(struct l4__build *b, const struct l4__spot *spot, const struct doc_text *d)
{
	if (!l4__token(b, spot, NULL, d, INTERFACE_BYTES))
		return false;
	if (!strpbrk(d->v, "/:") && strcmp(d->v, ".") != 0 && strcmp(d->v, "..") != 0)
		return true;
	l4__fail(b, spot, NULL, d->at, "%s is not the name of an interface", l4__quote(b, d->v));
	return false;
}

static void build_interface(struct l4__build *b, const struct l4__spot *spot,
			    const struct doc_text *d, const char **names, size_t *n)
{
	if (!interface_ok(b, spot, d))
		return;
	for (size_t i = 0; i < *n; i++)
		if (strcmp(names[i], d->v) == 0) {
			l4__fail(b, spot, NULL, d->at, "%s is listed twice", l4__quote(b, d->v));
			return;
		}
	names[(*n)++] = arena_strdup(b->arena, d->v);
}

static void build_interfaces(struct l4__build *b, const struct doc_xdp *d, struct l4_xdp *ret)
{
	static const struct l4__spot list = { .in = &xdp, .name = "interfaces" };
	const char **names;
	size_t n = 0;

	if (d->n_interfaces > INTERFACES_MAX) {
		l4__fail(b, &list, NULL, d->interfaces[INTERFACES_MAX].at,
			 "must not be more than %d", INTERFACES_MAX);
		return;
	}
	names = arena_array_of(b->arena, d->n_interfaces, const char *);
	for (size_t i = 0; i < d->n_interfaces; i++) {
		struct l4__spot spot = { .in = &list, .index = i };

		build_interface(b, &spot, &d->interfaces[i], names, &n);
	}
	ret->interfaces = names;
	ret->n_interfaces = n;
}

static enum l4_xdp_mode build_mode(struct l4__build *b, const struct doc_text *d)
{
	static const char *const list[] = { "auto", "native", "generic" };
	static const struct l4__words words = { "mode", list, ARRAY_SIZE(list) };
	static const enum l4_xdp_mode values[] = { L4_XDP_AUTO, L4_XDP_NATIVE, L4_XDP_GENERIC };
	int i = d->set ? l4__choose(b, &xdp, &words, d) : 0;

	return i < 0 ? L4_XDP_AUTO : values[i];
}

static const char *build_pin(struct l4__build *b, const struct doc_text *d)
{
	if (!d->set)
		return "/sys/fs/bpf/maglev";
	if (l4__token(b, &xdp, "pin", d, PIN_MAX) && *d->v != '/')
		l4__fail(b, &xdp, "pin", d->at, "%s is not an absolute path", l4__quote(b, d->v));
	return arena_strdup(b->arena, d->v);
}

static bool is_prime(int64_t v)
{
	for (int64_t i = 2; i * i <= v; i++)
		if (v % i == 0)
			return false;
	return v >= 2;
}

/* The hash walks the table in steps of any length, which visits every place only if it is prime. */
static uint32_t build_table_size(struct l4__build *b, const struct doc_int *d)
{
	static const struct l4__range range = { "table-size", 251, 5000011, 65537 };
	int64_t v = l4__number(b, &xdp, &range, d), next = v;

	while (!is_prime(next))
		next++;
	if (next != v)
		l4__fail(b, &xdp, range.word, d->at, "must be a prime, not %lld; %lld is one",
			 (long long)v, (long long)next);
	return (uint32_t)v;
}

void l4__build_xdp(struct l4__build *b)
{
	static const struct l4__range flows = { "flow-table-size", 1024, 1 << 26, 1000000 };
	const struct doc_xdp *d = &b->doc->xdp;
	struct l4_xdp *ret = &b->config->xdp;

	build_interfaces(b, d, ret);
	ret->mode = build_mode(b, &d->mode);
	ret->pin = build_pin(b, &d->pin);
	ret->table_size = build_table_size(b, &d->table_size);
	ret->flow_table_size = (uint32_t)l4__number(b, &xdp, &flows, &d->flow_table_size);
	if (b->dataplane_known && b->config->dataplane == L4_DATAPLANE_XDP && !d->n_interfaces)
		l4__fail(b, &xdp, "interfaces", d->set ? d->at : b->doc->dataplane.at,
			 "must name at least one interface for the data plane xdp");
}
