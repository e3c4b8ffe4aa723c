/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Gateway: its class, parameters, addresses and ListenerSets, and the listeners of routers that
 * are made from it.
 *
 * The view of a Gateway is what routes and pools see of it. It is made again when anything changes
 * that it was made from; routes are made again only if the view says something else than before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "src/gateway/model.h"

/* ---- classes ---- */

bool gw__class_is_ours(const struct gw *g, const struct gw_class *c)
{
	return c && c->controller && strcmp(c->controller, g->settings.controller) == 0;
}

static bool has_parameters(const struct gw_ref *ref)
{
	return ref->name || ref->kind;
}

/* Settings from a ConfigMap. */
static void judge_parameters(struct gw *g, const struct gw_ref *ref, const char *namespace,
			     struct l7_doc_listener *settings, struct gw__verdict *verdict)
{
	const struct gw_config_map *map;
	const char *why;

	if (!has_parameters(ref))
		return;
	if (strcmp(gw__text(ref->group), "") != 0 ||
	    strcmp(gw__text(ref->kind), "ConfigMap") != 0) {
		gw__fail(verdict, "InvalidParameters",
			 "parametersRef: %s is not supported; settings are in a ConfigMap",
			 gw__text(ref->kind));
		return;
	}
	namespace = gw__or(ref->namespace, namespace);
	map = (const void *)gw__need_object(g, GW_CONFIG_MAP, namespace, gw__text(ref->name))
		      ->object;
	why = map ? gw__settings(g, map, settings) : "does not exist";
	if (why)
		gw__fail(verdict, "InvalidParameters", "ConfigMap %s/%s: %s", namespace,
			 gw__text(ref->name), why);
}

/* The result of a class is the verdict on its parameters. */
void gw__make_class(struct gw *g, struct gw__node *n)
{
	const struct gw_class *c = (const void *)n->object;
	struct l7_doc_listener settings = { 0 };
	struct gw__verdict *v;

	gw__free_result(g, n);
	if (gw__class_is_ours(g, c)) {
		v = mem_zalloc(sizeof(*v));
		v->ok = true;
		judge_parameters(g, &c->parameters, "default", &settings, v);
		n->result = v;
		gw__status_due(g, n);
	}
	gw__touch_users(g, n);
}

/* ---- a Gateway ---- */

const struct gw__view *gw__view(const struct gw__node *n)
{
	return n->result;
}

static void judge_addresses(struct gw *g, struct gw__node *n, struct gw__view *v,
			    const struct gw_gateway *gateway)
{
	static const char *const reasons[] = { [GW_ADDRESS_PENDING] = "AddressNotAssigned",
					       [GW_ADDRESS_NOT_USABLE] = "AddressNotUsable",
					       [GW_ADDRESS_NONE_LEFT] = "AddressNotAssigned" };
	static const char *const texts[] = { [GW_ADDRESS_PENDING] = "no address is assigned yet",
					     [GW_ADDRESS_NOT_USABLE] = "an address cannot be used",
					     [GW_ADDRESS_NONE_LEFT] = "no address is left" };
	const struct gw__addresses *given = map_get(&g->addresses, n->key);
	enum gw_address_state state = given ? given->state : GW_ADDRESS_PENDING;
	const struct gw_address *wanted = gateway->addresses.items;

	for (size_t i = 0; i < gateway->addresses.n; i++)
		if (strcmp(gw__or(wanted[i].type, "IPAddress"), "IPAddress") != 0)
			gw__fail(&v->accepted, "UnsupportedAddress",
				 "addresses of the type %s are not supported", wanted[i].type);
	if (state != GW_ADDRESS_OK)
		gw__fail(&v->programmed, reasons[state], "%s",
			 given && given->message ? given->message : texts[state]);
	v->n_addresses = given ? given->n : 0;
	v->addresses = v->n_addresses ? arena_copy(v->arena, given->items,
						   v->n_addresses * sizeof(struct addr))
				      : NULL;
}

