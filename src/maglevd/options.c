/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevd/options.h"

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
