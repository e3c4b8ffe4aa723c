/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: a cursor over the writes of a plan, and the calls that are under way.
 *
 * Bodies are made when a write is sent, so that a plan of ten thousand writes costs no more memory
 * than the objects that it borrows from.
 */
#include "src/mux/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/units.h"
#include "lib/log/log.h"
#include "src/mux/observe.h"

#define AGAIN 0.2 /* s until a write is tried again for which the client had no room */

struct sending {
	struct apply *apply;
	const struct mux_write *write; /* NULL: this place is free */
	struct k8s_call *call;
};

struct apply {
	struct key *key;
	struct observation *observation;
	struct mux_plan plan;
	size_t next, running;
	bool failed;  /* a write has */
	bool stopped; /* nothing more is sent */
	struct sending sendings[APPLY_PARALLEL];
	ev_timer timer; /* the first step, and after a full client */
	void (*done)(struct key *key, bool succeeded);
};

/* ---- objects ---- */

static const struct {
	enum kind kind;
	struct k8s_resource resource;
	const char *subresource;
} objects[] = {
	[MUX_CONFIG_MAP] = { KIND_CONFIG_MAP, { "", "v1", "configmaps" }, NULL },
	[MUX_SLICE] = { KIND_SLICE, { "discovery.k8s.io", "v1", "endpointslices" }, NULL },
	[MUX_ENDPOINTS] = { KIND_ENDPOINTS, { "", "v1", "endpoints" }, NULL },
	[MUX_SERVICE] = { KIND_SERVICE, { "", "v1", "services" }, NULL },
	[MUX_SERVICE_STATUS] = { KIND_SERVICE, { "", "v1", "services" }, "status" },
};

static const enum k8s_verb verbs[] = { [MUX_CREATE] = K8S_VERB_CREATE,
				       [MUX_PATCH] = K8S_VERB_MERGE_PATCH,
				       [MUX_DELETE] = K8S_VERB_DELETE };

/* ---- the end of a write ---- */

/* The object is another one than the plan was made from. */
static bool is_conflict(enum k8s_code code)
{
	return code == K8S_CONFLICT || code == K8S_EXISTS || code == K8S_NOT_FOUND;
}

/* The server does not want this write; it may want others. Admission plugins answer 403, too. */
static bool is_refusal(enum k8s_code code)
{
	return code == K8S_FORBIDDEN || !(k8s_code_is_passing(code) || is_conflict(code));
}

static void tell_write(const struct apply *a, const struct mux_write *w,
		       const struct k8s_result *result)
{
	_cleanup_(buf_free) struct buf shown = { 0 };
	const char *code = k8s_code_name(result->code);

	if (result->code == K8S_NOT_ALLOWED || (result->code == K8S_OK && !log_wants(LOG_DEBUG)))
		return; /* not allowed: another process leads */
	mux_write_show(w, &shown);
	if (result->code == K8S_OK)
		log_debug("written", LOG_S("mux", a->key->id), LOG_S("write", buf_cstr(&shown)));
	else if (is_conflict(result->code))
		log_info("write-conflict", LOG_S("mux", a->key->id),
			 LOG_S("write", buf_cstr(&shown)), LOG_S("reason", result->message));
	else
		log_warn("write-failed", LOG_S("mux", a->key->id), LOG_S("write", buf_cstr(&shown)),
			 LOG_S("code", code), LOG_S("reason", result->message));
}

/* What no retry mends is told to the users of the cluster: a right that is missing, a refusal. */
static void tell_users(const struct apply *a, const struct mux_write *w,
		       const struct k8s_result *result)
{
	_cleanup_(buf_free) struct buf note = { 0 };
	const struct mux_view *view = a->key->view;

	if (!is_refusal(result->code) || !view || !view->uid)
		return;
	mux_write_show(w, &note);
	buf_printf(&note, ": %s", result->message);
	controller_emit(a->key->controller,
			&(struct mux_event){ .namespace = view->namespace,
					     .name = view->name,
					     .uid = view->uid,
					     .warning = true,
					     .reason = "MuxWriteFailed",
					     .note = buf_cstr(&note) },
			1);
}

static void remember(struct apply *a, const struct mux_write *w, const struct k8s_result *result)
{
	enum kind kind = objects[w->object].kind;
	struct operator_mark mark;

	if (w->verb == MUX_DELETE) {
		vec_push(&a->key->deletions,
			 (struct key_deletion){ .kind = kind,
						.namespace = mem_strdup(w->namespace),
						.name = mem_strdup(w->name),
						.uid = mem_strdup(w->uid ? w->uid : "") });
		return;
	}
	mark = operator_mark(a->key->controller->op, kind, result);
	if (mark.version > a->key->marks[kind].version ||
	    mark.reversed != a->key->marks[kind].reversed)
		a->key->marks[kind] = mark;
}

static bool succeeded(const struct mux_write *w, enum k8s_code code)
{
	return code == K8S_OK || (w->verb == MUX_DELETE && code == K8S_NOT_FOUND);
}

