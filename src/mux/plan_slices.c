/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_slices: the EndpointSlices of a mux.
 *
 * The ports of a slice are those of all its endpoints, so channels cannot share one. Each group of
 * endpoints of a channel becomes one slice of the mux, whose name follows from its source: a change
 * of a channel is a change of one slice, however many channels there are.
 */
#include <stdlib.h>
#include <string.h>

#include "src/mux/plan_private.h"

static bool same_ports(const struct k8s_list *a, const struct k8s_list *b)
{
	const struct mux_endpoint_port *x = a->items, *y = b->items;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (x[i].port != y[i].port || !cstr_eq(x[i].name, y[i].name) ||
		    !cstr_eq(x[i].protocol, y[i].protocol) ||
		    !cstr_eq(x[i].app_protocol, y[i].app_protocol))
			return false;
	return true;
}

static bool same_strings(const struct k8s_list *a, const struct k8s_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(k8s_string_at(a, i), k8s_string_at(b, i)) != 0)
			return false;
	return true;
}

static bool same_target(const struct mux_target *a, const struct mux_target *b)
{
	return cstr_eq(a->kind, b->kind) && cstr_eq(a->namespace, b->namespace) &&
	       cstr_eq(a->name, b->name) && cstr_eq(a->uid, b->uid);
}

static bool same_endpoint(const struct mux_endpoint *a, const struct mux_endpoint *b)
{
	return a->ready == b->ready && a->serving == b->serving &&
	       a->terminating == b->terminating && same_strings(&a->addresses, &b->addresses) &&
	       cstr_eq(a->hostname, b->hostname) && cstr_eq(a->node, b->node) &&
	       cstr_eq(a->zone, b->zone) && same_target(&a->target, &b->target);
}

static bool same_endpoints(const struct k8s_list *a, const struct k8s_list *b)
{
	const struct mux_endpoint *x = a->items, *y = b->items;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same_endpoint(&x[i], &y[i]))
			return false;
	return true;
}

/* The ready backends of a slice, each with every port. */
static void list_backends(struct mux_backends_list *list, const struct k8s_list *endpoints,
			  const struct k8s_list *ports)
{
	const struct mux_endpoint *e = endpoints->items;
	const struct mux_endpoint_port *q = ports->items;

	for (size_t i = 0; i < endpoints->n; i++)
		for (size_t j = 0; j < ports->n && e[i].ready != K8S_NO && e[i].addresses.n; j++)
			vec_push(list, (struct mux_backend){ k8s_string_at(&e[i].addresses, 0),
							     q[j].protocol, q[j].port });
}

static int backend_cmp(const struct mux_backend *a, const struct mux_backend *b)
{
	int r = strcmp(a->ip, b->ip);

	if (r == 0)
		r = (a->port > b->port) - (a->port < b->port);
	return r ? r : strcmp(a->protocol, b->protocol);
}

static int by_backend(const void *a, const void *b)
{
	return backend_cmp(a, b);
}

static void sort_backends(struct mux_backends_list *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(list->items[0]), by_backend);
}

static void add_backend(struct buf *list, size_t *count, const struct mux_backend *b)
{
	mux__add_item(list, count, strchr(b->ip, ':') ? "[%s]:%lld/%s" : "%s:%lld/%s", b->ip,
		      (long long)b->port, b->protocol);
}

/* "Added 1 endpoint(s): ...", or NULL if the ready backends are the same. */
static const char *describe_change(struct mux_planning *p)
{
	const struct mux_backend *old = p->before.items, *new = p->after.items;
	struct buf added = { 0 }, removed = { 0 };
	size_t i = 0, j = 0, n_added = 0, n_removed = 0;
	const char *text;

	sort_backends(&p->before);
	sort_backends(&p->after);
	while (i < p->before.n || j < p->after.n) {
		int r = i == p->before.n ? 1 : j == p->after.n ? -1 : backend_cmp(&old[i], &new[j]);

		if (r < 0)
			add_backend(&removed, &n_removed, &old[i]);
		else if (r > 0)
			add_backend(&added, &n_added, &new[j]);
		i += r <= 0;
		j += r >= 0;
	}
	text = mux__text_changes("endpoint", &added, n_added, &removed, n_removed, p->arena);
	buf_free(&added);
	buf_free(&removed);
	return text;
}

static bool is_about_backends(const struct mux_write *w)
{
	return w->object == MUX_SLICE || w->object == MUX_ENDPOINTS;
}

