/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: one VPP without its sockets: what it is, what it knows, and its answers to messages.
 *
 * Pure: messages in, messages out; the owner sets now before each.
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
	uint32_t next_collect; /* uptime of the next round of VPP's own timer */
};

void machine_init(struct machine *m, enum personality who, uint32_t pid);
void machine_free(struct machine *m);
/* Lets time pass, with everything that VPP does on its own. */
void machine_advance(struct machine *m, uint32_t now);

/* One message without its frame; to: whom a reply is for. The bytes live during the call. */
typedef void (*machine_reply_fn)(void *user, uint32_t to, struct str message);

struct machine_request {
	struct str bytes;
	uint32_t own_index; /* of the connection that it came on */
	machine_reply_fn reply;
	void *user;
};

/*
 * What it was; MSG_KNOWN when nobody answers such a message. Nothing is said to that, nor to one
 * that is too short.
 */
enum msg machine_handle(struct machine *m, const struct machine_request *request);

/* A line of the CLI; adds what VPP prints. */
void machine_cli(struct machine *m, const char *line, struct buf *out);
