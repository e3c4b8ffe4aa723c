/* SPDX-License-Identifier: Apache-2.0 */
/* testing: example answers of a server, for tests. All of them are static. */
#pragma once

#include "proto/maglev.pb-c.h"
#include "proto/router.pb-c.h"
#include "proto/speaker.pb-c.h"

#define TESTING_NOW INT64_C(1776245400000000000) /* 2026-04-15T09:30:00Z */

/*
 * www: web1 is up, web2 is disabled and has a weight set at run time; the fallback pool has a
 * paused spare.
 */
Maglev__FrontendInfo *testing_frontend(void);
/* www, and dns: all ports of an IPv6 address, without pools. */
Maglev__ListFrontendsResponse *testing_frontends(void);
/* web1: up, with two transitions. */
Maglev__BackendInfo *testing_backend(void);
/* web2: disabled, with an override. */
Maglev__BackendInfo *testing_disabled(void);
/* web1, web2, and a spare without a health check and without frontends. */
Maglev__ListBackendsResponse *testing_backends(void);
Maglev__HealthCheckInfo *testing_healthcheck(void);
/* web (https) and ping (icmp) */
Maglev__ListHealthChecksResponse *testing_healthchecks(void);
Maglev__VPPInfo *testing_vpp_info(void);
Maglev__VPPLBState *testing_lb_state(void);
Maglev__VPPLBCounters *testing_lb_counters(void);
Maglev__HistoryResponse *testing_history(void);
Maglev__SyncVPPLBStateResponse *testing_sync(void);
/* A dry run that pauses web1 and web2: www goes down, wiki fails over, 3 others do not change. */
Maglev__ActOnBackendsResponse *testing_many(void);
/* A pause of web1 by alice, one of web2 that is scheduled, and a weight. */
Maglev__ListOverridesResponse *testing_overrides(void);
Maglev__VersionInfo *testing_version(void);
/* Two pieces of YAML. */
Maglev__GetConfigResponse *testing_config(void);
Maglev__CheckConfigResponse *testing_check(void);
Maglev__ReloadConfigResponse *testing_reload(void);
/* lb1, with a maglevd that is connected and one that is not. */
Maglev__SpeakerInfo *testing_speaker(void);
/* www: draining, announced over BGP to tor1 and on a local network. */
Maglev__AnnouncementInfo *testing_announcement(void);
/* dns, withdrawn, and www */
Maglev__ListAnnouncementsResponse *testing_announcements(void);
/* tor1 is up, tor2 is not */
Maglev__ListSessionsResponse *testing_sessions(void);
/* rt1, generation 7, with a newer configuration that was refused */
Maglev__RouterInfo *testing_router(void);
Maglev__ListListenersResponse *testing_listeners(void);
Maglev__ListStreamsResponse *testing_streams(void);
/* api: two rules, one of which shares requests between two pools */
Maglev__RouterRoute *testing_route(void);
/* the default route, and api */
Maglev__ListRoutesResponse *testing_routes(void);
/* blue: one server is up, one is down */
Maglev__RouterPool *testing_pool(void);
/* blue, and green, without figures */
Maglev__ListPoolsResponse *testing_pools(void);
/* 7, in force, which repeats 5; 6, from the file */
Maglev__ListGenerationsResponse *testing_generations(void);
/* a route that was added, one that was removed, and a pool that differs */
Maglev__GenerationDiff *testing_generation(void);
/* a request that goes to route api */
Maglev__RequestExplanation *testing_route_for(void);
