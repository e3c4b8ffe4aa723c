/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc: what a router has to know of gRPC. Pure.
 *
 * The path of a call is "/service/method", its Content-Type is application/grpc, and its outcome is
 * a number in the trailer grpc-status; the status of HTTP is 200 whatever it is. The router answers
 * calls in the same form, so that clients get a code and a message instead of a status that they
 * would have to translate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The numbers of the specification that mean something to the router. */
enum l7_grpc_code {
	L7_GRPC_NONE = -1, /* there is none: the request is no call, or its answer has not ended */
	L7_GRPC_OK = 0,
	L7_GRPC_UNKNOWN = 2,
	L7_GRPC_DEADLINE_EXCEEDED = 4,
	L7_GRPC_PERMISSION_DENIED = 7,
	L7_GRPC_RESOURCE_EXHAUSTED = 8,
	L7_GRPC_UNIMPLEMENTED = 12,
	L7_GRPC_INTERNAL = 13,
	L7_GRPC_UNAVAILABLE = 14,
	L7_GRPC_DATA_LOSS = 15,
	L7_GRPC_UNAUTHENTICATED = 16,
	L7_GRPC_CODES
};

/* Splits "/service/method". False, with nothing set, for a path of another form. */
bool l7_grpc_split(struct str path, struct str *ret_service, struct str *ret_method);
/* Whether a Content-Type is that of a call: application/grpc, also with +proto or a parameter. */
bool l7_grpc_is_call(struct str content_type);
/* The same for gRPC-Web in its binary form: application/grpc-web. */
bool l7_grpc_is_web(struct str content_type);
/*
 * The code for an answer of the router itself that would have this status of HTTP, 400 or more.
 * It is the one that gRPC gives to the status (doc/http-grpc-status-mapping.md), unless the router
 * knows better: 504 is a deadline that has passed, 413 and 431 are sizes above a limit, and 500 is
 * a rule without a backend that could take the call.
 */
enum l7_grpc_code l7_grpc_code(unsigned status);
/* The code in a grpc-status; L7_GRPC_UNKNOWN if it is none of the specification. */
enum l7_grpc_code l7_grpc_read_code(struct str text);
/* Whether a code says that the server has failed, as a status of 500 or more does. */
bool l7_grpc_failed(enum l7_grpc_code code);
/*
 * The status of HTTP that a server would have answered with instead of the code, for policies that
 * know only such statuses: 503 for UNAVAILABLE. 200 if the code is no failure.
 */
unsigned l7_grpc_status(enum l7_grpc_code code);
