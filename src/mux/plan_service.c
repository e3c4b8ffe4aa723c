/* SPDX-License-Identifier: Apache-2.0 */
/* plan_service: what is written to Services: to the mux, to its channels, and to former ones. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "src/mux/plan_private.h"

/* The changes of one Service, which become one patch. */
struct patch {
	VEC(struct k8s_pair) notes;
	struct buf what;
	const struct k8s_list *finalizers, *ports;
	VEC(struct mux_event) events;
};

static void say(struct patch *c, const char *what)
{
	if (c->what.n)
		buf_add_lit(&c->what, ", ");
	buf_adds(&c->what, what);
}

/* An annotation that is to have this value; NULL: that is not to be there. */
static void set_note(struct patch *c, const struct mux_service *s, const char *key,
		     const char *value)
{
	if (cstr_eq(k8s_map_get(&s->annotations, key), value))
		return;
	vec_push(&c->notes, (struct k8s_pair){ key, value });
	say(c, key);
}

/* What the original leaves: its finalizer, and what its framework remembers. */
static void remove_leftovers(struct mux_planning *p, struct patch *c, const struct mux_service *s)
{
	const char *ours = mux_key(p->settings, "finalizer", p->arena);
	const char **rest = arena_array_of(p->arena, s->finalizers.n + 1, const char *);
	size_t n = 0;

	set_note(c, s, MUX_NOTE_KOPF, NULL);
	for (size_t i = 0; i < s->finalizers.n; i++)
		if (strcmp(k8s_string_at(&s->finalizers, i), ours) != 0)
			rest[n++] = k8s_string_at(&s->finalizers, i);
	if (n == s->finalizers.n)
		return;
	c->finalizers = mux__list(p, rest, n);
	say(c, ours);
}

static void end_patch(struct mux_planning *p, struct patch *c, const struct mux_service *s,
		      enum mux_stage stage)
{
	if (c->notes.n || c->finalizers || c->ports) {
		struct mux_write *w = mux__write(p, stage, MUX_PATCH, MUX_SERVICE);

		w->namespace = s->object.namespace;
		w->name = s->object.name;
		/* a list of finalizers is replaced as a whole, so it must be the one that we saw */
		w->version = c->finalizers ? s->object.version : 0;
		w->n_annotations = c->notes.n;
		w->annotations =
			arena_copy(p->arena, c->notes.items, c->notes.n * sizeof(struct k8s_pair));
		w->finalizers = c->finalizers;
		w->ports = c->ports;
		w->what = arena_strndup(p->arena, c->what.p, c->what.n);
		w->n_events = c->events.n;
		w->events = arena_copy(p->arena, c->events.items,
				       c->events.n * sizeof(struct mux_event));
	}
	vec_free(&c->notes);
	vec_free(&c->events);
	buf_free(&c->what);
}

void mux__plan_leftovers(struct mux_planning *p, const struct mux_service *service)
{
	struct patch c = { 0 };

	remove_leftovers(p, &c, service);
	end_patch(p, &c, service, MUX_STAGE_CHANNELS);
}

