/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the active data plane, of whatever kind, beside the desired state.
 *
 * For a state and for a plan the data plane is read first, which waits for the request under way.
 * A call for the state waits for LOOK_PATIENCE at most. It then shows the last state that was
 * read, and says so. A plan made from an old state might be wrong, so a call for a plan fails
 * instead. Both answers are made by the task in answer.c: one reading serves all calls that wait
 * for it, and they are not all answered in one turn of the loop.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "src/maglevd/api/internal.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"
#include "wire/api.h"

#define LOOK_PATIENCE 2 /* s */
#define VIPS_AT_ONCE 4	/* each may have many servers */

static const struct l4_model *model(const struct api *a)
{
	return engine_model(a->setup.engine);
}

/* protobuf-c has no const strings, and never writes to them. */
static char *borrowed(const char *text)
{
	return (char *)(uintptr_t)text;
}

/* Names are borrowed: they are string constants of the driver. */
static void set_messages(const struct dataplane_info *info, struct arena *arena, Maglev__VPPInfo *v)
{
	v->n_messages = info->n_messages;
	v->messages = arena_array_of(arena, info->n_messages, Maglev__VPPMessages *);
	for (size_t i = 0; i < info->n_messages; i++) {
		const struct dataplane_messages *from = &info->messages[i];
		Maglev__VPPMessages *m = arena_new_of(arena, Maglev__VPPMessages);

		maglev__vppmessages__init(m);
		m->name = borrowed(from->name);
		m->sent = from->sent;
		m->send_failures = from->send_failures;
		m->received = from->received;
		m->receive_failures = from->receive_failures;
		v->messages[i] = m;
	}
}

/* The struct lives on the stack, because the reply is encoded before grpc_reply() returns. */
static void reply_info(struct api *a, struct grpc_call *call, const struct dataplane_info *info)
{
	Maglev__VPPInfo v;

	maglev__vppinfo__init(&v);
	v.version = borrowed(info->version);
	v.build_date = borrowed(info->build_date);
	v.build_directory = borrowed(info->build_directory);
	v.pid = info->pid;
	v.boottime_ns = info->boot_time;
	v.connecttime_ns = info->connect_time;
	v.problem = borrowed(info->problem);
	v.connected = info->connect_time != 0;
	set_messages(info, api__scratch(a), &v);
	grpc_reply(call, &v.base);
}

/* Only for VPP. A problem of VPP is part of the answer, not a failure of the call. */
API_HANDLER(get_vpp_info)
{
	struct api *a = user;
	const struct reconcile *r = a->setup.reconcile;
	const struct dataplane_info *info = reconcile_info(r);

	if (info)
		reply_info(a, call, info);
	else if (reconcile_has_info(r))
		grpc_fail(call, GRPC_UNAVAILABLE, "nothing is known of %s yet",
			  reconcile_dataplane(r));
	else
		grpc_fail(call, GRPC_UNAVAILABLE, "the data plane is %s, not vpp",
			  reconcile_dataplane(r));
}

/* All parts are of one reading: when there is a newer one, the answer starts again with it. */
static const ProtobufCMessage *more_counters(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	const struct reconcile *r = w->api->setup.reconcile;
	const struct wire_counted from = { reconcile_dataplane(r), model(w->api)->config,
					   reconcile_counters(r) };
	Maglev__VPPLBCounters *part;

	if (base->at == 0 || w->reading != from.counters->at) {
		w->reading = from.counters->at;
		base->bytes.n = base->at = 0;
	}
	part = wire_lb_counters(&from, base->at, VIPS_AT_ONCE, arena);
	base->at += VIPS_AT_ONCE;
	return part ? &part->base : NULL;
}

/* The counters are those of the last reading; they are not read for the call. */
API_HANDLER(get_lb_counters)
{
	struct api *a = user;
	const struct reconcile *r = a->setup.reconcile;

	if (reconcile_counters(r))
		api__answer(a, call, more_counters, 0, NULL);
	else if (reconcile_counts(r))
		grpc_fail(call, GRPC_UNAVAILABLE,
			  "the counters of the data plane %s have not been read yet",
			  reconcile_dataplane(r));
	else
		grpc_fail(call, GRPC_UNAVAILABLE, "the data plane %s counts nothing",
			  reconcile_dataplane(r));
}

