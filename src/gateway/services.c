/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services: a turn of a Gateway makes a list of writes and sends them one after the other.
 *
 * Slices come first and the Service with the digest of all last, so that a turn that was cut short
 * is made again.
 */
#include "src/gateway/services.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "lib/json/json.h"
#include "lib/log/log.h"
#include "lib/tls/digest.h"

static const struct k8s_field owner_fields[] = {
	K8S_FIELD("kind", K8S_NAME, struct services_owner, kind),
	K8S_FIELD("name", K8S_STRING, struct services_owner, name),
};
static const struct k8s_layout owner_layout = K8S_LAYOUT(struct services_owner, owner_fields);
static const struct k8s_field ingress_fields[] = {
	K8S_FIELD("ip", K8S_STRING, struct services_ingress, ip),
};
static const struct k8s_layout ingress_layout = K8S_LAYOUT(struct services_ingress, ingress_fields);
static const char *const kept[] = { SERVICES_DIGEST, NULL };
static const struct k8s_field fields[] = {
	K8S_FIELD("metadata.annotations", K8S_MAP, struct services_object, annotations,
		  .keep = kept),
	K8S_FIELD("metadata.ownerReferences", K8S_LIST, struct services_object, owners,
		  .of = &owner_layout),
	K8S_FIELD("status.loadBalancer.ingress", K8S_LIST, struct services_object, ingress,
		  .of = &ingress_layout),
};
const struct k8s_layout services_layout = K8S_LAYOUT(struct services_object, fields);

static const struct k8s_resource services_resource = { "", "v1", "services" };
static const struct k8s_resource slices_resource = { "discovery.k8s.io", "v1", "endpointslices" };

struct write {
	enum k8s_verb verb; /* K8S_VERB_APPLY or K8S_VERB_DELETE */
	const struct k8s_resource *resource;
	char name[SERVICES_NAME + 8];
	struct buf body;
};

/* A Gateway, for as long as it or its Service is there. */
struct item {
	struct services *of;
	struct queue_item queued;
	char *key, *namespace, *gateway;
	VEC(struct write) writes;
	size_t next; /* of them */
	struct k8s_call *call;
};

struct services {
	struct services_config config;
	struct map items;
	VEC(struct item *) all;
	struct services_stats stats;
};

/* ---- names ---- */

/* The first characters for people, and a digest that makes it unique. */
void services_name(const char *gateway, char ret[static SERVICES_NAME])
{
	uint8_t digest[TLS_SHA256];
	size_t n = strlen(gateway) < 46 ? strlen(gateway) : 46;

	tls_sha256(gateway, strlen(gateway), digest);
	snprintf(ret, SERVICES_NAME, "maglev-%.*s-%02x%02x%02x%02x", (int)n, gateway, digest[0],
		 digest[1], digest[2], digest[3]);
	for (char *p = ret; *p; p++)
		if (*p == '.')
			*p = '-';
}

/* A label has at most 63 bytes: a longer name is its Service's. */
static void label_of(const char *gateway, char ret[static SERVICES_NAME])
{
	if (strlen(gateway) < SERVICES_NAME)
		snprintf(ret, SERVICES_NAME, "%s", gateway);
	else
		services_name(gateway, ret);
}

/* ---- bodies ---- */

static void add_text(struct buf *out, const char *text)
{
	json_write_string(out, text, strlen(text));
}

static void add_pair(struct buf *out, const char *key, const char *value)
{
	if (out->p[out->n - 1] != '{')
		buf_addc(out, ',');
	add_text(out, key);
	buf_addc(out, ':');
	add_text(out, value);
}

static void add_pairs(struct buf *out, const struct k8s_list *pairs)
{
	const struct k8s_pair *items = pairs->items;

	for (size_t i = 0; i < pairs->n; i++)
		if (strcmp(items[i].key, SERVICES_LABEL) != 0 &&
		    strcmp(items[i].key, SERVICES_DIGEST) != 0)
			add_pair(out, items[i].key, items[i].value);
}

