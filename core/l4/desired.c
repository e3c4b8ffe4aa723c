/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desired: the wanted state of the data plane.
 *
 * Every backend of every pool is an AS of the VIP, whatever its weight, so that a failover only
 * changes weights. The list is filled in the order of the file, then sorted, the heaviest first
 * among equal addresses, and the first of each address is kept: a backend in two pools becomes
 * one AS with its largest effective weight.
 */
#include "core/l4/desired.h"

#include <assert.h>
#include <stdlib.h>

#include "base/units.h"
#include "core/l4/weight.h"

/*
 * By address; within an address the heavier first, then one that is held: its weight in the data
 * plane may be above 0.
 */
static int as_cmp(const void *a, const void *b)
{
	const struct lb_as *x = a, *y = b;
	int order = addr_cmp(&x->address, &y->address);

	if (order == 0)
		order = (x->weight < y->weight) - (x->weight > y->weight);
	return order ? order : y->hold - x->hold;
}

/* Keeps the first AS of each address. */
static void sort_and_merge(struct lb_vip *v)
{
	size_t kept = 0;

	qsort(v->as.items, v->as.n, sizeof(*v->as.items), as_cmp);
	for (size_t i = 0; i < v->as.n; i++)
		if (i == 0 ||
		    addr_cmp(&v->as.items[kept - 1].address, &v->as.items[i].address) != 0)
			v->as.items[kept++] = v->as.items[i];
	v->as.n = kept;
}

/* The properties of frontend and pool that decide about a member. */
struct wish {
	size_t frontend, pool;
	bool active; /* this pool is the active one */
	bool guard;
};

/*
 * A backend is doubted while the guard says that its failures are local, or it is spared from the
 * time of the guard (guard.h): then a probe result must not take weight or flows away.
 */
static struct lb_as wanted_as(const struct l4_model *m, size_t member, const struct wish *wish)
{
	size_t backend =
		m->config->frontends[wish->frontend].pools[wish->pool].members[member].backend;
	unsigned configured = m->frontends[wish->frontend].weights[wish->pool][member].value;
	const struct l4_backend_state *b = m->backends[backend];
	struct l4_effective e =
		l4_member_weight(m, wish->frontend, wish->pool, member, wish->active);
	bool doubted = (wish->guard || b->spared) && b->health.state == HEALTH_DOWN;

	return (struct lb_as){
		.address = m->config->backends[backend].address,
		.weight = (uint8_t)e.weight,
		.flush = e.flush && !doubted,
		/* only the effect of probes is held: a weight of 0 is the operator's decision */
		.hold = doubted && configured > 0,
	};
}

static void want_pool(const struct l4_model *m, size_t frontend, size_t pool, bool active,
		      bool guard, struct lb_vip *ret)
{
	const struct l4_pool *p = &m->config->frontends[frontend].pools[pool];
	const struct wish wish = { frontend, pool, active, guard };

	for (size_t i = 0; i < p->n_members; i++)
		vec_push(&ret->as, wanted_as(m, i, &wish));
}

void l4_desired_conf(const struct l4_config *c, struct lb_conf *ret)
{
	*ret = (struct lb_conf){
		.src4 = c->lb.src4,
		.src6 = c->lb.src6,
		.sticky_buckets_per_core = c->lb.sticky_buckets_per_core,
		.flow_timeout_s = (uint32_t)(c->lb.flow_timeout / NSEC_PER_SEC),
	};
}

struct lb_vip_key l4_frontend_key(const struct l4_frontend *f)
{
	return (struct lb_vip_key){ f->address, f->protocol, f->port };
}

bool l4_desired_vip(const struct l4_model *m, size_t frontend, bool guard, struct lb_vip *ret)
{
	const struct l4_frontend *f = &m->config->frontends[frontend];
	size_t active = l4_active_pool(m, frontend);

	assert(ret->as.n == 0);
	if (f->n_pools == 0)
		return false;

	ret->key = l4_frontend_key(f);
	ret->src_ip_sticky = f->src_ip_sticky;
	if (m->config->dataplane == L4_DATAPLANE_VPP)
		ret->table_length = m->config->lb.new_flows_table_length;
	for (size_t p = 0; p < f->n_pools; p++)
		want_pool(m, frontend, p, p == active, guard, ret);
	sort_and_merge(ret);
	/*
	 * the encapsulation follows the family of the backends, not of the VIP;
	 * validation allows only one
	 */
	ret->encap = ret->as.items[0].address.family == AF_INET6 ? LB_ENCAP_GRE6 : LB_ENCAP_GRE4;
	return true;
}