/* The certificate that is shown to servers. */
static void judge_client(struct gw *g, struct gw__view *v, const struct gw_gateway *gateway)
{
	const struct gw__from from = { "Gateway", v->namespace };
	struct gw__pair pair;

	v->has_resolved = gateway->has_backend_tls == K8S_YES;
	v->has_client = v->has_resolved && gateway->client_certificate.name;
	if (!v->has_client || !gw__pair_of(g, &from, &gateway->client_certificate,
					   "InvalidClientCertificateRef", &pair, &v->resolved))
		return;
	v->client.certificate = arena_strdup(v->arena, pair.certificate);
	v->client.key = arena_strdup(v->arena, pair.key);
}

/* ---- ListenerSets ---- */

static int by_age(const void *a, const void *b)
{
	const struct gw_listener_set *x = (const void *)(*(struct gw__node *const *)a)->object;
	const struct gw_listener_set *y = (const void *)(*(struct gw__node *const *)b)->object;
	int diff = strcmp(gw__text(x->created), gw__text(y->created));

	if (!diff)
		diff = strcmp(x->object.namespace, y->object.namespace);
	return diff ? diff : strcmp(x->object.name, y->object.name);
}

static bool refers_to_gateway(const struct gw_ref *ref)
{
	return strcmp(gw__or(ref->group, GW_GROUP), GW_GROUP) == 0 &&
	       strcmp(gw__or(ref->kind, "Gateway"), "Gateway") == 0;
}

static void judge_set(struct gw *g, struct gw__view *v, const struct gw__scope *scope,
		      struct gw__set *set)
{
	const char *namespace = set->node->object->namespace;

	set->accepted.ok = set->programmed.ok = true;
	if (!v->accepted.ok)
		gw__fail(&set->accepted, "ParentNotAccepted", "the Gateway is not accepted");
	if (!gw__allows(g, scope, v->namespace, namespace))
		gw__fail(&set->accepted, "NotAllowed",
			 "allowedListeners of the Gateway do not allow namespace %s", namespace);
}

/* Sets that are not allowed have no listeners. */
static void add_sets(struct gw *g, struct gw__view *v, const struct gw_gateway *gateway,
		     const char *key)
{
	struct gw__node *list = gw__need(g, GW__SETS, key);
	struct gw__node **nodes = arena_copy(g->scratch, list->members.items,
					     list->members.n * sizeof(struct gw__node *));
	struct gw__scope scope = gw__scope_of(&gateway->allowed, "None", g->scratch);

	v->sets = arena_array_of(v->arena, list->members.n, struct gw__set);
	if (list->members.n)
		qsort(nodes, list->members.n, sizeof(nodes[0]), by_age);
	for (size_t i = 0; i < list->members.n; i++) {
		const struct gw_listener_set *object = (const void *)nodes[i]->object;
		struct gw__set *set = &v->sets[v->n_sets];

		if (!refers_to_gateway(&object->parent))
			continue;
		set->node = nodes[i];
		set->key = arena_strdup(v->arena, nodes[i]->key);
		judge_set(g, v, &scope, set);
		v->n_sets++;
		if (set->accepted.ok)
			gw__add_listeners(g, v, &object->listeners, &object->object);
	}
}

static size_t count_listeners(struct gw *g, const struct gw_gateway *gateway, const char *key)
{
	const struct gw__node *list = gw__need(g, GW__SETS, key);
	size_t n = gateway->listeners.n;

	for (size_t i = 0; i < list->members.n; i++)
		n += ((const struct gw_listener_set *)list->members.items[i]->object)->listeners.n;
	return n;
}

/* ---- verdicts on the whole ---- */

struct tally {
	size_t n, accepted, usable, programmed;
};

/* The listeners of a set; of the Gateway itself if key is NULL. */
static struct tally tally_of(const struct gw__view *v, const char *key)
{
	struct tally t = { 0 };

	for (size_t i = 0; i < v->n_listeners; i++) {
		const struct gw__listener *l = &v->listeners[i];

		if (key ? !l->set || strcmp(l->set, key) != 0 : l->set != NULL)
			continue;
		t.n++;
		t.accepted += l->accepted.ok;
		t.usable += l->usable;
		t.programmed += l->programmed.ok;
	}
	return t;
}

