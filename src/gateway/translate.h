/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate: cluster facts in, configuration of routers and status of objects out. Pure.
 *
 * The translator is told about each object that appears, changes or goes, and remembers which
 * result was made from which objects, also from objects that were looked for and not found. A
 * change makes only those results stale that have used the object. gw_work() makes them again, in
 * steps, so that long work can be done in slices:
 *
 *	informer --> gw_changed() --> (stale results) --> gw_work() --> gw_take(), gw_take_status()
 *
 * Results are entries of the document of a router (docs/reference/router.md): listeners, routes,
 * streams and pools, each with the JSON text of the entry. gw_take() tells which of them have
 * changed since it was called last; gw_document() writes the whole document. Both must be called
 * only while gw_work() has nothing left to do.
 *
 * Objects are borrowed: an object must live until gw_changed() has told that it was replaced or
 * went. Bad objects have status that says why, and no other effect.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/l7/config.h"
#include "src/gateway/facts.h"

#define GW_CONTROLLER "maglev.dev/gateway-controller"

struct gw;

/* What translation needs from outside. All of them are pure, and must be given. */
struct gw_calls {
	/* Regular expressions, as of l7_config_build(). */
	struct l7_calls regex;
	/* NULL if text is PEM of at least one certificate, and key belongs to it; else why not. */
	const char *(*check_pair)(const char *certificate, const char *key, void *user);
	/* NULL if text is PEM of at least one authority; else why not. */
	const char *(*check_ca)(const char *text, void *user);
	/*
	 * A Secret or ConfigMap is needed by some result (true), or by none any more (false),
	 * whether it is known or not. May be NULL. Not to be answered by gw_changed() at once.
	 */
	void (*wanted)(enum gw_kind kind, const char *namespace, const char *name, bool wanted,
		       void *user);
	void *user;
};

struct gw_settings {
	const char *controller; /* GW_CONTROLLER; NULL: that */
	struct gw_calls calls;
};

/* Strings are borrowed for the life of the translator. */
struct gw *gw_new(const struct gw_settings *settings);
void gw_free(struct gw *g); /* NULL is allowed */

/* ---- facts in ---- */

/*
 * An object came (before is NULL), changed, or went (after is NULL). Cheap: only marks what is
 * stale. A change of an object's status alone makes no result stale, but its status is compared
 * again.
 */
void gw_changed(struct gw *g, enum gw_kind kind, const struct k8s_object *before,
		const struct k8s_object *after);

/* Why a Gateway has no address that can be used. */
enum gw_address_state {
	GW_ADDRESS_PENDING, /* not assigned yet */
	GW_ADDRESS_OK,
	GW_ADDRESS_NOT_USABLE, /* routers cannot use the one that was asked for */
	GW_ADDRESS_NONE_LEFT,  /* no pool has one */
};

/*
 * The addresses of a Gateway, which the program assigns: those that routers listen on. They are
 * copied. Without a call a Gateway has none and is GW_ADDRESS_PENDING, and no listener of it
 * reaches a router. message says more in the status; may be NULL.
 */
struct gw_addresses {
	const struct addr *items;
	size_t n;
	enum gw_address_state state;
	const char *message;
};
void gw_set_addresses(struct gw *g, const char *namespace, const char *name,
		      const struct gw_addresses *addresses);

/* ---- work ---- */

/* Makes up to `most` stale results again. Returns how many are left. A route takes some 20 µs. */
size_t gw_work(struct gw *g, size_t most);

/* ---- configuration out ---- */

enum gw_entry_kind { GW_LISTENERS, GW_ROUTES, GW_STREAMS, GW_POOLS };
#define GW_ENTRY_KINDS 4

/* Unchanging once it is made: a change makes another one. */
struct gw_entry {
	enum gw_entry_kind kind;
	const char *name;
	/*
	 * The order in the document: by this text, then by name. "" except for routes: their age.
	 */
	const char *order;
	struct str text; /* the JSON object, with private keys; of a pool with no servers */
	struct str
		endpoints; /* of a pool: {"upstreams":[...]}, as for POST /pools/NAME/endpoints */
	const struct gw__node *maker; /* private: whose entry it is */
};

