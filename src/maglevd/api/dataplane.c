/* SPDX-License-Identifier: Apache-2.0 */
/* The active data plane, whichever it is, beside what is wanted of it. */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"
#include "wire/api.h"

static const struct l4_model *model(const struct api *a)
{
	return engine_model(a->setup.engine);
}

/* VPP's alone; there is no driver for it in this program. */
API_HANDLER(get_vpp_info)
{
	const struct api *a = user;

	grpc_fail(call, GRPC_UNAVAILABLE, "the data plane is %s, not vpp",
		  reconcile_dataplane(a->setup.reconcile));
}

/* No data plane of this program counts packets. */
API_HANDLER(get_lb_counters)
{
	const struct api *a = user;

	grpc_fail(call, GRPC_UNAVAILABLE, "the data plane %s counts nothing",
		  reconcile_dataplane(a->setup.reconcile));
}

static void reply_state(struct api *a, struct grpc_call *call)
{
	struct reconcile *r = a->setup.reconcile;
	const struct api_lb lb = {
		.dataplane = reconcile_dataplane(r),
		.model = model(a),
		.observed = reconcile_observed(r),
		.connected = reconcile_connected(r),
		.guard = engine_guard(a->setup.engine),
		.warmup = reconcile_phase(r),
		.last_full_sync = reconcile_stats(r)->last_full_sync,
		.problem = "",
	};

	grpc_reply(call, &api_lb_state(&lb, api__scratch(a))->base);
}

struct looking {
	struct api *api;
	struct grpc_call *call;
	char *frontend; /* of a plan; "": all. NULL: the state is wanted */
};

static void looking_free(struct looking *l)
{
	free(l->frontend);
	free(l);
}

static void on_look_cancelled(void *user)
{
	struct looking *l = user;

	reconcile_forget(l->api->setup.reconcile, l);
	looking_free(l);
}

static void plan(struct api *a, struct grpc_call *call, const char *frontend);
static void fail(struct grpc_call *call, int err);

static void on_looked(int err, const struct lb_ops *ops, void *user)
{
	struct looking *l = user;

	if (!l->frontend)
		reply_state(l->api, l->call);
	else if (err < 0)
		fail(l->call, err);
	else
		plan(l->api, l->call, l->frontend);
	looking_free(l);
}

/* Has the data plane read anew first: the last picture may be as old as sync-interval. */
static void look(struct api *a, struct grpc_call *call, const char *frontend)
{
	struct looking *l = mem_zalloc(sizeof(*l));
	int r;

	*l = (struct looking){ a, call, frontend ? mem_strdup(frontend) : NULL };
	r = reconcile_look(a->setup.reconcile, on_looked, l);
	if (r < 0)
		on_looked(r, NULL, l);
	else
		grpc_on_cancel(call, on_look_cancelled, l);
}

API_HANDLER(get_lb_state)
{
	look(user, call, NULL);
}

/* ---- sync ---- */

static size_t held_by_warmup(const struct api *a, size_t frontend)
{
	const struct l4_model *m = model(a);
	size_t n = 0;

	for (size_t i = 0; i < m->config->n_frontends; i++)
		n += (frontend == RECONCILE_EVERYTHING || frontend == i) &&
		     !m->frontends[i].released && m->config->frontends[i].n_pools;
	return n;
}

/* What the operations leave out, and why. */
static void add_withheld(const struct api *a, size_t frontend, Maglev__SyncVPPLBStateResponse *r)
{
	size_t held = held_by_warmup(a, frontend);

	r->withheld = arena_array_of(a->scratch, 2, char *);
	if (held)
		r->withheld[r->n_withheld++] =
			arena_printf(a->scratch,
				     "the warm-up holds %zu frontend%s: not written until every "
				     "backend has had a result",
				     held, held == 1 ? "" : "s");
	if (engine_guard(a->setup.engine))
		r->withheld[r->n_withheld++] =
			arena_strdup(a->scratch, "the all-down guard: every probe fails on this "
						 "machine itself, so no weight is lowered");
}

static void reply(struct api *a, struct grpc_call *call, size_t frontend, const struct lb_ops *ops)
{
	Maglev__SyncVPPLBStateResponse *r =
		api_lb_operations(reconcile_dataplane(a->setup.reconcile), ops, api__scratch(a));

	add_withheld(a, frontend, r);
	grpc_reply(call, &r->base);
}

struct waiting {
	struct api *api;
	struct grpc_call *call;
	size_t frontend; /* as of the question; a reload may have come since */
};

static void fail(struct grpc_call *call, int err)
{
	switch (err) {
	case -ENOTCONN:
		grpc_fail(call, GRPC_UNAVAILABLE,
			  "the data plane is not connected; it is synced as soon as it is");
		break;
	case -EAGAIN:
		grpc_fail(call, GRPC_FAILED_PRECONDITION,
			  "the warm-up holds it: nothing is written until its backends are known");
		break;
	case -EBUSY:
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "%d wait for a sync already", WAITERS_MAX);
		break;
	default:
		grpc_fail(call, GRPC_INTERNAL,
			  "the data plane refused an operation; it is tried again, the log says "
			  "which");
	}
}

static void on_synced(int err, const struct lb_ops *ops, void *user)
{
	struct waiting *w = user;

	if (err < 0)
		fail(w->call, err);
	else
		reply(w->api, w->call, w->frontend, ops);
	free(w);
}

static void on_cancelled(void *user)
{
	struct waiting *w = user;

	reconcile_forget(w->api->setup.reconcile, w);
	free(w);
}

/* The frontend "", or none: all. NOT_FOUND has been answered when it is false. */
static bool find(struct api *a, struct grpc_call *call, const char *name, size_t *ret)
{
	*ret = *name ? api__frontend(a, call, name) : RECONCILE_EVERYTHING;
	return !*name || *ret != SIZE_MAX;
}

/* A reload may have come since it was asked for. */
static void plan(struct api *a, struct grpc_call *call, const char *name)
{
	struct lb_ops ops = { 0 };
	size_t frontend;
	int r;

	if (!find(a, call, name, &frontend))
		return;
	r = reconcile_plan(a->setup.reconcile, frontend, &ops);
	if (r < 0)
		fail(call, r);
	else
		reply(a, call, frontend, &ops);
	vec_free(&ops.list);
}

static void sync_now(struct api *a, struct grpc_call *call, size_t frontend)
{
	struct waiting *w = mem_zalloc(sizeof(*w));
	int r;

	*w = (struct waiting){ a, call, frontend };
	r = reconcile_sync(a->setup.reconcile, frontend, on_synced, w);
	if (r == 0) {
		grpc_on_cancel(call, on_cancelled, w);
		return;
	}
	fail(call, r);
	free(w);
}

API_HANDLER(sync_lb_state)
{
	struct api *a = user;
	const Maglev__SyncVPPLBStateRequest *r = (const Maglev__SyncVPPLBStateRequest *)request;
	size_t frontend;

	if ((!r->plan && !api__may_change(a, call)) || !find(a, call, r->frontend, &frontend))
		return;
	if (r->plan)
		look(a, call, r->frontend);
	else
		sync_now(a, call, frontend);
}
