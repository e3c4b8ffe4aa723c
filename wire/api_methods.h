/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_methods: the methods of the service maglev.Maglev, in one list for the server and all
 * clients.
 *
 * A new method is a line in proto/maglev.proto and a line here. maglevd generates its routes from
 * this list and so needs a handler for each (a missing one does not link); clients refer to a
 * method by its number. api_methods_test.c compares the list with the code that protoc generated.
 */
#pragma once

#include "lib/grpc/grpc.h"
#include "proto/maglev.pb-c.h"

/*
 * X(number, name, handler, request, response, whether the response is a stream), in the order of
 * the .proto file. request and response are the names that protobuf-c gives to the messages.
 */
#define API_METHODS_LIST(X)                                                                        \
	X(LIST_FRONTENDS, "ListFrontends", list_frontends, list_frontends_request,                 \
	  list_frontends_response, false)                                                          \
	X(GET_FRONTEND, "GetFrontend", get_frontend, get_frontend_request, frontend_info, false)   \
	X(LIST_BACKENDS, "ListBackends", list_backends, list_backends_request,                     \
	  list_backends_response, false)                                                           \
	X(GET_BACKEND, "GetBackend", get_backend, get_backend_request, backend_info, false)        \
	X(PAUSE_BACKEND, "PauseBackend", pause_backend, backend_request, backend_info, false)      \
	X(RESUME_BACKEND, "ResumeBackend", resume_backend, backend_request, backend_info, false)   \
	X(ENABLE_BACKEND, "EnableBackend", enable_backend, backend_request, backend_info, false)   \
	X(DISABLE_BACKEND, "DisableBackend", disable_backend, backend_request, backend_info,       \
	  false)                                                                                   \
	X(LIST_HEALTH_CHECKS, "ListHealthChecks", list_health_checks, list_health_checks_request,  \
	  list_health_checks_response, false)                                                      \
	X(GET_HEALTH_CHECK, "GetHealthCheck", get_health_check, get_health_check_request,          \
	  health_check_info, false)                                                                \
	X(SET_WEIGHT, "SetFrontendPoolBackendWeight", set_weight, set_weight_request,              \
	  frontend_info, false)                                                                    \
	X(WATCH_EVENTS, "WatchEvents", watch_events, watch_request, event, true)                   \
	X(CHECK_CONFIG, "CheckConfig", check_config, check_config_request, check_config_response,  \
	  false)                                                                                   \
	X(RELOAD_CONFIG, "ReloadConfig", reload_config, reload_config_request,                     \
	  reload_config_response, false)                                                           \
	X(GET_VPP_INFO, "GetVPPInfo", get_vpp_info, get_vppinfo_request, vppinfo, false)           \
	X(GET_LB_STATE, "GetVPPLBState", get_lb_state, get_vpplbstate_request, vpplbstate, false)  \
	X(SYNC_LB_STATE, "SyncVPPLBState", sync_lb_state, sync_vpplbstate_request,                 \
	  sync_vpplbstate_response, false)                                                         \
	X(GET_LB_COUNTERS, "GetVPPLBCounters", get_lb_counters, get_vpplbcounters_request,         \
	  vpplbcounters, false)                                                                    \
	X(GET_CONFIG, "GetConfig", get_config, get_config_request, get_config_response, false)     \
	X(GET_VERSION, "GetVersion", get_version, get_version_request, version_info, false)        \
	X(ACT_ON_BACKENDS, "ActOnBackends", act_on_backends, act_on_backends_request,              \
	  act_on_backends_response, false)                                                         \
	X(LIST_OVERRIDES, "ListOverrides", list_overrides, list_overrides_request,                 \
	  list_overrides_response, false)                                                          \
	X(GET_HISTORY, "GetHistory", get_history, get_history_request, history_response, false)

#define API__NUMBER(number, name, handler, request, response, stream) API_##number,

enum wire_method { API_METHODS_LIST(API__NUMBER) API_METHODS };

/* Indexed by number, in the form that clients and routes of a server use. */
extern const struct grpc_method api_methods[API_METHODS];
/* The name alone: "ListFrontends". */
const char *wire_method_name(enum wire_method method);
