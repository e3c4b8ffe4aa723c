/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the planner share. */
#pragma once

#include "base/vec.h"
#include "src/mux/names.h"
#include "src/mux/notes.h"
#include "src/mux/plan.h"

#define MUX_PLACEHOLDER "placeholder"
#define MUX_PLACEHOLDER_PORT 101

/* What a view has beside what it shows. In the arena of the view. */
struct mux_view_private {
	uint64_t inputs;		     /* fingerprint of the mux, without what we write */
	uint64_t live_ports;		     /* of its ports when the view was made */
	uint64_t want_ports;		     /* of those that it is to have */
	uint64_t state_version;		     /* of the ConfigMap that was read; 0: none */
	const struct mux_wanted_port *ports; /* by number, then protocol */
	size_t n_ports;
	bool write_state;
	struct mux_state state;
	const struct k8s_pair *dns; /* annotations of the mux that are ours; NULL values: removed */
	size_t n_dns;
	const struct mux_event *fresh; /* complaints that the last view did not have */
	size_t n_fresh;
	bool announced;	  /* they were part of a plan */
	int64_t texts_at; /* when texts of the mux were written last; 0: never */
};

/* A port of a channel, and what becomes of it. */
struct mux_wish {
	struct mux_entrant *of;
	const char *name;
	enum mux_protocol protocol;
	uint16_t port;	/* of the Service */
	uint16_t want;	/* a number; 0: automatic, or not known because the channel is invalid */
	uint16_t owned; /* the number that it had before this pass, if it may keep it; 0: none */
	uint16_t got;	/* in this pass */
	bool automatic;
	bool live;			  /* the mux exposes it under the number `owned` */
	char live_name[MUX_NAME_MAX + 1]; /* of its port on the mux; "" if it has none */
	char hash[MUX_NAME_MAX + 1];
	struct mux_view_port *shown;
};

/* A channel that is judged. */
struct mux_entrant {
	const struct mux_service *service;
	struct mux_view_channel *shown;
	struct mux_wish *wishes; /* one for each port, also unnamed ones */
	size_t n_wishes;
	bool valid;   /* what it wants is known */
	bool outlaw;  /* its namespace may not join */
	bool decided; /* fate is set */
};

/* One run of mux_assign(). */
struct mux_work {
	const struct mux_facts *facts;
	const struct mux_settings *settings;
	struct mux_view *view;
	struct arena *keep;    /* of the view */
	struct arena *scratch; /* of this run */
	struct mux_entrant *entrants;
	size_t n_entrants;
	struct mux_wish *wishes;
	size_t n_wishes;
	/* For each number: the wish that owns it, plus 1; 0: free. */
	uint32_t (*owner)[65536];
	/* For each number: MUX_WISHED, MUX_RELEASED. */
	uint8_t (*marks)[65536];
	struct mux_ranges ranges;
	bool range_invalid; /* ports that are given stay, no other is */
	int64_t grace;	    /* -1: not known, nothing becomes free */
	unsigned limit;
	unsigned n_granted;
	size_t state_size;
	struct {
		size_t range;
		unsigned port;
	} next[MUX_PROTOCOLS]; /* where the search for a free number goes on */
	VEC(struct mux_event) complaints;
	VEC(struct mux_claim) released;
};

#define MUX_WISHED 1   /* a channel asks for exactly this number */
#define MUX_RELEASED 2 /* was given back, and its time is not over */

/* Adds a complaint about a Service; the texts are in the arena of the view or static. */
void mux__complain(struct mux_work *w, const struct mux_service *service, const char *reason,
		   const char *note);
