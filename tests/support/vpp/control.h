/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control: the socket through which a test inspects the server and controls its behaviour.
 *
 * One line in, an answer, end of connection; the answer to an unknown command is "what?".
 */
#pragma once

#include "tests/support/vpp/server.h"

struct control {
	struct server *server;
	ev_io listener;
};

/* Ends the process if it cannot listen on path. */
void control_start(struct control *c, struct server *s, const char *path);
void control_stop(struct control *c);

/* Parses "new", "old", "none" or "crc"; false for other words. */
bool control_personality(const char *word, enum personality *ret);
