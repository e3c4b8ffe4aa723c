/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts for tests, which change what they are about: two balancers lb1 and lb2 that both announce
 * 198.51.100.10 to the peer tor, with the frontend www on port 80: web1 and web2 in the pool
 * primary, web9 in the pool fallback. Behind the backend rt1 of the frontend l7 (198.51.100.20:80)
 * is the router rt1, whose route api leads to pool blue with two servers.
 */
#pragma once

#include "core/way/way.h"

#define LBS 2

struct fixture {
	struct way_backend backends[LBS][4];
	struct way_member primary[LBS][2], fallback[LBS][1], routers[LBS][1];
	struct way_pool pools[LBS][2], l7_pools[LBS][1];
	struct way_frontend frontends[LBS][2];
	struct way_maglevd maglevds[LBS];
	struct way_session sessions[LBS][1];
	const char *peers[1];
	struct way_announcement announcements[LBS][2];
	struct way_speaker speakers[LBS];
	struct way_server servers[2];
	struct way_router_pool router_pools[1];
	struct way_target targets[1];
	struct way_rule rules[1];
	struct way_route routes[1];
	struct way_listener listeners[1];
	struct way_explanation explanation;
	struct way_router router[1];
	struct way_facts facts;
	struct arena *arena;
};

/* Fills *f, whose arena the caller frees. */
void fixture_init(struct fixture *f);
/* For cmocka: *state is a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* Fails the test unless the part is in the text. */
void fixture_has(const char *text, const char *part);
/* Parses the query and finds the way. */
struct way fixture_ask(struct fixture *f, const char *query);
/* The steps of a kind: "lb1/www good, lb2/www broken". In the arena. */
const char *fixture_steps(struct fixture *f, const struct way *way, enum way_kind kind);
/* All notes, one line each. In the arena. */
const char *fixture_notes(struct fixture *f, const struct way *way);
/* A backend is down at that balancer, and its weights follow. */
void fixture_down(struct fixture *f, size_t lb, size_t backend, const char *code,
		  const char *reason);
