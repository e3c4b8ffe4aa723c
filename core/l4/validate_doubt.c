/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warnings: values that are allowed but probably not intended. They are looked for only in a
 * configuration without errors, so that a misspelt name does not also cause "no backend uses it".
 */
#include "base/units.h"
#include "core/l4/validate_build.h"

/* How a backend is used by the frontends that were visited so far. */
struct use {
	size_t frontend; /* index + 1 of the last frontend that names it; 0: none */
	unsigned weight; /* its largest weight there */
};

static void doubt_ignored(struct l4__build *b, const struct rule_spot *spot,
			  const struct doc_check *d, const struct l4_check *c)
{
	struct rule_spot params = { .in = spot, .name = "params" };
	const struct doc_params *p = &d->params;

	if (c->type == L4_CHECK_ICMP && d->port.set)
		rule_doubt(&b->sink, spot, "port", d->port.at, "is ignored: icmp has no ports");
	if (c->http.ca.file && c->http.insecure_skip_verify)
		rule_doubt(&b->sink, &params, "ca-file", p->ca_file.at,
			   "is ignored: insecure-skip-verify accepts any certificate");
	if (c->type != L4_CHECK_HTTP)
		return;
	if (p->server_name.set)
		rule_doubt(&b->sink, &params, "server-name", p->server_name.at,
			   "is ignored: only https checks use it");
	if (rule_flag(&p->insecure_skip_verify, false))
		rule_doubt(&b->sink, &params, "insecure-skip-verify", p->insecure_skip_verify.at,
			   "is ignored: only https checks use it");
}

static void doubt_check(struct l4__build *b, size_t i, bool used)
{
	struct rule_spot spot = { .in = &l4__checks_spot, .name = b->checks[i].name };
	const struct doc_check *d = b->check_entries[i].doc;
	const struct l4_check *c = &b->checks[i];
	char timeout[DURATION_STRLEN], interval[DURATION_STRLEN];

	if (!used)
		rule_doubt(&b->sink, &spot, NULL, d->at, "no backend uses it");
	if (c->timeout > c->schedule.interval)
		rule_doubt(&b->sink, &spot, "timeout",
			   d->timeout.set ? d->timeout.at : d->interval.at,
			   "%s is longer than the interval %s: a slow server is probed less often",
			   duration_format(c->timeout, timeout),
			   duration_format(c->schedule.interval, interval));
	doubt_ignored(b, &spot, d, c);
}

static void doubt_checks(struct l4__build *b)
{
	bool *used = arena_array_of(b->sink.scratch, b->config->n_checks, bool);

	for (size_t i = 0; i < b->config->n_backends; i++)
		if (b->backends[i].check)
			used[b->backends[i].check - b->checks] = true;
	for (size_t i = 0; i < b->config->n_checks; i++)
		doubt_check(b, i, used[i]);
}

/*
 * Adds the weights of one pool of frontend i, where each backend counts once over all pools, with
 * its largest weight. Returns what the pool adds to the sum.
 */
static size_t sum_pool(const struct l4_pool *pool, size_t i, struct use *uses)
{
	size_t sum = 0;

	for (size_t m = 0; m < pool->n_members; m++) {
		struct use *use = &uses[pool->members[m].backend];
		unsigned weight = pool->members[m].weight;

		if (use->frontend != i + 1)
			*use = (struct use){ i + 1, 0 };
		if (weight <= use->weight)
			continue;
		sum += weight - use->weight;
		use->weight = weight;
	}
	return sum;
}

static void doubt_frontend(struct l4__build *b, size_t i, struct use *uses)
{
	struct rule_spot spot = { .in = &l4__frontends_spot, .name = b->frontends[i].name };
	struct place at = b->frontend_entries[i].at;
	const struct l4_frontend *f = &b->frontends[i];
	uint32_t length = b->config->lb.new_flows_table_length;
	size_t sum = 0;

	if (!f->n_pools) {
		rule_doubt(&b->sink, &spot, "pools", at,
			   "there is none: the VIP is not programmed");
		return;
	}
	for (size_t p = 0; p < f->n_pools; p++)
		sum += sum_pool(&f->pools[p], i, uses);
	if (!sum)
		rule_doubt(&b->sink, &spot, "pools", at,
			   "all weights are 0: no server gets a new flow");
	if (sum > length && b->config->dataplane == L4_DATAPLANE_VPP)
		rule_doubt(&b->sink, &spot, "pools", at,
			   "the weights sum to %zu, above new-flows-table-length (%u): VPP ignores "
			   "them then",
			   sum, length);
}

void l4__find_doubts(struct l4__build *b)
{
	struct use *uses = arena_array_of(b->sink.scratch, b->config->n_backends, struct use);

	doubt_checks(b);
	l4__doubt_ports(b);
	for (size_t i = 0; i < b->config->n_frontends; i++)
		doubt_frontend(b, i, uses);
	for (size_t i = 0; i < b->config->n_backends; i++) {
		struct rule_spot spot = { .in = &l4__backends_spot, .name = b->backends[i].name };

		if (!uses[i].frontend)
			rule_doubt(&b->sink, &spot, NULL, b->backend_entries[i].at,
				   "no frontend uses it%s",
				   b->backends[i].check ? "; it is probed all the same" : "");
	}
}
