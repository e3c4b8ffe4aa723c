/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver: names of addresses, looked up by a child process, since a lookup may take its time and
 * the loop has none.
 *
 * Answers are kept; what has no name, or none yet, has none here. The child ends with its parent.
 */
#pragma once

#include "base/addr.h"
#include "lib/loop/loop.h"

struct resolver;

/* Never fails: then there are no names. */
struct resolver *resolver_new(struct ev_loop *loop);
void resolver_free(struct resolver *r);
/* NULL: not known (yet). The first time it is asked for. Valid until resolver_free(). */
const char *resolver_name(struct resolver *r, const struct addr *a);
/* Of this machine, in full as far as it is known. */
const char *resolver_host(const struct resolver *r);
