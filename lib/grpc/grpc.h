/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc: status codes and method descriptions, shared by the server and the client.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/*
 * Metadata: header fields of a call besides gRPC's own. A value may be any text: it is sent
 * percent-encoded, like grpc-message, and cut after GRPC_METADATA_VALUE_MAX bytes.
 */
#define GRPC_METADATA_MAX 2 /* fields */
#define GRPC_METADATA_VALUE_MAX 256

/* The numbers of gRPC's specification, as they are sent in grpc-status. */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

/* For example "NOT_FOUND"; "UNKNOWN" for numbers that are not in the enum. */
const char *grpc_status_name(enum grpc_status s);

/*
 * One method of a service. The same tables serve servers and clients; they are borrowed and must
 * outlive the server or client that uses them.
 */
struct grpc_method {
	const char *path; /* "/package.Service/Method" */
	const ProtobufCMessageDescriptor *request, *response;
	bool server_streaming;
};
