/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way: the way of a packet, from the announcement that attracts it to the server that answers, and
 * the first place where it is broken.
 *
 * Facts are what maglevds, speakers and routers say of themselves, each as the asker has last heard
 * it. A query names a VIP, a request (host and path), or something by its name: a frontend, a
 * backend, a VIP of a speaker, a route, a pool or a server of a router. The result is a tree of
 * steps in the order of a packet, as a list in which each step has its depth:
 *
 *	VIP -> balancer -> announcement -> sessions
 *	                -> frontend -> pool -> backend
 *	                                       backend -> router -> route -> pool -> server
 *
 * It branches where several balancers, backends or servers take part. Steps that get no traffic by
 * design (a pool that stands by, a drained balancer) are idle, and do not make the way worse.
 *
 * How facts belong together:
 * - A speaker is that of a maglevd if they have the same name, else the same host, or if the
 *   speaker follows that maglevd.
 * - A router is behind a backend if it has its name, if its API is at the backend's address, or if
 *   a listener has that address. The listener is one with the protocol and port of the frontend,
 *   for the backend's address, the VIP, or any address.
 *
 * Pure: results live in the caller's arena and borrow from the facts and the query.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"

/* ---- facts ---- */

/* Per second, of the last seconds. */
struct way_traffic {
	bool known;
	double rate;   /* packets, or requests of a router */
	double errors; /* of these, dropped without a server, or answered with an error */
};

/* The program that says something, as the asker calls it. */
struct way_source {
	const char *name;
	const char *address; /* of its API: "10.0.2.2:9090" */
	bool connected;
	const char *error; /* why it is not; empty: it is */
};

struct way_backend {
	const char *name, *address;
	const char *state;	     /* unknown, up, down, paused, disabled */
	int64_t since;		     /* unix ns, here and below; 0: not known */
	const char *code, *reason;   /* of the last probe; empty: none, or it passed */
	const char *override_reason; /* the operator's; empty: none was given */
	struct way_traffic traffic;
};

struct way_member {
	const char *backend; /* its name */
	uint32_t weight, effective_weight;
	const char *state;	    /* of the backend, if there is no more about it */
	struct way_traffic traffic; /* in this frontend; not known: that of the backend is shown */
};

struct way_pool {
	const char *name;
	bool active;
	const struct way_member *members;
	size_t n_members;
};

struct way_frontend {
	const char *name, *address;
	const char *protocol; /* tcp, udp, any */
	uint16_t port;	      /* 0 with any */
	const char *state;    /* unknown, up, down */
	int64_t since;
	bool pending; /* its VIP was not written to the data plane since maglevd started */
	const struct way_pool *pools; /* in the order of failover */
	size_t n_pools;
	struct way_traffic traffic;
};

/* A maglevd and its data plane. */
struct way_maglevd {
	struct way_source source;
	const char *dataplane; /* xdp, vpp, none; empty: not known */
	bool plane_connected;
	const char *plane_problem;
	const struct way_frontend *frontends;
	size_t n_frontends;
	const struct way_backend *backends; /* sorted by name */
	size_t n_backends;
};

struct way_session {
	const char *peer;
	bool up;
	const char *state, *error; /* error: why FRR ended it last */
	int64_t since;
};

struct way_announcement {
	const char *vip, *address; /* vip: its name */
	const char *state;	   /* announced, worse, draining, withdrawn */
	const char *reason;	   /* frontend-up, frontend-down, drained, ... */
	const char *culprit;	   /* maglevd/frontend that decided; empty: none */
	int64_t since;
	bool drained;
	const char *drain_reason;
	bool attracts;
	const char *summary;	  /* of attracts, in a sentence */
	const char *const *peers; /* that it is announced to */
	size_t n_peers;
	bool standby;	   /* another member of its local network owns the VIP */
	const char *owner; /* that member; empty: not known */
};

struct way_speaker {
	struct way_source source;
	const char *problem;	     /* why it announces nothing at all; empty: it does */
	const char *const *maglevds; /* addresses of those that it follows */
	size_t n_maglevds;
	const struct way_announcement *announcements;
	size_t n_announcements;
	const struct way_session *sessions;
	size_t n_sessions;
};

struct way_server {
	const char *host;
	uint16_t port;
	const char *state; /* up, down, unknown, ejected, draining */
	int64_t since;
	const char *reason;
	double share; /* of the requests of its pool */
	struct way_traffic traffic;
};

struct way_router_pool {
	const char *name;
	uint32_t usable;
	const struct way_server *servers;
	size_t n_servers;
	struct way_traffic traffic;
};

/* Where a route leads: a pool, or nothing. */
struct way_target {
	const char *pool; /* empty: its share is answered with 500 */
	double share;	  /* of the requests of the rule */
};

struct way_rule {
	const char *match;    /* in words; empty: everything */
	const char *redirect; /* in words; empty: none */
	const struct way_target *targets;
	size_t n_targets;
};

struct way_route {
	const char *name;
	const char *const *listeners; /* none: all */
	size_t n_listeners;
	const struct way_rule *rules;
	size_t n_rules;
	struct way_traffic traffic;
};

