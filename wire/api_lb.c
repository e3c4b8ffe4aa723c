/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the data plane: the wanted state, computed from the model, beside the observed
 * one. Both are sorted lists of VIPs, and of ASes in each. A walk merges the two, a few VIPs at a
 * time, because the list may be long.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "core/l4/desired.h"
#include "wire/api.h"
#include "wire/api_private.h"

/* The wanted state of one frontend. */
struct wanted {
	struct lb_vip vip;
	size_t frontend;
};

/* The context of one_vip() and its callees. */
struct making {
	const struct l4_config *config;
	const struct lb_counters *counters; /* may be NULL */
	struct arena *arena;
};

/* The VIP whose ASes are being converted. */
struct side {
	const struct making *making;
	size_t frontend;			/* SIZE_MAX: no frontend */
	const struct lb_vip_counters *counters; /* may be NULL */
};

/* One AS, wanted or observed or both: either may be NULL, but not both. */
static Maglev__VPPLBAS *one_as(const struct side *side, const struct lb_as *want,
			       const struct lb_as *have)
{
	struct arena *a = side->making->arena;
	Maglev__VPPLBAS *as = API__NEW(a, Maglev__VPPLBAS, maglev__vpplbas__init);
	const struct addr *address = want ? &want->address : &have->address;
	const struct lb_as_counters *counted =
		side->counters ? lb_counters_as(side->counters, address) : NULL;

	assert(want || have);
	as->address = wire__addr(address, a);
	as->backend = wire__backend_name(side->making->config, side->frontend, address);
	as->buckets = counted ? counted->buckets : 0;
	as->flows = counted ? counted->flows : 0;
	as->wanted = want != NULL;
	as->present = have != NULL;
	as->drained = have && side->making->counters &&
		      lb_is_drained(have, side->making->counters, counted);
	as->weight = have ? have->weight : 0;
	as->wanted_weight = want ? want->weight : 0;
	if (want && want->hold && have) /* the guard keeps the observed weight */
		as->wanted_weight = have->weight;
	return as;
}

/* Below 0: only want has the address; above 0: only have; 0: both. */
static int as_pair(const struct lb_as *want, const struct lb_as *have)
{
	if (want && have)
		return addr_cmp(&want->address, &have->address);
	return want ? -1 : 1;
}

/* The merge of both lists of ASes. */
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

/* Encapsulation and stickiness are the observed ones if the VIP exists. */
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
	vip->address = wire__addr(&shown->key.address, a);
	vip->protocol = wire__protocol(shown->key.protocol, a);
	vip->port = shown->key.port;
	vip->encap = wire__text(lb_encap_name(shown->encap));
	vip->src_ip_sticky = shown->src_ip_sticky;
	vip->frontend = wire__frontend_name(making->config, side.frontend);
	vip->present = have != NULL;
	vip->wanted = want != NULL;
	set_servers(&side, want ? &want->vip : NULL, have, vip);
	return vip;
}

struct keyed {
	struct lb_vip_key key;
	size_t frontend;
};

static int keyed_cmp(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return lb_vip_key_cmp(&x->key, &y->key);
}

/* Sorts the frontends by VIP key. The + 1 keeps the arrays from being NULL when there are none. */
void wire_lb_walk_begin(struct wire_lb_walk *w, const struct l4_config *c)
{
	struct keyed *list = mem_zalloc((c->n_frontends + 1) * sizeof(*list));

	*w = (struct wire_lb_walk){ .n = c->n_frontends };
	w->frontends = mem_zalloc((w->n + 1) * sizeof(*w->frontends));
	for (size_t i = 0; i < w->n; i++)
		list[i] = (struct keyed){ l4_frontend_key(&c->frontends[i]), i };
	qsort(list, w->n, sizeof(*list), keyed_cmp);
	for (size_t i = 0; i < w->n; i++)
		w->frontends[i] = list[i].frontend;
	free(list);
}

void wire_lb_walk_end(struct wire_lb_walk *w)
{
	free(w->frontends);
	*w = (struct wire_lb_walk){ 0 };
}

/*
 * The next wanted VIP and its position in the walk; the caller frees its VIP. Frontends without
 * pools are skipped. Returns false if there is none.
 */
static bool next_wanted(const struct wire_lb_walk *w, const struct wire_lb *lb, size_t *at,
			struct wanted *ret)
{
	for (*at = w->at; *at < w->n; ++*at) {
		ret->frontend = w->frontends[*at];
		if (l4_desired_vip(lb->model, ret->frontend, lb->guard, &ret->vip))
			return true;
	}
	return false;
}

/*
 * The next observed VIP, found by key: the observed state may have been replaced
 * since the last step.
 */
static const struct lb_vip *next_observed(const struct wire_lb_walk *w, const struct wire_lb *lb)
{
	const struct lb_state *s = lb->observed;
	size_t i =
		s ? sorted_place(s->vips.n, j,
				 w->begun && lb_vip_key_cmp(&s->vips.items[j].key, &w->after) <= 0)
		  : 0;

	return s && i < s->vips.n ? &s->vips.items[i] : NULL;
}

