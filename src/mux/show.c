/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show: the events, and the owners of addresses. The documents are written by show_json.c.
 *
 * Events are an array with the newest in front: it has at most a hundred rows, and an event is
 * rare, so that moving them costs nothing that matters.
 */
#include "src/mux/show.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "src/mux/show_private.h"

struct show *show_new(const struct show_source *source, int64_t now)
{
	struct show *s = mem_zalloc(sizeof(*s));

	assert(source->next && source->look && source->state);
	s->source = *source;
	s->started = now;
	return s;
}

static void free_event(struct show__event *e)
{
	free(e->resource);
	free(e->message);
}

void show_free(struct show *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_events; i++)
		free_event(&s->events[i]);
	free(s);
}

void show_changed(struct show *s)
{
	s->changes++;
}

void show_version(const struct show *s, struct buf *out)
{
	buf_printf(out, "%" PRIx64 "-%" PRIx64, (uint64_t)s->started, s->changes);
}

/* ---- events ---- */

static char *text_of(struct buf *b)
{
	return mem_strdup(buf_cstr(b));
}

static struct show__event make(const struct mux_event *event, int64_t now)
{
	_cleanup_(buf_free) struct buf resource = { 0 }, message = { 0 };
	size_t fits;

	buf_printf(&resource, "%s/%s", event->namespace, event->name);
	buf_printf(&message, "%s: %s", event->reason, event->note);
	fits = utf8_fitting(message.p, message.n, SHOW_MESSAGE_MAX);
	if (fits < message.n) {
		size_t missing = message.n - fits;

		message.n = fits;
		buf_printf(&message, "... [truncated %zu chars]", missing);
	}
	return (struct show__event){
		event->warning, text_of(&resource), text_of(&message), now, now, 1
	};
}

static bool is_same(const struct show__event *a, const struct show__event *b)
{
	return a->warning == b->warning && strcmp(a->resource, b->resource) == 0 &&
	       strcmp(a->message, b->message) == 0;
}

/* The number of the equal one, else of the first free place, else of the oldest. */
static size_t place_of(const struct show *s, const struct show__event *e)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (is_same(&s->events[i], e))
			return i;
	return s->n_events < SHOW_EVENTS_MAX ? s->n_events : SHOW_EVENTS_MAX - 1;
}

void show_event(struct show *s, const struct mux_event *event, int64_t now)
{
	struct show__event e = make(event, now);
	size_t at = place_of(s, &e);

	if (at < s->n_events) {
		struct show__event *old = &s->events[at];

		if (is_same(old, &e)) {
			e.first = old->first;
			e.count = old->count + 1;
		}
		free_event(old);
	} else {
		s->n_events++;
	}
	memmove(&s->events[1], &s->events[0], at * sizeof(e));
	s->events[0] = e;
	show_changed(s);
}

/* ---- addresses ---- */

/* Targets of other kinds than a pod have no name that says more than the address. */
static void each_of(const struct mux_target *target, struct show__address *a, show__address_fn each,
		    void *user)
{
	bool pod = target->name && cstr_eq(target->kind, "Pod");

	a->pod = pod ? target->name : NULL;
	a->pod_namespace = pod ? target->namespace : NULL;
	each(a, user);
}

static void each_of_slice(const struct mux_slice *slice, show__address_fn each, void *user)
{
	const struct mux_endpoint *e = slice->endpoints.items;

	for (size_t i = 0; i < slice->endpoints.n; i++) {
		struct show__address a = { .ready = e[i].ready != K8S_NO, .ports = &slice->ports };

		if (!e[i].addresses.n)
			continue;
		a.address = k8s_string_at(&e[i].addresses, 0);
		each_of(&e[i].target, &a, each, user);
	}
}

