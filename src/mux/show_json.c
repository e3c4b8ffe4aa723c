/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show: the documents of the API, /api/state and /api/topology.
 *
 * A document is a table of sections: a text that opens it, and rows. A reader writes one row at a
 * time and finds the next one by name (step()). The members of the original come first in each
 * object, in its words; those that only maglev-mux has follow them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/vec.h"
#include "lib/cli/cli.h"
#include "lib/json/json.h"
#include "src/mux/show_private.h"

#define DNS_HOSTNAME "external-dns.alpha.kubernetes.io/hostname"

/* ---- values ---- */

static void add_string(struct buf *out, const char *text)
{
	if (text)
		json_write_string(out, text, strlen(text));
	else
		buf_add_lit(out, "null");
}

/* before: what precedes the value, such as ",\"name\":" */
static void add_text(struct buf *out, const char *before, const char *text)
{
	buf_adds(out, before);
	add_string(out, text);
}

static void add_number(struct buf *out, const char *before, uint64_t number)
{
	buf_adds(out, before);
	buf_addu(out, number);
}

static void add_bool(struct buf *out, const char *before, bool value)
{
	buf_adds(out, before);
	buf_adds(out, value ? "true" : "false");
}

/* null for 0, which no port has. */
static void add_port(struct buf *out, const char *before, uint64_t port)
{
	buf_adds(out, before);
	if (port)
		buf_addu(out, port);
	else
		buf_add_lit(out, "null");
}

static void add_time(struct buf *out, const char *before, int64_t at)
{
	char text[TIME_STRLEN];

	add_text(out, before, time_format(at, text));
}

static void add_key(struct buf *out, const char *namespace, const char *name)
{
	_cleanup_(buf_free) struct buf key = { 0 };

	buf_printf(&key, "%s/%s", namespace, name);
	json_write_string(out, key.p, key.n);
}

/* ---- what Services say ---- */

static const struct mux_service *service_of(const struct show *s, const char *namespace,
					    const char *name)
{
	struct mux_sight sight = { 0 };

	s->source.look(namespace, name, &sight, s->source.user);
	return sight.service;
}

/* The first ingress, the address before the name; NULL: none. */
static const char *ingress_of(const struct mux_service *service)
{
	const struct mux_ingress *first = service ? service->ingress.items : NULL;

	if (!first || !service->ingress.n)
		return NULL;
	return first->ip ? first->ip : first->hostname;
}

static const char *dns_of(const struct mux_service *service)
{
	return service ? k8s_map_get(&service->annotations, DNS_HOSTNAME) : NULL;
}

static const char *first_of(const char *a, const char *b)
{
	return a ? a : b;
}

/* ---- muxes ---- */

static void add_ingress(struct buf *out, const struct mux_service *service)
{
	const struct mux_ingress *items = service ? service->ingress.items : NULL;

	buf_add_lit(out, ",\"ingress\":[");
	for (size_t i = 0; items && i < service->ingress.n; i++) {
		if (i)
			buf_addc(out, ',');
		add_string(out, first_of(items[i].ip, items[i].hostname));
	}
	buf_addc(out, ']');
}

static bool is_mux(const struct mux_view *v)
{
	return v->condition != MUX_MISSING;
}

