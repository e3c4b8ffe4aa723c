/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture: configurations for the tests of this folder, in a few lines each. No program links it.
 *
 * Names and addresses are added in any order; fixture_config() sorts and resolves them as
 * config.h promises, in memory that lives until fixture_free(). The returned structs may be
 * adjusted before that call.
 */
#pragma once

#include "core/l4/config.h"

struct fixture;

struct fixture *fixture_new(void);
void fixture_free(struct fixture *f);
void fixture_freep(struct fixture **f); /* for _cleanup_ */

/* A TCP check on port 80: 2s, fast 1s, down 5s, timeout 1s. */
struct l4_check *fixture_check(struct fixture *f, const char *name, unsigned rise, unsigned fall);
/* check NULL: static. Enabled. */
struct l4_backend *fixture_backend(struct fixture *f, const char *name, const char *address,
				   const char *check);
/*
 * TCP on port; port 0 means all ports. flush-on-down is set. The pools and members that are added
 * next belong to it.
 */
struct l4_frontend *fixture_frontend(struct fixture *f, const char *name, const char *address,
				     uint16_t port);
void fixture_pool(struct fixture *f, const char *name);
void fixture_member(struct fixture *f, const char *backend, unsigned weight);

/*
 * Builds the configuration; everything else has its default: history 5, guard on, warm-up 5s and
 * 30s. At most once per fixture.
 */
struct l4_config *fixture_config(struct fixture *f);
