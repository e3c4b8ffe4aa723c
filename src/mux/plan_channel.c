/* SPDX-License-Identifier: Apache-2.0 */
/* plan_channel: what the channels of a mux want, and which of them cannot be understood. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sorted.h"
#include "src/mux/plan_private.h"

static const char *take(struct mux_work *w, struct buf *text)
{
	const char *s = arena_strndup(w->keep, text->p ? text->p : "", text->n);

	buf_free(text);
	return s;
}

static void invalid(struct mux_work *w, struct mux_entrant *e, const char *why)
{
	e->valid = false;
	mux__refuse(w, e, "InvalidPortMapping", why);
}

/* False after a complaint if a port has no name. */
static bool check_named(struct mux_work *w, struct mux_entrant *e)
{
	struct buf missing = { 0 };
	size_t first = e->n_wishes;

	for (size_t i = e->n_wishes; i-- > 0;)
		if (!*e->wishes[i].name)
			first = i;
	for (size_t i = first; i < e->n_wishes; i++)
		if (!*e->wishes[i].name)
			buf_printf(&missing, "%s%zu", missing.n ? ", " : "", i);
	if (first == e->n_wishes)
		return true;
	mux__complain(w, e->service, "InvalidPort", "Port name is required");
	w->complaints.items[w->complaints.n - 1].field_path =
		mux__printf(w, "spec.ports[%zu]", first);
	invalid(w, e,
		mux__printf(w,
			    "channel Service ports must be named; missing name at spec.ports "
			    "index(es): %s",
			    take(w, &missing)));
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* False after a complaint if external-ports names a port that does not exist. */
static bool check_known(struct mux_work *w, struct mux_entrant *e, const struct mux_overrides *o)
{
	const char **unknown = arena_array_of(w->scratch, o->n + 1, const char *);
	struct buf names = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++) {
		bool known = false;

		for (size_t j = 0; j < e->n_wishes && !known; j++)
			known = strcmp(e->wishes[j].name, o->items[i].name) == 0;
		if (!known)
			unknown[n++] = o->items[i].name;
	}
	if (!n)
		return true;
	qsort(unknown, n, sizeof(*unknown), by_text);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(unknown[i], unknown[i - 1]) != 0)
			buf_printf(&names, "%s%s", i ? ", " : "", unknown[i]);
	invalid(w, e,
		mux__printf(w, "%s/external-ports references unknown port name(s): %s",
			    w->settings->prefix, err_shown(take(w, &names), w->keep)));
	return false;
}

static bool check_protocols(struct mux_work *w, struct mux_entrant *e)
{
	const struct mux_service_port *ports = e->service->ports.items;

	for (size_t i = 0; i < e->n_wishes; i++)
		if (mux_protocol_parse(ports[i].protocol, &e->wishes[i].protocol) < 0 ||
		    ports[i].port < 1 || ports[i].port > 65535) {
			invalid(w, e,
				mux__printf(w, "port %s of the channel Service is not supported",
					    err_shown(e->wishes[i].name, w->keep)));
			return false;
		}
	return true;
}

static void read_wishes(struct mux_work *w, struct mux_entrant *e)
{
	const char *text = mux_note(w->settings, &e->service->annotations, "external-ports");
	struct mux_overrides overrides;
	const char *why;

	if (mux_parse_external_ports(w->settings->prefix, text, w->keep, &overrides, &why) < 0) {
		invalid(w, e, why);
		return;
	}
	if (!check_named(w, e) || !check_known(w, e, &overrides) || !check_protocols(w, e))
		return;
	for (size_t i = 0; i < e->n_wishes; i++) {
		const struct mux_override *o = mux_override_of(&overrides, e->wishes[i].name);

		e->wishes[i].want = o ? o->port : e->wishes[i].port;
		e->wishes[i].automatic = e->wishes[i].shown->automatic = o && !o->port;
	}
	e->valid = true;
}

static const struct mux_namespace *find_namespace(const struct mux_facts *f, const char *name)
{
	size_t at =
		sorted_place(f->n_namespaces, i, strcmp(f->namespaces[i]->object.name, name) < 0);

	if (at < f->n_namespaces && strcmp(f->namespaces[at]->object.name, name) == 0)
		return f->namespaces[at];
	return NULL;
}

static bool admits(const struct mux_work *w, const struct mux_admit *a, const char *name)
{
	const struct mux_namespace *n;

	switch (a->kind) {
	case MUX_ADMIT_NAME:
		return strcmp(a->text, name) == 0;
	case MUX_ADMIT_START:
		return strncmp(a->text, name, strlen(a->text)) == 0;
	case MUX_ADMIT_LABEL:
		n = find_namespace(w->facts, name);
		return n && cstr_eq(k8s_map_get(&n->labels, a->text), a->value);
	}
	return false;
}