static void add_head(struct buf *out, const char *kind, const char *version, const char *name,
		     const struct gw_gateway *g)
{
	char label[SERVICES_NAME];

	buf_printf(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",",
		   version, kind, name);
	buf_adds(out,
		 "\"ownerReferences\":[{\"apiVersion\":\"" GW_GROUP "/v1\",\"kind\":\"Gateway\"");
	buf_adds(out, ",\"name\":");
	add_text(out, g->object.name);
	buf_adds(out, ",\"uid\":");
	add_text(out, g->object.uid);
	buf_adds(out, "}],\"labels\":{");
	add_pairs(out, &g->labels);
	label_of(g->object.name, label);
	add_pair(out, SERVICES_LABEL, label);
}

static void add_ports(struct buf *out, const struct gw_view *view)
{
	buf_adds(out, "\"ports\":[");
	for (size_t i = 0; i < view->n_ports; i++)
		buf_printf(out, "%s{\"name\":\"%s-%u\",\"port\":%u,\"protocol\":\"%s\"}",
			   i ? "," : "", view->ports[i].udp ? "udp" : "tcp",
			   (unsigned)view->ports[i].port, (unsigned)view->ports[i].port,
			   view->ports[i].udp ? "UDP" : "TCP");
	buf_addc(out, ']');
}

/* The address that is asked for: the first of the Gateway that is one. */
static void add_request(struct buf *out, const struct gw_gateway *g)
{
	const struct gw_address *items = g->addresses.items;
	struct addr addr;

	for (size_t i = 0; i < g->addresses.n; i++)
		if ((!items[i].type || strcmp(items[i].type, "IPAddress") == 0) && items[i].value &&
		    addr_parse(items[i].value, &addr) == 0) {
			buf_adds(out, ",\"loadBalancerIP\":");
			add_text(out, items[i].value);
			return;
		}
}

static void add_service(const struct services *s, const struct gw_view *view, struct buf *out,
			const char *digest)
{
	char name[SERVICES_NAME];

	services_name(view->object->object.name, name);
	add_head(out, "Service", "v1", name, view->object);
	buf_adds(out, "},\"annotations\":{");
	add_pairs(out, &view->object->annotations);
	add_pair(out, SERVICES_DIGEST, digest);
	buf_adds(out, "}},\"spec\":{");
	add_ports(out, view);
	if (s->config.addresses) {
		buf_adds(out, ",\"type\":\"LoadBalancer\",\"allocateLoadBalancerNodePorts\":false");
		add_request(out, view->object);
		if (*s->config.class) {
			buf_adds(out, ",\"loadBalancerClass\":");
			add_text(out, s->config.class);
		}
	} else {
		buf_adds(out, ",\"type\":\"ClusterIP\",\"clusterIP\":\"None\"");
	}
	buf_adds(out, "}}");
}

/* One slice for each family; false if there is no router of it. */
static bool add_slice(const struct services *s, const struct gw_view *view, uint8_t family,
		      const char *name, struct buf *out)
{
	const struct addr *routers;
	size_t n = s->config.routers(&routers, s->config.user), count = 0;
	char service[SERVICES_NAME], text[ADDR_STRLEN];

	services_name(view->object->object.name, service);
	add_head(out, "EndpointSlice", "discovery.k8s.io/v1", name, view->object);
	add_pair(out, GW_SERVICE_LABEL, service);
	add_pair(out, "endpointslice.kubernetes.io/managed-by", "maglev-gateway");
	buf_printf(out, "}},\"addressType\":\"%s\",", family == AF_INET ? "IPv4" : "IPv6");
	add_ports(out, view);
	buf_adds(out, ",\"endpoints\":[");
	for (size_t i = 0; i < n; i++)
		if (routers[i].family == family)
			buf_printf(out,
				   "%s{\"addresses\":[\"%s\"],\"conditions\":{\"ready\":true}}",
				   count++ ? "," : "", addr_format(&routers[i], text));
	buf_adds(out, "]}");
	return count;
}

/* ---- what is to be written ---- */

