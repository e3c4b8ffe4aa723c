/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevd's flags and their environment. */
#pragma once

#include <stdbool.h>

#include "lib/cli/cli.h"
#include "lib/log/log.h"
#include "lib/service/options.h"

struct options {
	const char *config;	  /* the path, never NULL */
	const char *metrics_addr; /* empty: not served */
	struct service_options api;
	const char *vpp_api_addr, *vpp_stats_addr; /* an empty API address: no data plane */
	enum log_level log_level;
	bool check, xdp_detach;
};

/*
 * Reads the command line and the environment. Prints and exits on --help, --version and mistakes.
 */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