/* accepted.ok with a reason of its own: some listeners are not valid. */
static void judge_validity(struct gw__verdict *accepted, size_t n, size_t valid)
{
	if (!accepted->ok || valid == n)
		return;
	if (!valid) {
		gw__fail(accepted, "ListenersNotValid", "none of the listeners is valid");
		return;
	}
	accepted->reason = "ListenersNotValid";
	accepted->message = mem_strdup("some of the listeners are not valid");
}

static void conclude_set(struct gw__view *v, struct gw__set *set)
{
	struct tally t = tally_of(v, set->key);

	/* a set whose listeners have no certificate is not accepted; a Gateway is, and says so */
	judge_validity(&set->accepted, t.n, t.usable);
	v->n_sets_accepted += set->accepted.ok;
	if (!set->accepted.ok)
		gw__fail(&set->programmed, set->accepted.reason, "%s",
			 gw__text(set->accepted.message));
	else if (!t.programmed)
		gw__fail(&set->programmed, "Invalid", "none of the listeners can be served");
}

static void conclude(struct gw__view *v)
{
	struct tally t = tally_of(v, NULL);

	judge_validity(&v->accepted, t.n, t.accepted);
	if (!v->accepted.ok)
		gw__fail(&v->programmed, "Invalid", "the Gateway is not accepted");
	else if (t.n && !t.programmed)
		gw__fail(&v->programmed, "Invalid", "none of the listeners can be served");
	for (size_t i = 0; i < v->n_sets; i++)
		conclude_set(v, &v->sets[i]);
}

/* ---- listeners of routers ---- */

static struct doc_text word(const char *text)
{
	return (struct doc_text){ .set = true, .v = text };
}

static void fill_tls(struct gw *g, const struct gw__listener *l, struct l7_doc_listener *d)
{
	struct l7_doc_certificate *list =
		arena_array_of(g->scratch, l->n_pairs, struct l7_doc_certificate);

	if (l->protocol != GW__HTTPS && l->protocol != GW__TLS) {
		d->tls = (struct l7_doc_listener_tls){ 0 };
		return;
	}
	if (l->passthrough) {
		d->tls = (struct l7_doc_listener_tls){ .set = true, .mode = word("passthrough") };
		return;
	}
	for (size_t i = 0; i < l->n_pairs; i++)
		list[i] = (struct l7_doc_certificate){ .certificate = word(l->pairs[i].certificate),
						       .key = word(l->pairs[i].key) };
	d->tls.set = true;
	d->tls.certificates = list;
	d->tls.n_certificates = l->n_pairs;
	if (l->ca)
		d->tls.clients = (struct l7_doc_tls_clients){
			.set = true,
			.mode = word(l->fallback ? "insecure-fallback" : "require"),
			.ca = word(l->ca),
		};
}

/* One listener of a router. A mistake makes the listener of the Gateway unserved. */
static void put_listener(struct gw *g, struct gw__view *v, struct gw__listener *l, size_t address)
{
	struct l7_doc_listener d = v->settings;
	const struct l7_doc doc = { .listeners = &d, .n_listeners = 1 };
	const struct endpoint at = { v->addresses[address], l->port };
	_cleanup_(buf_free) struct buf text = { 0 };
	char shown[ENDPOINT_STRLEN];
	const char *why;

	d.name = word(l->names[address]);
	d.address = word(arena_strdup(g->scratch, endpoint_format(&at, shown)));
	if (*l->hostname)
		d.host = word(l->hostname);
	fill_tls(g, l, &d);
	if (l->protocol != GW__HTTP && l->protocol != GW__HTTPS)
		d.protocol = word(l->protocol == GW__UDP ? "udp" : "tcp");
	why = gw__render(g, &doc, GW_LISTENERS, &text);
	if (why) {
		gw__fail(&l->programmed, "Invalid", "%s", why);
		l->served = false;
		return;
	}
	if (l->texts) {
		l->texts[address] = arena_strndup(v->arena, text.p, text.n);
		return;
	}
	vec_push(&v->entries, mem_strdup(l->names[address]));
	gw__put_entry(g, &(struct gw_entry){ .kind = GW_LISTENERS,
					     .name = l->names[address],
					     .order = "",
					     .text = { text.p, text.n } });
}

