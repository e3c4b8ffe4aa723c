/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc: the names of the status codes, and translations to them.
 *
 * A proxy between client and server may answer with an HTTP status, and HTTP/2 has its own error
 * codes. The tables are those of gRPC's specification (http-grpc-status-mapping.md and
 * PROTOCOL-HTTP2.md).
 */
#include "lib/grpc/grpc.h"

#include "base/cleanup.h"
#include "lib/grpc/grpc_private.h"
#include "lib/h2/h2.h"

const char *grpc_status_name(enum grpc_status s)
{
	static const char *const names[] = {
		[GRPC_OK] = "OK",
		[GRPC_CANCELLED] = "CANCELLED",
		[GRPC_UNKNOWN] = "UNKNOWN",
		[GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
		[GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
		[GRPC_NOT_FOUND] = "NOT_FOUND",
		[GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
		[GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
		[GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
		[GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
		[GRPC_ABORTED] = "ABORTED",
		[GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
		[GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
		[GRPC_INTERNAL] = "INTERNAL",
		[GRPC_UNAVAILABLE] = "UNAVAILABLE",
		[GRPC_DATA_LOSS] = "DATA_LOSS",
		[GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
	};

	return (unsigned)s < ARRAY_SIZE(names) ? names[s] : "UNKNOWN";
}

struct translation {
	unsigned from;
	enum grpc_status to;
};

static enum grpc_status translate(const struct translation *table, size_t n, unsigned from,
				  enum grpc_status otherwise)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].from == from)
			return table[i].to;
	return otherwise;
}

enum grpc_status grpc__status_of_http(unsigned status)
{
	static const struct translation table[] = {
		{ 400, GRPC_INTERNAL },		 { 401, GRPC_UNAUTHENTICATED },
		{ 403, GRPC_PERMISSION_DENIED }, { 404, GRPC_UNIMPLEMENTED },
		{ 429, GRPC_UNAVAILABLE },	 { 502, GRPC_UNAVAILABLE },
		{ 503, GRPC_UNAVAILABLE },	 { 504, GRPC_UNAVAILABLE },
	};

	return translate(table, ARRAY_SIZE(table), status, GRPC_UNKNOWN);
}

enum grpc_status grpc__status_of_h2(uint32_t error)
{
	static const struct translation table[] = {
		{ H2_REFUSED_STREAM, GRPC_UNAVAILABLE },
		{ H2_CANCEL, GRPC_CANCELLED },
		{ H2_ENHANCE_YOUR_CALM, GRPC_RESOURCE_EXHAUSTED },
		{ H2_INADEQUATE_SECURITY, GRPC_PERMISSION_DENIED },
		{ H2_LOST, GRPC_UNAVAILABLE },
	};

	return translate(table, ARRAY_SIZE(table), error, GRPC_INTERNAL);
}
