/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster: a walk over the Services, in their order. For each of them:
 *
 *	usable?  -> servers (nodes with endpoints, counted) -> check, backends -> frontends
 *
 * Everything that could make the document invalid is looked at before an entry is added: names and
 * addresses that are taken, values that the rules refuse. So the cluster alone cannot cause a
 * configuration to be refused, which would keep all later changes out as well.
 */
#include "core/cluster/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/rule.h"
#include "base/sorted.h"
#include "base/units.h"
#include "base/vec.h"

#define WEIGHT_MAX 100
#define POOL "nodes"
#define HEALTH_PATH "/healthz"
#define HEALTH_INTERVAL NSEC_PER_SEC

/* A node with endpoints of a Service. */
struct server {
	const struct cluster_node *node;
	const char *address; /* of the node, in the family of the GRE header */
	const char *backend; /* the name of its entry */
	/* by family of the endpoints: 0 for IPv4, 1 for IPv6 */
	size_t ready[2], serving[2];
};

struct walk {
	const struct cluster *cluster;
	struct arena *arena;
	struct l4_doc *doc;
	struct rule_sink sink;			/* both lists are the warnings */
	int family;				/* of the GRE header */
	struct map checks, backends, frontends; /* names that are taken */
	struct map file;			/* addresses of the file's frontends */
	struct map vips;			/* "ADDRESS:PORT/tcp" of the cluster */
	VEC(struct doc_check) new_checks;
	VEC(struct doc_backend) new_backends;
	VEC(struct doc_frontend) new_frontends;
};

static struct doc_text text_of(const char *v)
{
	return (struct doc_text){ .set = true, .v = v };
}

static struct doc_int int_of(int64_t v)
{
	return (struct doc_int){ .set = true, .v = v };
}

/* ---- names ---- */

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* A name that is too long is cut, and a hash of all of it keeps it apart from others. */
static const char *shorten(const char *name, struct arena *arena)
{
	enum { HASH = 17 };

	if (strlen(name) <= RULE_NAME_MAX)
		return name;
	return arena_printf(arena, "%.*s~%016" PRIx64, RULE_NAME_MAX - HASH, name, hash_of(name));
}

static const char *vip_name(const struct addr *address, const struct cluster_port *port,
			    struct arena *arena)
{
	const struct endpoint e = { *address, port->port };
	char text[ENDPOINT_STRLEN];

	return arena_printf(arena, "%s/%s", endpoint_format(&e, text), port->protocol);
}

const char *cluster_frontend_name(const char *namespace, const char *name,
				  const struct addr *address, const struct cluster_port *port,
				  struct arena *arena)
{
	return shorten(arena_printf(arena, "%s/%s/%s", namespace, name,
				    vip_name(address, port, arena)),
		       arena);
}

/* ---- what is left out ---- */

static const char *subject(struct walk *w, const struct cluster_service *s)
{
	return arena_printf(w->arena, "Service %s/%s", s->namespace, s->name);
}

static void leave_out(struct walk *w, const struct cluster_service *s, const char *why)
{
	rule_doubt(&w->sink, &(struct rule_spot){ .name = subject(w, s) }, NULL,
		   (struct place){ 0 }, "%s", why);
}

static bool is_wanted(struct walk *w, const struct cluster_service *s)
{
	const char *why = NULL;

	if (!s->n_addresses)
		return false; /* it will have one; nothing is wrong */
	if (!s->local)
		why = "is not served: the Maglev data plane needs externalTrafficPolicy Local";
	else if (!s->health_port)
		why = "is not served: it has no healthCheckNodePort";
	if (why)
		leave_out(w, s, why);
	return !why;
}

/* ---- servers ---- */

static const struct cluster_node *find_node(const struct cluster *c, const char *name)
{
	size_t i = sorted_place(c->n_nodes, k, strcmp(c->nodes[k].name, name) < 0);

	return i < c->n_nodes && strcmp(c->nodes[i].name, name) == 0 ? &c->nodes[i] : NULL;
}

static int by_node(const void *pa, const void *pb)
{
	const struct cluster_endpoint *a = *(const struct cluster_endpoint *const *)pa,
				      *b = *(const struct cluster_endpoint *const *)pb;
	int r = strcmp(a->node, b->node);

	r = r ? r : strcmp(a->address, b->address);
	/* the better state first: of two slices that differ one is older */
	return r ? r : (b->ready - a->ready) * 2 + (b->serving - a->serving);
}