/* Appends the JSON object of an entry as it is in the document, servers of a pool included. */
void gw_entry_json(const struct gw_entry *e, struct buf *out);

/* The number of entries; and entry i in the order of the document. */
size_t gw_entries(const struct gw *g, enum gw_entry_kind kind);
const struct gw_entry *gw_entry_at(const struct gw *g, enum gw_entry_kind kind, size_t i);
const struct gw_entry *gw_entry_find(const struct gw *g, enum gw_entry_kind kind, const char *name);
/* Where an entry is, or would be, in that order. */
size_t gw_entry_position(const struct gw *g, enum gw_entry_kind kind, const char *order,
			 const char *name);

/* The whole document. */
void gw_document(const struct gw *g, struct buf *out);

struct gw_change {
	enum gw_entry_kind kind;
	const char *name;
	const struct gw_entry *entry; /* NULL: it went */
	bool only_endpoints; /* of a pool that was there before: nothing else has changed */
};

/* Calls fn for each entry that has changed since the last call, pools first, each once. */
void gw_take(struct gw *g, void (*fn)(const struct gw_change *change, void *user), void *user);
/* Whether gw_take() would tell anything. */
bool gw_has_changes(const struct gw *g);

/* ---- status out ---- */

struct gw_status {
	enum gw_kind kind;
	const char *namespace, *name;
	uint64_t version; /* resourceVersion that the patch was made for */
};

/*
 * Takes the next object whose status may differ from what it should be, and appends a merge patch
 * for its subresource status to patch: {"metadata":{"resourceVersion":...},"status":{...}}. Objects
 * whose status is as it should be are passed over. False: there are no more. now is the time for
 * conditions whose status changes (RFC 3339, whole seconds). What belongs to others is written as
 * it was found, so a conflict (409) must not be overridden: call gw_again() for it, or for a write
 * that failed, and take it again later.
 */
bool gw_take_status(struct gw *g, const char *now, struct gw_status *ret, struct buf *patch);
void gw_again(struct gw *g, enum gw_kind kind, const char *namespace, const char *name);

/* ---- Gateways, for what the program makes for each of them ---- */

struct gw_port {
	const char *name; /* of the listener */
	uint16_t port;
	bool udp;
};

/* A Gateway of ours, as the program sees it. Borrowed until the next gw_changed() or gw_work(). */
struct gw_view {
	const struct gw_gateway *object;
	bool accepted;
	const struct gw_port
		*ports; /* of valid listeners, ListenerSets included; sorted, each once */
	size_t n_ports;
};

size_t gw_gateways(const struct gw *g);
struct gw_view gw_gateway_at(const struct gw *g, size_t i); /* by namespace and name */
/* False: it is not ours, or does not exist. */
bool gw_gateway_find(const struct gw *g, const char *namespace, const char *name,
		     struct gw_view *ret);
/* Called by gw_work() when a Gateway of ours came, changed or went; for addresses and Services. */
void gw_on_gateway(struct gw *g, void (*fn)(const char *namespace, const char *name, void *user),
		   void *user);

/* ---- explain ---- */

/* A request to be explained. */
struct gw_question {
	uint16_t port; /* 0: every port of the route */
	struct l7_request request;
	struct l7_calls regex; /* compiles patterns for matches() */
	l7_regex_fn matches;
};

/*
 * Appends text for people: the parents of a route and its listeners, and what a request would meet
 * at each of their addresses: which listener, rule and backend, and why not the other rules of the
 * route. question may be NULL. -ENOENT: there is no such route, or it was not translated yet.
 */
int gw_explain(const struct gw *g, enum gw_kind kind, const char *namespace, const char *name,
	       const struct gw_question *question, struct buf *out);

/* ---- features ---- */

/* GatewayClass status.supportedFeatures, sorted; ends with NULL. */
extern const char *const gw_features[];
