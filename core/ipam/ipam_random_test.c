/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random requests, releases and changes of pools, compared after each step with a model that knows
 * no structure: it walks through all addresses of all pools and asks all services.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/ipam/ipam.h"
#include "core/metal/number.h"
#include "core/testing/random.h"

#define SERVICES 14
#define STEPS 400

static const char *const networks[] = { "10.0.0.0/30",	       "10.0.0.252/30", "10.0.1.7/32",
					"10.0.2.254-10.0.3.1", "fc00::/126",	"fc00::8/127" };
static const char *const names[] = { "a", "b", "c" };
static const char *const spaces[] = { "x", "y" };
static const char *const keys[] = { "", "", "k", "l" };
static const char *const backends[] = { "", "app=a" };

struct service {
	char key[8];
	struct ipam_request request;
	struct ipam_port ports[2];
	struct addr addresses[IPAM_ADDRESSES];
	size_t n;
};

struct model {
	struct arena *arena;
	const struct metal_config *config;
	struct service services[SERVICES];
};

/* ---- the model ---- */

static bool model_share(const struct service *a, const struct service *b)
{
	if (!*a->request.sharing || strcmp(a->request.sharing, b->request.sharing) != 0 ||
	    strcmp(a->request.backend, b->request.backend) != 0)
		return false;
	for (size_t i = 0; i < a->request.n_ports; i++)
		for (size_t j = 0; j < b->request.n_ports; j++)
			if (a->ports[i].port == b->ports[j].port)
				return false;
	return true;
}

static bool model_usable(const struct model *m, const struct service *s, const struct addr *a)
{
	for (size_t i = 0; i < SERVICES; i++) {
		const struct service *o = &m->services[i];

		for (size_t j = 0; o != s && j < o->n; j++)
			if (addr_cmp(&o->addresses[j], a) == 0 && !model_share(s, o))
				return false;
	}
	return true;
}

static bool model_first(const struct model *m, const struct metal_pool *p, const struct service *s,
			int family, struct addr *ret)
{
	for (size_t i = 0; i < p->n_prefixes; i++) {
		const struct metal_prefix *x = &p->prefixes[i];
		metal_number n = metal_number_of(&x->address);

		if (x->address.family != family)
			continue;
		for (struct addr a = x->address; metal_prefix_has(x, &a);
		     a = metal_address((uint8_t)family, ++n))
			if (metal_pool_has(p, &a) && model_usable(m, s, &a)) {
				*ret = a;
				return true;
			}
	}
	return false;
}

/* One pool; returns the number of addresses. */
static size_t model_ask(const struct model *m, const struct metal_pool *p, const struct service *s,
			struct addr ret[IPAM_ADDRESSES])
{
	size_t n = 0;

	if (s->request.families & IPAM_IPV4 && model_first(m, p, s, AF_INET, &ret[n]))
		n++;
	if (s->request.families & IPAM_IPV6 && model_first(m, p, s, AF_INET6, &ret[n]))
		n++;
	return n;
}

static uint32_t order(const struct metal_pool *p)
{
	return p->priority ? p->priority : UINT32_MAX;
}

/* The pools of a class in their order: the next one after `after`. */
static const struct metal_pool *model_next(const struct model *m, bool pinned,
					   const struct metal_pool *after)
{
	const struct metal_pool *best = NULL;

	for (size_t i = 0; i < m->config->n_pools; i++) {
		const struct metal_pool *p = &m->config->pools[i];

		if (p->is_pinned != pinned || p == after ||
		    (after && (order(p) < order(after) ||
			       (order(p) == order(after) && strcmp(p->name, after->name) < 0))))
			continue;
		if (!best || order(p) < order(best) ||
		    (order(p) == order(best) && strcmp(p->name, best->name) < 0))
			best = p;
	}
	return best;
}

static bool fits(const struct service *s, size_t n)
{
	return n == (s->request.families == IPAM_DUAL ? 2U : 1U);
}

static size_t model_class(const struct model *m, const struct service *s, bool pinned,
			  struct addr ret[IPAM_ADDRESSES])
{
	int first = s->request.prefers6 ? AF_INET6 : AF_INET;
	struct addr found[IPAM_ADDRESSES], one = { 0 }, other = { 0 };

