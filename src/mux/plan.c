/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: the second half of a pass: the writes that make a mux what its view says.
 *
 * Every wanted object is compared with what exists, so that nothing is written that is already so.
 * The order of the writes is that of enum mux_stage, and within a stage that in which they were
 * planned: the mux first, then channels in the order of namespace and name.
 */
#include <stdlib.h>
#include <string.h>

#include "src/mux/plan_private.h"

struct mux_write *mux__write(struct mux_planning *p, enum mux_stage stage, enum mux_verb verb,
			     enum mux_object object)
{
	vec_push(&p->writes, (struct mux_write){ .stage = stage, .verb = verb, .object = object });
	return &p->writes.items[p->writes.n - 1];
}

struct mux_event mux__event(const struct mux_service *service, const char *reason, const char *note)
{
	return (struct mux_event){ .namespace = service->object.namespace,
				   .name = service->object.name,
				   .uid = service->object.uid,
				   .reason = reason,
				   .note = note };
}

const struct k8s_list *mux__list(struct mux_planning *p, const void *items, size_t n)
{
	struct k8s_list *list = arena_new_of(p->arena, struct k8s_list);

	*list = (struct k8s_list){ items, (uint32_t)n };
	return list;
}

/* The earlier of two times, of which 0 is none. */
static int64_t earlier(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

void mux__end_planning(struct mux_planning *p, struct mux_plan *ret)
{
	struct mux_write *writes = arena_array_of(p->arena, p->writes.n + 1, struct mux_write);
	size_t n = 0;

	for (unsigned stage = 0; stage <= MUX_STAGE_CHANNELS; stage++)
		for (size_t i = 0; i < p->writes.n; i++)
			if (p->writes.items[i].stage == stage)
				writes[n++] = p->writes.items[i];
	*ret = (struct mux_plan){
		.writes = writes,
		.n_writes = n,
		.events = arena_copy(p->arena, p->events.items,
				     p->events.n * sizeof(struct mux_event)),
		.n_events = p->events.n,
		.due = earlier(p->view ? p->view->due : 0, p->due),
	};
	vec_free(&p->writes);
	vec_free(&p->events);
	vec_free(&p->before);
	vec_free(&p->after);
}

static void plan_state(struct mux_planning *p)
{
	static const struct k8s_pair labels[] = {
		{ "app.kubernetes.io/component", "mux-state" },
		{ "app.kubernetes.io/name", "svc-lb-mux" },
	};
	const struct mux_config_map *old = p->facts->config_map;
	struct k8s_pair *note;
	struct mux_write *w;

	if (!p->view->private->write_state)
		return;
	note = arena_new_of(p->arena, struct k8s_pair);
	*note = (struct k8s_pair){ mux_key(p->settings, "mux", p->arena),
				   arena_printf(p->arena, "%s/%s", p->view->namespace,
						p->view->name) };
	w = mux__write(p, MUX_STAGE_STATE, old ? MUX_PATCH : MUX_CREATE, MUX_CONFIG_MAP);
	w->namespace = p->view->namespace;
	w->name = p->view->state_name;
	w->version = old ? old->object.version : 0;
	w->labels = labels;
	w->n_labels = 2;
	w->annotations = note;
	w->n_annotations = 1;
	w->state = &p->view->private->state;
	w->what =
		arena_printf(p->arena, "%zu claim(s), %zu released",
			     p->view->private->state.n_claims, p->view->private->state.n_released);
}

/* Ports stay as they are in a mux that is frozen, and so does everything that shows them. */
static bool may_change_ports(const struct mux_planning *p)
{
	return p->view->condition != MUX_FROZEN;
}

static void plan_one(struct mux_planning *p, struct mux_view_channel *c)
{
	const struct mux_group *groups;
	struct mux_sight sight = { 0 };
	size_t n;

	p->facts->look(c->namespace, c->name, &sight, p->facts->user);
	n = mux__groups(p, c, &sight, &groups);
	mux__plan_slices(p, c, &sight, groups, n);
	if (may_change_ports(p) && sight.service)
		mux__plan_channel(p, c, sight.service);
}

/* A channel that the view does not know: one that is gone, or being deleted. */
static void plan_gone(struct mux_planning *p, const struct mux_channel_name *name)
{
	struct mux_sight sight = { 0 };

	p->facts->look(name->namespace, name->name, &sight, p->facts->user);
	for (size_t i = 0; i < sight.n_written; i++)
		mux__drop_slice(p, sight.written[i]);
	if (sight.service && sight.service->object.deleting == K8S_YES)
		mux__plan_leftovers(p, sight.service);
}

static void plan_scope(struct mux_planning *p, const struct mux_scope *scope)
{
	for (size_t i = 0; i < scope->n_channels; i++) {
		const struct mux_channel_name *name = &scope->channels[i];
		struct mux_view_channel *c =
			mux__find_channel(p->view, name->namespace, name->name);

		if (c)
			plan_one(p, c);
		else
			plan_gone(p, name);
	}
}

/* Slices of channels that the mux has no longer. */
static void drop_orphans(struct mux_planning *p)
{
	for (size_t i = 0; i < p->facts->n_slices; i++) {
		const struct mux_slice *s = p->facts->slices[i];
		const char *channel = mux_note(p->settings, &s->annotations, "channel");
		const char *slash = channel ? strchr(channel, '/') : NULL;

		if (!cstr_eq(k8s_map_get(&s->labels, MUX_LABEL_MANAGED_BY), MUX_MANAGED_BY))
			continue;
		if (!slash ||
		    !mux__find_channel(p->view,
				       arena_strndup(p->arena, channel, (size_t)(slash - channel)),
				       slash + 1))
			mux__drop_slice(p, s);
	}
}

static void plan_all(struct mux_planning *p)
{
	const struct mux_facts *f = p->facts;

	for (size_t i = 0; i < p->view->n_channels; i++)
		plan_one(p, &p->view->channels[i]);
	for (size_t i = 0; i < f->n_channels; i++)
		if (f->channels[i]->object.deleting == K8S_YES)
			mux__plan_leftovers(p, f->channels[i]);
	drop_orphans(p);
}

/* Endpoints that we made for a mux that is none any more. */
static void drop_endpoints(struct mux_planning *p)
{
	const struct mux_endpoints *e = p->facts->endpoints;
	struct mux_write *w;

	if (!e || e->object.deleting == K8S_YES ||
	    !cstr_eq(mux_note(p->settings, &e->annotations, "managed"), "true"))
		return;
	w = mux__write(p, MUX_STAGE_CHANNELS, MUX_DELETE, MUX_ENDPOINTS);
	w->namespace = e->object.namespace;
	w->name = e->object.name;
	w->uid = e->object.uid;
	w->what = "its Service is not a mux";
}

/* There is no mux, or none that is served: what was made for it goes, channels become pending. */
static void plan_without_mux(struct mux_planning *p)
{
	const struct mux_facts *f = p->facts;

	for (size_t i = 0; i < p->view->n_channels; i++) {
		struct mux_sight sight = { 0 };

		f->look(p->view->channels[i].namespace, p->view->channels[i].name, &sight, f->user);
		if (sight.service)
			mux__plan_channel(p, &p->view->channels[i], sight.service);
	}
	for (size_t i = 0; i < f->n_channels; i++)
		if (f->channels[i]->object.deleting == K8S_YES)
			mux__plan_leftovers(p, f->channels[i]);
	for (size_t i = 0; i < f->n_slices; i++)
		mux__drop_slice(p, f->slices[i]);
	drop_endpoints(p);
	if (f->mux && (f->mux->object.deleting == K8S_YES || p->view->condition == MUX_INVALID))
		mux__plan_leftovers(p, f->mux);
}

static void plan_with_mux(struct mux_planning *p, const struct mux_scope *scope)
{
	if (scope->all) {
		plan_state(p);
		plan_all(p);
	} else {
		plan_scope(p, scope);
	}
	mux__plan_endpoints(p);
	if (may_change_ports(p))
		mux__plan_mux(p);
	mux__tell_backends(p);
}

static void tell_fresh(struct mux_planning *p)
{
	struct mux_view_private *v = p->view->private;

	for (size_t i = 0; i < v->n_fresh && !v->announced; i++)
		vec_push(&p->events, v->fresh[i]);
	v->announced = true;
}

void mux_plan(struct mux_view *view, const struct mux_facts *facts, const struct mux_scope *scope,
	      struct arena *arena, struct mux_plan *ret)
{
	struct mux_planning p = {
		.view = view, .facts = facts, .settings = facts->settings, .arena = arena
	};

	tell_fresh(&p);
	switch (view->condition) {
	case MUX_ACTIVE:
	case MUX_FROZEN:
		plan_with_mux(&p, scope);
		break;
	case MUX_MISSING:
	case MUX_INVALID:
		plan_without_mux(&p);
		break;
	case MUX_PAUSED:
		break;
	}
	mux__end_planning(&p, ret);
}
