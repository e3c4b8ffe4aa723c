/* SPDX-License-Identifier: Apache-2.0 */
/* options: maglevd-frontend's flags and their environment. */
#pragma once

#include "lib/cli/cli.h"
#include "lib/tls/tls.h"
#include "src/frontend/auth.h"
#include "src/frontend/proxies.h"
#include "src/frontend/targets.h"

struct options {
	struct cli_list servers;
	struct targets targets;		   /* of servers */
	const char *listen, *metrics_addr; /* metrics_addr: empty: not served */
	struct cli_list trusted_proxies;
	struct proxies proxies; /* of trusted_proxies */
	struct tls_files tls;	/* of the HTTP server; no certificate: plaintext */
	bool grpc_tls;
	struct tls_files grpc_files;
	enum log_level log_level, events_level;
	struct auth auth; /* both or neither empty: no /admin/ */
	bool check;
};

/* Fills *o; prints and ends the process where there is reason to. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