static int vip_pair(const struct wanted *want, const struct lb_vip *have)
{
	if (want && have)
		return lb_vip_key_cmp(&want->vip.key, &have->key);
	return want ? -1 : 1;
}

/*
 * The next VIP of the merge; NULL if there is none. wanted is computed again in each step, so
 * that it reflects the current health.
 */
static Maglev__VPPLBVIP *step(struct wire_lb_walk *w, const struct wire_lb *lb, struct arena *a)
{
	const struct making making = { lb->model->config, lb->counters, a };
	const struct lb_vip *have = next_observed(w, lb);
	struct wanted wanted = { 0 };
	size_t at;
	bool wants = next_wanted(w, lb, &at, &wanted);
	const struct wanted *want = wants ? &wanted : NULL;
	Maglev__VPPLBVIP *vip;
	int order;

	if (!want && !have)
		return NULL;
	order = vip_pair(want, have);
	w->begun = true;
	w->after = order <= 0 ? wanted.vip.key : have->key;
	w->at = order <= 0 ? at + 1 : at;
	vip = one_vip(&making, order <= 0 ? want : NULL, order >= 0 ? have : NULL);
	lb_vip_free(&wanted.vip);
	return vip;
}

/* Drops the ASes of other backends. False if none is left. */
static bool keep_backend(Maglev__VPPLBVIP *vip, const char *backend)
{
	size_t n = 0;

	for (size_t i = 0; i < vip->n_application_servers; i++)
		if (strcmp(vip->application_servers[i]->backend, backend) == 0)
			vip->application_servers[n++] = vip->application_servers[i];
	vip->n_application_servers = n;
	return n > 0;
}

Maglev__VPPLBState *wire_lb_vips(struct wire_lb_walk *w, const struct wire_lb *lb, size_t max,
				 struct arena *a)
{
	Maglev__VPPLBState *state = API__NEW(a, Maglev__VPPLBState, maglev__vpplbstate__init);
	Maglev__VPPLBVIP *vip;
	size_t n;

	state->vips = arena_array_of(a, max, Maglev__VPPLBVIP *);
	for (n = 0; n < max && (vip = step(w, lb, a)); n++)
		if (!lb->backend || keep_backend(vip, lb->backend))
			state->vips[state->n_vips++] = vip;
	return n ? state : NULL;
}

/* The observed settings if there are any, else the wanted ones. */
static void set_conf(Maglev__VPPLBState *state, const struct wire_lb *lb, struct arena *a)
{
	struct lb_conf conf;

	if (lb->observed && lb->observed->has_conf)
		conf = lb->observed->conf;
	else
		l4_desired_conf(lb->model->config, &conf);
	state->ipv4_src_address = wire__addr(&conf.src4, a);
	state->ipv6_src_address = wire__addr(&conf.src6, a);
	state->sticky_buckets_per_core = conf.sticky_buckets_per_core;
	state->flow_timeout = conf.flow_timeout_s;
}

static void set_interfaces(Maglev__VPPLBState *state, const struct lb_attachment *from,
			   struct arena *a)
{
	size_t n = from ? from->n : 0;

	state->interfaces = arena_array_of(a, n, Maglev__VPPLBInterface *);
	for (size_t i = 0; i < n; i++) {
		Maglev__VPPLBInterface *one =
			API__NEW(a, Maglev__VPPLBInterface, maglev__vpplbinterface__init);

		one->name = arena_strdup(a, from->interfaces[i].name);
		one->attached = from->interfaces[i].attached;
		one->mode = wire__text(from->interfaces[i].mode);
		one->problem = arena_strdup(a, from->interfaces[i].problem);
		state->interfaces[state->n_interfaces++] = one;
	}
}

Maglev__VPPLBState *wire_lb_state(const struct wire_lb *lb, struct arena *a)
{
	Maglev__VPPLBState *state = API__NEW(a, Maglev__VPPLBState, maglev__vpplbstate__init);

	state->dataplane = wire__text(lb->dataplane);
	state->connected = lb->connected;
	state->status = wire__text(lb_status_name(lb->status));
	state->held = lb->guard;
	state->warmup = wire__text(warmup_phase_name(lb->warmup));
	state->last_full_sync = lb->last_full_sync;
	state->problem = wire__text(lb->problem);
	state->as_of = lb->as_of;
	if (lb->counters) {
		state->has_as_buckets = lb->counters->has & LB_HAS_AS_BUCKETS;
		state->has_as_flows = lb->counters->has & LB_HAS_AS_FLOWS;
		state->counted = lb->counters->at;
	}
	set_interfaces(state, lb->attachment, a);
	set_conf(state, lb, a);
	return state;
}

Maglev__SyncVPPLBStateResponse *wire_lb_operations(const char *dataplane, const struct lb_ops *ops,
						   struct arena *a)
{
	Maglev__SyncVPPLBStateResponse *r =
		API__NEW(a, Maglev__SyncVPPLBStateResponse, maglev__sync_vpplbstate_response__init);
	struct buf text = { 0 };

	r->dataplane = wire__text(dataplane);
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
