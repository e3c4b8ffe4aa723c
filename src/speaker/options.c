/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const char about[] =
	"Announces VIPs over BGP while their frontends are up, and withdraws them when they are "
	"not. "
	"The states come from one or several maglevds, the sessions are those of FRR, which "
	"frr-reloader configures. On a network without BGP, speakers elect the owner of each VIP, "
	"which announces it by ARP and NDP.";

static struct options values; /* the target of the table, which is static */

static const struct cli_option table[] = {
	{ .name = "config",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_CONFIG",
	  .fallback = "/etc/maglev/speaker.yaml",
	  .argument = "FILE",
	  .help = "peers, advertisements, groups of l2, maglevds and VIPs",
	  .string = &values.config },
	{ .name = "watch",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_SPEAKER_WATCH",
	  .fallback = "false",
	  .help = "read the file again when it changes, as SIGHUP does",
	  .boolean = &values.watch },
	{ .name = "frr-conf",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_FRR_CONF",
	  .fallback = "/etc/frr_reloader/frr.conf",
	  .argument = "FILE",
	  .help = "the configuration of FRR that is written, the --config of frr-reloader",
	  .string = &values.frr_conf },
	{ .name = "reloader-socket",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_RELOADER_SOCKET",
	  .fallback = "/etc/frr_reloader/frr-reloader.sock",
	  .argument = "PATH",
	  .help = "the socket of frr-reloader; empty: SIGHUP to the process of its pid file",
	  .string = &values.reloader_socket },
	{ .name = "reloader-pid",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_RELOADER_PID",
	  .fallback = "/etc/frr_reloader/reloader.pid",
	  .argument = "FILE",
	  .help = "its pid file, used without a socket",
	  .string = &values.reloader_pid },
	{ .name = "reloader-status",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_RELOADER_STATUS",
	  .fallback = "/etc/frr_reloader/.status",
	  .argument = "FILE",
	  .help = "its status file, used without a socket",
	  .string = &values.reloader_status },
	{ .name = "retry",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_SPEAKER_RETRY",
	  .fallback = "5s",
	  .help = "time before a reload that failed is tried again",
	  .duration = &values.retry },
	{ .name = "vty-dir",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_VTY_DIR",
	  .fallback = "/var/run/frr",
	  .argument = "DIR",
	  .help = "where FRR's daemons have their sockets",
	  .string = &values.vty_dir },
	{ .name = "drain-file",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_DRAIN_FILE",
	  .fallback = "/var/lib/maglev-speaker/drains",
	  .argument = "FILE",
	  .help = "keeps drains over a restart; empty: they end with the process",
	  .string = &values.drain_file },
	SERVICE_OPTIONS("MAGLEV_SPEAKER_", values.api, ":9095"),
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_METRICS_ADDR",
	  .fallback = ":9094",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served; empty: nowhere",
	  .string = &values.metrics_addr },
	{ .name = "log-level",
	  .kind = CLI_LEVEL,
	  .env = "MAGLEV_SPEAKER_LOG_LEVEL",
	  .fallback = "info",
	  .help = "debug, info, warn or error",
	  .level = &values.log_level },
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_SPEAKER_CHECK",
	  .fallback = "false",
	  .help = "check the file and exit: 0, 1 for syntax, 2 for rules",
	  .boolean = &values.check },
};

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "maglev-speaker",
		.about = about,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	service_options_check(&values.api, program.name);
	if (values.retry <= 0) {
		fputs("maglev-speaker: --retry must be longer than 0\n"
		      "Try 'maglev-speaker --help'.\n",
		      stderr);
		exit(CLI_STATUS_USAGE);
	}
	*o = values;
}

void options_free(struct options *o)
{
	service_options_free(&o->api);
}