static void add_mux(const struct show *s, const struct mux_view *v, struct buf *out)
{
	const struct mux_service *service = service_of(s, v->namespace, v->name);

	add_key(out, v->namespace, v->name);
	add_text(out, ":{\"namespace\":", v->namespace);
	add_text(out, ",\"name\":", v->name);
	add_bool(out, ",\"has_queue\":", v->condition == MUX_ACTIVE);
	add_text(out, ",\"external_dns_hostname\":", dns_of(service));
	add_text(out, ",\"status_ingress\":", ingress_of(service));
	add_ingress(out, service);
	add_text(out, ",\"condition\":", mux_condition_name(v->condition));
	add_text(out, ",\"reason\":", v->reason);
	add_text(out, ",\"message\":", v->message);
	add_text(out, ",\"lb_class\":", service ? service->class : NULL);
	add_text(out, ",\"port_range\":", v->port_range);
	add_port(out, ",\"max_ports\":", v->max_ports);
	add_bool(out, ",\"gke\":", v->gke);
	add_text(out, ",\"state_configmap\":", v->state_name);
	add_number(out, ",\"channels\":", v->n_channels);
	add_number(out, ",\"served\":", v->n_served);
	add_number(out, ",\"refused\":", v->n_refused);
	add_number(out, ",\"ports\":", v->n_ports);
	buf_addc(out, '}');
}

/* ---- channels ---- */

/*
 * A mux that is not active shows the ports that are there; what they were given for is in a state
 * that was not read.
 */
static const char *source_of(const struct mux_view *v, const struct mux_view_port *p)
{
	if (v->condition != MUX_ACTIVE || (!p->mux_port && !p->held))
		return NULL;
	return p->automatic ? "auto" : "static";
}

static void add_channel_port(struct buf *out, const struct mux_view *v,
			     const struct mux_view_port *p)
{
	add_text(out, "{\"name\":", *p->name ? p->name : NULL);
	add_number(out, ",\"port\":", p->port);
	add_port(out, ",\"node_port\":", p->node_port);
	add_text(out, ",\"protocol\":", mux_protocol_name(p->protocol));
	add_port(out, ",\"mux_port\":", p->mux_port);
	add_port(out, ",\"held\":", p->held);
	add_text(out, ",\"source\":", source_of(v, p));
	add_text(out, ",\"mux_port_name\":", p->mux_name);
	buf_addc(out, '}');
}

static void add_ports(struct buf *out, const struct mux_view *v, const struct mux_view_channel *c)
{
	buf_add_lit(out, ",\"ports\":[");
	for (size_t i = 0; i < c->n_ports; i++) {
		if (i)
			buf_addc(out, ',');
		add_channel_port(out, v, &c->ports[i]);
	}
	buf_addc(out, ']');
}

/* Under which name a channel is reached. */
static void add_dns(const struct show *s, const struct mux_view *v,
		    const struct mux_view_channel *c, struct buf *out)
{
	const struct mux_service *mux = service_of(s, v->namespace, v->name);
	const struct mux_service *own = service_of(s, c->namespace, c->name);
	const char *custom = first_of(c->hostname, dns_of(own));
	const char *ingress = first_of(ingress_of(own), ingress_of(mux));

	add_text(out, ",\"external_dns\":", first_of(custom, first_of(dns_of(mux), ingress)));
	add_text(out, ",\"custom_dns\":", custom);
}

static void add_channel(const struct show *s, const struct mux_view *v,
			const struct mux_view_channel *c, struct buf *out)
{
	add_key(out, c->namespace, c->name);
	add_text(out, ":{\"namespace\":", c->namespace);
	add_text(out, ",\"name\":", c->name);
	add_text(out, ",\"mux_namespace\":", v->namespace);
	add_text(out, ",\"mux_name\":", v->name);
	add_text(out, ",\"lb_class\":", c->class);
	add_dns(s, v, c, out);
	add_ports(out, v, c);
	add_text(out, ",\"state\":", mux_fate_name(c->fate));
	add_text(out, ",\"reason\":", c->reason);
	add_text(out, ",\"message\":", c->message);
	buf_addc(out, '}');
}

/* ---- endpoints ---- */

/* A pod with addresses of two families counts once. */
struct place {
	const char *namespace, *name; /* of the pod; namespace NULL: name is an address */
	bool ready;
};

struct places {
	VEC(struct place) all;
	struct buf addresses;
	size_t n_addresses;
	bool with_addresses;
};

