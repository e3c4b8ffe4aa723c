/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevc's flags and their environment, and the words that are the command. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/cli/cli.h"
#include "lib/tls/tls.h"

/* Exit codes: scripts rely on them. */
enum status {
	STATUS_DONE = 0,
	STATUS_REFUSED = 1, /* the server said no, or its answer could not be shown */
	STATUS_USAGE = 2,
	STATUS_NO_SERVER = 3, /* cannot be reached, or did not answer in time */
};

struct options {
	const char *server;
	bool color;	     /* as it was said, else false */
	bool color_given;    /* it was said */
	const char *history; /* a file for the shell's; NULL: none */
	bool json;
	int64_t timeout; /* ns, of connecting and of one answer */
	bool tls;	 /* also set by any of what follows */
	struct tls_files tls_files;
	const char *tls_name; /* NULL: the host of server */
	struct cli_list words;
};

/*
 * CLI_OK with *o filled, to be freed; otherwise a text in out, and nothing to free. Strings are
 * borrowed from argv and the environment.
 */
enum cli_verdict options_parse(struct options *o, int argc, char *const argv[], struct buf *out);
void options_free(struct options *o);

struct typing;
struct candidates;

/*
 * Where a flag stands, or the value of one: adds those that begin so, and returns true. An empty
 * word stands for the name of a file, which is not looked for here. False where a word of the
 * command stands, and nothing is added. The words are those behind the program's name.
 */
bool options_complete(const struct typing *t, struct candidates *out);
