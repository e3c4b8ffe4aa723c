/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a mux is to be, and the writes that make it so.
 *
 * Pure: facts in, decisions out. The work has two parts.
 *
 *	mux_assign()	Services, state, namespaces -> struct mux_view: which channel has which
 *			port, and why another has none. It is kept by the caller, it is what the
 *			page and the metrics show, and it owns its memory.
 *	mux_plan()	view and what exists -> struct mux_plan: an ordered list of writes, events
 *
 * The view is valid until a Service, the state, a namespace or a setting changes in a way that
 * matters (mux_view_knows(), mux_view_knows_state()). A change of endpoints needs only mux_plan()
 * with a scope that names the channel: its cost does not depend on the number of channels.
 *
 * A pass, for the key "namespace/name" of a mux (also one that does not exist, as long as a channel
 * refers to it or slices of it exist):
 *
 *	if something changed that the view does not know (mux_view_knows(), mux_view_knows_state())
 *		view = mux_assign(facts, old view), then free the old one; scope = all
 *	mux_plan(view, facts, scope, arena, &plan)
 *	emit plan.events; run plan.writes; emit the events of each write that succeeded
 *	come back at plan.due
 *
 * Writes are ordered by stage. Those of one stage are independent of each other and may run at
 * once; the next stage begins when all of a stage have ended. If the state cannot be stored nothing
 * else may be written; after other failures the rest is written all the same, and the pass is tried
 * again from new facts. A crash between any two writes leaves a state that the next pass completes:
 * claims are stored before ports are exposed, and everything else follows from them.
 *
 * Channels that refer to no mux (their class is invalid), and Services with leftovers:
 * mux_plan_stray(), for the key of each Service that mux_role() calls MUX_ROLE_STRAY.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "src/mux/kinds.h"
#include "src/mux/state.h"

#define MUX_DIGEST 32 /* bytes of SHA-256 */
typedef void (*mux_digest_fn)(const void *p, size_t n, uint8_t ret[static MUX_DIGEST]);

struct mux_settings {
	const char *prefix;	       /* "svc-mux.nowake.ai" */
	const char *default_namespace; /* of a mux that a class names without one */
	mux_digest_fn sha256;	       /* tls_sha256 */
};

/* ---- who is who ---- */

enum mux_role {
	MUX_ROLE_NONE,	  /* nothing to do with us */
	MUX_ROLE_MUX,	  /* has the annotation; may be an invalid mux */
	MUX_ROLE_CHANNEL, /* of the mux that is returned; may be an invalid channel */
	MUX_ROLE_STRAY, /* a class that cannot be parsed, or leftovers of a former channel or mux */
};

/* For MUX_ROLE_CHANNEL the mux; texts are terminated. */
struct mux_reference {
	char namespace[64], name[64];
};

enum mux_role mux_role(const struct mux_settings *settings, const struct mux_service *service,
		       struct mux_reference *ret);

/* The name of the ConfigMap of a mux, in its namespace; from the annotation, or made. */
const char *mux_state_name(const struct mux_settings *settings, const struct mux_service *mux,
			   struct arena *arena);
/* The index key of a slice that was made for a channel, "ns/mux ns/channel"; NULL: none. */
const char *mux_slice_key(const struct mux_settings *settings, const struct mux_slice *slice,
			  struct arena *arena);

/* ---- facts ---- */

/* What exists for one channel. Lists are ordered by name and borrowed until the next look. */
struct mux_sight {
	const struct mux_service *service;     /* NULL: gone */
	const struct mux_slice *const *slices; /* labelled with the Service's name */
	size_t n_slices;
	const struct mux_endpoints
		*endpoints; /* of the Service's name; used if there is no slice */
	const struct mux_slice *const *written; /* made by us for this channel: mux_slice_key() */
	size_t n_written;
};

