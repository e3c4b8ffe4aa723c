/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: which frontend owns a VIP, and which backend an application server of it is. A data
 * plane reports only addresses. Found by binary search in lists that are made with the
 * configuration.
 */
#pragma once

#include <stddef.h>

#include "base/addr.h"
#include "base/arena.h"
#include "core/l4/config.h"
#include "core/l4/lb.h"

/* Fills by_vip and by_address of a configuration and its frontends; for code that builds one. */
void l4_names_build(struct l4_config *c, struct l4_frontend *frontends, struct arena *a);

/* The index of the frontend with that VIP, even if it has no pools; SIZE_MAX if there is none. */
size_t l4_frontend_of(const struct l4_config *c, const struct lb_vip_key *key);
/* The index of the backend of that frontend with the address; SIZE_MAX if there is none. */
size_t l4_backend_of(const struct l4_config *c, size_t frontend, const struct addr *address);
/* The number of backends with that address, and where they begin in by_address. */
size_t l4_backends_at(const struct l4_config *c, const struct addr *address, size_t *ret_first);