void mux__tell_backends(struct mux_planning *p)
{
	struct mux_write *last = NULL;
	struct mux_event *event;
	const char *note;
	size_t ready = 0, not_ready = 0;

	for (size_t i = 0; i < p->writes.n; i++)
		if (is_about_backends(&p->writes.items[i]) &&
		    (!last || p->writes.items[i].stage >= last->stage))
			last = &p->writes.items[i];
	if (!last || !p->facts->mux)
		return;
	for (size_t i = 0; i < p->view->n_channels; i++)
		if (p->view->channels[i].fate == MUX_SERVED) {
			ready += p->view->channels[i].ready;
			not_ready += p->view->channels[i].not_ready;
		}
	note = p->created ? NULL : describe_change(p);
	if (!note)
		note = arena_printf(p->arena, "Mux endpoints %s: %zu ready, %zu not ready",
				    p->created ? "created" : "updated", ready, not_ready);
	event = arena_new_of(p->arena, struct mux_event);
	*event = mux__event(p->facts->mux,
			    p->created ? "MuxEndpointsCreated" : "MuxEndpointsChanged", note);
	last->events = event;
	last->n_events = 1;
}

static bool is_ours(const struct mux_planning *p, const struct mux_slice *s, const char *channel)
{
	return cstr_eq(k8s_map_get(&s->labels, MUX_LABEL_SERVICE), p->view->name) &&
	       cstr_eq(k8s_map_get(&s->labels, MUX_LABEL_MANAGED_BY), MUX_MANAGED_BY) &&
	       cstr_eq(mux_note(p->settings, &s->annotations, "channel"), channel);
}

static void set_owner(struct mux_planning *p, struct mux_write *w)
{
	struct mux_owner *owner = arena_new_of(p->arena, struct mux_owner);

	*owner = (struct mux_owner){ p->view->name, p->view->uid };
	w->owner = owner;
}

static void write_slice(struct mux_planning *p, const struct mux_group *g, const char *name,
			const char *channel, const struct mux_slice *old)
{
	struct mux_write *w =
		mux__write(p, MUX_STAGE_BACKENDS, old ? MUX_PATCH : MUX_CREATE, MUX_SLICE);
	struct k8s_pair *labels = arena_array_of(p->arena, 2, struct k8s_pair);
	struct k8s_pair *notes = arena_array_of(p->arena, 1, struct k8s_pair);

	labels[0] = (struct k8s_pair){ MUX_LABEL_SERVICE, p->view->name };
	labels[1] = (struct k8s_pair){ MUX_LABEL_MANAGED_BY, MUX_MANAGED_BY };
	notes[0] = (struct k8s_pair){ mux_key(p->settings, "channel", p->arena), channel };
	w->namespace = p->view->namespace;
	w->name = name;
	w->labels = labels;
	w->n_labels = 2;
	w->annotations = notes;
	w->n_annotations = 1;
	w->family = old ? NULL : g->family;
	w->slice_ports = mux__list(p, g->ports.items, g->ports.n);
	w->endpoints = mux__list(p, g->endpoints.items, g->endpoints.n);
	w->what = arena_printf(p->arena, "%u endpoint(s) of channel %s", g->endpoints.n, channel);
	if (!old)
		set_owner(p, w);
	list_backends(&p->after, &g->endpoints, &g->ports);
	if (old)
		list_backends(&p->before, &old->endpoints, &old->ports);
}

void mux__drop_slice(struct mux_planning *p, const struct mux_slice *slice)
{
	struct mux_write *w;

	if (slice->object.deleting == K8S_YES)
		return;
	w = mux__write(p, MUX_STAGE_CHANNELS, MUX_DELETE, MUX_SLICE);
	w->namespace = slice->object.namespace;
	w->name = slice->object.name;
	w->uid = slice->object.uid;
	w->what = "its channel has no such endpoints on the mux";
	list_backends(&p->before, &slice->endpoints, &slice->ports);
}

static const struct mux_slice *find_written(const struct mux_sight *sight, const char *name)
{
	for (size_t i = 0; i < sight->n_written; i++)
		if (strcmp(sight->written[i]->object.name, name) == 0)
			return sight->written[i];
	return NULL;
}

static bool is_wanted(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

void mux__plan_slices(struct mux_planning *p, const struct mux_view_channel *c,
		      const struct mux_sight *sight, const struct mux_group *groups, size_t n)
{
	const char *channel = arena_printf(p->arena, "%s/%s", c->namespace, c->name);
	const char **names = arena_array_of(p->arena, n + 1, const char *);

	for (size_t i = 0; i < n; i++) {
		const struct mux_slice *old;

		names[i] = mux_slice_name(p->settings, p->view->name, c->namespace, c->name,
					  groups[i].source, p->arena);
		old = find_written(sight, names[i]);
		if (old && is_ours(p, old, channel) && same_ports(&old->ports, &groups[i].ports) &&
		    same_endpoints(&old->endpoints, &groups[i].endpoints))
			continue;
		write_slice(p, &groups[i], names[i], channel, old);
	}
	for (size_t i = 0; i < sight->n_written; i++)
		if (!is_wanted(names, n, sight->written[i]->object.name))
			mux__drop_slice(p, sight->written[i]);
}