struct way_listener {
	const char *name, *address; /* "192.0.2.1:80", ":80" */
	const char *protocol;	    /* http, tcp, udp */
	uint32_t routes;	    /* that belong to it; of tcp and udp: streams */
};

/* What the router says about the request of a query. */
struct way_explanation {
	const char *outcome; /* forward, redirect, answer */
	uint32_t status;     /* of redirect and answer */
	const char *summary;
	const char *listener, *route, *match; /* empty: none */
	const struct way_target *targets;
	size_t n_targets;
};

struct way_router {
	struct way_source source;
	const char *problem; /* with the whole; empty: all is well */
	bool draining;
	const struct way_listener *listeners;
	size_t n_listeners;
	const struct way_route *routes; /* perhaps not all of them; see way_listener.routes */
	size_t n_routes;
	const struct way_router_pool *pools;
	size_t n_pools;
	const struct way_explanation *explanation; /* NULL: not asked, or not answered */
	struct way_traffic traffic;
};

struct way_facts {
	const struct way_maglevd *maglevds;
	size_t n_maglevds;
	const struct way_speaker *speakers;
	size_t n_speakers;
	const struct way_router *routers;
	size_t n_routers;
};

/* ---- the query ---- */

enum way_query_kind {
	WAY_ADDRESS, /* of a VIP, a backend or a server */
	WAY_REQUEST,
	WAY_NAME,
};

struct way_query {
	enum way_query_kind kind;
	const char *text; /* as asked */
	struct addr addr;
	uint16_t port;	      /* 0: any */
	const char *protocol; /* tcp, udp; NULL: any */
	const char *host;     /* of a request; may have a port */
	const char *path;
	const char *name;
};

/*
 * 198.51.100.10, 198.51.100.10:80, 198.51.100.10:80/tcp, 2001:db8::1, [2001:db8::1]:443/udp: an
 * address. www.example.com/, www.example.com/a?b=c, http://www.example.com: a request. Every other
 * text without a '/': a name. -EINVAL, with *ret untouched and a sentence in *ret_why, otherwise.
 */
int way_query_parse(const char *text, struct arena *arena, struct way_query *ret,
		    const char **ret_why);

/* ---- the result ---- */

enum way_kind {
	WAY_VIP,
	WAY_BALANCER,
	WAY_ANNOUNCEMENT,
	WAY_SESSION,
	WAY_FRONTEND,
	WAY_POOL,
	WAY_BACKEND,
	WAY_ROUTER,
	WAY_ROUTE,
	WAY_ROUTER_POOL,
	WAY_SERVER,
	WAY_KINDS
};

enum way_state {
	WAY_GOOD,
	WAY_IDLE,    /* gets no traffic, as it should be */
	WAY_UNKNOWN, /* what decides cannot be asked */
	WAY_POOR,    /* all traffic gets through, but something that should help does not */
	WAY_LOSSY,   /* a part of the traffic does not get through */
	WAY_BROKEN,
	WAY_STATES
};

struct way_step {
	enum way_kind kind;
	unsigned depth;
	const char *place;  /* the maglevd, speaker or router that says so; empty for a VIP */
	const char *name;   /* as its program calls it; unique among its kind and place */
	const char *detail; /* address, VIP, weight, ...; may be empty */
	enum way_state state;
	const char *word;   /* the program's own word for the state; may be empty */
	const char *reason; /* of the state; may be empty */
	int64_t since;
	double share; /* of what comes to the step above; negative: not known */
	struct way_traffic traffic;
};

struct way {
	const struct way_step *steps;
	size_t n;
	size_t left_out;      /* steps beyond the bound */
	enum way_state state; /* of the whole */
	/*
	 * The first place at which traffic is lost, and why, in one sentence. SIZE_MAX and empty if
	 * none is; then why may say why the state is not known, or what is poor.
	 */
	size_t broken;
	const char *why;
	const char *const *notes; /* sentences about what else is worth knowing */
	size_t n_notes;
};

#define WAY_STEPS_MAX 2000
#define WAY_NOTES_MAX 32
#define WAY_ROUTES_MAX 16 /* of a listener, if the query does not choose one */

/* Finds the way. Never fails: a query that nothing answers to is a broken way. */
struct way way_find(const struct way_facts *facts, const struct way_query *query,
		    struct arena *arena);

/* Whether nothing that is known stops the traffic. */
static inline bool way_is_whole(const struct way *w)
{
	return w->state == WAY_GOOD || w->state == WAY_POOR;
}

const char *way_kind_name(enum way_kind k);   /* "announcement", "router-pool", ... */
const char *way_state_name(enum way_state s); /* "good", "lossy", ... */

/* ---- what facts have to be read for a query ---- */

/*
 * Whether a backend of that name and address, or the frontend or announcement with that address, is
 * at a place where a listener of one of the routers may be. For a reader with many items, which
 * looks for those that matter before it converts them.
 */
bool way_router_is_at(const struct way_router *r, const char *backend, const char *address);