static void proceed(struct apply *a);

/*
 * One object that another writer has changed or that the server refuses must not keep the others
 * from being written. Without the state nothing may go on, and a server that has trouble, or has
 * another leader, is not asked for more.
 */
static bool may_go_on(const struct mux_write *w, enum k8s_code code)
{
	return w->object != MUX_CONFIG_MAP && code != K8S_NOT_ALLOWED &&
	       (is_refusal(code) || is_conflict(code));
}

static void fail(struct apply *a, const struct mux_write *w, const struct k8s_result *result)
{
	struct controller_stats *stats = &a->key->controller->stats;

	a->failed = true;
	if (!may_go_on(w, result->code))
		a->stopped = true;
	if (result->code == K8S_NOT_ALLOWED)
		return;
	stats->failed_writes++;
	stats->conflicts += is_conflict(result->code);
	tell_users(a, w, result);
}

static void on_written(const struct k8s_result *result, void *user)
{
	struct sending *s = user;
	struct apply *a = s->apply;
	struct controller_stats *stats = &a->key->controller->stats;
	const struct mux_write *w = s->write;

	s->write = NULL;
	s->call = NULL;
	a->running--;
	tell_write(a, w, result);
	if (succeeded(w, result->code)) {
		stats->writes[w->object][w->verb]++;
		remember(a, w, result);
		controller_emit(a->key->controller, w->events, w->n_events);
	} else {
		fail(a, w, result);
	}
	proceed(a);
}

/* ---- sending ---- */

static int send_write(struct apply *a, struct sending *s, const struct mux_write *w)
{
	struct controller *c = a->key->controller;
	_cleanup_(buf_free) struct buf body = { 0 };
	int r;

	if (w->verb != MUX_DELETE)
		mux_write_body(w, &body);
	s->apply = a;
	r = operator_call(c->op,
			  &(struct k8s_call_config){ .verb = verbs[w->verb],
						     .resource = &objects[w->object].resource,
						     .subresource = objects[w->object].subresource,
						     .namespace = w->namespace,
						     .name = w->verb == MUX_CREATE ? NULL : w->name,
						     .body = { body.p, body.n },
						     .uid = w->verb == MUX_DELETE ? w->uid : NULL,
						     .version =
							     w->verb == MUX_DELETE ? w->version : 0,
						     .done = on_written,
						     .user = s },
			  &s->call);
	if (r == 0)
		s->write = w;
	return r;
}

static struct sending *free_place(struct apply *a)
{
	for (size_t i = 0; i < APPLY_PARALLEL; i++)
		if (!a->sendings[i].write)
			return &a->sendings[i];
	return NULL;
}

/* The next write belongs to the stage of those that are under way. */
static bool may_send(const struct apply *a)
{
	if (a->stopped || a->next == a->plan.n_writes || a->running == APPLY_PARALLEL)
		return false;
	return a->running == 0 ||
	       a->plan.writes[a->next].stage == a->plan.writes[a->next - 1].stage;
}

static void finish(struct apply *a)
{
	void (*done)(struct key * key, bool succeeded) = a->done;
	struct key *key = a->key;
	bool failed = a->failed;

	apply_cancel(a);
	done(key, !failed);
}

static void proceed(struct apply *a)
{
	while (may_send(a)) {
		int r = send_write(a, free_place(a), &a->plan.writes[a->next]);

		if (r == -EBUSY && a->running == 0) {
			ev_timer_stop(a->key->controller->loop, &a->timer);
			ev_timer_set(&a->timer, AGAIN, 0);
			ev_timer_start(a->key->controller->loop, &a->timer);
		}
		if (r == -EBUSY)
			return;
		if (r < 0) {
			log_error("write-impossible", LOG_S("mux", a->key->id),
				  LOG_S("reason", strerror(-r)));
			a->failed = a->stopped = true;
			break;
		}
		a->next++;
		a->running++;
	}
	if (a->running == 0)
		finish(a);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	proceed(container_of(w, struct apply, timer));
}

/* ---- public ---- */

struct apply *apply_start(struct key *key, struct observation *o, const struct mux_plan *plan,
			  void (*done)(struct key *key, bool succeeded))
{
	struct apply *a = mem_zalloc(sizeof(*a));

	a->key = key;
	a->observation = o;
	a->plan = *plan;
	a->done = done;
	ev_timer_init(&a->timer, on_timer, 0, 0);
	ev_timer_start(key->controller->loop, &a->timer);
	return a;
}

void apply_cancel(struct apply *a)
{
	if (!a)
		return;
	ev_timer_stop(a->key->controller->loop, &a->timer);
	for (size_t i = 0; i < APPLY_PARALLEL; i++)
		if (a->sendings[i].write)
			k8s_call_cancel(a->sendings[i].call);
	observation_free(a->observation);
	free(a);
}

void apply_stop(struct apply *a)
{
	if (a)
		a->failed = a->stopped = true;
}
