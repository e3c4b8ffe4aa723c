/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/router_methods.h"

#define ROW(number, name, handler, takes, gives, stream)                                           \
	[ROUTER_##number] = {                                                                      \
		.path = "/maglev.Router/" name,                                                    \
		.request = &maglev__##takes##__descriptor,                                         \
		.response = &maglev__##gives##__descriptor,                                        \
		.server_streaming = stream,                                                        \
	},

const struct grpc_method router_methods[ROUTER_METHODS] = { ROUTER_METHODS_LIST(ROW) };
