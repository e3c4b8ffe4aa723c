/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line and environment of maglev-router. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"
#include "lib/net/dns.h"
#include "lib/service/options.h"
#include "src/router/access.h"

struct options {
	const char *config; /* "": none; it waits for POST /routes/update */
	const char *admin_addr;
	struct service_options grpc;
	struct access_config admin_access;
	size_t admin_max_body, admin_max_answer; /* bytes */
	struct endpoint listen;			 /* of configurations without listeners */
	struct dns_config dns;			 /* with the servers of --resolver */
	size_t threads, metrics_limit;
	int64_t head_timeout, idle_timeout, stall_timeout;   /* ns */
	int64_t drain_time, drain_delay, upgrade_drain_time; /* ns */
	int64_t ticket_rotation;			     /* ns */
	struct daemon_log log;
	bool watch, check;
};

/* Parses; prints and exits if there is nothing to run. Strings are borrowed. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