static int live_cmp(const void *a, const void *b)
{
	const struct mux_wanted_port *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	if (x->protocol != y->protocol)
		return x->protocol < y->protocol ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The ports of the mux as they are, in the order of those that it is to have. */
static struct mux_wanted_port *list_live(struct mux_planning *p, size_t *ret_n)
{
	const struct k8s_list *list = &p->facts->mux->ports;
	const struct mux_service_port *ports = list->items;
	struct mux_wanted_port *live =
		arena_array_of(p->arena, list->n + 1, struct mux_wanted_port);

	for (size_t i = 0; i < list->n; i++) {
		live[i] = (struct mux_wanted_port){ .name = ports[i].name ? ports[i].name : "",
						    .port = (uint16_t)ports[i].port };
		mux_protocol_parse(ports[i].protocol, &live[i].protocol);
	}
	if (list->n)
		qsort(live, list->n, sizeof(*live), live_cmp);
	*ret_n = list->n;
	return live;
}

static void add_port(struct buf *list, size_t *count, const struct mux_wanted_port *p)
{
	mux__add_item(list, count, "%u/%s", p->port, mux_protocol_name(p->protocol));
}

/* "Added 1 port(s): 80/TCP; Removed ...", or NULL if the ports are the same. */
static const char *describe_ports(struct mux_planning *p)
{
	const struct mux_view_private *v = p->view->private;
	struct buf added = { 0 }, removed = { 0 };
	size_t i = 0, j = 0, n, n_added = 0, n_removed = 0;
	const struct mux_wanted_port *live = list_live(p, &n);
	const char *text;

	while (i < n || j < v->n_ports) {
		int r = i == n ? 1 : j == v->n_ports ? -1 : live_cmp(&live[i], &v->ports[j]);

		if (r < 0)
			add_port(&removed, &n_removed, &live[i]);
		else if (r > 0)
			add_port(&added, &n_added, &v->ports[j]);
		i += r <= 0;
		j += r >= 0;
	}
	text = mux__text_changes("port", &added, n_added, &removed, n_removed, p->arena);
	buf_free(&added);
	buf_free(&removed);
	return text;
}

static void patch_ports(struct mux_planning *p, struct patch *c)
{
	const struct mux_view_private *v = p->view->private;
	const char *change;

	if (mux__print_live(p->facts->mux) == v->want_ports)
		return;
	change = describe_ports(p);
	if (!change)
		return;
	c->ports = mux__list(p, v->ports, v->n_ports);
	say(c, arena_printf(p->arena, "spec.ports: %s", change));
	vec_push(&c->events, mux__event(p->facts->mux, "MuxPortsChanged", change));
}

/*
 * An API server checks all ports of a Service for every patch, which takes it a second for 5,000 of
 * them. So the texts of a large mux wait, unless something else is written to it.
 */
#define TEXTS_AT_ONCE 200			 /* ports */
#define TEXTS_WAIT (20 * (int64_t)NSEC_PER_MSEC) /* for each port */

static void patch_texts(struct mux_planning *p, struct patch *c)
{
	const struct mux_service *mux = p->facts->mux;
	struct mux_view_private *v = p->view->private;
	const char *summary = mux__text_summary(p->view, mux, p->arena);
	int64_t next = v->texts_at + (int64_t)p->view->n_ports * TEXTS_WAIT;
	size_t others = c->notes.n + (c->ports || c->finalizers), before = c->notes.n;

	set_note(c, mux, mux_key(p->settings, "channels", p->arena),
		 mux__text_channels(p->view, p->arena));
	set_note(c, mux, mux_key(p->settings, "topology", p->arena),
		 mux__text_topology(p->view, mux, p->arena));
	set_note(c, mux, mux_key(p->settings, "summary", p->arena), summary);
	if (c->notes.n > before && !others && p->view->n_ports > TEXTS_AT_ONCE && v->texts_at &&
	    p->facts->now >= v->texts_at && p->facts->now < next) {
		c->notes.n = before;
		p->due = next;
	}
	if (c->notes.n > before)
		v->texts_at = p->facts->now;
	if (c->notes.n)
		vec_push(
			&c->events,
			mux__event(mux, "MuxAnnotationsUpdated",
				   arena_printf(p->arena, "Mux annotations updated: %s", summary)));
}

void mux__plan_mux(struct mux_planning *p)
{
	const struct mux_view_private *v = p->view->private;
	struct patch c = { 0 };

	patch_ports(p, &c);
	for (size_t i = 0; i < v->n_dns; i++)
		set_note(&c, p->facts->mux, v->dns[i].key, v->dns[i].value);
	remove_leftovers(p, &c, p->facts->mux);
	patch_texts(p, &c);
	end_patch(p, &c, p->facts->mux, MUX_STAGE_MUX);
}

static bool same_ingress(const struct k8s_list *a, const struct k8s_list *b)
{
	const struct mux_ingress *x = a->items, *y = b->items;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!cstr_eq(x[i].ip, y[i].ip) || !cstr_eq(x[i].hostname, y[i].hostname) ||
		    !cstr_eq(x[i].ip_mode, y[i].ip_mode) || !cstr_eq(x[i].ports, y[i].ports))
			return false;
	return true;
}

static void plan_status(struct mux_planning *p, const struct mux_service *s,
			const struct k8s_list *ingress)
{
	struct mux_write *w;

	if (same_ingress(&s->ingress, ingress))
		return;
	w = mux__write(p, MUX_STAGE_CHANNELS, MUX_PATCH, MUX_SERVICE_STATUS);
	w->namespace = s->object.namespace;
	w->name = s->object.name;
	w->ingress = mux__list(p, ingress->items, ingress->n);
	w->what = arena_printf(p->arena, "%u address(es)", ingress->n);
}