/* The address of the node for GRE; NULL, with a warning, if it has none that is usable. */
static const char *address_of(struct walk *w, const struct cluster_service *s,
			      const struct cluster_node *n)
{
	const char *text = w->family == AF_INET ? n->address4 : n->address6;
	struct rule_spot service = { .name = subject(w, s) };
	struct rule_spot node = { .in = &service, .name = n->name };
	const struct doc_text d = { .set = true, .v = text };
	struct addr a;
	char canonical[ADDR_STRLEN];

	if (!text) {
		rule_doubt(&w->sink, &node, NULL, (struct place){ 0 },
			   "the node is left out: it has no internal address of %s",
			   w->family == AF_INET ? "IPv4" : "IPv6");
		return NULL;
	}
	if (!rule_address(&w->sink, &node, "address", w->family, &d, &a))
		return NULL;
	return arena_strdup(w->arena, addr_format(&a, canonical));
}

static const char *backend_name(struct walk *w, const struct cluster_service *s,
				const struct cluster_node *n)
{
	return shorten(arena_printf(w->arena, "%s/%s@%s", s->namespace, s->name, n->name),
		       w->arena);
}

/* Two nodes with one address cannot be told apart: the first by name stays. */
static bool open_server(struct walk *w, const struct cluster_service *s, const char *node,
			struct map *addresses, struct server *ret)
{
	const struct cluster_node *n = find_node(w->cluster, node);
	const char *address = n ? address_of(w, s, n) : NULL;

	if (!address || map_get(addresses, address))
		return false;
	*ret = (struct server){ .node = n, .address = address, .backend = backend_name(w, s, n) };
	map_put(addresses, address, ret);
	return true;
}

static void count(struct server *server, const struct cluster_endpoint *e)
{
	size_t family = e->family == AF_INET6;

	server->ready[family] += e->ready;
	server->serving[family] += e->ready || e->serving;
}

static const struct cluster_endpoint **sort_endpoints(struct walk *w,
						      const struct cluster_service *s, size_t *ret)
{
	const struct cluster_endpoint **list =
		arena_array_of(w->arena, s->n_endpoints, const struct cluster_endpoint *);
	size_t n = 0;

	for (size_t i = 0; i < s->n_endpoints; i++)
		if (s->endpoints[i].node && (s->endpoints[i].ready || s->endpoints[i].serving))
			list[n++] = &s->endpoints[i];
	if (n)
		qsort(list, n, sizeof(*list), by_node);
	*ret = n;
	return list;
}

/* The nodes of all endpoints that are ready or serving, in the order of their names. */
static struct server *find_servers(struct walk *w, const struct cluster_service *s, size_t *ret)
{
	size_t n, found = 0;
	const struct cluster_endpoint **list = sort_endpoints(w, s, &n);
	struct server *servers = arena_array_of(w->arena, n, struct server);
	_cleanup_(map_free) struct map addresses = { 0 };
	bool open = false;

	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(list[i - 1]->node, list[i]->node) != 0) {
			open = open_server(w, s, list[i]->node, &addresses, &servers[found]);
			found += open;
		} else if (strcmp(list[i - 1]->address, list[i]->address) == 0) {
			continue;
		}
		if (open)
			count(&servers[found - 1], list[i]);
	}
	*ret = found;
	return servers;
}

/* ---- entries ---- */

/*
 * kube-proxy answers 503 as soon as no endpoint of the node is ready, also while some still serve
 * their connections. Such a node is asked only whether it is alive: if it were down, its
 * connections would be flushed.
 */
static const char *use_check(struct walk *w, uint16_t port, bool is_ending)
{
	const char *name =
		arena_printf(w->arena, "kube-%s-%u", is_ending ? "alive" : "healthz", port);

	if (!map_get(&w->checks, name)) {
		vec_push(&w->new_checks,
			 (struct doc_check){
				 .name = name,
				 .type = text_of("http"),
				 .port = int_of(port),
				 .interval = { .set = true, .v = HEALTH_INTERVAL },
				 .params = { .set = true,
					     .path = text_of(HEALTH_PATH),
					     .response_code =
						     text_of(is_ending ? "200,503" : "200") },
			 });
		map_put(&w->checks, name, w);
	}
	return name;
}

