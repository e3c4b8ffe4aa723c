/* SPDX-License-Identifier: Apache-2.0 */
/* encode: writes of a plan as the JSON that the API server gets, and as a line for people. */
#include <string.h>

#include "lib/json/json.h"
#include "src/mux/plan.h"

/* A comma, unless the value is the first of its object or array. */
static void separate(struct buf *out)
{
	char last = out->p[out->n - 1];

	if (last != '{' && last != '[' && last != ':')
		buf_addc(out, ',');
}

static void add_key(struct buf *out, const char *key)
{
	separate(out);
	json_write_string(out, key, strlen(key));
	buf_addc(out, ':');
}

static void add_text(struct buf *out, const char *key, const char *value)
{
	if (!value)
		return;
	add_key(out, key);
	json_write_string(out, value, strlen(value));
}

static void add_number(struct buf *out, const char *key, uint64_t value)
{
	add_key(out, key);
	buf_addu(out, value);
}

static void add_bool(struct buf *out, const char *key, uint8_t value)
{
	if (value == K8S_UNSET)
		return;
	add_key(out, key);
	buf_adds(out, value == K8S_YES ? "true" : "false");
}

static void add_pairs(struct buf *out, const char *key, const struct k8s_pair *pairs, size_t n,
		      bool create)
{
	if (!n)
		return;
	add_key(out, key);
	buf_addc(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (pairs[i].value) {
			add_text(out, pairs[i].key, pairs[i].value);
		} else if (!create) {
			add_key(out, pairs[i].key);
			buf_add_lit(out, "null");
		}
	}
	buf_addc(out, '}');
}

static void add_strings(struct buf *out, const char *key, const struct k8s_list *list)
{
	add_key(out, key);
	buf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		separate(out);
		json_write_string(out, k8s_string_at(list, i), strlen(k8s_string_at(list, i)));
	}
	buf_addc(out, ']');
}

static void add_owner(struct buf *out, const struct mux_owner *owner)
{
	add_key(out, "ownerReferences");
	buf_add_lit(out, "[{");
	add_text(out, "apiVersion", "v1");
	add_text(out, "kind", "Service");
	add_text(out, "name", owner->name);
	add_text(out, "uid", owner->uid);
	add_bool(out, "controller", K8S_YES);
	add_bool(out, "blockOwnerDeletion", K8S_YES);
	buf_add_lit(out, "}]");
}

static void add_version(struct buf *out, uint64_t version)
{
	add_key(out, "resourceVersion");
	buf_addc(out, '"');
	buf_addu(out, version);
	buf_addc(out, '"');
}

static void add_metadata(struct buf *out, const struct mux_write *w)
{
	bool create = w->verb == MUX_CREATE;

	add_key(out, "metadata");
	buf_addc(out, '{');
	if (create) {
		add_text(out, "name", w->name);
		add_text(out, "namespace", w->namespace);
	}
	if (w->version)
		add_version(out, w->version);
	add_pairs(out, "labels", w->labels, w->n_labels, create);
	add_pairs(out, "annotations", w->annotations, w->n_annotations, create);
	if (w->owner)
		add_owner(out, w->owner);
	if (w->finalizers)
		add_strings(out, "finalizers", w->finalizers);
	buf_addc(out, '}');
}

static void add_state(struct buf *out, const struct mux_state *state)
{
	struct buf text = { 0 };

	mux_state_write(state, &text);
	add_key(out, "data");
	buf_addc(out, '{');
	add_text(out, MUX_STATE_KEY, buf_cstr(&text));
	buf_addc(out, '}');
	buf_free(&text);
}

static void add_target(struct buf *out, const struct mux_target *t)
{
	if (!t->kind && !t->name && !t->uid)
		return;
	add_key(out, "targetRef");
	buf_addc(out, '{');
	add_text(out, "kind", t->kind);
	add_text(out, "namespace", t->namespace);
	add_text(out, "name", t->name);
	add_text(out, "uid", t->uid);
	buf_addc(out, '}');
}

