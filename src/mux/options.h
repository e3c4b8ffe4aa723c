/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: the command line and environment of maglev-mux.
 *
 * Beside MAGLEV_MUX_... the variables of the original are read (API_PREFIX, NAMESPACE,
 * DEFAULT_MUX_NAMESPACE, DRYRUN_MODE, SVC_LB_MUX_DEBUG, DEBUG_WEB_...); those with our names win.
 */
#pragma once

#include "lib/daemon/daemon.h"
#include "lib/operator/options.h"
#include "src/mux/web.h"

struct options {
	struct operator_options operator;
	const char *prefix;	       /* of annotations and classes */
	const char *default_namespace; /* of muxes; "": the program's own namespace */
	const char *metrics_addr;
	struct web_options web;
	struct buf web_text; /* owned by the caller */
	const char *pod;     /* POD_NAME; NULL: none */
	int64_t resync;	     /* ns */
	struct daemon_log log;
};

/* Parses; prints and exits if there is nothing to run. Strings are borrowed. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
