/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevt's flags and environment variables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/cli/cli.h"

/* Exit codes. They are part of the interface: scripts rely on them. */
enum status {
	STATUS_GOOD = 0,
	STATUS_FAILED = 1, /* batch: a VIP misses --min-success or --max-p99 */
	STATUS_USAGE = 2,  /* flags, files, or nothing to test */
};

#define URI_DEFAULT "/.well-known/ipng/healthz"

struct options {
	struct cli_list configs;
	int64_t interval, timeout, window, duration; /* ns */
	const char *scheme;			     /* NULL: chosen by port */
	const char *host;			     /* NULL: that of the check, or the VIP */
	const char *uri;			     /* NULL: that of the check, or URI_DEFAULT */
	const char *header;
	const char *ca; /* file; NULL: the system's */
	bool insecure, keepalive, dns, batch, json;
	const char *filter; /* NULL: test all VIPs */
	double min_success; /* 0 to 1 */
	int64_t max_p99;    /* ns; 0: no limit */
};

/*
 * Returns CLI_OK with *o filled, which the caller frees. Otherwise the text to print is in out,
 * and there is nothing to free. Strings are borrowed from argv and the environment.
 */
enum cli_verdict options_parse(struct options *o, int argc, char *const argv[], struct buf *out);
void options_free(struct options *o);
