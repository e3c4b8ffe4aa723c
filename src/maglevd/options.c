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
	  .help = "configuration, or - for standard input; default " CONFIG ", or " CONFIG_OF_OLD
		  " where that is absent",
	  .string = &values.config },
	{ .name = "override-file",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_OVERRIDE_FILE",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "keep pauses, disables and weights in this file over a restart; empty: after a "
		  "restart the configuration rules",
	  .string = &values.override_file },
	SERVICE_OPTIONS("MAGLEV_", values.api, ":9090"),
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
	{ .name = "kubernetes",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_KUBERNETES",
	  .fallback = "false",
	  .help = "add frontends for the Services of a cluster that ask for the data plane",
	  .boolean = &values.kubernetes },
	{ .name = "node-name",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_NODE_NAME",
	  .fallback = "",
	  .argument = "NAME",
	  .help = "the node of this maglevd; with --kubernetes",
	  .string = &values.node_name },
	OPERATOR_CLIENT_OPTIONS("MAGLEV_", values.kube),
	DAEMON_LOG_OPTIONS("MAGLEV_", values.log),
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

static void require(bool holds, const char *sentence)
{
	if (holds)
		return;
	fprintf(stderr, "maglevd: %s\nTry 'maglevd --help'.\n", sentence);
	exit(CLI_STATUS_USAGE);
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
	service_options_check(&values.api, program.name);
	require(!values.kubernetes || *values.node_name, "--kubernetes needs --node-name");
	*o = values;
	if (!o->config)
		o->config = access(CONFIG, F_OK) != 0 && access(CONFIG_OF_OLD, F_OK) == 0
				    ? CONFIG_OF_OLD
				    : CONFIG;
}

void options_free(struct options *o)
{
	service_options_free(&o->api);
}
