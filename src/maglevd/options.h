/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevd's flags and their environment. */
#pragma once

#include <stdbool.h>

#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"
#include "lib/log/log.h"
#include "lib/operator/options.h"
#include "lib/service/options.h"

struct options {
	const char *config;	  /* the path, never NULL */
	const char *metrics_addr; /* empty: not served */
	struct service_options api;
	const char *override_file;		   /* empty: overrides do not survive a restart */
	const char *vpp_api_addr, *vpp_stats_addr; /* an empty API address: no data plane */
	struct daemon_log log;
	bool check, xdp_detach;
	bool kubernetes;
	const char *node_name;
	struct operator_options kube;
};

/*
 * Reads the command line and the environment. Prints and exits on --help, --version and mistakes.
 */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
