/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: whose a VIP, or an application server of it, is: what a data plane tells of has addresses
 * alone. Found by halving in lists that are made with the configuration.
 */
#pragma once

#include <stddef.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/config.h"
#include "core/l4/lb.h"

/* For who makes a configuration: fills by_vip and by_address of it and its frontends. */
void l4_names_build(struct l4_config *c, struct l4_frontend *frontends, struct arena *a);

/* The index of the frontend with that VIP, also when it has no pools; SIZE_MAX: nobody's. */
size_t l4_frontend_of(const struct l4_config *c, const struct lb_vip_key *key);
/* The index of the backend behind that address there; SIZE_MAX: nobody's. */
size_t l4_backend_of(const struct l4_config *c, size_t frontend, const struct addr *address);
/* How many backends have that address, and where they begin in by_address. */
size_t l4_backends_at(const struct l4_config *c, const struct addr *address, size_t *ret_first);
