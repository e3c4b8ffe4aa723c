/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gateway/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

static const char about[] =
	"Drives maglev-router with the Gateway API of a Kubernetes cluster: Gateways become "
	"listeners, routes become routes, Services become pools of servers, and every object is "
	"told in its status what became of it.";

static const char more[] =
	"\nCommands, which read the cluster, print and end:\n"
	"  explain KIND NAMESPACE/NAME              where a route is served, and why not "
	"elsewhere\n"
	"  explain METHOD URL                       which listener, rule and backend a request "
	"meets\n"
	"  explain KIND NAMESPACE/NAME METHOD URL   the same, and why not the rules of that "
	"route\n";

static struct options values; /* the target of the table, which is static */

static const struct cli_option table[] = {
	OPERATOR_CLIENT_OPTIONS("MAGLEV_GATEWAY_", values.operator),
	OPERATOR_LEADER_OPTIONS("MAGLEV_GATEWAY_", values.operator, "maglev-gateway"),
	OPERATOR_DRY_RUN_OPTION("MAGLEV_GATEWAY_", values.operator),
	{ .name = "controller-name",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_CONTROLLER_NAME",
	  .fallback = "maglev.dev/gateway-controller",
	  .argument = "NAME",
	  .help = "GatewayClasses with this controllerName are ours",
	  .string = &values.controller },
	{ .name = "router",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_GATEWAY_ROUTER",
	  .argument = "HOST:PORT,...",
	  .help = "admin addresses of routers",
	  .list = &values.routers },
	{ .name = "router-service",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_SERVICE",
	  .fallback = "",
	  .argument = "NAMESPACE/NAME",
	  .help = "the Service whose endpoints are the admin addresses of routers",
	  .string = &values.router_service },
	{ .name = "router-port",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_PORT",
	  .fallback = "admin",
	  .argument = "NAME",
	  .help = "name of its port; a Service with one port may call it otherwise",
	  .string = &values.router_port },
	{ .name = "router-token-file",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_TOKEN_FILE",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "token for the routers; read again when a router refuses it",
	  .string = &values.token_file },
	{ .name = "router-ca",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_CA",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "TLS to the routers, whose certificates are signed by one of these",
	  .string = &values.ca },
	{ .name = "router-cert",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_CERT",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "our certificate for the routers",
	  .string = &values.certificate },
	{ .name = "router-key",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_KEY",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "its key",
	  .string = &values.key },
	{ .name = "router-server-name",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_ROUTER_SERVER_NAME",
	  .fallback = "",
	  .argument = "NAME",
	  .help = "name in the certificates of routers; empty: their address",
	  .string = &values.server_name },
	{ .name = "address-pool",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_GATEWAY_ADDRESS_POOL",
	  .argument = "RANGE,...",
	  .help = "addresses for Gateways: 192.0.2.0/24, 192.0.2.10-192.0.2.20, 192.0.2.30",
	  .list = &values.pools },
	{ .name = "service-addresses",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_GATEWAY_SERVICE_ADDRESSES",
	  .fallback = "false",
	  .help = "instead: the address of a LoadBalancer Service that each Gateway gets",
	  .boolean = &values.service_addresses },
	{ .name = "service-class",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_SERVICE_CLASS",
	  .fallback = "",
	  .argument = "CLASS",
	  .help = "loadBalancerClass of these Services; empty: none",
	  .string = &values.service_class },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GATEWAY_METRICS_ADDR",
	  .fallback = ":9097",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served; empty: nowhere",
	  .string = &values.metrics_addr },
	DAEMON_LOG_OPTIONS("MAGLEV_GATEWAY_", values.log),
};

static void refuse(const char *flag, const char *why)
{
	fprintf(stderr, "maglev-gateway: %s %s\nTry 'maglev-gateway --help'.\n", flag, why);
	exit(CLI_STATUS_USAGE);
}

static void parse_ranges(struct options *o)
{
	if (o->pools.n > OPTIONS_RANGES_MAX)
		refuse("--address-pool", "has too many ranges");
	for (size_t i = 0; i < o->pools.n; i++)
		if (plan_range_parse(o->pools.items[i], &o->ranges[o->n_ranges++]) < 0)
			refuse("--address-pool", "must be a prefix, a range or an address");
}

static void parse_service(struct options *o)
{
	char *slash;

	if (!*o->router_service)
		return;
	o->service_namespace = mem_strdup(o->router_service);
	slash = strchr(o->service_namespace, '/');
	if (!slash || slash == o->service_namespace || !slash[1])
		refuse("--router-service", "must be NAMESPACE/NAME");
	*slash = '\0';
	o->service_name = slash + 1;
}

static void check_words(const struct cli_list *words)
{
	if (words->n && strcmp(words->items[0], "explain") != 0)
		refuse(words->items[0], "is not a command");
	if (words->n && words->n != 3 && words->n != 5)
		refuse("explain", "needs KIND NAMESPACE/NAME, or METHOD URL, or both");
}

static void check(const struct options *o)
{
	check_words(&o->words);
	if (!o->words.n && !o->operator.dry_run && !o->routers.n && !o->service_name)
		refuse("--router", "or --router-service is needed");
	if (o->routers.n && o->service_name)
		refuse("--router", "and --router-service exclude each other");
	if (o->pools.n && o->service_addresses)
		refuse("--address-pool", "and --service-addresses exclude each other");
	if (*o->certificate && (!*o->key || !*o->ca))
		refuse("--router-cert", "needs --router-key and --router-ca");
}

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "maglev-gateway",
		.operands = "[explain [KIND NAMESPACE/NAME] [METHOD URL]]",
		.about = about,
		.more = more,
		.words = &values.words,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	operator_options_check(&values.operator, program.name);
	parse_ranges(&values);
	parse_service(&values);
	check(&values);
	*o = values;
}

void options_free(struct options *o)
{
	cli_list_free(&o->routers);
	cli_list_free(&o->pools);
	cli_list_free(&o->words);
	free(o->service_namespace);
}
