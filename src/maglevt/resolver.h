/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver: looks up the names of addresses in a child process, because getnameinfo() blocks and
 * would stop the loop.
 *
 * Answers are cached. An address without a name is not distinguished from one that has not been
 * answered yet. The child ends with its parent.
 */
#pragma once

#include "base/addr.h"
#include "lib/loop/loop.h"

struct resolver;

/* Never fails: if there is no child, there are no names. */
struct resolver *resolver_new(struct ev_loop *loop);
void resolver_free(struct resolver *r);
/*
 * Returns NULL if the name is not known (yet); the first call for an address requests it. Valid
 * until resolver_free().
 */
const char *resolver_name(struct resolver *r, const struct addr *a);
/* The name of this machine, fully qualified once that is known. */
const char *resolver_host(const struct resolver *r);
