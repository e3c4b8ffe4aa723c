/* SPDX-License-Identifier: Apache-2.0 */
/* options: the command line and environment of maglev-gateway. */
#pragma once

#include "lib/daemon/daemon.h"
#include "lib/operator/options.h"
#include "src/gateway/plan_addresses.h"

#define OPTIONS_RANGES_MAX 64

struct options {
	struct operator_options operator;
	const char *controller;	    /* name in GatewayClasses */
	struct cli_list routers;    /* "host:port" */
	const char *router_service; /* "NAMESPACE/NAME"; "": none */
	const char *router_port;    /* name of its port */
	char *service_namespace;    /* the parts of router_service; NULL: none */
	const char *service_name;
	const char *token_file, *ca, *certificate, *key, *server_name;
	struct cli_list pools;
	struct plan_range ranges[OPTIONS_RANGES_MAX];
	size_t n_ranges;
	bool service_addresses;
	const char *service_class;
	const char *metrics_addr;
	struct cli_list words; /* of explain; none: the daemon */
	struct daemon_log log;
};

/* Parses; prints and exits if there is nothing to run. Strings are borrowed. */
void options_parse(struct options *o, int argc, char *const argv[]);
void options_free(struct options *o);
