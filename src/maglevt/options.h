/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevt's flags and their environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/cli/cli.h"

/* Exit codes: scripts rely on them. */
enum status {
	STATUS_GOOD = 0,
	STATUS_FAILED = 1, /* batch: a VIP is not as good as it was asked to be */
	STATUS_USAGE = 2,  /* flags, files, or nothing to test */
};

struct options {
	struct cli_list configs;
	int64_t interval, timeout, window, duration; /* ns */
	const char *scheme;			     /* NULL: by port */
	const char *host;			     /* NULL: the address */
	const char *uri, *header;
	bool insecure, keepalive, dns, batch, json;
	const char *filter; /* NULL: all */
	double min_success; /* 0 to 1 */
	int64_t max_p99;    /* ns; 0: any */
};

/*
 * CLI_OK with *o filled, to be freed; otherwise a text in out, and nothing to free. Strings are
 * borrowed from argv and the environment.
 */
enum cli_verdict options_parse(struct options *o, int argc, char *const argv[], struct buf *out);
void options_free(struct options *o);
