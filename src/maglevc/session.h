/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session: carries out commands on maglevds, maglev-speakers and maglev-routers.
 *
 * Each command runs the loop until it is over. The connections to its servers are made for the
 * first command that needs them and are kept for the following ones.
 */
#pragma once

#include <stdio.h>

#include "base/str.h"
#include "lib/grpc/grpc.h"
#include "lib/loop/loop.h"
#include "src/maglevc/command.h"
#include "src/maglevc/options.h"

struct grpc_client;

struct pipe;

struct session_client {
	struct grpc_client *client;
	const char *name; /* "host:port" */
	bool connected;	  /* as the client has last reported */
};

/* The servers of one flag; none until they are needed. */
struct session_servers {
	struct session_client *items;
	size_t n;
};

struct session {
	struct ev_loop *loop;
	const struct options *options;
	FILE *out, *err;
	bool shell;	  /* commands of the shell are allowed; a signal ends one command */
	bool keys;	  /* standard input is a terminal on which any key ends a watch */
	bool asks;	  /* standard input and output are a terminal: questions can be asked */
	bool ended;	  /* a signal has ended the program: no further command may run */
	struct buf typed; /* typed during a watch, other than to end it: for the next reader */
	unsigned line;	  /* current line of a script, for complaints; 0: no script */

	struct pipe *pipe; /* through which the lines of an answer go; NULL: none */

	struct tls_context *tls;
	struct arena *arena; /* of the names of the servers */
	struct session_servers servers[SERVERS];
};

/*
 * Creates the clients of that kind of server if there are none. A client connects when the first
 * call needs it. On failure (TLS files, form of an address) complains and returns the exit code.
 */
enum status session_connect(struct session *s, enum server server);
/*
 * Runs one command, which may block for as long as the command takes. Prints the result on out,
 * or the reason of a failure on err, and returns the exit code. c->act must not be ACT_EXIT.
 */
enum status session_run(struct session *s, const struct command *c);
/* Writes why a call ended without an answer to why, and returns the exit code for its status. */
enum status session_refusal(const struct session *s, const struct session_client *from,
			    enum grpc_status status, const char *text, struct buf *why);
/* Reports it. */
enum status session_refuse(const struct session *s, const struct session_client *from,
			   enum grpc_status status, const char *text);
/*
 * Prints on out, through the pipe if there is one, and flushes; on failure complains and returns
 * the exit code. The text consists of whole lines.
 */
enum status session_print(const struct session *s, const struct buf *text);
/* Prints what the pipe, if there is one, says at the end of an answer. */
enum status session_print_end(const struct session *s);
/* Prints the line above the answer of one of several servers, past the pipe. */
enum status session_print_server(const struct session *s, const char *name);
/*
 * Prints a line on err, in red if colours are on. Outside an interactive shell it begins with
 * the name of the program.
 */
void session_complain(const struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Closes the connections. Does not free *s itself, which may be used again. */
void session_end(struct session *s);
