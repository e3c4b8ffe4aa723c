/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of way. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "core/way/way.h"

/* What a query turned out to mean; NULL: everything. */
struct way__focus {
	const struct way_backend *backend; /* only members with its name and address */
	const char *route;		   /* of routers: only this route, */
	const char *pool;		   /* those with this pool, */
	const struct way_server *server;   /* those with this server, */
	bool request;			   /* or as the explanation says */
};

/* A search. */
struct way__work {
	const struct way_facts *facts;
	const struct way_query *query;
	struct arena *arena;
	struct way__focus focus;
	VEC(struct way_step) steps;
	VEC(const char *) notes;
	size_t left_out;
	unsigned depth; /* of the next step */
	bool idle;	/* what is looked at gets no traffic: nothing is blamed on it */
	size_t broken;
	const char *why; /* NULL: nothing is blamed yet */
};

/* ---- steps ---- */

/* Adds a step with the depth of w; the text is borrowed. Returns its number, also if it is full. */
size_t way__add(struct way__work *w, const struct way_step *step);
static inline struct way_step *way__step(struct way__work *w, size_t number)
{
	return &w->steps.items[number];
}
/* The first sentence about something that gets traffic stays. */
void way__blame(struct way__work *w, size_t step, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Each sentence once. */
void way__note(struct way__work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- sums ---- */

/* The states of branches; a zeroed struct is empty. */
struct way__sum {
	size_t carriers, broken, lossy, poor, unknown, others_broken;
};

/* carries: the branch gets a part of the traffic. */
void way__sum_add(struct way__sum *sum, enum way_state state, bool carries);
/* Of the whole; broken if nothing gets through any branch. */
enum way_state way__sum_state(const struct way__sum *sum);

/* ---- what belongs together: join.c ---- */

/* The maglevd of a speaker; NULL: none of those that are known. */
const struct way_maglevd *way__maglevd_of(const struct way_facts *f, const struct way_speaker *s);
/* Whether packets of the frontend that go to the backend arrive at that listener. */
bool way__leads_to(const struct way_frontend *f, const char *backend, const char *address,
		   const struct way_router *r, const struct way_listener *l);
bool way__same_address(const char *a, const char *b);
const struct way_backend *way__backend(const struct way_maglevd *m, const char *name);
/* The host of "host:port" or "[v6]:port". */
struct str way__host(const char *address);

/* ---- a VIP: vip.c ---- */

/* As frontends have it. */
struct way__vip {
	const char *address, *protocol;
	uint16_t port;
};

enum way_state way__vip(struct way__work *w, const struct way__vip *v);
/* A backend as a member of the first pool that has it; NULL: none has. */
const struct way_member *way__member(const struct way_frontend *f, const char *backend);

/* ---- a balancer: balancer.c ---- */

/*
 * Adds announcement and sessions. The state: good or poor if it attracts the VIP, idle if it should
 * not, else broken or unknown.
 */
enum way_state way__announcement(struct way__work *w, const struct way_speaker *s,
				 const struct way_announcement *a);
enum way_state way__frontend(struct way__work *w, const struct way_maglevd *m,
			     const struct way_frontend *f);
/* Why a frontend that is down is so: its servers and their reasons. */
void way__why_down(const struct way_maglevd *m, const struct way_frontend *f, struct buf *out);

/* ---- a router: router.c ---- */

enum way_state way__router(struct way__work *w, const struct way_router *r,
			   const struct way_listener *l);
/* Whether the query is about this listener, if it is about routers at all. */
bool way__listener_in_focus(const struct way__work *w, const struct way_router *r,
			    const struct way_listener *l);
