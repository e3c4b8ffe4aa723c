/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for the tests of show and web: the mux lb/edge with the channels app/api (served)
 * and app/web (refused), the mux lb/idle without any, and lb/none, which only app/lost names.
 */
#pragma once

#include "src/mux/show.h"

extern const struct show_source world_source;
extern struct mux_view world_views[3];

void world_reset(void);
/* app/api has an IPv6 address beside its first one. */
void world_dual_stack(void);
/* lb/edge loses its first channel, and lb/none is gone. */
void world_shrink(void);
/* app/api has the endpoint 127.0.0.1 with this port, and 192.0.2.1 with port 8080. */
void world_listen(uint16_t port);
uint16_t world_port(void);