static void clear(struct item *i)
{
	for (size_t n = 0; n < i->writes.n; n++)
		buf_free(&i->writes.items[n].body);
	i->writes.n = i->next = 0;
}

static struct write *add_write(struct item *i, enum k8s_verb verb,
			       const struct k8s_resource *resource, const char *name)
{
	struct write w = { .verb = verb, .resource = resource };

	snprintf(w.name, sizeof(w.name), "%s", name);
	vec_push(&i->writes, w);
	return &i->writes.items[i->writes.n - 1];
}

static void slice_name(const char *service, uint8_t family, char *ret, size_t size)
{
	snprintf(ret, size, "%s-%s", service, family == AF_INET ? "v4" : "v6");
}

static bool is_wanted(const struct services *s, const struct gw_view *view)
{
	if (!view->accepted || view->object->object.deleting == K8S_YES)
		return false;
	if (s->config.addresses)
		return view->n_ports;
	return view->object->labels.n || view->object->annotations.n;
}

static void plan_removal(struct item *i, const char *service)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	char name[SERVICES_NAME + 8];

	for (size_t n = 0; i->of->config.addresses && n < ARRAY_SIZE(families); n++) {
		slice_name(service, families[n], name, sizeof(name));
		add_write(i, K8S_VERB_DELETE, &slices_resource, name);
	}
	add_write(i, K8S_VERB_DELETE, &services_resource, service);
}

static void plan_slices(struct item *i, const struct gw_view *view, const char *service)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	for (size_t n = 0; i->of->config.addresses && n < ARRAY_SIZE(families); n++) {
		struct buf body = { 0 };
		char name[SERVICES_NAME + 8];

		slice_name(service, families[n], name, sizeof(name));
		if (add_slice(i->of, view, families[n], name, &body))
			add_write(i, K8S_VERB_APPLY, &slices_resource, name)->body = body;
		else
			buf_free(&body);
	}
}

static void digest_writes(const struct item *i, char *ret, size_t size)
{
	_cleanup_(buf_free) struct buf all = { 0 };
	uint8_t digest[TLS_SHA256];

	for (size_t n = 0; n < i->writes.n; n++)
		buf_add(&all, i->writes.items[n].body.p, i->writes.items[n].body.n);
	tls_sha256(all.p, all.n, digest);
	for (size_t n = 0; n < 16 && 2 * n + 2 < size; n++)
		snprintf(ret + 2 * n, 3, "%02x", digest[n]);
}

/* Nothing if what is there has the digest of what should be. */
static void plan(struct item *i)
{
	const struct services *s = i->of;
	const struct services_object *found;
	char service[SERVICES_NAME], digest[33];
	struct gw_view view;
	const char *applied;
	struct write *w;

	clear(i);
	services_name(i->gateway, service);
	found = s->config.find(i->namespace, service, s->config.user);
	if (!gw_gateway_find(s->config.gw, i->namespace, i->gateway, &view) ||
	    !is_wanted(s, &view)) {
		if (found && found->object.deleting != K8S_YES)
			plan_removal(i, service);
		return;
	}
	plan_slices(i, &view, service);
	w = add_write(i, K8S_VERB_APPLY, &services_resource, service);
	add_service(s, &view, &w->body, "");
	digest_writes(i, digest, sizeof(digest));
	applied = found ? k8s_map_get(&found->annotations, SERVICES_DIGEST) : NULL;
	w->body.n = 0;
	add_service(s, &view, &w->body, digest);
	if (applied && strcmp(applied, digest) == 0)
		clear(i);
}

/* ---- turns ---- */

static enum queue_result send_next(struct item *i);

static void drop(struct services *s, struct item *i)
{
	for (size_t n = 0; n < s->all.n; n++)
		if (s->all.items[n] == i) {
			vec_remove_at(&s->all, n);
			break;
		}
	map_remove(&s->items, i->key);
	operator_forget(s->config.op, &i->queued);
	k8s_call_cancel(i->call);
	clear(i);
	vec_free(&i->writes);
	free(i->key);
	free(i->namespace);
	free(i->gateway);
	free(i);
}