static void each_of_subset(const struct mux_subset *subset, bool ready, show__address_fn each,
			   void *user)
{
	const struct k8s_list *list = ready ? &subset->ready : &subset->not_ready;
	const struct mux_address *items = list->items;

	for (size_t i = 0; i < list->n; i++) {
		struct show__address a = { .ready = ready, .ports = &subset->ports };

		a.address = items[i].ip;
		if (a.address)
			each_of(&items[i].target, &a, each, user);
	}
}

void show__addresses(const struct mux_sight *sight, show__address_fn each, void *user)
{
	const struct mux_subset *subsets;

	for (size_t i = 0; i < sight->n_slices; i++)
		each_of_slice(sight->slices[i], each, user);
	if (sight->n_slices || !sight->endpoints)
		return;
	subsets = sight->endpoints->subsets.items;
	for (size_t i = 0; i < sight->endpoints->subsets.n; i++) {
		each_of_subset(&subsets[i], true, each, user);
		each_of_subset(&subsets[i], false, each, user);
	}
}

/* ---- targets ---- */

struct hunt {
	struct str host;
	struct addr addr; /* of host; family 0 if it is a name */
	uint16_t port;
	bool found;
};

/* One address has many texts; a name has one, apart from case. */
static bool is_host(const struct hunt *h, const char *text)
{
	struct addr addr;

	if (!text)
		return false;
	if (h->addr.family)
		return addr_parse(text, &addr) == 0 && addr_cmp(&addr, &h->addr) == 0;
	return str_ieq(str_of(text), h->host);
}

static bool is_tcp(const char *protocol)
{
	return !protocol || strcmp(protocol, "TCP") == 0;
}

static void on_address(const struct show__address *a, void *user)
{
	const struct mux_endpoint_port *ports = a->ports->items;
	struct hunt *h = user;

	for (size_t i = 0; !h->found && i < a->ports->n; i++)
		h->found = ports[i].port == h->port && is_tcp(ports[i].protocol) &&
			   is_host(h, a->address);
}

static bool has_port(const struct mux_view *v, uint16_t port)
{
	for (size_t i = 0; i < v->n_channels; i++)
		for (size_t k = 0; k < v->channels[i].n_ports; k++)
			if (v->channels[i].ports[k].mux_port == port &&
			    v->channels[i].ports[k].protocol == MUX_TCP)
				return true;
	return false;
}

static bool is_ingress(const struct hunt *h, const struct mux_service *service)
{
	const struct mux_ingress *items = service->ingress.items;

	for (size_t i = 0; i < service->ingress.n; i++)
		if (is_host(h, items[i].ip) || is_host(h, items[i].hostname))
			return true;
	return false;
}

static bool find_in(const struct show *s, const struct mux_view *v, struct hunt *h,
		    struct show_target *ret)
{
	struct mux_sight sight = { 0 };

	s->source.look(v->namespace, v->name, &sight, s->source.user);
	*ret = (struct show_target){ v->namespace, v->name };
	if (sight.service && is_ingress(h, sight.service) && has_port(v, h->port))
		return true;
	for (size_t i = 0; !h->found && i < v->n_channels; i++) {
		const struct mux_view_channel *c = &v->channels[i];

		sight = (struct mux_sight){ 0 };
		s->source.look(c->namespace, c->name, &sight, s->source.user);
		show__addresses(&sight, on_address, h);
		*ret = (struct show_target){ c->namespace, c->name };
	}
	return h->found;
}

int show_find_target(const struct show *s, const char *host, uint16_t port, struct show_target *ret)
{
	struct hunt h = { .host = str_of(host), .port = port };
	const struct mux_view *v = s->source.next("", "", s->source.user);
	struct show_target target;

	if (addr_parse(host, &h.addr) < 0)
		h.addr = (struct addr){ 0 };
	for (; v; v = s->source.next(v->namespace, v->name, s->source.user)) {
		if (!find_in(s, v, &h, &target))
			continue;
		*ret = target;
		return 0;
	}
	return -ENOENT;
}
