/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/speaker_methods.h"

#define ROW(number, name, handler, takes, gives, stream)                                           \
	[SPEAKER_##number] = {                                                                     \
		.path = "/maglev.Speaker/" name,                                                   \
		.request = &maglev__##takes##__descriptor,                                         \
		.response = &maglev__##gives##__descriptor,                                        \
		.server_streaming = stream,                                                        \
	},

const struct grpc_method speaker_methods[SPEAKER_METHODS] = { SPEAKER_METHODS_LIST(ROW) };