struct mux_facts {
	const struct mux_settings *settings;
	int64_t now; /* ns since the epoch */
	const char *namespace, *name;
	const struct mux_service *mux; /* NULL: there is none */
	/* All that refer to this mux, valid or not, ordered by namespace and name. */
	const struct mux_service *const *channels;
	size_t n_channels;
	const struct mux_config_map *config_map; /* with mux_state_name(); NULL: there is none */
	const struct mux_state *state;		 /* of its text; NULL: state_error says why */
	const char *state_error;
	/* All, ordered by name. */
	const struct mux_namespace *const *namespaces;
	size_t n_namespaces;
	const struct mux_endpoints *endpoints; /* with the name of the mux */
	/* Slices labelled with the mux's name and our managed-by; only read in a full pass. */
	const struct mux_slice *const *slices;
	size_t n_slices;
	void (*look)(const char *namespace, const char *name, struct mux_sight *ret, void *user);
	void *user;
};

/* ---- events ---- */

struct mux_event {
	const char *namespace, *name, *uid; /* of the Service */
	const char *field_path;		    /* NULL: none */
	bool warning;
	const char *reason, *note;
};

/* ---- the view ---- */

enum mux_fate {
	MUX_SERVED,
	MUX_REFUSED,  /* reason and message say why */
	MUX_PENDING,  /* the mux is missing, invalid, disabled, or frozen before it was taken in */
	MUX_DISABLED, /* by its annotation: not on the mux, its numbers are kept */
};

struct mux_view_port {
	const char *name; /* "" if unnamed */
	enum mux_protocol protocol;
	uint16_t port, node_port; /* of the channel */
	uint16_t mux_port;	  /* 0: none */
	uint16_t held;		  /* kept for it while it is not served; 0: none */
	bool automatic;
	const char *mux_name; /* of the port on the mux; NULL: none */
};

struct mux_view_channel {
	const char *namespace, *name, *uid, *class;
	const char *hostname; /* <prefix>/external-dns-hostname; NULL: none */
	enum mux_fate fate;
	const char *reason, *message; /* of a refusal, as in its event; NULL otherwise */
	const struct mux_view_port *ports;
	size_t n_ports;
	uint64_t inputs;	   /* fingerprint of what was read from the Service */
	uint32_t ready, not_ready; /* addresses; known after the first full mux_plan() */
};

enum mux_condition {
	MUX_ACTIVE,
	MUX_MISSING, /* there is none */
	MUX_INVALID, /* NotLoadBalancer, NotSupported */
	MUX_FROZEN,  /* ports stay as they are; endpoints are followed */
	MUX_PAUSED,  /* disabled by its annotation: nothing is written */
};

struct mux_view {
	struct arena *arena;
	const char *namespace, *name, *uid;
	enum mux_condition condition;
	const char *reason, *message; /* of MUX_INVALID and MUX_FROZEN; NULL otherwise */
	const char *state_name;	      /* of the ConfigMap; NULL without a mux */
	const char *port_range;	      /* as written; NULL: none */
	unsigned max_ports;	      /* that applies; 0: only MUX_PORTS_MAX */
	bool gke;
	struct mux_view_channel *channels;
	size_t n_channels, n_served, n_refused, n_ports;
	/* What holds at present: refusals and complaints about the mux, in a total order. */
	const struct mux_event *complaints;
	size_t n_complaints;
	int64_t due;	       /* when a released port becomes free; 0: nothing waits */
	bool reads_namespaces; /* their labels decide who may join */
	struct mux_view_private *private;
};

/* Ports of one mux: a Service with more is too large for the API server. */
#define MUX_PORTS_MAX 6000
/* Addresses in an Endpoints object, as in Kubernetes. Slices have all. */
#define MUX_ENDPOINTS_MAX 1000

/* previous is the last view of this mux, or NULL: complaints that it had are not events again. */
struct mux_view *mux_assign(const struct mux_facts *facts, const struct mux_view *previous);
void mux_view_free(struct mux_view *v); /* NULL is allowed */

