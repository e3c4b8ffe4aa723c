/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line and environment of maglev-speaker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"
#include "lib/operator/options.h"
#include "lib/service/options.h"

struct options {
	const char *config;
	const char *frr_conf; /* that the reloader applies */
	const char *reloader_socket, *reloader_pid, *reloader_status;
	const char *vty_dir, *metrics_addr;
	const char *drain_file; /* empty: none */
	struct service_options api;
	int64_t retry; /* ns after a failed reload */
	struct daemon_log log;
	bool watch, check;
	/* in a cluster, instead of the file */
	bool kubernetes;
	struct operator_options kube;
	const char *node_name, *lb_class, *l2_exclude;
	const char *maglevd; /* of the node; empty: none */
	bool ignore_exclude;
	int64_t drain_time, lease_duration, status_interval; /* ns */
};

/* Parses; prints and exits if there is nothing to run. Strings are borrowed. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
