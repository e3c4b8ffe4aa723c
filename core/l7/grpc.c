/* SPDX-License-Identifier: Apache-2.0 */
#include "core/l7/grpc.h"

#include <string.h>

#include "base/cleanup.h"

bool l7_grpc_split(struct str path, struct str *ret_service, struct str *ret_method)
{
	const char *end = path.p + path.n, *slash;

	if (path.n < 4 || path.p[0] != '/') /* "/s/m" */
		return false;
	slash = memchr(path.p + 1, '/', path.n - 1);
	if (!slash || slash == path.p + 1 || slash + 1 == end ||
	    memchr(slash + 1, '/', (size_t)(end - slash - 1)))
		return false;
	*ret_service = (struct str){ path.p + 1, (size_t)(slash - path.p - 1) };
	*ret_method = (struct str){ slash + 1, (size_t)(end - slash - 1) };
	return true;
}

/* A type, also with a suffix or a parameter, but not one that only begins like it. */
static bool is_type(struct str content_type, struct str type)
{
	if (content_type.n < type.n || !str_ieq((struct str){ content_type.p, type.n }, type))
		return false;
	return content_type.n == type.n || strchr("+; \t", content_type.p[type.n]);
}

bool l7_grpc_is_call(struct str content_type)
{
	return is_type(content_type, STR("application/grpc"));
}

bool l7_grpc_is_web(struct str content_type)
{
	return is_type(content_type, STR("application/grpc-web"));
}

enum l7_grpc_code l7_grpc_read_code(struct str text)
{
	uint64_t code;

	return str_to_u64(text, L7_GRPC_CODES - 1, &code) < 0 ? L7_GRPC_UNKNOWN
							      : (enum l7_grpc_code)code;
}

/* Of codes that are failures. UNKNOWN is what servers answer after an exception. */
static const struct {
	enum l7_grpc_code code;
	unsigned status;
} failures[] = {
	{ L7_GRPC_UNKNOWN, 500 },     { L7_GRPC_DEADLINE_EXCEEDED, 504 }, { L7_GRPC_INTERNAL, 500 },
	{ L7_GRPC_UNAVAILABLE, 503 }, { L7_GRPC_DATA_LOSS, 500 },
};

unsigned l7_grpc_status(enum l7_grpc_code code)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (failures[i].code == code)
			return failures[i].status;
	return 200;
}

bool l7_grpc_failed(enum l7_grpc_code code)
{
	return l7_grpc_status(code) >= 500;
}

enum l7_grpc_code l7_grpc_code(unsigned status)
{
	static const struct {
		unsigned status;
		enum l7_grpc_code code;
	} rows[] = {
		{ 400, L7_GRPC_INTERNAL },	     { 401, L7_GRPC_UNAUTHENTICATED },
		{ 403, L7_GRPC_PERMISSION_DENIED },  { 404, L7_GRPC_UNIMPLEMENTED },
		{ 405, L7_GRPC_UNIMPLEMENTED },	     { 408, L7_GRPC_DEADLINE_EXCEEDED },
		{ 413, L7_GRPC_RESOURCE_EXHAUSTED }, { 421, L7_GRPC_UNIMPLEMENTED },
		{ 429, L7_GRPC_UNAVAILABLE },	     { 431, L7_GRPC_RESOURCE_EXHAUSTED },
		{ 500, L7_GRPC_UNAVAILABLE },	     { 502, L7_GRPC_UNAVAILABLE },
		{ 503, L7_GRPC_UNAVAILABLE },	     { 504, L7_GRPC_DEADLINE_EXCEEDED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return L7_GRPC_UNKNOWN;
}
