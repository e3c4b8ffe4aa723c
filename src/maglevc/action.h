/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action: what each act means to the server: the method, the request made from the command's
 * arguments, and the view of the answer. One row each; all of it pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/grpc/grpc.h"
#include "src/maglevc/command.h"
#include "src/maglevc/render.h"

struct action {
	const struct grpc_method *method; /* of wire/api_methods.h */
	/* Fills an initialised request; strings are the command's. NULL: stays empty. */
	void (*fill)(const struct command *c, int64_t now, ProtobufCMessage *request);
	render_fn render; /* NULL: a stream, shown as JSON lines */
	/* Whether an answer that came is a yes. NULL: always. */
	bool (*accepted)(const ProtobufCMessage *answer);
};

/* NULL for acts that need no server. */
const struct action *action_of(enum act act);
/* The caller frees it with free(); the strings in it are the command's. */
ProtobufCMessage *action_request(const struct action *a, const struct command *c, int64_t now);
