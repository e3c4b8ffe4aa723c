/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/api_methods.h"

#include <assert.h>

#define PACKAGE "/maglev.Maglev/"

#define ROW(number, name, handler, takes, gives, stream)                                           \
	[API_##number] = {                                                                         \
		.path = PACKAGE name,                                                              \
		.request = &maglev__##takes##__descriptor,                                         \
		.response = &maglev__##gives##__descriptor,                                        \
		.server_streaming = stream,                                                        \
	},

const struct grpc_method api_methods[API_METHODS] = { API_METHODS_LIST(ROW) };

/* The name is the rest of the path, so that it need not be stored twice. */
const char *wire_method_name(enum wire_method method)
{
	assert(method < API_METHODS);
	return api_methods[method].path + sizeof(PACKAGE) - 1;
}