/* Why the data plane was not read for an answer. */
static const char *unread(int err)
{
	switch (err) {
	case -ENOTCONN:
		return "the data plane is not connected";
	case -ETIMEDOUT:
		return "the data plane did not answer within 2s, or is busy with a sync";
	case -EBUSY:
		return "the data plane was not read: too many calls wait for that already";
	default:
		return "the data plane could not be read; it is tried again";
	}
}

/* What the answer is made of. err says why the data plane was not read just now; 0 when it was. */
static struct wire_lb facts(struct api *a, int err)
{
	struct reconcile *r = a->setup.reconcile;
	const char *problem = reconcile_problem(r);
	int64_t at;
	const struct lb_state *observed = reconcile_observed(r, &at);

	return (struct wire_lb){
		.dataplane = reconcile_dataplane(r),
		.model = model(a),
		.observed = observed,
		.counters = reconcile_counters(r),
		.connected = reconcile_connected(r),
		.guard = engine_guard(a->setup.engine),
		.warmup = reconcile_phase(r),
		.last_full_sync = reconcile_stats(r)->last_full_sync,
		.problem = *problem ? problem
			   : err    ? unread(err)
				    : "",
		.as_of = err ? at : 0,
		.status = reconcile_status(r),
		.attachment = reconcile_attachment(r),
	};
}

/* The first part has everything except the VIPs. */
static const ProtobufCMessage *more_state(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	struct wire_lb lb = facts(w->api, w->err);
	Maglev__VPPLBState *vips;

	lb.backend = *w->name ? w->name : NULL;
	if (base->at++ == 0) {
		wire_lb_walk_begin(&w->walk, lb.model->config);
		return &wire_lb_state(&lb, arena)->base;
	}
	vips = wire_lb_vips(&w->walk, &lb, VIPS_AT_ONCE, arena);
	return vips ? &vips->base : NULL;
}

/* A call that waits for the data plane to be read. */
struct looking {
	struct api *api;
	struct grpc_call *call;
	bool plan;  /* a plan is wanted, not the state */
	char *name; /* of the only frontend of the plan, or backend of the state; "": all */
	ev_timer late;
};

static void looking_free(struct looking *l)
{
	ev_timer_stop(l->api->setup.loop, &l->late);
	free(l->name);
	free(l);
}

static void on_look_cancelled(void *user)
{
	struct looking *l = user;

	reconcile_forget(l->api->setup.reconcile, l);
	looking_free(l);
}

static const ProtobufCMessage *whole_plan(struct service_answer *base, struct arena *arena);
static void fail(struct grpc_call *call, int err);

/* Also called directly when the data plane cannot be read, or not in time. */
static void on_looked(int err, const struct lb_ops *ops, void *user)
{
	struct looking *l = user;

	if (!l->plan)
		api__answer(l->api, l->call, more_state, err, TAKE_PTR(l->name));
	else if (err < 0)
		fail(l->call, err);
	else
		api__answer(l->api, l->call, whole_plan, 0, TAKE_PTR(l->name));
	looking_free(l);
}

/* The reconciler may still read the state; only this caller stops waiting. */
static void on_look_late(struct ev_loop *loop, ev_timer *t, int events)
{
	struct looking *l = t->data;

	reconcile_forget(l->api->setup.reconcile, l);
	on_looked(-ETIMEDOUT, NULL, l);
}

/* Reads the data plane first, because the last state may be as old as sync-interval. */
static void look(struct api *a, struct grpc_call *call, bool plan, const char *name)
{
	struct looking *l = mem_zalloc(sizeof(*l));
	int r;

	*l = (struct looking){ .api = a, .call = call, .plan = plan, .name = mem_strdup(name) };
	ev_timer_init(&l->late, on_look_late, LOOK_PATIENCE, 0);
	l->late.data = l;
	r = reconcile_look(a->setup.reconcile, on_looked, l);
	if (r < 0) {
		on_looked(r, NULL, l);
		return;
	}
	grpc_on_cancel(call, on_look_cancelled, l);
	ev_timer_start(a->setup.loop, &l->late);
}

API_HANDLER(get_lb_state)
{
	struct api *a = user;
	const char *backend = ((const Maglev__GetVPPLBStateRequest *)request)->backend;

	if (!*backend || api__backend(a, call, backend) != SIZE_MAX)
		look(a, call, false, backend);
}

/* ---- sync ---- */

