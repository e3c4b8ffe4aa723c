/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: what the translator knows, and which result was made from what. Private to the files that
 * translate (translate.h is for the rest of the program).
 *
 * A node is an object of the cluster, a list of objects that are looked for together, or a result.
 * Each has a kind and a key ("namespace/name"). While a result is made, gw__need() remembers the
 * nodes that it uses, whether they exist or not. When a node changes, its users become stale.
 * Results are made again in the order of their level, so that none is made from something stale.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/labels/labels.h"
#include "src/gateway/translate.h"

/* Kinds of nodes beside those of objects (enum gw_kind). */
enum {
	GW__LISTENER = GW_KINDS, /* routes that are attached to a listener; makes streams */
	GW__POOL,		 /* servers of a port of a Service */
	GW__SLICES,		 /* EndpointSlices of a Service */
	GW__GRANTS,		 /* ReferenceGrants of a namespace */
	GW__SETS,		 /* ListenerSets of a Gateway */
	GW__POLICIES,		 /* BackendTLSPolicies of a Service */
	GW__CONSUMERS,		 /* routes that send requests to a Service */
	GW__NODE_KINDS,
};

#define GW__LEVELS 5
#define GW__KEY_MAX 1024

struct gw__edge;

struct gw__node {
	unsigned kind;
	const char *key;
	const struct k8s_object *object; /* of enum gw_kind; NULL: it does not exist */
	VEC(struct gw__node *) members;	 /* of a list; no order */
	struct gw__edge *users, *needs;
	uint64_t stamp; /* of the result that has used it last */
	bool stale, status_due;
	struct gw__node *next_stale, *next_status;
	void *result; /* its type depends on the kind */
};

struct gw__edge {
	struct gw__node *user, *need;
	struct gw__edge *next;		     /* of the user */
	struct gw__edge *previous, *sibling; /* of what is needed */
};

struct gw__queue {
	struct gw__node *first, **last;
};

struct gw__entries {
	struct map by_name;
	VEC(struct gw_entry *) sorted;
	VEC(struct gw__touched *) touched;
	struct map touched_by_name;
};

struct gw {
	struct gw_settings settings;
	struct map nodes[GW__NODE_KINDS];
	struct gw__queue stale[GW__LEVELS], statuses;
	size_t n_stale;
	struct gw__node *current; /* the result that is being made */
	uint64_t stamp;
	struct arena *scratch; /* of the result that is being made */
	struct gw__entries entries[GW_ENTRY_KINDS];
	VEC(struct gw__node *) gateways; /* ours, by key */
	struct map addresses;		 /* by the key of the Gateway: struct gw__addresses */
	void (*on_gateway)(const char *namespace, const char *name, void *user);
	void *on_gateway_user;
};

/* ---- nodes ---- */

/* Finds or makes a node, and remembers that the present result uses it. */
struct gw__node *gw__need(struct gw *g, unsigned kind, const char *key);
struct gw__node *gw__need_object(struct gw *g, unsigned kind, const char *namespace,
				 const char *name);
/* The node if there is one, without remembering anything. */
struct gw__node *gw__find(const struct gw *g, unsigned kind, const char *key);
const char *gw__key(struct arena *arena, const char *namespace, const char *name);

/* The results that use this node are stale. */
void gw__touch_users(struct gw *g, struct gw__node *n);
void gw__make_stale(struct gw *g, struct gw__node *n);
/* The status of an object is to be compared. */
void gw__status_due(struct gw *g, struct gw__node *n);
/* The next object whose status is to be compared; NULL: none. */
struct gw__node *gw__next_status(struct gw *g);
/* Frees a node that nothing refers to. */
void gw__release(struct gw *g, struct gw__node *n);
/* Adds to, or removes from, a list; the list is made if it does not exist. */
void gw__join(struct gw *g, unsigned kind, const char *key, struct gw__node *member);
void gw__leave(struct gw *g, unsigned kind, const char *key, struct gw__node *member);

/* ---- verdicts ---- */

/* A condition to be: reason is a constant, message is allocated or NULL. */
struct gw__verdict {
	bool ok;
	const char *reason;
	char *message;
};