static void on_written(const struct k8s_result *result, void *user)
{
	struct item *i = user;
	struct services *s = i->of;
	const struct write *w = &i->writes.items[i->next];
	bool ok = result->code == K8S_OK ||
		  (w->verb == K8S_VERB_DELETE && result->code == K8S_NOT_FOUND);
	enum queue_result r = QUEUE_FAILED;

	i->call = NULL;
	if (ok) {
		s->stats.written++;
		i->next++;
		r = send_next(i);
	} else {
		s->stats.failures++;
		log_warn("service-failed", LOG_S("gateway", i->key), LOG_S("name", w->name),
			 LOG_S("code", k8s_code_name(result->code)),
			 LOG_S("error", result->message));
	}
	if (r != QUEUE_PENDING)
		operator_done(s->config.op, &i->queued, r);
}

static enum queue_result send_next(struct item *i)
{
	const struct write *w;
	struct k8s_call_config config;

	if (i->next == i->writes.n)
		return QUEUE_DONE;
	w = &i->writes.items[i->next];
	config = (struct k8s_call_config){ .verb = w->verb,
					   .resource = w->resource,
					   .namespace = i->namespace,
					   .name = w->name,
					   .body = { w->body.p, w->body.n },
					   .force = w->verb == K8S_VERB_APPLY,
					   .done = on_written,
					   .user = i };
	return operator_call(i->of->config.op, &config, &i->call) < 0 ? QUEUE_FAILED
								      : QUEUE_PENDING;
}

enum queue_result services_step(struct services *s, struct queue_item *item)
{
	struct item *i = container_of(item, struct item, queued);
	struct gw_view view;

	if (gw_work(s->config.gw, 0))
		return QUEUE_AGAIN;
	plan(i);
	if (i->writes.n || gw_gateway_find(s->config.gw, i->namespace, i->gateway, &view))
		return send_next(i);
	drop(s, i); /* the Gateway is gone, and so is its Service */
	return QUEUE_PENDING;
}

void services_add(struct services *s, const char *namespace, const char *gateway)
{
	_cleanup_(buf_free) struct buf key = { 0 };
	struct item *i;

	buf_printf(&key, "%s/%s", namespace, gateway);
	i = map_get(&s->items, buf_cstr(&key));
	if (!i) {
		i = mem_zalloc(sizeof(*i));
		i->of = s;
		i->key = mem_strdup(buf_cstr(&key));
		i->namespace = mem_strdup(namespace);
		i->gateway = mem_strdup(gateway);
		map_put(&s->items, i->key, i);
		vec_push(&s->all, i);
	}
	operator_add(s->config.op, &i->queued, 0);
}

void services_add_all(struct services *s)
{
	for (size_t i = 0; i < gw_gateways(s->config.gw); i++) {
		const struct gw_gateway *g = gw_gateway_at(s->config.gw, i).object;

		services_add(s, g->object.namespace, g->object.name);
	}
}

bool services_address(const struct services *s, const char *namespace, const char *gateway,
		      struct addr *ret)
{
	const struct services_object *found;
	const struct services_ingress *items;
	char name[SERVICES_NAME];

	services_name(gateway, name);
	found = s->config.find(namespace, name, s->config.user);
	items = found ? found->ingress.items : NULL;
	for (size_t i = 0; found && i < found->ingress.n; i++)
		if (items[i].ip && addr_parse(items[i].ip, ret) == 0)
			return true;
	return false;
}

const struct services_stats *services_stats(const struct services *s)
{
	return &s->stats;
}

struct services *services_new(const struct services_config *config)
{
	struct services *s = mem_zalloc(sizeof(*s));

	s->config = *config;
	return s;
}

void services_free(struct services *s)
{
	if (!s)
		return;
	while (s->all.n)
		drop(s, s->all.items[s->all.n - 1]);
	vec_free(&s->all);
	map_free(&s->items);
	free(s);
}
