/* SPDX-License-Identifier: Apache-2.0 */
/* l2: the groups of the configuration, and how their VIPs stand (l2_group.h). */
#pragma once

#include "src/speaker/l2_group.h"

struct l2;

/* changed: what a view shows has changed; must not free l. */
struct l2 *l2_new(struct ev_loop *loop, void (*changed)(void *user), void *user);
void l2_free(struct l2 *l);
/*
 * Groups that are the same for the others go on; the others are left, and joined again if they are
 * configured. config is borrowed until the next call.
 */
void l2_configure(struct l2 *l, const struct bgp_config *config);
/* For each VIP of the configuration its state; then decides. */
void l2_stand(struct l2 *l, const enum announce_state *states);
/* Gives up all VIPs, for good. */
void l2_leave(struct l2 *l);

/* One for each group of the configuration. */
const struct l2_group *l2_group_at(const struct l2 *l, size_t i);
/* Of a VIP of the configuration; false if it is in no group. */
bool l2_view(const struct l2 *l, size_t vip, struct l2_view *ret);
