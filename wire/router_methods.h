/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_methods: the methods of the service maglev.Router, in one list for the server and all
 * clients, as api_methods is for maglev.Maglev.
 */
#pragma once

#include "lib/grpc/grpc.h"
#include "proto/router.pb-c.h"

/*
 * X(number, name, handler, request, response, whether the response is a stream), in the order of
 * the .proto file. request and response are the names that protobuf-c gives to the messages.
 */
#define ROUTER_METHODS_LIST(X)                                                                     \
	X(GET_ROUTER, "GetRouter", get_router, get_router_request, router_info, false)             \
	X(LIST_LISTENERS, "ListListeners", list_listeners, list_listeners_request,                 \
	  list_listeners_response, false)                                                          \
	X(LIST_ROUTES, "ListRoutes", list_routes, list_routes_request, list_routes_response,       \
	  false)                                                                                   \
	X(GET_ROUTE, "GetRoute", get_route, get_route_request, router_route, false)                \
	X(LIST_STREAMS, "ListStreams", list_streams, list_streams_request, list_streams_response,  \
	  false)                                                                                   \
	X(LIST_POOLS, "ListPools", list_pools, list_pools_request, list_pools_response, false)     \
	X(GET_POOL, "GetPool", get_pool, get_pool_request, router_pool, false)                     \
	X(LIST_GENERATIONS, "ListGenerations", list_generations, list_generations_request,         \
	  list_generations_response, false)                                                        \
	X(GET_GENERATION_DIFF, "GetGenerationDiff", get_generation_diff,                           \
	  get_generation_diff_request, generation_diff, false)                                     \
	X(EXPLAIN_REQUEST, "ExplainRequest", explain_request, explain_request_request,             \
	  request_explanation, false)                                                              \
	X(ROLLBACK, "Rollback", rollback, rollback_request, router_info, false)                    \
	X(WATCH_ROUTER, "WatchRouter", watch_router, watch_router_request, router_event, true)

#define ROUTER__NUMBER(number, name, handler, request, response, stream) ROUTER_##number,

enum router_method { ROUTER_METHODS_LIST(ROUTER__NUMBER) ROUTER_METHODS };

/* Indexed by number, in the form that clients and routes of a server use. */
extern const struct grpc_method router_methods[ROUTER_METHODS];
