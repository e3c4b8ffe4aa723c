/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health: grpc.health.v1, for the server as a whole ("") and for each of its services.
 *
 * The set of services does not change. The status changes only when the server drains: Check then
 * returns NOT_SERVING, and the drain ends all Watch calls.
 */
#include <stdlib.h>

#include "lib/grpc/server_private.h"
#include "proto/grpc/health.pb-c.h"

typedef Grpc__Health__V1__HealthCheckRequest health_request;
typedef Grpc__Health__V1__HealthCheckResponse health_response;
typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus serving_status;

#define STATUS(name) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

static serving_status status_of(const struct grpc_server *s, const char *service)
{
	if (*service && !grpc__has_service(s, service))
		return STATUS(SERVICE_UNKNOWN);
	return s->draining ? STATUS(NOT_SERVING) : STATUS(SERVING);
}

static void on_check(struct grpc_call *call, const ProtobufCMessage *message, void *user)
{
	const health_request *request = (const health_request *)message;
	health_response response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

	response.status = status_of(user, request->service);
	if (response.status == STATUS(SERVICE_UNKNOWN))
		grpc_fail(call, GRPC_NOT_FOUND, "there is no service %s", request->service);
	else
		grpc_reply(call, &response.base);
}

/*
 * Sends one status and leaves the call open; the specification asks for SERVICE_UNKNOWN here. The
 * stream is minor: a client that loses it sees a connection that ended, and watches again.
 */
static void on_watch(struct grpc_call *call, const ProtobufCMessage *message, void *user)
{
	const health_request *request = (const health_request *)message;
	health_response response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

	response.status = status_of(user, request->service);
	h2_set_minor(h2_stream_of(call));
	if (grpc_send(call, &response.base) < 0)
		grpc_fail(call, GRPC_RESOURCE_EXHAUSTED, "too much is queued");
}

#define METHOD(name, streaming)                                                                    \
	{                                                                                          \
		"/grpc.health.v1.Health/" name,                                                    \
			&grpc__health__v1__health_check_request__descriptor,                       \
			&grpc__health__v1__health_check_response__descriptor, streaming            \
	}

const struct grpc__entry grpc__health_entries[2] = {
	{ .method = METHOD("Check", false), .handler = on_check },
	{ .method = METHOD("Watch", true), .handler = on_watch },
};
