/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the data plane: what should be there, made from the model, beside what is there.
 * Both are sorted lists of VIPs, and of ASes in each; a walk over the two puts them side by side.
 */
#include <assert.h>
#include <stdlib.h>

#include "core/l4/desired.h"
#include "wire/api.h"
#include "wire/api_private.h"

struct wanted {
	struct lb_vip vip;
	size_t frontend;
};

static int wanted_cmp(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return lb_vip_key_cmp(&x->vip.key, &y->vip.key);
}

/* What one_vip() and below need beside the two lists. */
struct making {
	const struct l4_config *config;
	const struct lb_counters *counters; /* may be NULL */
	struct arena *arena;
};

/* The VIP being made. */
struct side {
	const struct making *making;
	size_t frontend;			/* SIZE_MAX: nobody's */
	const struct lb_vip_counters *counters; /* may be NULL */
};

/* Either may be NULL, but not both. */
static Maglev__VPPLBAS *one_as(const struct side *side, const struct lb_as *want,
			       const struct lb_as *have)
{
	struct arena *a = side->making->arena;
	Maglev__VPPLBAS *as = API__NEW(a, Maglev__VPPLBAS, maglev__vpplbas__init);
	const struct addr *address = want ? &want->address : &have->address;
	const struct lb_as_counters *counted =
		side->counters ? lb_counters_as(side->counters, address) : NULL;

	assert(want || have);
	as->address = api__addr(address, a);
	as->backend = api__backend_name(side->making->config, side->frontend, address);
	as->buckets = counted ? counted->buckets : 0;
	as->flows = counted ? counted->flows : 0;
	as->wanted = want != NULL;
	as->present = have != NULL;
	as->weight = have ? have->weight : 0;
	as->wanted_weight = want ? want->weight : 0;
	if (want && want->hold && have) /* the guard wants what is there */
		as->wanted_weight = have->weight;
	return as;
}

/* Below 0: only want is there; above: only have; 0: both. */
static int as_pair(const struct lb_as *want, const struct lb_as *have)
{
	if (want && have)
		return addr_cmp(&want->address, &have->address);
	return want ? -1 : 1;
}

static void set_servers(const struct side *side, const struct lb_vip *want,
			const struct lb_vip *have, Maglev__VPPLBVIP *vip)
{
	size_t n_want = want ? want->as.n : 0, n_have = have ? have->as.n : 0;
	size_t w = 0, h = 0;

	vip->application_servers =
		arena_array_of(side->making->arena, n_want + n_have, Maglev__VPPLBAS *);
	while (w < n_want || h < n_have) {
		const struct lb_as *x = w < n_want ? &want->as.items[w] : NULL;
		const struct lb_as *y = h < n_have ? &have->as.items[h] : NULL;
		int order = as_pair(x, y);

		vip->application_servers[vip->n_application_servers++] =
			one_as(side, order <= 0 ? x : NULL, order >= 0 ? y : NULL);
		w += order <= 0;
		h += order >= 0;
	}
}

static Maglev__VPPLBVIP *one_vip(const struct making *making, const struct wanted *want,
				 const struct lb_vip *have)
{
	struct arena *a = making->arena;
	Maglev__VPPLBVIP *vip = API__NEW(a, Maglev__VPPLBVIP, maglev__vpplbvip__init);
	const struct lb_vip *shown = have ? have : &want->vip;
	struct side side = { .making = making, .frontend = want ? want->frontend : SIZE_MAX };

	assert(want || have);
	if (making->counters)
		side.counters = lb_counters_vip(making->counters, &shown->key);
	vip->address = api__addr(&shown->key.address, a);
	vip->protocol = api__protocol(shown->key.protocol, a);
	vip->port = shown->key.port;
	vip->encap = api__text(lb_encap_name(shown->encap));
	vip->src_ip_sticky = shown->src_ip_sticky;
	vip->frontend = api__frontend_name(making->config, side.frontend);
	vip->present = have != NULL;
	vip->wanted = want != NULL;
	set_servers(&side, want ? &want->vip : NULL, have, vip);
	return vip;
}