static bool add_backends(struct walk *w, const struct cluster_service *s, struct server *servers,
			 size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (map_get(&w->backends, servers[i].backend)) {
			leave_out(w, s,
				  "is not served: a backend has the name of one of its nodes");
			return false;
		}
	for (size_t i = 0; i < n; i++) {
		bool is_ending = !servers[i].ready[0] && !servers[i].ready[1];
		const char *check = use_check(w, s->health_port, is_ending);

		vec_push(&w->new_backends,
			 (struct doc_backend){ .name = servers[i].backend,
					       .address = text_of(servers[i].address),
					       .healthcheck = text_of(check) });
		map_put(&w->backends, servers[i].backend, w);
	}
	return true;
}

/*
 * Nodes that have only endpoints that are about to end keep their connections and get no new ones,
 * unless there are no others.
 */
static size_t count_of(const struct server *server, size_t family, bool by_serving)
{
	return by_serving ? server->serving[family] : server->ready[family];
}

static int64_t weight_of(size_t count, size_t max)
{
	if (max <= WEIGHT_MAX)
		return (int64_t)count;
	return count ? (int64_t)(count * WEIGHT_MAX / max ?: 1) : 0;
}

/* The members of a pool, for an address of that family; NULL if there is no endpoint of it. */
static const struct doc_pool *make_pool(struct walk *w, const struct server *servers, size_t n,
					size_t family)
{
	struct doc_member *members = arena_array_of(w->arena, n, struct doc_member);
	struct doc_pool *pool = arena_new_of(w->arena, struct doc_pool);
	size_t ready = 0, max = 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		ready += servers[i].ready[family];
	for (size_t i = 0; i < n; i++)
		if (count_of(&servers[i], family, !ready) > max)
			max = count_of(&servers[i], family, !ready);
	for (size_t i = 0; i < n; i++)
		if (servers[i].serving[family])
			members[kept++] = (struct doc_member){
				.backend = servers[i].backend,
				.weight = int_of(
					weight_of(count_of(&servers[i], family, !ready), max)),
			};
	*pool = (struct doc_pool){ .name = text_of(POOL), .members = members, .n_members = kept };
	return kept ? pool : NULL;
}

/* Why an address and port cannot be a frontend; NULL: it can, and *ret is its name. */
static const char *judge_vip(struct walk *w, const struct cluster_service *s,
			     const struct addr *address, const struct cluster_port *port,
			     const char **ret)
{
	char text[ADDR_STRLEN];
	const char *vip;

	if (!port->protocol || !port->port)
		return "has a port that is not served: neither TCP nor UDP";
	if (map_get(&w->file, addr_format(address, text)))
		return "is not served: the configuration file has a frontend with its address";
	vip = vip_name(address, port, w->arena);
	*ret = cluster_frontend_name(s->namespace, s->name, address, port, w->arena);
	if (map_get(&w->frontends, *ret))
		return "is not served: the configuration file has a frontend of this name";
	if (map_put(&w->vips, vip, w))
		return "has a port that is not served: another Service has this address and port";
	return NULL;
}

static void add_frontend(struct walk *w, const struct cluster_service *s,
			 const struct addr *address, const struct cluster_port *port,
			 const struct doc_pool *pool)
{
	char text[ADDR_STRLEN];
	const char *name = NULL, *why = judge_vip(w, s, address, port, &name);

	if (why) {
		leave_out(w, s, why);
		return;
	}
	map_put(&w->frontends, name, w);
	vec_push(&w->new_frontends,
		 (struct doc_frontend){
			 .name = name,
			 .description = text_of(subject(w, s)),
			 .address = text_of(arena_strdup(w->arena, addr_format(address, text))),
			 .protocol = text_of(port->protocol),
			 .port = int_of(port->port),
			 .src_ip_sticky = { .set = true, .v = s->sticky },
			 .pools = pool,
			 .n_pools = 1,
		 });
}

static void add_address(struct walk *w, const struct cluster_service *s, const char *text,
			const struct server *servers, size_t n)
{
	struct rule_spot spot = { .name = subject(w, s) };
	const struct doc_text d = { .set = true, .v = text };
	const struct doc_pool *pool;
	struct addr address;

	if (!rule_address(&w->sink, &spot, "address", AF_UNSPEC, &d, &address))
		return;
	pool = make_pool(w, servers, n, address.family == AF_INET6);
	for (size_t i = 0; pool && i < s->n_ports; i++)
		add_frontend(w, s, &address, &s->ports[i], pool);
}

