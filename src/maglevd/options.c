/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/cli/cli.h"

#define CONFIG "/etc/maglev/maglev.yaml"
#define CONFIG_OF_OLD "/etc/vpp-maglev/maglev.yaml" /* used if the first does not exist */

static const char about[] =
	"Probes backends, decides their weights, and drives a load-balancing data plane to match. "
	"SIGHUP reloads the configuration, SIGTERM ends the daemon and leaves the data plane as it "
	"is. With --check the exit code says what is wrong with the configuration: 1, it does not "
	"parse; 2, it breaks a rule.";

static struct options values; /* the table points into it */

/* Every option can also be set by its environment variable; the command line wins. */
static const struct cli_option table[] = {
	{ .name = "config",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_CONFIG",
	  .argument = "FILE",
	  .help = "configuration; default " CONFIG ", or " CONFIG_OF_OLD " where that is absent",
	  .string = &values.config },
	{ .name = "grpc-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GRPC_ADDR",
	  .fallback = ":9090",
	  .argument = "ADDR",
	  .help = "where the API is served; empty: nowhere",
	  .string = &values.grpc_addr },
	{ .name = "grpc-tls-cert",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GRPC_TLS_CERT",
	  .argument = "FILE",
	  .help = "certificate of the API, PEM; without it the API is plaintext",
	  .string = &values.grpc_tls_cert },
	{ .name = "grpc-tls-key",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GRPC_TLS_KEY",
	  .argument = "FILE",
	  .help = "key of that certificate",
	  .string = &values.grpc_tls_key },
	{ .name = "grpc-client-ca",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_GRPC_CLIENT_CA",
	  .argument = "FILE",
	  .help = "clients of the API must show a certificate signed by one of these",
	  .string = &values.grpc_client_ca },
	{ .name = "grpc-operators",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_GRPC_OPERATORS",
	  .argument = "NAME,...",
	  .help = "common names of client certificates that may change things; others read",
	  .list = &values.grpc_operators },
	{ .name = "grpc-max-per-client",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_GRPC_MAX_PER_CLIENT",
	  .fallback = "1024",
	  .help = "connections to the API from one IPv4 address or IPv6 /64, of 4096 in all; "
		  "clients on this machine have no such limit",
	  .count = &values.grpc_max_per_client },
	{ .name = "reflection",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_REFLECTION",
	  .fallback = "true",
	  .help = "let clients of the API ask what it offers",
	  .boolean = &values.reflection },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_METRICS_ADDR",
	  .fallback = ":9091",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served, for operators; "
		  "empty: nowhere",
	  .string = &values.metrics_addr },
	{ .name = "vpp-api-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_VPP_API_ADDR",
	  .fallback = "/run/vpp/api.sock",
	  .argument = "PATH",
	  .help = "VPP's API socket; empty: no data plane at all",
	  .string = &values.vpp_api_addr },
	{ .name = "vpp-stats-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_VPP_STATS_ADDR",
	  .fallback = "/run/vpp/stats.sock",
	  .argument = "PATH",
	  .help = "VPP's stats socket",
	  .string = &values.vpp_stats_addr },
	{ .name = "log-level",
	  .kind = CLI_LEVEL,
	  .env = "MAGLEV_LOG_LEVEL",
	  .fallback = "info",
	  .help = "debug, info, warn or error",
	  .level = &values.log_level },
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_CHECK",
	  .fallback = "false",
	  .help = "check the configuration and exit",
	  .boolean = &values.check },
	{ .name = "xdp-detach",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_XDP_DETACH",
	  .fallback = "false",
	  .help = "remove the XDP data plane of the configuration, while no maglevd runs, and "
		  "exit",
	  .boolean = &values.xdp_detach },
};

static void require(const char *flag, bool there, const char *other, bool other_there)
{
	if (!there || other_there)
		return;
	fprintf(stderr, "maglevd: --%s needs --%s\n", flag, other);
	exit(CLI_STATUS_USAGE);
}

/*
 * Options that only work together are required together: half of a TLS setup would protect
 * nothing.
 */
static void check_tls(const struct options *o)
{
	require("grpc-tls-cert", o->grpc_tls_cert, "grpc-tls-key", o->grpc_tls_key);
	require("grpc-tls-key", o->grpc_tls_key, "grpc-tls-cert", o->grpc_tls_cert);
	require("grpc-client-ca", o->grpc_client_ca, "grpc-tls-cert", o->grpc_tls_cert);
	require("grpc-operators", o->grpc_operators.n, "grpc-client-ca", o->grpc_client_ca);
}

/* values is static because the table needs constant addresses. */
void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "maglevd",
		.about = about,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	check_tls(&values);
	*o = values;
	if (!o->config)
		o->config = access(CONFIG, F_OK) != 0 && access(CONFIG_OF_OLD, F_OK) == 0
				    ? CONFIG_OF_OLD
				    : CONFIG;
}

void options_free(struct options *o)
{
	cli_list_free(&o->grpc_operators);
}