static void name_listener(struct gw__view *v, struct gw__listener *l)
{
	const char **names = arena_array_of(v->arena, v->n_addresses, const char *);
	char address[ADDR_STRLEN];

	for (size_t i = 0; i < v->n_addresses; i++)
		names[i] = i ? gw__short_name(v->arena,
					      arena_printf(v->arena, "%s@%s", l->name,
							   addr_format(&v->addresses[i], address)))
			     : l->name;
	l->names = names;
	l->n_names = v->n_addresses;
	if (l->protocol >= GW__TLS)
		l->texts = arena_array_of(v->arena, v->n_addresses, const char *);
}

static void put_listeners(struct gw *g, struct gw__view *v)
{
	for (size_t i = 0; i < v->n_listeners; i++) {
		struct gw__listener *l = &v->listeners[i];

		name_listener(v, l);
		for (size_t a = 0; a < v->n_addresses && l->served; a++)
			put_listener(g, v, l, a);
	}
}

/* Entries of the old view that the new one does not have. */
static void drop_listeners(struct gw *g, const struct gw__view *old, const struct gw__view *new)
{
	for (size_t i = 0; old && i < old->entries.n; i++) {
		bool kept = false;

		for (size_t j = 0; new &&j < new->entries.n && !kept; j++)
			kept = strcmp(old->entries.items[i], new->entries.items[j]) == 0;
		if (!kept)
			gw__drop_entry(g, GW_LISTENERS, old->entries.items[i]);
	}
}

/* ---- the view ---- */

static int by_port(const void *a, const void *b)
{
	const struct gw_port *x = a, *y = b;

	return x->port != y->port ? x->port - y->port : (int)x->udp - (int)y->udp;
}

static void list_ports(struct gw__view *v)
{
	size_t n = 0;

	v->ports = arena_array_of(v->arena, v->n_listeners, struct gw_port);
	for (size_t i = 0; i < v->n_listeners; i++)
		if (v->listeners[i].accepted.ok)
			v->ports[n++] =
				(struct gw_port){ v->listeners[i].section, v->listeners[i].port,
						  v->listeners[i].protocol == GW__UDP };
	if (n)
		qsort(v->ports, n, sizeof(v->ports[0]), by_port);
	for (size_t i = 0; i < n; i++)
		if (!i || by_port(&v->ports[v->n_ports - 1], &v->ports[i]) != 0)
			v->ports[v->n_ports++] = v->ports[i];
}

static void print_listener(struct buf *out, const struct gw__listener *l)
{
	buf_printf(out, "%s|%s|%s|%u|%d|%d|%s|%u|%s|%d|", l->name, l->section, gw__text(l->set),
		   l->port, (int)l->protocol, l->passthrough, l->hostname, l->kinds, l->scope.from,
		   l->served);
	if (l->scope.has_selector)
		labels_selector_format(&l->scope.selector, out);
	for (size_t i = 0; i < l->n_names; i++)
		buf_printf(out, "|%s|%s", l->names[i], l->texts ? gw__text(l->texts[i]) : "");
	buf_addc(out, '\n');
}

/* Of all that routes, pools and policies see. */
static uint64_t digest_of(const struct gw__view *v)
{
	_cleanup_(buf_free) struct buf text = { 0 };

	for (size_t i = 0; i < v->n_listeners; i++)
		print_listener(&text, &v->listeners[i]);
	for (size_t i = 0; i < v->n_sets; i++)
		buf_printf(&text, "%s %d\n", v->sets[i].key, v->sets[i].accepted.ok);
	buf_printf(&text, "%d %s %s", v->has_client, gw__text(v->client.certificate),
		   gw__text(v->client.key));
	return gw__digest(buf_cstr(&text));
}