	for (const struct metal_pool *p = model_next(m, pinned, NULL); p;
	     p = model_next(m, pinned, p)) {
		size_t n;

		if (!p->auto_assign ||
		    !metal_pool_admits(p, s->request.namespace, &s->request.labels))
			continue;
		n = model_ask(m, p, s, found);
		if (fits(s, n)) {
			memcpy(ret, found, sizeof(found));
			return n;
		}
		if (n && found[0].family == first && !addr_is_set(&one))
			one = found[0];
		if (n && found[0].family != first && !addr_is_set(&other))
			other = found[0];
	}
	if (s->request.policy != IPAM_PREFER_DUAL || s->request.families != IPAM_DUAL)
		return 0;
	*ret = addr_is_set(&one) ? one : other;
	return addr_is_set(ret);
}

static size_t model_allocate(const struct model *m, const struct service *s,
			     struct addr ret[IPAM_ADDRESSES])
{
	const struct ipam_request *r = &s->request;
	const struct metal_pool *p;
	size_t n;

	if (r->n_wanted) {
		p = metal_pool_of(m->config, r->wanted, 1);
		if (r->families != ipam_families_of(r->wanted, 1) || !p ||
		    !metal_pool_admits(p, r->namespace, &r->labels) ||
		    (r->pool && strcmp(p->name, r->pool) != 0) || !model_usable(m, s, r->wanted))
			return 0;
		*ret = *r->wanted;
		return 1;
	}
	if (r->pool) {
		p = metal_config_pool(m->config, r->pool);
		n = p && metal_pool_admits(p, r->namespace, &r->labels) ? model_ask(m, p, s, ret)
									: 0;
		return fits(s, n) || r->policy == IPAM_PREFER_DUAL ? n : 0;
	}
	n = model_class(m, s, true, ret);
	return n ? n : model_class(m, s, false, ret);
}

/* ---- steps ---- */

static const struct metal_config *random_pools(struct dice *d, struct arena *arena)
{
	struct metal_pool_doc *docs = arena_array_of(arena, 3, struct metal_pool_doc);
	const char **lists[3];
	struct metal_config *c = arena_new_of(arena, struct metal_config);
	struct metal_error error;
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		const char **space = arena_array_of(arena, 1, const char *);

		*space = spaces[dice_roll(d, 2)];
		lists[i] = arena_array_of(arena, ARRAY_SIZE(networks), const char *);
		docs[i] = (struct metal_pool_doc){ .name = names[i],
						   .auto_assign = dice_roll(d, 5),
						   .avoid_buggy_ips = dice_roll(d, 2),
						   .has_allocation = dice_roll(d, 2),
						   .priority = dice_roll(d, 3),
						   .namespaces = { space, dice_roll(d, 2) } };
	}
	for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
		unsigned to = dice_roll(d, 4);

		if (to < 3)
			lists[to][docs[to].addresses.n++] = networks[i];
	}
	for (size_t i = 0; i < 3; i++)
		if (docs[i].addresses.n) {
			docs[i].addresses.items = lists[i];
			docs[n++] = docs[i];
		}
	if (metal_config_build(&(struct metal_doc){ .pools = docs, .n_pools = n }, NULL, arena, c,
			       &error) < 0)
		fail_msg("%s", error.text);
	return c;
}

static void random_service(struct dice *d, struct model *m, struct service *s)
{
	static const char *const wanted[] = { "10.0.0.1", "10.0.0.255", "10.0.3.0", "fc00::9" };
	struct addr *one = arena_new_of(m->arena, struct addr);

	s->request = (struct ipam_request){
		.key = s->key,
		.namespace = spaces[dice_roll(d, 2)],
		.families = (enum ipam_families)(1 + dice_roll(d, 3)),
		.policy = dice_roll(d, 2) ? IPAM_PREFER_DUAL : IPAM_REQUIRE_DUAL,
		.prefers6 = dice_roll(d, 2),
		.sharing = keys[dice_roll(d, 4)],
		.backend = backends[dice_roll(d, 2)],
		.pool = dice_roll(d, 4) ? NULL : names[dice_roll(d, 3)],
		.ports = s->ports,
		.n_ports = 1 + dice_roll(d, 2),
		.wanted = one,
		.n_wanted = dice_roll(d, 5) == 0,
	};
	addr_parse(wanted[dice_roll(d, 4)], one);
	for (size_t i = 0; i < 2; i++)
		s->ports[i] = (struct ipam_port){ "TCP", (uint16_t)(80 + dice_roll(d, 4)) };
	s->ports[1].port = (uint16_t)(s->ports[0].port + 4);
}