/* Frontends without pools are not programmed, so nothing is held back for them. */
static size_t held_by_warmup(const struct api *a, size_t frontend)
{
	const struct l4_model *m = model(a);
	size_t n = 0;

	for (size_t i = 0; i < m->config->n_frontends; i++)
		n += (frontend == RECONCILE_EVERYTHING || frontend == i) &&
		     !m->frontends[i].released && m->config->frontends[i].n_pools;
	return n;
}

/* Adds what the operations leave out, and why. */
static void add_withheld(const struct api *a, size_t frontend, struct arena *arena,
			 Maglev__SyncVPPLBStateResponse *r)
{
	size_t held = held_by_warmup(a, frontend);

	r->withheld = arena_array_of(arena, 2, char *);
	if (held)
		r->withheld[r->n_withheld++] =
			arena_printf(arena,
				     "the warm-up holds %zu frontend%s: not written until every "
				     "backend has had a result",
				     held, held == 1 ? "" : "s");
	if (engine_guard(a->setup.engine))
		r->withheld[r->n_withheld++] =
			arena_strdup(arena, "the all-down guard: every probe fails on this "
					    "machine itself, so no weight is lowered");
}

/* Allocated in the scratch arena. */
static const ProtobufCMessage *operations(struct api *a, size_t frontend, const struct lb_ops *ops)
{
	struct arena *arena = api__scratch(a);
	Maglev__SyncVPPLBStateResponse *r =
		wire_lb_operations(reconcile_dataplane(a->setup.reconcile), ops, arena);

	add_withheld(a, frontend, arena, r);
	return &r->base;
}

/* A call that waits for a sync. */
struct waiting {
	struct api *api;
	struct grpc_call *call;
	size_t frontend; /* when the call came; a reload may have changed indexes since */
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
	case -ETIMEDOUT:
		grpc_fail(call, GRPC_UNAVAILABLE, "%s; try again", unread(err));
		break;
	case -EBUSY:
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "%d calls wait for a sync already",
			  WAITERS_MAX);
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
		grpc_reply(w->call, operations(w->api, w->frontend, ops));
	free(w);
}

static void on_cancelled(void *user)
{
	struct waiting *w = user;

	reconcile_forget(w->api->setup.reconcile, w);
	free(w);
}

/* An empty name means all frontends. False: the call has failed with NOT_FOUND. */
static bool find(struct api *a, struct grpc_call *call, const char *name, size_t *ret)
{
	*ret = *name ? api__frontend(a, call, name) : RECONCILE_EVERYTHING;
	return !*name || *ret != SIZE_MAX;
}

/* -ENOTCONN also means that the state is not known. While connected that passes soon. */
static int plan(struct api *a, size_t frontend, struct lb_ops *ops)
{
	const struct reconcile *rec = a->setup.reconcile;
	int r = reconcile_plan(a->setup.reconcile, frontend, ops);

	/* connected: a sync has begun to read the state again */
	return r == -ENOTCONN && reconcile_connected(rec) ? -ETIMEDOUT : r;
}

/* The only part of a plan. Finds the frontend by name again: there may have been a reload. */
static const ProtobufCMessage *whole_plan(struct service_answer *base, struct arena *arena)
{
	struct api__answer *w = api__answer_of(base);
	const ProtobufCMessage *answer = NULL;
	struct lb_ops ops = { 0 };
	size_t frontend;
	int r;

	if (base->at++)
		return NULL;
	base->refused = !find(w->api, base->call, w->name, &frontend);
	if (base->refused)
		return NULL;
	r = plan(w->api, frontend, &ops);
	base->refused = r < 0;
	if (r < 0)
		fail(base->call, r);
	else
		answer = operations(w->api, frontend, &ops);
	vec_free(&ops.list);
	return answer;
}

/* The cancel callback is set only if the request was accepted: otherwise w is freed here. */
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

/* A plan changes nothing, so every client may ask for it. */
API_HANDLER(sync_lb_state)
{
	struct api *a = user;
	const Maglev__SyncVPPLBStateRequest *r = (const Maglev__SyncVPPLBStateRequest *)request;
	struct who who;
	size_t frontend;

	if ((!r->plan && !api__may_change(a, call)) || !find(a, call, r->frontend, &frontend))
		return;
	if (r->plan) {
		look(a, call, true, r->frontend);
		return;
	}
	who = service_who(a->service, call);
	service_log_act(&who, "sync", LOG_S("frontend", *r->frontend ? r->frontend : NULL));
	sync_now(a, call, frontend);
}
