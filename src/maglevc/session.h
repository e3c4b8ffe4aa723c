/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: commands carried out on one server.
 *
 * Runs the loop until the command is over. The connection is made for the first command that needs
 * it and kept for the next.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "lib/loop/loop.h"
#include "src/maglevc/command.h"
#include "src/maglevc/options.h"

struct grpc_client;

struct session {
	struct ev_loop *loop;
	const struct options *options;
	FILE *out, *err;
	bool shell;	  /* commands of the shell, too, each of which a signal can end */
	bool keys;	  /* standard input is a terminal, where any key ends a watch */
	bool ended;	  /* by a signal that means more than the command: no other shall follow */
	struct buf typed; /* while a watch ran, and not only to end it: for who reads keys next */
	unsigned line;	  /* of a script, for complaints; 0: none */

	struct tls_context *tls;
	struct grpc_client *client; /* NULL until needed */
	bool connected;
};

/* Gets ready to connect, without doing so; complains when that cannot be. */
enum status session_connect(struct session *s);
/* Prints what the command gives, or why it did not; returns the exit code. */
enum status session_run(struct session *s, const struct command *c);
/* A line on err, in red when coloured; outside the shell with the program's name in front. */
void session_complain(const struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void session_end(struct session *s);
