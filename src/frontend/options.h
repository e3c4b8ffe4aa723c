/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevd-frontend's flags and environment variables. */
#pragma once

#include "base/proxies.h"
#include "lib/cli/cli.h"
#include "lib/daemon/daemon.h"
#include "lib/page/basic.h"
#include "lib/tls/tls.h"
#include "src/frontend/hosts.h"
#include "src/frontend/targets.h"

struct options {
	struct cli_list servers, speakers, routers;
	struct targets targets;		   /* parsed from servers */
	struct targets speaker_targets;	   /* parsed from speakers; may have none */
	struct targets router_targets;	   /* the same from routers */
	const char *listen, *metrics_addr; /* metrics_addr may be empty: not served */
	size_t max_per_client;		   /* connections of one client */
	struct cli_list trusted_proxies;
	struct proxies proxies; /* parsed from trusted_proxies */
	struct cli_list allowed_hosts;
	struct hosts hosts;   /* parsed from allowed_hosts */
	struct tls_files tls; /* of the HTTP server; no certificate: plaintext */
	bool grpc_tls;
	struct tls_files grpc_files;
	struct daemon_log log;
	enum log_level events_level;
	struct page_credentials auth; /* if either is empty, there is no /admin/ */
	const char *users;	      /* file; empty: none */
	const char *make_user;	      /* print a line of that file and exit; empty: no */
	bool check;
};

/* Whether there is a /admin/. */
bool options_have_users(const struct options *o);

/* Fills *o. For --help, --version and errors prints a text and ends the process. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