/* Keeps the first failure. */
void gw__fail(struct gw__verdict *v, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void gw__verdict_free(struct gw__verdict *v);

/* ---- entries (entries.c) ---- */

/* Texts are copied. endpoints may be empty. The entry is that of the node that is being made. */
void gw__put_entry(struct gw *g, const struct gw_entry *entry);
/*
 * Drops an entry of the node that is being made, and no other: a listener whose protocol changes
 * passes from its streams to its Gateway or back, so a name may have another maker by now.
 */
void gw__drop_entry(struct gw *g, enum gw_entry_kind kind, const char *name);
void gw__free_entries(struct gw *g);

/* ---- references (translate_refs.c) ---- */

/* What refers, for ReferenceGrants. */
struct gw__from {
	const char *kind, *namespace;
};

/* Whether an object of another namespace may be referred to. */
bool gw__permitted(struct gw *g, const struct gw__from *from, const char *group, const char *kind,
		   const char *namespace, const char *name);

/* Which namespaces are allowed. */
struct gw__scope {
	const char *from; /* All, Same, Selector, None */
	bool has_selector;
	struct labels_selector selector;
};

/* All texts are copied to arena. fallback is what holds if nothing is said. */
struct gw__scope gw__scope_of(const struct gw_namespaces *rule, const char *fallback,
			      struct arena *arena);
bool gw__allows(struct gw *g, const struct gw__scope *scope, const char *own, const char *other);
/* PEM of the authorities of a list of references; NULL: none is valid. */
struct gw__ca_words {
	const char *not_found, *bad_kind; /* reasons */
};
const char *gw__authorities(struct gw *g, const struct gw__from *from, const struct k8s_list *refs,
			    const struct gw__ca_words *words, struct gw__verdict *verdict);
/* The certificate and key of a reference; false with a verdict. */
struct gw__pair {
	const char *certificate, *key;
};
bool gw__pair_of(struct gw *g, const struct gw__from *from, const struct gw_ref *ref,
		 const char *bad, struct gw__pair *ret, struct gw__verdict *verdict);

/* A text of at most L7_NAME_MAX bytes: a longer one is cut, and ends with a digest of the whole. */
const char *gw__short_name(struct arena *arena, const char *name);
uint64_t gw__digest(const char *text);
/* "" for NULL. */
static inline const char *gw__text(const char *s)
{
	return s ? s : "";
}
static inline const char *gw__or(const char *s, const char *fallback)
{
	return s ? s : fallback;
}

/* ---- Gateways (translate_gateway.c) ---- */

enum gw__protocol { GW__HTTP, GW__HTTPS, GW__TLS, GW__TCP, GW__UDP, GW__NO_PROTOCOL };

#define GW__ROUTE_KINDS 5 /* from GW_HTTP_ROUTE on */
#define GW__ROUTE_BIT(kind) (1u << ((kind)-GW_HTTP_ROUTE))

/* A listener of a Gateway or of one of its ListenerSets. Everything is in the arena of the view. */
struct gw__listener {
	const char *section;
	const char *name; /* of the node GW__LISTENER, and of the router's listener */
	const char *set;  /* key of its ListenerSet; NULL: the Gateway's own */
	uint16_t port;
	enum gw__protocol protocol;
	bool passthrough;
	const char *hostname; /* "": all */
	unsigned kinds;	      /* of routes, as bits */
	struct gw__scope scope;
	struct gw__verdict accepted, resolved, programmed, conflicted; /* conflicted.ok: none */
	bool beaten;		  /* an older object has its place */
	bool usable;		  /* nothing is wrong with it itself */
	bool served;		  /* routers have it, those of streams while they have one */
	const char **texts;	  /* entries of streams' listeners, as names; NULL: others */
	const char *const *names; /* of the router's listeners, one for each address */
	size_t n_names;
	const struct gw__pair *pairs;
	size_t n_pairs;
	const char *ca; /* of clients */
	bool fallback;	/* AllowInsecureFallback */
};

struct gw__set {
	const char *key;
	struct gw__node *node;
	struct gw__verdict accepted, programmed;
};

/* The result of a Gateway of ours. */
struct gw__view {
	struct arena *arena;
	const char *namespace, *gateway;
	uint64_t digest; /* of all that routes and pools see */
	struct gw__verdict accepted, programmed, resolved;
	bool has_resolved, insecure;
	struct gw__listener *listeners; /* the Gateway's own, then those of sets */
	size_t n_listeners, n_own;
	struct gw__set *sets;
	size_t n_sets, n_sets_accepted;
	struct gw__pair client; /* shown to servers; NULL: none */
	bool has_client;	/* also if it is not valid */
	struct l7_doc_listener settings;
	struct gw_port *ports;
	size_t n_ports;
	struct addr *addresses;
	size_t n_addresses;
	VEC(char *) entries; /* names of the router's listeners */
};

void gw__make_gateway(struct gw *g, struct gw__node *n);
void gw__make_class(struct gw *g, struct gw__node *n);
/* Whether a class is of this controller. */
bool gw__class_is_ours(const struct gw *g, const struct gw_class *c);
/*
 * Fills the listeners of a Gateway or ListenerSet, from v->n_listeners on (translate_listeners.c).
 * set is NULL for the Gateway's own.
 */
void gw__add_listeners(struct gw *g, struct gw__view *v, const struct k8s_list *list,
		       const struct k8s_object *set);
/* After all of them: conflicts, certificates, and whether routers have them. */
void gw__judge_listeners(struct gw *g, struct gw__view *v, const struct gw_gateway *gateway);

/* ---- settings and rendering ---- */

/*
 * Sets the keys of a listener that a ConfigMap has. Returns NULL, or what is wrong with it, in the
 * scratch arena.
 */
const char *gw__settings(struct gw *g, const struct gw_config_map *map,
			 struct l7_doc_listener *listener);
/*
 * Checks a document by the rules of the router, and appends the JSON text of its first entry of a
 * kind. Returns NULL, or what is wrong with it, in the scratch arena; out is untouched then
 * (render.c).
 */
const char *gw__render(struct gw *g, const struct l7_doc *doc, enum gw_entry_kind kind,
		       struct buf *out);
/* The view of a Gateway; NULL if it does not exist or is not ours. */
const struct gw__view *gw__view(const struct gw__node *n);

/* What gw_set_addresses() was told; one block. */
struct gw__addresses {
	const char *key, *message; /* NULL: none */
	enum gw_address_state state;
	size_t n;
	struct addr items[];
};

/* ---- routes ---- */

struct gw__parent {
	bool ours;
	struct gw__verdict accepted;
};

/* A stream for one of the router's listeners. */
struct gw__stream {
	char *listener, *text;
};

struct gw__route {
	struct gw__parent *parents; /* as spec.parentRefs */
	size_t n_parents;
	struct gw__verdict resolved;
	struct gw__verdict supported; /* !ok: nothing of it can be served */
	struct gw__verdict partial;   /* !ok: a rule was dropped */
	VEC(char *) listeners;	      /* keys: GW__LISTENER to which it is attached */
	VEC(struct gw__node *) gateways;
	VEC(char *) services; /* keys: GW__CONSUMERS that it has joined */
	VEC(char *) entries;  /* names of routes */
	VEC(struct gw__stream) streams;
};

/* A listener to which a route is attached. */
struct gw__attachment {
	struct gw__node *gateway;
	const struct gw__listener *listener;
};

struct gw__attached {
	struct gw__attachment *items;
	size_t n, cap;
};

/* Names of entries. */
struct gw__names {
	char **items;
	size_t n, cap;
};

/* The result of GW__LISTENER: whose it is, and the streams that were made for it. */
struct gw__slot {
	char *gateway, *set; /* keys; set: NULL if the listener is the Gateway's own */
	struct gw__names entries, listeners; /* of streams, and of listeners */
};

/* Makes sure that the listener has a slot. */
void gw__slot_at(struct gw *g, const struct gw__attachment *a);
void gw__slot_free(struct gw__slot *s);

/* ---- backends (translate_backend.c) ---- */

/* The result of GW__POOL. */
struct gw__pool {
	char *namespace, *service;
	char *gateway; /* key of the Gateway whose certificate is shown to servers; NULL: none */
	uint16_t port;
	bool udp, h2, raw;
};

void gw__pool_free(struct gw__pool *p);

/* The route for which backends are resolved. */
struct gw__consumer {
	struct gw__node *node;
	struct gw__route *result;
	const char *gateway; /* as in struct gw__pool */
	bool raw;	     /* servers have TLS of their own: no policy holds */
	bool check;	     /* the reference is only judged, and the result is not a name */
};

/* The name of the pool of a reference; NULL, with result->resolved, if it is not valid. */
const char *gw__resolve(struct gw *g, const struct gw__consumer *consumer,
			const struct gw_ref *ref);

/* Makes the entries of HTTPRoutes and GRPCRoutes, and judges the references of all routes. */
void gw__make_rules(struct gw *g, struct gw__node *n, struct gw__route *r,
		    const struct gw__attached *attached);

/* ---- policies (translate_policy.c) ---- */

struct gw__policy {
	struct arena *arena;
	uint64_t digest; /* of what pools see */
	bool valid;	 /* can be applied */
	struct gw__verdict accepted, resolved;
	const char *hostname;
	const char *ca; /* NULL: those of the system */
	const char *const *names;
	size_t n_names;
	VEC(char *) gateways; /* keys, sorted: through which its targets are reached */
};

/* The policy that holds for a port of a Service, by the name of the port; NULL: none. */
const struct gw__policy *gw__policy_for(struct gw *g, const struct gw__pool *pool,
					const char *port);
/* Makes the streams of a route for the listeners that are served. */
void gw__render_streams(struct gw *g, struct gw__node *n, struct gw__route *r,
			const struct gw__attached *attached);
void gw__policy_free(void *policy);
void gw__route_free(struct gw__route *r);
void gw__view_free(struct gw__view *v);
void gw__make_route(struct gw *g, struct gw__node *n);
void gw__make_streams(struct gw *g, struct gw__node *n);
void gw__make_pool(struct gw *g, struct gw__node *n);
void gw__make_policy(struct gw *g, struct gw__node *n);
void gw__free_result(struct gw *g, struct gw__node *n);
