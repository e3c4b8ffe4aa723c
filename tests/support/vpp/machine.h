/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: one VPP without its sockets: its version, its state, and its answers to messages.
 *
 * Pure: messages in, messages out. The owner sets now before each message.
 */
#pragma once

#include "base/str.h"
#include "tests/support/vpp/plugin.h"
#include "tests/support/vpp/table.h"

struct machine {
	enum personality who;
	struct table table;
	struct plugin plugin;
	uint32_t pid;
	const char *version, *build_date, *build_directory;
	uint32_t now;	       /* seconds of uptime */
	uint32_t next_collect; /* uptime at which VPP's own timer collects garbage next */
};

void machine_init(struct machine *m, enum personality who, uint32_t pid);
void machine_free(struct machine *m);
/* Moves the clock forward and does what VPP does by itself meanwhile. */
void machine_advance(struct machine *m, uint32_t now);

/*
 * Called with one message without its frame; to is the receiver of the reply. The bytes are
 * valid during the call.
 */
typedef void (*machine_reply_fn)(void *user, uint32_t to, struct str message);

struct machine_request {
	struct str bytes;
	uint32_t own_index; /* of the connection on which it arrived */
	machine_reply_fn reply;
	void *user;
};

/*
 * Handles a message and returns its kind, or MSG_KNOWN if no handler exists. Such messages, and
 * messages that are too short, are not answered, as in VPP.
 */
enum msg machine_handle(struct machine *m, const struct machine_request *request);

/* Runs a line of the CLI and appends what VPP prints. */
void machine_cli(struct machine *m, const char *line, struct buf *out);
