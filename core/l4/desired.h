/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desired: from configuration and health to the wanted state of the data plane (FR-4.1),
 * as pure functions.
 */
#pragma once

#include "core/l4/lb.h"
#include "core/l4/model.h"

void l4_desired_conf(const struct l4_config *c, struct lb_conf *ret);
/* The VIP of a frontend. */
struct lb_vip_key l4_frontend_key(const struct l4_frontend *f);

/*
 * Fills *ret (zeroed by the caller, freed with lb_vip_free()) with the wanted state of frontend
 * i. An AS that is in two pools gets its largest effective weight; it is flushed only if the
 * state of the backend asks for it. With guard set, an AS whose backend is down by probe is not
 * flushed, and has hold set unless the weight in force is 0. Returns false for a frontend without
 * pools, which is not programmed.
 */
bool l4_desired_vip(const struct l4_model *m, size_t frontend, bool guard, struct lb_vip *ret);
