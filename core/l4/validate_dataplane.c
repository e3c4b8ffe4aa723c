/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which data plane is used, and the sections lb (or vpp.lb) and xdp, which its driver gets. VPP
 * checks almost nothing that it receives and may crash, so the bounds are enforced here.
 */
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "core/l4/validate_build.h"

#define DAY (24 * 3600 * NSEC_PER_SEC)
#define INTERFACES_MAX 64
#define PIN_MAX 400	   /* the names of pins are appended to it, and paths are bounded */
#define INTERFACE_BYTES 15 /* IFNAMSIZ - 1 */

static const struct rule_spot vpp = { .in = &l4__root, .name = "vpp" };
static const struct rule_spot vpp_lb = { .in = &vpp, .name = "lb" };
static const struct rule_spot lb = { .in = &l4__root, .name = "lb" };
static const struct rule_spot xdp = { .in = &l4__root, .name = "xdp" };

/* Without the key `dataplane`, a section xdp selects XDP. The command line overrides both. */
void l4__build_dataplane(struct l4__build *b)
{
	const struct rule_words words = { "dataplane", l4_kind_dataplane.words,
					  l4_kind_dataplane.n_words };
	const struct doc_text *d = &b->doc->dataplane;
	int i = b->doc->xdp.set ? L4_DATAPLANE_XDP : L4_DATAPLANE_VPP;

	if (d->set)
		i = rule_choose(&b->sink, &l4__root, &words, d);
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

/* Only a value that was in range is checked further, so that it is reported once. */
static uint32_t build_power(struct l4__build *b, const struct rule_range *range,
			    const struct doc_int *d)
{
	size_t before = rule_errors(&b->sink);
	int64_t v = rule_number(&b->sink, b->lb_spot, range, d);

	if (rule_errors(&b->sink) == before && !is_power_of_two(v))
		rule_fail(&b->sink, b->lb_spot, range->word, d->at,
			  "must be a power of two, not %lld", (long long)v);
	return (uint32_t)v;
}

/* Data planes take whole seconds. */
static int64_t build_flow_timeout(struct l4__build *b, const struct doc_duration *d)
{
	static const struct rule_range range = { "flow-timeout", NSEC_PER_SEC, 120 * NSEC_PER_SEC,
						 40 * NSEC_PER_SEC };
	int64_t v = rule_duration(&b->sink, b->lb_spot, &range, d);
	char text[DURATION_STRLEN];

	if (v % NSEC_PER_SEC)
		rule_fail(&b->sink, b->lb_spot, range.word, d->at, "must be whole seconds, not %s",
			  duration_format(v, text));
	return v;
}

/* The maximum may be below the minimum only by default: then the place is that of the minimum. */
static void build_delays(struct l4__build *b, const struct doc_lb *d, struct l4_lb *ret)
{
	static const struct rule_range min = { "startup-min-delay", 0, DAY, 5 * NSEC_PER_SEC };
	static const struct rule_range max = { "startup-max-delay", 0, DAY, 30 * NSEC_PER_SEC };
	char least[DURATION_STRLEN], given[DURATION_STRLEN];
	size_t before = rule_errors(&b->sink);
	bool own = d->startup_max_delay.set;

	ret->startup_min_delay = rule_duration(&b->sink, b->lb_spot, &min, &d->startup_min_delay);
	ret->startup_max_delay = rule_duration(&b->sink, b->lb_spot, &max, &d->startup_max_delay);
	if (rule_errors(&b->sink) != before || ret->startup_max_delay >= ret->startup_min_delay)
		return;
	rule_fail(&b->sink, b->lb_spot, max.word,
		  own ? d->startup_max_delay.at : d->startup_min_delay.at,
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

/* VPP is always given both addresses; XDP needs those of the families in use. */
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
	if (d->set)
		rule_address(&b->sink, b->lb_spot, word, family, d, ret);
	else if (needs_source(b, family))
		rule_fail(&b->sink, b->lb_spot, word, b->lb->set ? b->lb->at : b->doc->dataplane.at,
			  "is required: %s sends to %s servers from it",
			  l4_dataplane_name(b->config->dataplane), l4__family_name(family));
}

/*
 * The section has two places: vpp.lb is the older one. Where there is none, complaints name the one
 * that fits to the data plane.
 */
static void choose_lb(struct l4__build *b)
{
	const struct doc_lb *old = &b->doc->lb, *top = &b->doc->top_lb;
	bool vpp_only = b->dataplane_known && b->config->dataplane == L4_DATAPLANE_VPP;

	b->lb = top->set ? top : old;
	b->lb_spot = top->set || (!old->set && !vpp_only) ? &lb : &vpp_lb;
	if (top->set && old->set)
		rule_fail(&b->sink, &vpp_lb, NULL, old->at,
			  "is given beside lb, which is the same section");
}

void l4__build_lb(struct l4__build *b)
{
	static const struct rule_range interval = { "sync-interval", 1, DAY, 30 * NSEC_PER_SEC };
	static const struct rule_range buckets = { "sticky-buckets-per-core", 1, 1 << 20, 1024 };
	static const struct rule_range length = { "new-flows-table-length", 1024, 32768, 16384 };
	const struct doc_lb *d;
	struct l4_lb *ret = &b->config->lb;

	choose_lb(b);
	d = b->lb;
	build_source(b, "ipv4-src-address", AF_INET, &d->ipv4_src_address, &ret->src4);
	build_source(b, "ipv6-src-address", AF_INET6, &d->ipv6_src_address, &ret->src6);
	ret->sync_interval = rule_duration(&b->sink, b->lb_spot, &interval, &d->sync_interval);
	ret->flow_timeout = build_flow_timeout(b, &d->flow_timeout);
	build_delays(b, d, ret);
	ret->sticky_buckets_per_core = build_power(b, &buckets, &d->sticky_buckets_per_core);
	ret->new_flows_table_length = build_power(b, &length, &d->new_flows_table_length);
}

/*
 * Whether the kernel accepts the name for an interface: at most 15 bytes, no '/', no ':',
 * not "." or "..".
 */
static bool interface_ok(struct l4__build *b, const struct rule_spot *spot,
			 const struct doc_text *d)
{
	if (!rule_token(&b->sink, spot, NULL, d, INTERFACE_BYTES))
		return false;
	if (!strpbrk(d->v, "/:") && strcmp(d->v, ".") != 0 && strcmp(d->v, "..") != 0)
		return true;
	rule_fail(&b->sink, spot, NULL, d->at, "%s is not the name of an interface",
		  rule_quote(&b->sink, d->v));
	return false;
}

static void build_interface(struct l4__build *b, const struct rule_spot *spot,
			    const struct doc_text *d, const char **names, size_t *n)
{
	if (!interface_ok(b, spot, d))
		return;
	for (size_t i = 0; i < *n; i++)
		if (strcmp(names[i], d->v) == 0) {
			rule_fail(&b->sink, spot, NULL, d->at, "%s is listed twice",
				  rule_quote(&b->sink, d->v));
			return;
		}
	names[(*n)++] = arena_strdup(b->arena, d->v);
}

static void build_interfaces(struct l4__build *b, const struct doc_xdp *d, struct l4_xdp *ret)
{
	static const struct rule_spot list = { .in = &xdp, .name = "interfaces" };
	const struct doc_words *given = &d->interfaces;
	const char **names;
	size_t n = 0;

	if (given->n > INTERFACES_MAX) {
		rule_fail(&b->sink, &list, NULL, given->items[INTERFACES_MAX].at,
			  "must not be more than %d", INTERFACES_MAX);
		return;
	}
	names = arena_array_of(b->arena, given->n, const char *);
	for (size_t i = 0; i < given->n; i++) {
		struct rule_spot spot = { .in = &list, .index = i };

		build_interface(b, &spot, &given->items[i], names, &n);
	}
	ret->interfaces = (struct schema_texts){ names, n };
}

/* One of the words of a kind; the first is the default. */
static unsigned build_choice(struct l4__build *b, const char *key, const struct schema_kind *kind,
			     const struct doc_text *d)
{
	const struct rule_words words = { key, kind->words, kind->n_words };
	int i = d->set ? rule_choose(&b->sink, &xdp, &words, d) : 0;

	return i < 0 ? 0 : (unsigned)i;
}

static const char *build_pin(struct l4__build *b, const struct doc_text *d)
{
	if (!d->set)
		return "/sys/fs/bpf/maglev";
	if (rule_token(&b->sink, &xdp, "pin", d, PIN_MAX) && *d->v != '/')
		rule_fail(&b->sink, &xdp, "pin", d->at, "%s is not an absolute path",
			  rule_quote(&b->sink, d->v));
	return arena_strdup(b->arena, d->v);
}

static bool is_prime(int64_t v)
{
	for (int64_t i = 2; i * i <= v; i++)
		if (v % i == 0)
			return false;
	return v >= 2;
}

/*
 * The Maglev paper requires a prime size, because its permutations step through the table. The
 * build of core/maglev works with any size; the rule is part of the documented format.
 */
static uint32_t build_table_size(struct l4__build *b, const struct doc_int *d)
{
	static const struct rule_range range = { "table-size", 251, 5000011, 65537 };
	int64_t v = rule_number(&b->sink, &xdp, &range, d), next = v;

	while (!is_prime(next))
		next++;
	if (next != v)
		rule_fail(&b->sink, &xdp, range.word, d->at,
			  "must be a prime, not %lld; %lld is one", (long long)v, (long long)next);
	return (uint32_t)v;
}

void l4__build_xdp(struct l4__build *b)
{
	static const struct rule_range flows = { "flow-table-size", 1024, 1 << 26, 1000000 };
	const struct doc_xdp *d = &b->doc->xdp;
	struct l4_xdp *ret = &b->config->xdp;

	build_interfaces(b, d, ret);
	ret->mode = build_choice(b, "mode", &l4_kind_xdp_mode, &d->mode);
	ret->transmit = build_choice(b, "transmit", &l4_kind_xdp_transmit, &d->transmit);
	ret->pin = build_pin(b, &d->pin);
	ret->table_size = build_table_size(b, &d->table_size);
	ret->flow_table_size = (uint32_t)rule_number(&b->sink, &xdp, &flows, &d->flow_table_size);
	if (b->dataplane_known && b->config->dataplane == L4_DATAPLANE_XDP && !d->interfaces.n)
		rule_fail(&b->sink, &xdp, "interfaces", d->set ? d->at : b->doc->dataplane.at,
			  "must name at least one interface for the data plane xdp");
}
