/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control: the socket through which a test looks behind the server and tells it how to behave.
 *
 * One line in, an answer, end of connection; "what?" to whatever is not understood.
 */
#pragma once

#include "tests/support/vpp/server.h"

struct control {
	struct server *server;
	ev_io listener;
};

/* Exits when it cannot listen there. */
void control_start(struct control *c, struct server *s, const char *path);
void control_stop(struct control *c);

/* "new", "old", "none", "crc"; false for other words. */
bool control_personality(const char *word, enum personality *ret);