static void check(const struct model *m, const struct ipam *ipam, uint64_t seed, unsigned step)
{
	for (size_t i = 0; i < SERVICES; i++) {
		const struct service *s = &m->services[i];
		const struct ipam_lease *l = ipam_get(ipam, s->key);

		if (s->n != (l ? l->n : 0) ||
		    (l && memcmp(l->addresses, s->addresses, l->n * sizeof(*l->addresses)) != 0))
			fail_msg("seed %llu, step %u: %s differs", (unsigned long long)seed, step,
				 s->key);
		if (l)
			assert_string_equal(l->pool,
					    metal_pool_of(m->config, l->addresses, l->n)->name);
	}
}

static void check_usage(const struct model *m, const struct ipam *ipam)
{
	for (size_t i = 0; i < m->config->n_pools; i++) {
		const struct metal_pool *p = &m->config->pools[i];
		struct ipam_usage u = ipam_usage(ipam, p->name);
		int64_t all = 0, used = 0;

		for (size_t j = 0; j < p->n_prefixes; j++) {
			metal_number n = metal_number_of(&p->prefixes[j].address);

			for (struct addr a = p->prefixes[j].address;
			     metal_prefix_has(&p->prefixes[j], &a);
			     a = metal_address(a.family, ++n)) {
				struct service nobody = { .request = { .sharing = "" } };

				all += metal_pool_has(p, &a);
				used += metal_pool_has(p, &a) && !model_usable(m, &nobody, &a);
			}
		}
		assert_int_equal(u.assigned4 + u.assigned6, used);
		assert_int_equal(u.available4 + u.available6, all - used);
	}
}

static void step(struct dice *d, struct model *m, struct ipam *ipam)
{
	struct service *s = &m->services[dice_roll(d, SERVICES)];
	_cleanup_(buf_free) struct buf why = { 0 };

	if (s->n && dice_roll(d, 3)) {
		assert_true(ipam_release(ipam, s->key));
		s->n = 0;
	} else if (s->n) {
		/* new keys and ports for the same addresses */
		struct service old = *s;
		bool allowed = true;

		random_service(d, m, s);
		for (size_t i = 0; i < s->n; i++)
			allowed = allowed && model_usable(m, s, &s->addresses[i]);
		allowed = allowed && metal_pool_admits(metal_pool_of(m->config, s->addresses, s->n),
						       s->request.namespace, &s->request.labels);
		assert_int_equal(ipam_assign(ipam, &s->request, s->addresses, s->n, &why) == 0,
				 allowed);
		if (!allowed) {
			*s = old;
			s->request.ports = s->ports;
		}
	} else {
		random_service(d, m, s);
		s->n = model_allocate(m, s, s->addresses);
		ipam_allocate(ipam, &s->request, &why);
	}
}

static void change_pools(struct dice *d, struct model *m, struct ipam *ipam)
{
	m->config = random_pools(d, m->arena);
	ipam_set_pools(ipam, m->config, NULL, NULL);
	for (size_t i = 0; i < SERVICES; i++)
		if (!metal_pool_of(m->config, m->services[i].addresses, m->services[i].n))
			m->services[i].n = 0;
}

static void allocation_agrees_with_a_slow_model(void **state)
{
	for (unsigned run = 0; run < DICE_RUNS; run++) {
		struct dice dice = dice_of_run(run);
		struct model m = { .arena = arena_new() };
		struct ipam *ipam = ipam_new();
		size_t held = 0;

		for (size_t i = 0; i < SERVICES; i++)
			snprintf(m.services[i].key, sizeof(m.services[i].key), "s%zu", i);
		for (unsigned i = 0; i < STEPS; i++) {
			if (i % 40 == 0)
				change_pools(&dice, &m, ipam);
			step(&dice, &m, ipam);
			check(&m, ipam, dice.seed, i);
			check_usage(&m, ipam);
			held += ipam_count(ipam);
		}
		assert_true(held > STEPS);
		ipam_free(ipam);
		arena_free(m.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocation_agrees_with_a_slow_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
