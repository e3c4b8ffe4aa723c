/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/drop.h"

const char *const drop_words[DROPS] = {
	[DROP_SESSIONS] = "sessions",	[DROP_SESSIONS_EACH] = "sessions_each",
	[DROP_NO_STREAM] = "no_stream", [DROP_NO_BACKEND] = "no_backend",
	[DROP_NO_SERVER] = "no_server", [DROP_NO_SOCKET] = "no_socket",
	[DROP_SERVER] = "server",	[DROP_CLIENT] = "client",
	[DROP_TRUNCATED] = "truncated", [DROP_QUEUE] = "queue",
};
