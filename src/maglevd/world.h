/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world: the reconciler on the fake data plane, for its tests: a real loop and a real engine, but
 * no probes; the tests pass results to the engine. The fake itself asserts that requests never
 * overlap (NFR-2.4).
 */
#pragma once

#include "src/maglevd/dataplane/fake/fake.h"
#include "src/maglevd/engine.h"
#include "src/maglevd/reconcile.h"

#define WARM "startup-min-delay: 0s, startup-max-delay: 0s"

/* one frontend with two pools, and a second one that shares nothing; %s: delays */
#define CONFIG(delays)                                                                             \
	"maglev:\n"                                                                                \
	"  healthchecks: { c: { type: tcp, port: 80 } }\n"                                         \
	"  backends:\n"                                                                            \
	"    b1: { address: 10.0.0.1, healthcheck: c }\n"                                          \
	"    b2: { address: 10.0.0.2, healthcheck: c }\n"                                          \
	"    b9: { address: 10.0.0.9, healthcheck: c }\n"                                          \
	"    other: { address: 10.0.1.1, healthcheck: c }\n"                                       \
	"  frontends:\n"                                                                           \
	"    www:\n"                                                                               \
	"      address: 192.0.2.10\n"                                                              \
	"      protocol: tcp\n"                                                                    \
	"      port: 80\n"                                                                         \
	"      pools:\n"                                                                           \
	"        - { name: primary, backends: { b1: {}, b2: { weight: 50 } } }\n"                  \
	"        - { name: fallback, backends: { b9: {} } }\n"                                     \
	"    second:\n"                                                                            \
	"      address: 192.0.2.20\n"                                                              \
	"      flush-on-down: false\n"                                                             \
	"      pools: [{ name: only, backends: { other: {} } }]\n"                                 \
	"  vpp: { lb: { ipv4-src-address: 192.0.2.1, ipv6-src-address: \"2001:db8::1\",\n"         \
	"               sync-interval: 1h, " delays " } }\n"

struct world {
	struct ev_loop *loop;
	struct fake_plane plane;
	struct engine *engine;
	struct reconcile *reconcile;
};

/* Around a cmocka test, whose state is then a struct world with a plane that is up. */
int world_setup(void **state);
int world_teardown(void **state);

void world_start(struct world *w, const char *yaml, int64_t started);
/* Frees all but the plane. */
void world_stop(struct world *w);
/* Started without a warm-up, and everything is up and written. */
void world_start_warm(struct world *w);

/* Gives results to a backend. */
void world_feed(struct world *w, const char *backend, enum health_code code, unsigned times);
void world_all_up(struct world *w);
/* Each probed backend fails that often, because of this machine itself. */
void world_fail_here(struct world *w, unsigned times);

/* For testing_wait(). */
bool world_is_idle(void *user);
/* Runs the loop until there is nothing more to do. */
void world_settle(struct world *w);
/* The weight of an AS of the frontend www; -1 if it does not exist. */
int world_weight(const struct world *w, const char *as);

/* Reloads CONFIG(WARM), with one text in it replaced. */
void world_reload_with(struct world *w, const char *from, const char *to);