static void add_endpoint_ports(struct buf *out, const struct k8s_list *list)
{
	const struct mux_endpoint_port *p = list->items;

	add_key(out, "ports");
	buf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		separate(out);
		buf_addc(out, '{');
		add_text(out, "name", p[i].name);
		add_number(out, "port", (uint64_t)p[i].port);
		add_text(out, "protocol", p[i].protocol);
		add_text(out, "appProtocol", p[i].app_protocol);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_endpoint(struct buf *out, const struct mux_endpoint *e)
{
	separate(out);
	buf_addc(out, '{');
	add_strings(out, "addresses", &e->addresses);
	add_key(out, "conditions");
	buf_addc(out, '{');
	add_bool(out, "ready", e->ready);
	add_bool(out, "serving", e->serving);
	add_bool(out, "terminating", e->terminating);
	buf_addc(out, '}');
	add_text(out, "hostname", e->hostname);
	add_text(out, "nodeName", e->node);
	add_text(out, "zone", e->zone);
	add_target(out, &e->target);
	buf_addc(out, '}');
}

static void add_slice(struct buf *out, const struct mux_write *w)
{
	const struct mux_endpoint *e = w->endpoints->items;

	add_text(out, "addressType", w->family);
	add_endpoint_ports(out, w->slice_ports);
	add_key(out, "endpoints");
	buf_addc(out, '[');
	for (size_t i = 0; i < w->endpoints->n; i++)
		add_endpoint(out, &e[i]);
	buf_addc(out, ']');
}

static void add_addresses(struct buf *out, const char *key, const struct k8s_list *list)
{
	const struct mux_address *a = list->items;

	if (!list->n)
		return;
	add_key(out, key);
	buf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		separate(out);
		buf_addc(out, '{');
		add_text(out, "ip", a[i].ip);
		add_text(out, "hostname", a[i].hostname);
		add_text(out, "nodeName", a[i].node);
		add_target(out, &a[i].target);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_subsets(struct buf *out, const struct k8s_list *list)
{
	const struct mux_subset *s = list->items;

	add_key(out, "subsets");
	buf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		separate(out);
		buf_addc(out, '{');
		add_addresses(out, "addresses", &s[i].ready);
		add_addresses(out, "notReadyAddresses", &s[i].not_ready);
		add_endpoint_ports(out, &s[i].ports);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_ports(struct buf *out, const struct k8s_list *list)
{
	const struct mux_wanted_port *p = list->items;

	add_key(out, "spec");
	buf_add_lit(out, "{\"ports\":[");
	for (size_t i = 0; i < list->n; i++) {
		separate(out);
		buf_addc(out, '{');
		add_text(out, "name", p[i].name);
		add_number(out, "port", p[i].port);
		add_text(out, "protocol", mux_protocol_name(p[i].protocol));
		buf_addc(out, '}');
	}
	buf_add_lit(out, "]}");
}

static void add_ingress(struct buf *out, const struct k8s_list *list)
{
	const struct mux_ingress *in = list->items;

	add_key(out, "status");
	buf_add_lit(out, "{\"loadBalancer\":{\"ingress\":");
	if (!list->n)
		buf_add_lit(out, "null"); /* {} would leave the old ones */
	else
		buf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		separate(out);
		buf_addc(out, '{');
		add_text(out, "ip", in[i].ip);
		add_text(out, "hostname", in[i].hostname);
		add_text(out, "ipMode", in[i].ip_mode);
		if (in[i].ports) {
			add_key(out, "ports");
			buf_adds(out, in[i].ports);
		}
		buf_addc(out, '}');
	}
	buf_adds(out, list->n ? "]}}" : "}}");
}

static const struct {
	const char *version, *kind, *shown;
} objects[] = {
	[MUX_CONFIG_MAP] = { "v1", "ConfigMap", "ConfigMap" },
	[MUX_SLICE] = { "discovery.k8s.io/v1", "EndpointSlice", "EndpointSlice" },
	[MUX_ENDPOINTS] = { "v1", "Endpoints", "Endpoints" },
	[MUX_SERVICE] = { "v1", "Service", "Service" },
	[MUX_SERVICE_STATUS] = { "v1", "Service", "status of Service" },
};

void mux_write_body(const struct mux_write *w, struct buf *out)
{
	if (w->verb == MUX_DELETE)
		return;
	buf_addc(out, '{');
	if (w->verb == MUX_CREATE) {
		add_text(out, "apiVersion", objects[w->object].version);
		add_text(out, "kind", objects[w->object].kind);
	}
	if (w->object != MUX_SERVICE_STATUS)
		add_metadata(out, w);
	if (w->state)
		add_state(out, w->state);
	if (w->endpoints)
		add_slice(out, w);
	if (w->subsets)
		add_subsets(out, w->subsets);
	if (w->ports)
		add_ports(out, w->ports);
	if (w->ingress)
		add_ingress(out, w->ingress);
	buf_addc(out, '}');
}

void mux_write_show(const struct mux_write *w, struct buf *out)
{
	static const char *const verbs[] = { "create", "patch", "delete" };

	buf_printf(out, "%s %s %s/%s: %s", verbs[w->verb], objects[w->object].shown, w->namespace,
		   w->name, w->what);
}