/* Refuses a channel, with a complaint. */
void mux__refuse(struct mux_work *w, struct mux_entrant *e, const char *reason, const char *note);
const char *mux__printf(struct mux_work *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* plan_assign.c: NULL if the view has no such channel. */
struct mux_view_channel *mux__find_channel(const struct mux_view *v, const char *namespace,
					   const char *name);

/* plan_mux.c: whether the mux is one, its limits and settings. */
enum mux_condition mux__judge_mux(struct mux_work *w);
/* plan_channel.c: fills entrants and wishes. */
void mux__read_channels(struct mux_work *w);
/* plan_own.c: who owns which number before the pass. */
void mux__find_owners(struct mux_work *w);
/* For a mux that is frozen: what it exposes is what channels have. */
void mux__keep_live(struct mux_work *w);
/* plan_grant.c: who gets which number. */
void mux__grant(struct mux_work *w);
/* plan_claims.c: which released numbers are not free yet, before the grants. */
void mux__read_released(struct mux_work *w);
/* A number that this port gave back and may have again; 0: none. */
uint16_t mux__released_to(const struct mux_work *w, const struct mux_wish *wish);
/* The state that is to be stored. */
void mux__make_state(struct mux_work *w);
/* plan_names.c: names of the mux's ports. */
void mux__name_ports(struct mux_work *w);
/* plan_dns.c */
void mux__aggregate_dns(struct mux_work *w);

/* plan_print.c: fingerprints. */
uint64_t mux__print_mux(const struct mux_settings *settings, const struct mux_service *mux);
uint64_t mux__print_channel(const struct mux_settings *settings, const struct mux_service *s);
uint64_t mux__print_live(const struct mux_service *mux);
uint64_t mux__print_wanted(const struct mux_wanted_port *ports, size_t n);

struct mux_backend {
	const char *ip, *protocol;
	int64_t port;
};

struct mux_backends_list {
	struct mux_backend *items;
	size_t n, cap;
};

/* One run of mux_plan(). */
struct mux_planning {
	struct mux_view *view;
	const struct mux_facts *facts;
	const struct mux_settings *settings;
	struct arena *arena;
	VEC(struct mux_write) writes;
	VEC(struct mux_event) events;
	/* Ready backends of the slices that change, for the event of the pass. */
	struct mux_backends_list before, after;
	bool created; /* the Endpoints object, which has an event of its own */
	int64_t due;  /* when texts that wait are to be written; 0: none wait */
};

enum mux_stage {
	MUX_STAGE_STATE,    /* claims, before anything that they allow */
	MUX_STAGE_BACKENDS, /* before the ports that lead to them */
	MUX_STAGE_MUX,
	MUX_STAGE_CHANNELS, /* once the ports are there; and what is no longer used */
};

/* A write about the object; the caller fills the rest. */
struct mux_write *mux__write(struct mux_planning *p, enum mux_stage stage, enum mux_verb verb,
			     enum mux_object object);
struct mux_event mux__event(const struct mux_service *service, const char *reason,
			    const char *note);
/* Orders the writes and frees what is not in the arena. */
void mux__end_planning(struct mux_planning *p, struct mux_plan *ret);
/* A k8s_list in the arena. */
const struct k8s_list *mux__list(struct mux_planning *p, const void *items, size_t n);

/* Endpoints of a channel that belong together: a slice, or a subset of one family. */
struct mux_group {
	const char *source; /* the name of the slice, or "subset-0-IPv4" */
	const char *family;
	struct k8s_list endpoints; /* of struct mux_endpoint */
	struct k8s_list ports;	   /* of struct mux_endpoint_port, with the names of the mux */
};

/* plan_groups.c: fills ret (in the arena) and counts ready addresses of the channel. */
size_t mux__groups(struct mux_planning *p, struct mux_view_channel *c,
		   const struct mux_sight *sight, const struct mux_group **ret);
/* plan_slices.c: the slices of one channel; sight may have nothing. */
void mux__plan_slices(struct mux_planning *p, const struct mux_view_channel *c,
		      const struct mux_sight *sight, const struct mux_group *groups, size_t n);
void mux__drop_slice(struct mux_planning *p, const struct mux_slice *slice);
/* Adds the event about backends to the last write about them, if there is any. */
void mux__tell_backends(struct mux_planning *p);
/* plan_endpoints.c: the Endpoints object of the mux. */
void mux__plan_endpoints(struct mux_planning *p);
/* plan_service.c: the mux Service, a channel, and leftovers of the original. */
void mux__plan_mux(struct mux_planning *p);
void mux__plan_channel(struct mux_planning *p, const struct mux_view_channel *c,
		       const struct mux_service *service);
/* Only leftovers: for objects that are being deleted. */
void mux__plan_leftovers(struct mux_planning *p, const struct mux_service *service);

/* plan_text.c: texts for people, in the arena. */
const char *mux__text_channels(const struct mux_view *v, struct arena *arena);
const char *mux__text_topology(const struct mux_view *v, const struct mux_service *mux,
			       struct arena *arena);
const char *mux__text_summary(const struct mux_view *v, const struct mux_service *mux,
			      struct arena *arena);
const char *mux__text_mapping(const struct mux_view_channel *c, struct arena *arena);
/* "Added 1 port(s): 80/TCP; Removed ..." of joined lists; NULL if both are empty. */
const char *mux__text_changes(const char *noun, const struct buf *added, size_t n_added,
			      const struct buf *removed, size_t n_removed, struct arena *arena);
/* Appends an item to a list for an event, which has a bound; counts it in any case. */
void mux__add_item(struct buf *list, size_t *count, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
