/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevc's flags and environment variables, and the words of the command. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/cli/cli.h"
#include "lib/tls/tls.h"

/* Exit codes. They are part of the interface: scripts rely on them. */
enum status {
	STATUS_DONE = 0,
	STATUS_REFUSED = 1, /* the server refused, or its answer could not be written */
	STATUS_USAGE = 2,
	STATUS_NO_SERVER = 3, /* it cannot be reached, or did not answer in time */
	STATUS_TIME_OVER = 4, /* done, but what was waited for did not happen in time */
};

/* The programs that commands are for. */
enum server {
	SERVER_MAGLEVD,
	SERVER_SPEAKER,
	SERVER_ROUTER,
	SERVERS,
};

struct options {
	const char *servers[SERVERS]; /* lists of their addresses, see servers.h */
	bool given[SERVERS];	      /* the flag or its variable is given */
	bool color;		      /* the value of the flag; false if it is not given */
	bool color_given;	      /* the flag or its variable is given */
	const char *history;	      /* file of the shell's history; NULL: none is given */
	bool history_given;	      /* "" then means: none */
	bool yes;		      /* act on several backends without a question */
	bool json;
	int64_t timeout; /* ns, for connecting and for each answer */
	bool tls;	 /* also set if any of the following is given */
	struct tls_files tls_files;
	const char *tls_name; /* expected in the certificate; NULL: the host of the server */
	struct cli_list words;
};

/*
 * Returns CLI_OK with *o filled, which the caller frees. Otherwise the text to print is in out,
 * and there is nothing to free. Strings are borrowed from argv and the environment.
 */
enum cli_verdict options_parse(struct options *o, int argc, char *const argv[], struct buf *out);
void options_free(struct options *o);

struct typing;
struct candidates;

/*
 * Completes a flag, or the value of one: adds the candidates and returns true. An empty
 * candidate asks for file names, which the calling shell completes. Returns false, with nothing
 * added, if a word of the command is being typed. The words of t do not include the name of the
 * program.
 */
bool options_complete(const struct typing *t, struct candidates *out);