/* What should be there, in the order of its keys; the VIPs are the caller's to free. */
static struct wanted *all_wanted(const struct api_lb *lb, struct arena *a, size_t *ret_n)
{
	struct wanted *list = arena_array_of(a, lb->model->config->n_frontends, struct wanted);
	size_t n = 0;

	for (size_t i = 0; i < lb->model->config->n_frontends; i++) {
		list[n].frontend = i;
		n += l4_desired_vip(lb->model, i, lb->guard, &list[n].vip);
	}
	if (n)
		qsort(list, n, sizeof(*list), wanted_cmp);
	*ret_n = n;
	return list;
}

static int vip_pair(const struct wanted *want, const struct lb_vip *have)
{
	if (want && have)
		return lb_vip_key_cmp(&want->vip.key, &have->key);
	return want ? -1 : 1;
}

static void set_vips(Maglev__VPPLBState *state, const struct api_lb *lb, struct arena *a)
{
	size_t n_want, n_have = lb->observed ? lb->observed->vips.n : 0, w = 0, h = 0;
	struct wanted *want = all_wanted(lb, a, &n_want);
	const struct making making = { lb->model->config, lb->counters, a };

	state->vips = arena_array_of(a, n_want + n_have, Maglev__VPPLBVIP *);
	while (w < n_want || h < n_have) {
		const struct wanted *x = w < n_want ? &want[w] : NULL;
		const struct lb_vip *y = h < n_have ? &lb->observed->vips.items[h] : NULL;
		int order = vip_pair(x, y);

		state->vips[state->n_vips++] =
			one_vip(&making, order <= 0 ? x : NULL, order >= 0 ? y : NULL);
		w += order <= 0;
		h += order >= 0;
	}
	for (size_t i = 0; i < n_want; i++)
		lb_vip_free(&want[i].vip);
}

static void set_conf(Maglev__VPPLBState *state, const struct api_lb *lb, struct arena *a)
{
	struct lb_conf conf;

	if (lb->observed && lb->observed->has_conf)
		conf = lb->observed->conf;
	else
		l4_desired_conf(lb->model->config, &conf);
	state->ipv4_src_address = api__addr(&conf.src4, a);
	state->ipv6_src_address = api__addr(&conf.src6, a);
	state->sticky_buckets_per_core = conf.sticky_buckets_per_core;
	state->flow_timeout = conf.flow_timeout_s;
}

Maglev__VPPLBState *api_lb_state(const struct api_lb *lb, struct arena *a)
{
	Maglev__VPPLBState *state = API__NEW(a, Maglev__VPPLBState, maglev__vpplbstate__init);

	state->dataplane = api__text(lb->dataplane);
	state->connected = lb->connected;
	state->held = lb->guard;
	state->warmup = api__text(warmup_phase_name(lb->warmup));
	state->last_full_sync = lb->last_full_sync;
	state->problem = api__text(lb->problem);
	state->as_of = lb->as_of;
	set_conf(state, lb, a);
	set_vips(state, lb, a);
	return state;
}

Maglev__SyncVPPLBStateResponse *api_lb_operations(const char *dataplane, const struct lb_ops *ops,
						  struct arena *a)
{
	Maglev__SyncVPPLBStateResponse *r =
		API__NEW(a, Maglev__SyncVPPLBStateResponse, maglev__sync_vpplbstate_response__init);
	struct buf text = { 0 };

	r->dataplane = api__text(dataplane);
	r->n_operations = ops->list.n;
	r->operations = arena_array_of(a, ops->list.n, char *);
	for (size_t i = 0; i < ops->list.n; i++) {
		text.n = 0;
		lb_op_print(&ops->list.items[i], &text);
		r->operations[i] = arena_strndup(a, text.p, text.n);
	}
	buf_free(&text);
	return r;
}
