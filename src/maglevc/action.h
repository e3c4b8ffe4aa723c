/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action: maps each act to a gRPC method, a function that fills the request from the command's
 * arguments, and the view of the answer. One table row per act. Everything here is pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/grpc/grpc.h"
#include "src/maglevc/command.h"
#include "src/maglevc/options.h"
#include "src/maglevc/render.h"

struct action {
	enum server server;
	const struct grpc_method *method; /* of wire/api_methods.h or wire/speaker_methods.h */
	/*
	 * Fills an initialised request; strings are borrowed from the command. NULL: the request
	 * stays empty.
	 */
	void (*fill)(const struct command *c, int64_t now, ProtobufCMessage *request);
	render_fn render; /* NULL: a stream, printed as lines of JSON */
	/* Says whether the answer means success (exit code 0). NULL: every answer does. */
	bool (*accepted)(const ProtobufCMessage *answer);
};

/* Returns NULL for acts that need no server. The result is a static row. */
const struct action *action_of(enum act act);
/*
 * Allocates the request for a command. The caller frees it with free(), not with protobuf-c,
 * because its strings are borrowed from the command. now is ns since the epoch; options that
 * give a duration are sent as a time relative to it.
 */
ProtobufCMessage *action_request(const struct action *a, const struct command *c, int64_t now);