/*
 * Whether the view was made from a Service (the mux, or a channel of it) that differs only in what
 * maglev-mux writes itself. Then a pass with this channel in its scope is enough, for the mux one
 * with an empty scope.
 */
bool mux_view_knows(const struct mux_view *v, const struct mux_settings *settings,
		    const struct mux_service *service);
/* Whether the ConfigMap holds what the view wants, or is the one that it was made from. */
bool mux_view_knows_state(const struct mux_view *v, const struct mux_config_map *config_map);

const char *mux_fate_name(enum mux_fate f);
const char *mux_condition_name(enum mux_condition c);

/* ---- the plan ---- */

enum mux_verb { MUX_CREATE, MUX_PATCH, MUX_DELETE }; /* a patch is a JSON merge patch */
enum mux_object { MUX_CONFIG_MAP, MUX_SLICE, MUX_ENDPOINTS, MUX_SERVICE, MUX_SERVICE_STATUS };

struct mux_wanted_port {
	const char *name;
	uint16_t port;
	enum mux_protocol protocol;
};

struct mux_owner {
	const char *name, *uid;
};

struct mux_write {
	enum mux_verb verb;
	enum mux_object object;
	unsigned stage;
	const char *namespace, *name;
	uint64_t version; /* precondition; 0: none */
	const char *uid;  /* precondition of MUX_DELETE */
	const char *what; /* one line: "spec.ports: Added 1 port(s): 80/TCP" */

	/* The content; what is absent is left alone. A pair with a NULL value is removed. */
	const struct k8s_pair *labels, *annotations;
	size_t n_labels, n_annotations;
	const struct mux_owner *owner;	    /* of MUX_CREATE */
	const struct k8s_list *finalizers;  /* of const char * */
	const struct k8s_list *ports;	    /* MUX_SERVICE: of struct mux_wanted_port */
	const struct k8s_list *ingress;	    /* MUX_SERVICE_STATUS: of struct mux_ingress */
	const struct mux_state *state;	    /* MUX_CONFIG_MAP */
	const char *family;		    /* MUX_SLICE */
	const struct k8s_list *slice_ports; /* MUX_SLICE: of struct mux_endpoint_port */
	const struct k8s_list *endpoints;   /* MUX_SLICE: of struct mux_endpoint */
	const struct k8s_list *subsets;	    /* MUX_ENDPOINTS: of struct mux_subset */

	const struct mux_event *events; /* to be emitted when it has succeeded */
	size_t n_events;
};

struct mux_channel_name {
	const char *namespace, *name;
};

/* The channels to be looked at. The mux itself always is. */
struct mux_scope {
	bool all;
	const struct mux_channel_name *channels;
	size_t n_channels;
};

struct mux_plan {
	const struct mux_write *writes; /* ordered by stage, then in a total order */
	size_t n_writes;
	const struct mux_event *events; /* at once */
	size_t n_events;
	int64_t due; /* ns since the epoch: another full pass is needed then; 0: no */
};

/* The plan is in the arena; it borrows from the facts, which must outlive it. */
void mux_plan(struct mux_view *view, const struct mux_facts *facts, const struct mux_scope *scope,
	      struct arena *arena, struct mux_plan *ret);
/*
 * For a Service that is neither a mux nor a channel of one. repeated: the same was planned for the
 * same object before, so that its event is not one again.
 */
void mux_plan_stray(const struct mux_settings *settings, const struct mux_service *service,
		    bool repeated, struct arena *arena, struct mux_plan *ret);

/* Appends the JSON of a write; nothing for MUX_DELETE. (encode.c) */
void mux_write_body(const struct mux_write *w, struct buf *out);
/* "patch Service app/web: spec.ports: Added ...", for logs and dry runs. */
void mux_write_show(const struct mux_write *w, struct buf *out);