static void add_address(struct places *p, const struct show__address *a)
{
	const struct mux_endpoint_port *ports = a->ports->items;
	struct buf *out = &p->addresses;

	add_text(out, p->n_addresses ? ",{\"address\":" : "{\"address\":", a->address);
	add_bool(out, ",\"ready\":", a->ready);
	buf_add_lit(out, ",\"pod\":");
	if (a->pod)
		add_key(out, a->pod_namespace ? a->pod_namespace : "", a->pod);
	else
		buf_add_lit(out, "null");
	buf_add_lit(out, ",\"ports\":[");
	for (size_t i = 0; i < a->ports->n; i++) {
		add_number(out, i ? ",{\"port\":" : "{\"port\":", (uint64_t)ports[i].port);
		add_text(out, ",\"protocol\":", ports[i].protocol ? ports[i].protocol : "TCP");
		buf_addc(out, '}');
	}
	buf_add_lit(out, "]}");
}

static void on_address(const struct show__address *a, void *user)
{
	struct places *p = user;
	const struct place place = { a->pod ? first_of(a->pod_namespace, "") : NULL,
				     first_of(a->pod, a->address), a->ready };

	vec_push(&p->all, place);
	if (p->with_addresses && p->n_addresses < SHOW_ADDRESSES_MAX)
		add_address(p, a);
	p->n_addresses++;
}

static int compare(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;
	int order = strcmp(first_of(a->namespace, ""), first_of(b->namespace, ""));

	if (order == 0)
		order = strcmp(a->name, b->name);
	return order ? order : (int)b->ready - (int)a->ready; /* ready ones first */
}

