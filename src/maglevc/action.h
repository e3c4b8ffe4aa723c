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

/* What a request depends on besides the command. */
struct action_input {
	int64_t now;  /* ns since the epoch */
	bool json;    /* the answer is to be written as JSON */
	bool dry_run; /* only ask what an act would do */
};

struct action {
	enum server server;
	const struct grpc_method *method; /* of wire/api_methods.h or wire/speaker_methods.h */
	/*
	 * Fills an initialised request; strings are borrowed from the command. NULL: the request
	 * stays empty.
	 */
	void (*fill)(const struct command *c, const struct action_input *in,
		     ProtobufCMessage *request);
	render_fn render;
	render_fn json; /* how the answer is written as JSON; NULL: as the message that it is */
	/* Says whether the answer means success (exit code 0). NULL: every answer does. */
	bool (*accepted)(const ProtobufCMessage *answer);
};

/* Returns NULL for acts that need no server. The result is a static row. */
const struct action *action_of(enum act act);
/*
 * Checks options that depend on each other or on the time: -EINVAL with a sentence in why. now is
 * ns since the epoch.
 */
int action_check(const struct command *c, int64_t now, struct buf *why);
/*
 * Allocates the request for a command. The caller frees it with free(), not with protobuf-c,
 * because its strings are borrowed from the command. Options that give a duration are sent as a
 * time relative to now.
 */
ProtobufCMessage *action_request(const struct action *a, const struct command *c,
				 const struct action_input *in);