static void check_namespace(struct mux_work *w, struct mux_entrant *e,
			    const struct mux_admits *allowed)
{
	const char *name = e->service->object.namespace;

	if (allowed->all || strcmp(name, w->facts->namespace) == 0)
		return;
	for (size_t i = 0; i < allowed->n; i++)
		if (admits(w, &allowed->items[i], name))
			return;
	e->outlaw = true;
	mux__refuse(w, e, "NamespaceNotAllowed",
		    mux__printf(w, "namespace %s may not join mux %s/%s (%s/allowed-namespaces)",
				name, w->facts->namespace, w->facts->name, w->settings->prefix));
}

static struct mux_admits read_admits(struct mux_work *w)
{
	const struct mux_service *mux = w->facts->mux;
	const char *text =
		mux ? mux_note(w->settings, &mux->annotations, "allowed-namespaces") : NULL;
	struct mux_admits a = { .all = true };
	const char *why;

	/* a bad text has frozen the mux, so nobody is judged by it */
	mux_parse_allowed_namespaces(w->settings->prefix, text, w->keep, &a, &why);
	for (size_t i = 0; i < a.n; i++)
		w->view->reads_namespaces |= a.items[i].kind == MUX_ADMIT_LABEL;
	return a;
}

/* Wishes without a number yet, and what the view shows of them. */
static void list_ports(struct mux_work *w, struct mux_entrant *e, struct mux_wish *wishes)
{
	const struct mux_service_port *ports = e->service->ports.items;
	size_t n = e->service->ports.n;
	struct mux_view_port *shown = arena_array_of(w->keep, n + 1, struct mux_view_port);

	e->wishes = wishes;
	e->n_wishes = n;
	e->shown->ports = shown;
	e->shown->n_ports = n;
	for (size_t i = 0; i < n; i++) {
		struct mux_wish *wish = &wishes[i];

		wish->of = e;
		wish->name = arena_strdup(w->keep, ports[i].name ? ports[i].name : "");
		wish->port = (uint16_t)ports[i].port;
		mux_protocol_parse(ports[i].protocol, &wish->protocol);
		wish->shown = &shown[i];
		shown[i] = (struct mux_view_port){ .name = wish->name,
						   .protocol = wish->protocol,
						   .port = wish->port,
						   .node_port = (uint16_t)ports[i].node_port };
		mux_port_hash(w->settings, e->service->object.namespace, e->service->object.name,
			      wish->name, wish->hash);
	}
}

static const char *keep_text(struct mux_work *w, const char *text)
{
	return text ? arena_strdup(w->keep, text) : NULL;
}

static void show_channel(struct mux_work *w, const struct mux_service *s,
			 struct mux_view_channel *ret)
{
	ret->namespace = keep_text(w, s->object.namespace);
	ret->name = keep_text(w, s->object.name);
	ret->uid = keep_text(w, s->object.uid);
	ret->class = keep_text(w, s->class);
	ret->hostname =
		keep_text(w, mux_note(w->settings, &s->annotations, "external-dns-hostname"));
	ret->inputs = mux__print_channel(w->settings, s);
	ret->fate = MUX_PENDING;
}

static void read_channel(struct mux_work *w, struct mux_entrant *e,
			 const struct mux_admits *allowed)
{
	check_namespace(w, e, allowed);
	if (!e->decided)
		read_wishes(w, e);
	if (!e->decided && mux_note_is_true(w->settings, e->service, "disabled")) {
		e->shown->fate = MUX_DISABLED;
		e->decided = true;
	}
}

void mux__read_channels(struct mux_work *w)
{
	const struct mux_facts *f = w->facts;
	struct mux_admits allowed = read_admits(w);
	size_t ports = 0, n = 0;

	for (size_t i = 0; i < f->n_channels; i++)
		ports += f->channels[i]->ports.n;
	w->wishes = arena_array_of(w->scratch, ports + 1, struct mux_wish);
	w->entrants = arena_array_of(w->scratch, f->n_channels + 1, struct mux_entrant);
	w->view->channels = arena_array_of(w->keep, f->n_channels + 1, struct mux_view_channel);
	for (size_t i = 0; i < f->n_channels; i++) {
		struct mux_entrant *e = &w->entrants[n];

		if (f->channels[i]->object.deleting == K8S_YES)
			continue;
		e->service = f->channels[i];
		e->shown = &w->view->channels[n++];
		show_channel(w, e->service, e->shown);
		list_ports(w, e, &w->wishes[w->n_wishes]);
		w->n_wishes += e->n_wishes;
		if (w->view->condition == MUX_ACTIVE)
			read_channel(w, e, &allowed);
	}
	w->n_entrants = w->view->n_channels = n;
}