static struct gw__view *view_new(struct gw *g, struct gw__node *n, const struct gw_class *class)
{
	const struct gw_gateway *gateway = (const void *)n->object;
	struct gw__view *v = mem_zalloc(sizeof(*v));
	const struct gw__node *list;

	v->arena = arena_new();
	v->namespace = arena_strdup(v->arena, n->object->namespace);
	v->gateway = arena_strdup(v->arena, n->object->name);
	v->accepted.ok = v->programmed.ok = v->resolved.ok = true;
	judge_parameters(g, &class->parameters, "default", &v->settings, &v->accepted);
	judge_parameters(g, &gateway->parameters, v->namespace, &v->settings, &v->accepted);
	judge_addresses(g, n, v, gateway);
	judge_client(g, v, gateway);
	v->listeners =
		arena_array_of(v->arena, count_listeners(g, gateway, n->key), struct gw__listener);
	gw__add_listeners(g, v, &gateway->listeners, NULL);
	v->n_own = v->n_listeners;
	add_sets(g, v, gateway, n->key);
	gw__judge_listeners(g, v, gateway);
	list = gw__need(g, GW__SETS, n->key);
	for (size_t i = 0; i < list->members.n; i++)
		gw__status_due(g, list->members.items[i]);
	return v;
}

void gw__view_free(struct gw__view *v)
{
	for (size_t i = 0; i < v->n_listeners; i++) {
		gw__verdict_free(&v->listeners[i].accepted);
		gw__verdict_free(&v->listeners[i].resolved);
		gw__verdict_free(&v->listeners[i].programmed);
		gw__verdict_free(&v->listeners[i].conflicted);
	}
	for (size_t i = 0; i < v->n_sets; i++) {
		gw__verdict_free(&v->sets[i].accepted);
		gw__verdict_free(&v->sets[i].programmed);
	}
	gw__verdict_free(&v->accepted);
	gw__verdict_free(&v->programmed);
	gw__verdict_free(&v->resolved);
	for (size_t i = 0; i < v->entries.n; i++)
		free(v->entries.items[i]);
	vec_free(&v->entries);
	arena_free(v->arena);
	free(v);
}

/* The list of Gateways that are ours. */
static void list_gateway(struct gw *g, struct gw__node *n, bool ours)
{
	size_t at = sorted_place(g->gateways.n, i, strcmp(g->gateways.items[i]->key, n->key) < 0);
	bool listed = at < g->gateways.n && g->gateways.items[at] == n;

	if (ours && !listed) {
		vec_insert_at(&g->gateways, at);
		g->gateways.items[at] = n;
	} else if (!ours && listed) {
		vec_remove_at(&g->gateways, at);
	}
}

static void tell_program(struct gw *g, const struct gw__node *n)
{
	const char *slash = strchr(n->key, '/');

	if (g->on_gateway)
		g->on_gateway(arena_strndup(g->scratch, n->key, (size_t)(slash - n->key)),
			      slash + 1, g->on_gateway_user);
}

/*
 * Texts of settings are in the scratch arena, so listeners are rendered before that is used again.
 */
void gw__make_gateway(struct gw *g, struct gw__node *n)
{
	const struct gw_gateway *gateway = (const void *)n->object;
	struct gw__view *old = n->result, *new = NULL;
	const struct gw_class *class = NULL;

	if (gateway)
		class = (const void *)gw__need_object(g, GW_GATEWAY_CLASS, "",
						      gw__text(gateway->class))
				->object;
	if (gw__class_is_ours(g, class)) {
		new = view_new(g, n, class);
		put_listeners(g, new);
		conclude(new);
		list_ports(new);
		new->digest = digest_of(new);
		gw__status_due(g, n);
	}
	n->result = new;
	list_gateway(g, n, new);
	drop_listeners(g, old, new);
	if (!old != !new || (new && old->digest != new->digest))
		gw__touch_users(g, n);
	if (old)
		gw__view_free(old);
	if (old || new)
		tell_program(g, n);
}