static void add_service(struct walk *w, const struct cluster_service *s)
{
	size_t n = 0;
	struct server *servers;

	if (!is_wanted(w, s))
		return;
	servers = find_servers(w, s, &n);
	if (!n || !add_backends(w, s, servers, n))
		return;
	for (size_t i = 0; i < s->n_addresses; i++)
		add_address(w, s, s->addresses[i], servers, n);
}

/* ---- the document of the file ---- */

/* Entries of the file whose address cannot be read are the business of its validation. */
static void note_file(struct walk *w)
{
	struct l4_doc *doc = w->doc;
	struct addr a;
	char text[ADDR_STRLEN];

	for (size_t i = 0; i < doc->n_checks; i++)
		map_put(&w->checks, doc->checks[i].name, w);
	for (size_t i = 0; i < doc->n_backends; i++)
		map_put(&w->backends, doc->backends[i].name, w);
	for (size_t i = 0; i < doc->n_frontends; i++) {
		const struct doc_frontend *f = &doc->frontends[i];

		map_put(&w->frontends, f->name, w);
		if (f->address.set && addr_parse(f->address.v, &a) == 0)
			map_put(&w->file, arena_strdup(w->arena, addr_format(&a, text)), w);
	}
}

/* An address of this node becomes a GRE source if it is usable and the file has none. */
static void add_source(struct walk *w, const char *text, int family, struct doc_lb *lb,
		       struct doc_text *source)
{
	const struct doc_text d = { .set = true, .v = text };
	struct rule_spot own = { .name = w->cluster->own };
	struct addr a;

	if (source->set || !text || !rule_address(&w->sink, &own, "address", family, &d, &a))
		return;
	*source = d;
	lb->set = true;
}

static void add_sources(struct walk *w)
{
	const struct cluster_node *own = find_node(w->cluster, w->cluster->own);
	struct doc_lb *lb = w->doc->top_lb.set ? &w->doc->top_lb : &w->doc->lb;

	if (own) {
		add_source(w, own->address4, AF_INET, lb, &lb->ipv4_src_address);
		add_source(w, own->address6, AF_INET6, lb, &lb->ipv6_src_address);
	}
	w->family = lb->ipv4_src_address.set   ? AF_INET
		    : lb->ipv6_src_address.set ? AF_INET6
					       : AF_UNSPEC;
}

/* The entries of the file, then those of the cluster. */
static void *join(struct walk *w, const void *file, size_t n_file, const void *more, size_t n_more,
		  size_t size)
{
	char *all = arena_array(w->arena, n_file + n_more, size);

	if (n_file)
		memcpy(all, file, n_file * size);
	if (n_more)
		memcpy(all + n_file * size, more, n_more * size);
	return all;
}

static void append(struct walk *w)
{
	struct l4_doc *d = w->doc;

	d->checks = join(w, d->checks, d->n_checks, w->new_checks.items, w->new_checks.n,
			 sizeof(*d->checks));
	d->backends = join(w, d->backends, d->n_backends, w->new_backends.items, w->new_backends.n,
			   sizeof(*d->backends));
	d->frontends = join(w, d->frontends, d->n_frontends, w->new_frontends.items,
			    w->new_frontends.n, sizeof(*d->frontends));
	d->n_checks += w->new_checks.n;
	d->n_backends += w->new_backends.n;
	d->n_frontends += w->new_frontends.n;
}

static void finish(struct walk *w)
{
	vec_free(&w->new_checks);
	vec_free(&w->new_backends);
	vec_free(&w->new_frontends);
	map_free(&w->checks);
	map_free(&w->backends);
	map_free(&w->frontends);
	map_free(&w->file);
	map_free(&w->vips);
}

void cluster_extend(const struct cluster *c, struct arena *arena, struct l4_doc *doc,
		    struct errs *warnings)
{
	struct walk w = {
		.cluster = c, .arena = arena, .doc = doc, .sink = { arena, warnings, warnings }
	};

	note_file(&w);
	add_sources(&w);
	if (w.family == AF_UNSPEC && c->n_services)
		rule_doubt(
			&w.sink, &(struct rule_spot){ .name = c->own }, NULL, (struct place){ 0 },
			"no Service is served: this node is not known or has no internal address");
	for (size_t i = 0; w.family != AF_UNSPEC && i < c->n_services; i++)
		add_service(&w, &c->services[i]);
	append(&w);
	finish(&w);
}
