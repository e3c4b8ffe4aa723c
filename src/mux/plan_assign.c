/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_assign: the first half of a pass: which channel has which port of the mux.
 *
 *	judge the mux -> read the channels -> find owners -> grant -> claims, names
 *
 * Every step has a file of its own (plan_private.h lists them). They work on wishes, one for each
 * port of each channel, and on a table that has the owner of every number. All of them are linear
 * in the number of channels, but for sorting.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "src/mux/plan_private.h"

const char *mux__printf(struct mux_work *w, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(w->keep, fmt, ap);
	va_end(ap);
	return text;
}

void mux__complain(struct mux_work *w, const struct mux_service *service, const char *reason,
		   const char *note)
{
	vec_push(&w->complaints,
		 (struct mux_event){ .namespace = arena_strdup(w->keep, service->object.namespace),
				     .name = arena_strdup(w->keep, service->object.name),
				     .uid = arena_strdup(w->keep, service->object.uid),
				     .warning = true,
				     .reason = reason,
				     .note = note });
}

void mux__refuse(struct mux_work *w, struct mux_entrant *e, const char *reason, const char *note)
{
	e->decided = true;
	e->shown->fate = MUX_REFUSED;
	e->shown->reason = reason;
	e->shown->message = note;
	mux__complain(w, e->service, reason, note);
}

static const char *complaint_key(const struct mux_event *e, struct arena *arena)
{
	return arena_printf(arena, "%s\n%s\n%s\n%s", e->uid, e->reason,
			    e->field_path ? e->field_path : "", e->note);
}

/* Complaints that the last view did not have. */
static void find_fresh(struct mux_work *w, const struct mux_view *previous)
{
	struct mux_event *fresh = arena_array_of(w->keep, w->complaints.n + 1, struct mux_event);
	struct mux_view_private *v = w->view->private;
	struct map known = { 0 };

	for (size_t i = 0; previous && i < previous->n_complaints; i++)
		map_put(&known, complaint_key(&previous->complaints[i], w->scratch), &known);
	for (size_t i = 0; i < w->complaints.n; i++)
		if (!map_get(&known, complaint_key(&w->complaints.items[i], w->scratch)))
			fresh[v->n_fresh++] = w->complaints.items[i];
	v->fresh = fresh;
	map_free(&known);
}

static void show_complaints(struct mux_work *w, const struct mux_view *previous)
{
	size_t n = w->complaints.n;

	w->view->complaints =
		n ? arena_copy(w->keep, w->complaints.items, n * sizeof(struct mux_event)) : NULL;
	w->view->n_complaints = n;
	find_fresh(w, previous);
	for (size_t i = 0; i < w->view->n_channels; i++)
		w->view->n_refused += w->view->channels[i].fate == MUX_REFUSED;
}

static void start(struct mux_work *w)
{
	const struct mux_facts *f = w->facts;
	struct mux_view_private *v = arena_new_of(w->keep, struct mux_view_private);

	w->owner = arena_alloc(w->scratch, MUX_PROTOCOLS * sizeof(*w->owner));
	w->marks = arena_alloc(w->scratch, MUX_PROTOCOLS * sizeof(*w->marks));
	w->view->private = v;
	w->view->namespace = arena_strdup(w->keep, f->namespace);
	w->view->name = arena_strdup(w->keep, f->name);
	w->view->uid = arena_strdup(w->keep, f->mux ? f->mux->object.uid : "");
	v->state_version = f->config_map ? f->config_map->object.version : 0;
	if (!f->mux)
		return;
	v->inputs = mux__print_mux(w->settings, f->mux);
	v->live_ports = mux__print_live(f->mux);
}

struct mux_view *mux_assign(const struct mux_facts *facts, const struct mux_view *previous)
{
	struct arena *keep = arena_new();
	struct mux_work w = { .facts = facts,
			      .settings = facts->settings,
			      .view = arena_new_of(keep, struct mux_view),
			      .keep = keep,
			      .scratch = arena_new() };

	w.view->arena = keep;
	start(&w);
	w.view->private->texts_at = previous ? previous->private->texts_at : 0;
	w.view->condition = mux__judge_mux(&w);
	mux__read_channels(&w);
	if (w.view->condition == MUX_ACTIVE) {
		mux__find_owners(&w);
		mux__read_released(&w);
		mux__grant(&w);
		mux__make_state(&w);
		mux__name_ports(&w);
		mux__aggregate_dns(&w);
	} else if (w.view->condition == MUX_FROZEN || w.view->condition == MUX_PAUSED) {
		mux__keep_live(&w);
	}
	w.view->private->want_ports =
		mux__print_wanted(w.view->private->ports, w.view->private->n_ports);
	show_complaints(&w, previous);
	vec_free(&w.complaints);
	vec_free(&w.released);
	arena_free(w.scratch);
	return w.view;
}

void mux_view_free(struct mux_view *v)
{
	if (v)
		arena_free(v->arena);
}

struct mux_view_channel *mux__find_channel(const struct mux_view *v, const char *namespace,
					   const char *name)
{
	size_t at = sorted_place(v->n_channels, i, ({
					 int r = strcmp(v->channels[i].namespace, namespace);

					 (r ? r : strcmp(v->channels[i].name, name)) < 0;
				 }));

	if (at == v->n_channels || strcmp(v->channels[at].namespace, namespace) != 0 ||
	    strcmp(v->channels[at].name, name) != 0)
		return NULL;
	return &v->channels[at];
}

static bool knows_mux(const struct mux_view *v, const struct mux_settings *settings,
		      const struct mux_service *mux)
{
	uint64_t live = mux__print_live(mux);

	return v->private->inputs == mux__print_mux(settings, mux) &&
	       (live == v->private->live_ports || live == v->private->want_ports);
}

bool mux_view_knows(const struct mux_view *v, const struct mux_settings *settings,
		    const struct mux_service *service)
{
	const struct mux_view_channel *c;

	if (strcmp(service->object.namespace, v->namespace) == 0 &&
	    strcmp(service->object.name, v->name) == 0)
		return knows_mux(v, settings, service);
	c = mux__find_channel(v, service->object.namespace, service->object.name);
	return c && c->inputs == mux__print_channel(settings, service);
}

bool mux_view_knows_state(const struct mux_view *v, const struct mux_config_map *config_map)
{
	return (config_map ? config_map->object.version : 0) == v->private->state_version;
}

const char *mux_fate_name(enum mux_fate f)
{
	static const char *const names[] = { "served", "refused", "pending", "disabled" };

	return names[f];
}

const char *mux_condition_name(enum mux_condition c)
{
	static const char *const names[] = { "active", "missing", "invalid", "frozen", "disabled" };

	return names[c];
}