/* A channel that is served has its ports and the addresses of the mux, another has neither. */
void mux__plan_channel(struct mux_planning *p, const struct mux_view_channel *c,
		       const struct mux_service *service)
{
	static const struct k8s_list none;
	bool served = c->fate == MUX_SERVED;
	struct patch patch = { 0 };

	set_note(&patch, service, mux_key(p->settings, "ports", p->arena),
		 served ? mux__text_mapping(c, p->arena) : NULL);
	remove_leftovers(p, &patch, service);
	end_patch(p, &patch, service, MUX_STAGE_CHANNELS);
	plan_status(p, service, served ? &p->facts->mux->ingress : &none);
}

/* What remains on a Service that is a mux or a channel no longer. */
static const char *const strays[] = { "ports",	 "channels", "topology",
				      "summary", "managed",  "aggregated-external-dns" };

#define N_STRAYS (sizeof(strays) / sizeof(strays[0]))

static bool has_leftovers(const struct mux_settings *settings, const struct mux_service *s)
{
	size_t n = strlen(settings->prefix);

	for (size_t i = 0; i < N_STRAYS; i++)
		if (mux_note(settings, &s->annotations, strays[i]))
			return true;
	for (size_t i = 0; i < s->finalizers.n; i++) {
		const char *f = k8s_string_at(&s->finalizers, i);

		if (strncmp(f, settings->prefix, n) == 0 && strcmp(f + n, "/finalizer") == 0)
			return true;
	}
	return false;
}

enum mux_role mux_role(const struct mux_settings *settings, const struct mux_service *service,
		       struct mux_reference *ret)
{
	struct arena *arena;
	const char *why;
	int r;

	if (mux_note_is_true(settings, service, "multiplexer"))
		return MUX_ROLE_MUX;
	if (!cstr_eq(service->type, "LoadBalancer") || !mux_class_is_ours(settings, service->class))
		return has_leftovers(settings, service) ? MUX_ROLE_STRAY : MUX_ROLE_NONE;
	arena = arena_new();
	r = mux_class_parse(settings, service->class, arena, ret, &why);
	arena_free(arena);
	return r < 0 ? MUX_ROLE_STRAY : MUX_ROLE_CHANNEL;
}

/* The annotations of external-dns that we had put on a former mux. */
static void remove_dns(struct mux_planning *p, struct patch *c, const struct mux_service *s)
{
	static const char *const keys[] = { MUX_NOTE_DNS_HOSTNAME, MUX_NOTE_DNS_PROXIED };
	const char *marker = mux_note(p->settings, &s->annotations, "aggregated-external-dns");

	for (size_t i = 0; marker && i < 2; i++)
		if (strstr(marker, keys[i]))
			set_note(c, s, keys[i], NULL);
}

static void plan_stray(struct mux_planning *p, const struct mux_service *s, bool repeated)
{
	bool class = cstr_eq(s->type, "LoadBalancer") && mux_class_is_ours(p->settings, s->class);
	static const struct k8s_list none;
	struct mux_reference ref;
	struct patch c = { 0 };
	const char *why;

	if (class && !repeated && s->object.deleting != K8S_YES &&
	    mux_class_parse(p->settings, s->class, p->arena, &ref, &why) < 0) {
		struct mux_event e = mux__event(
			s, "InvalidLoadBalancerClass",
			arena_printf(p->arena, "Invalid loadBalancerClass format: %s", why));

		e.warning = true;
		vec_push(&p->events, e);
	}
	remove_dns(p, &c, s);
	for (size_t i = 0; i < N_STRAYS; i++)
		set_note(&c, s, mux_key(p->settings, strays[i], p->arena), NULL);
	remove_leftovers(p, &c, s);
	end_patch(p, &c, s, MUX_STAGE_CHANNELS);
	if (class)
		plan_status(p, s, &none);
}

void mux_plan_stray(const struct mux_settings *settings, const struct mux_service *service,
		    bool repeated, struct arena *arena, struct mux_plan *ret)
{
	struct mux_planning p = { .settings = settings, .arena = arena };

	plan_stray(&p, service, repeated);
	mux__end_planning(&p, ret);
}