static bool is_same(const struct place *a, const struct place *b)
{
	return strcmp(first_of(a->namespace, ""), first_of(b->namespace, "")) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

static void add_pod(struct buf *out, const struct place *p)
{
	if (p->namespace)
		add_key(out, p->namespace, p->name);
	else
		add_string(out, p->name);
}

static void add_places(struct buf *out, const struct places *p)
{
	_cleanup_(buf_free) struct buf pods = { 0 };
	size_t ready = 0, not_ready = 0;

	for (size_t i = 0; i < p->all.n; i++) {
		const struct place *one = &p->all.items[i];

		if (i && is_same(one, one - 1))
			continue;
		not_ready += !one->ready;
		if (!one->ready)
			continue;
		if (ready++)
			buf_addc(&pods, ',');
		add_pod(&pods, one);
	}
	add_number(out, ",\"ready_count\":", ready);
	add_number(out, ",\"not_ready_count\":", not_ready);
	buf_add_lit(out, ",\"pods\":[");
	buf_add(out, pods.p, pods.n);
	buf_addc(out, ']');
}

static void add_endpoints(const struct show *s, const char *namespace, const char *name,
			  bool with_addresses, struct buf *out)
{
	struct places p = { .with_addresses = with_addresses };
	struct mux_sight sight = { 0 };

	s->source.look(namespace, name, &sight, s->source.user);
	show__addresses(&sight, on_address, &p);
	if (p.all.n)
		qsort(p.all.items, p.all.n, sizeof(p.all.items[0]), compare);
	add_key(out, namespace, name);
	add_text(out, ":{\"namespace\":", namespace);
	add_text(out, ",\"name\":", name);
	add_places(out, &p);
	if (with_addresses) {
		buf_add_lit(out, ",\"addresses\":[");
		buf_add(out, p.addresses.p, p.addresses.n);
		buf_addc(out, ']');
	}
	buf_addc(out, '}');
	vec_free(&p.all);
	buf_free(&p.addresses);
}

/* ---- events and the program ---- */

static void add_event(struct buf *out, const struct show__event *e)
{
	add_time(out, "{\"timestamp\":", e->last);
	add_time(out, ",\"first_timestamp\":", e->first);
	add_time(out, ",\"last_timestamp\":", e->last);
	add_number(out, ",\"count\":", e->count);
	add_text(out, ",\"type\":", e->warning ? "Warning" : "Normal");
	add_text(out, ",\"resource\":", e->resource);
	add_text(out, ",\"message\":", e->message);
	buf_addc(out, '}');
}

static void add_events(const struct show *s, struct buf *out)
{
	for (size_t i = 0; i < s->n_events; i++) {
		if (i)
			buf_addc(out, ',');
		add_event(out, &s->events[i]);
	}
}

static void add_controller(const struct show *s, struct buf *out)
{
	struct show_state state = { 0 };

	s->source.state(&state, s->source.user);
	add_text(out, "\"version\":", cli_version.version);
	add_text(out, ",\"commit\":", cli_version.commit);
	add_time(out, ",\"started\":", s->started);
	add_bool(out, ",\"synced\":", state.synced);
	add_bool(out, ",\"active\":", state.active);
	add_bool(out, ",\"elects\":", state.elects);
	add_bool(out, ",\"dry_run\":", state.dry_run);
	add_text(out, ",\"identity\":", state.identity);
	add_text(out, ",\"leader\":", state.leader);
	add_text(out, ",\"api_prefix\":", state.prefix);
	add_text(out, ",\"server\":", state.server);
}

/* ---- reading ---- */

static void put(struct show_place *place, const char *namespace, const char *name)
{
	snprintf(place->namespace, sizeof(place->namespace), "%s", namespace);
	snprintf(place->name, sizeof(place->name), "%s", name);
}

static bool is_at(const struct show_place *place, const char *namespace, const char *name)
{
	return strcmp(place->namespace, namespace) == 0 && strcmp(place->name, name) == 0;
}

static bool is_after(const struct mux_view_channel *c, const struct show_place *place)
{
	int order = strcmp(c->namespace, place->namespace);

	return order ? order > 0 : strcmp(c->name, place->name) > 0;
}

/* The first channel after the place, or n_channels. They are ordered by namespace and name. */
static size_t channel_after(const struct mux_view *v, const struct show_place *place)
{
	size_t from = 0, to = v->n_channels;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (is_after(&v->channels[middle], place))
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* A mux is opened, its channels follow, and it is closed. */
struct row {
	enum { ROW_MUX, ROW_CHANNEL, ROW_END } kind;
	const struct mux_view *view;		/* NULL for ROW_END */
	const struct mux_view_channel *channel; /* of ROW_CHANNEL */
};

/* The next row of the mux that is open. If it is gone meanwhile, it ends here. */
static void step_inside(struct show_reader *r, const struct mux_view *v, struct row *ret)
{
	size_t at;

	*ret = (struct row){ ROW_END, NULL, NULL };
	if (v && is_at(&r->mux, v->namespace, v->name)) {
		at = channel_after(v, &r->channel);
		if (at < v->n_channels) {
			*ret = (struct row){ ROW_CHANNEL, v, &v->channels[at] };
			put(&r->channel, ret->channel->namespace, ret->channel->name);
			return;
		}
	}
	r->before = r->mux;
	r->mux = r->channel = (struct show_place){ 0 };
}

/* False: there are no more. */
static bool step(struct show_reader *r, struct row *ret)
{
	const struct show_source *source = &r->show->source;
	const struct mux_view *v = source->next(r->before.namespace, r->before.name, source->user);

	if (*r->mux.name) {
		step_inside(r, v, ret);
		return true;
	}
	if (!v)
		return false;
	*ret = (struct row){ ROW_MUX, v, NULL };
	put(&r->mux, v->namespace, v->name);
	return true;
}

static void separate(bool *more, struct buf *out)
{
	if (*more)
		buf_addc(out, ',');
	*more = true;
}

static void row_of_muxes(struct show_reader *r, const struct row *row, struct buf *out)
{
	if (row->kind != ROW_MUX || !is_mux(row->view))
		return;
	separate(&r->more, out);
	add_mux(r->show, row->view, out);
}

static void row_of_channels(struct show_reader *r, const struct row *row, struct buf *out)
{
	if (row->kind != ROW_CHANNEL)
		return;
	separate(&r->more, out);
	add_channel(r->show, row->view, row->channel, out);
}

static void row_of_endpoints(struct show_reader *r, const struct row *row, struct buf *out)
{
	bool channel = row->kind == ROW_CHANNEL;

	if (row->kind == ROW_END || (!channel && !is_mux(row->view)))
		return;
	separate(&r->more, out);
	add_endpoints(r->show, channel ? row->channel->namespace : row->view->namespace,
		      channel ? row->channel->name : row->view->name, channel, out);
}

static void open_topology(struct show_reader *r, const struct mux_view *v, struct buf *out)
{
	const struct mux_service *service =
		is_mux(v) ? service_of(r->show, v->namespace, v->name) : NULL;

	separate(&r->more, out);
	add_key(out, v->namespace, v->name);
	add_text(out, ":{\"mux_external_dns\":", dns_of(service));
	add_text(out, ",\"mux_external_ip\":", ingress_of(service));
	add_bool(out, ",\"mux_missing\":", !is_mux(v));
	add_bool(out, ",\"has_queue\":", v->condition == MUX_ACTIVE);
	buf_add_lit(out, ",\"channels\":[");
}

/* A mux appears with its first channel: those without are absent. */
static void row_of_topology(struct show_reader *r, const struct row *row, struct buf *out)
{
	if (row->kind == ROW_CHANNEL) {
		if (!r->inside)
			open_topology(r, row->view, out);
		add_text(out, r->inside ? ",{\"namespace\":" : "{\"namespace\":",
			 row->channel->namespace);
		add_text(out, ",\"name\":", row->channel->name);
		add_dns(r->show, row->view, row->channel, out);
		add_ports(out, row->view, row->channel);
		buf_addc(out, '}');
		r->inside = true;
	} else if (row->kind == ROW_END && r->inside) {
		buf_add_lit(out, "]}");
		r->inside = false;
	}
}

/* What stands before the rows, the rows, or something that is written at once. */
struct section {
	const char *open;
	void (*row)(struct show_reader *r, const struct row *row, struct buf *out);
	void (*all)(const struct show *s, struct buf *out);
};

static const struct section of_state[] = {
	{ "{\"mux_services\":{", row_of_muxes, NULL },
	{ "},\"channel_services\":{", row_of_channels, NULL },
	{ "},\"endpoints\":{", row_of_endpoints, NULL },
	{ "},\"events\":[", NULL, add_events },
	{ "],\"controller\":{", NULL, add_controller },
	{ "}}\n", NULL, NULL },
};

static const struct section of_topology[] = {
	{ "{", row_of_topology, NULL },
	{ "}\n", NULL, NULL },
};

static const struct {
	const struct section *sections;
	size_t n;
} documents[] = {
	[SHOW_STATE] = { of_state, ARRAY_SIZE(of_state) },
	[SHOW_TOPOLOGY] = { of_topology, ARRAY_SIZE(of_topology) },
};

void show_read_start(struct show_reader *r, const struct show *s, enum show_document document)
{
	*r = (struct show_reader){ .show = s, .document = document };
}

static void next_section(struct show_reader *r)
{
	r->section++;
	r->opened = r->more = r->inside = false;
	r->before = r->mux = r->channel = (struct show_place){ 0 };
}

bool show_read(struct show_reader *r, struct buf *out)
{
	const struct section *section = &documents[r->document].sections[r->section];
	struct row row;

	if (!r->opened)
		buf_adds(out, section->open);
	r->opened = true;
	if (section->row && step(r, &row)) {
		section->row(r, &row, out);
		return true;
	}
	if (section->all)
		section->all(r->show, out);
	next_section(r);
	return r->section < documents[r->document].n;
}
