/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: carries out commands on one maglevd, one maglev-speaker and one maglev-router.
 *
 * Each command runs the loop until it is over. The connection to its server is made for the first
 * command that needs it and is kept for the following ones.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "lib/grpc/grpc.h"
#include "lib/loop/loop.h"
#include "src/maglevc/command.h"
#include "src/maglevc/options.h"

struct grpc_client;

struct session_client {
	struct grpc_client *client; /* NULL until needed */
	bool connected;		    /* as the client has last reported */
};

struct session {
	struct ev_loop *loop;
	const struct options *options;
	FILE *out, *err;
	bool shell;	  /* commands of the shell are allowed; a signal ends one command */
	bool keys;	  /* standard input is a terminal on which any key ends a watch */
	bool ended;	  /* a signal has ended the program: no further command may run */
	struct buf typed; /* typed during a watch, other than to end it: for the next reader */
	unsigned line;	  /* current line of a script, for complaints; 0: no script */

	struct tls_context *tls;
	struct session_client clients[SERVERS];
};

/*
 * Creates the client if there is none. The client connects when the first call needs it. On
 * failure (TLS files, form of the address) complains and returns the exit code.
 */
enum status session_connect(struct session *s, enum server server);
/*
 * Runs one command, which may block for as long as the command takes. Prints the result on out,
 * or the reason of a failure on err, and returns the exit code. c->act must not be ACT_EXIT.
 */
enum status session_run(struct session *s, const struct command *c);
/* Reports a call that ended without an answer, and returns the exit code for its status. */
enum status session_refuse(const struct session *s, enum server server, enum grpc_status status,
			   const char *text);
/* Prints on out and flushes; on failure complains and returns the exit code. */
enum status session_print(const struct session *s, const struct buf *text);
/*
 * Prints a line on err, in red if colours are on. Outside an interactive shell it begins with
 * the name of the program.
 */
void session_complain(const struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Closes the connection. Does not free *s itself, which may be used again. */
void session_end(struct session *s);
