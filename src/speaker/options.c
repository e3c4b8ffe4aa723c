/* SPDX-License-Identifier: Apache-2.0 */
#include "src/speaker/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

static const char about[] =
	"Announces VIPs over BGP while their frontends are up, and withdraws them when they are "
	"not. "
	"The states come from one or several maglevds, the sessions are those of FRR, which "
	"frr-reloader configures. On a network without BGP, speakers elect the owner of each VIP, "
	"which announces it by ARP and NDP. In a Kubernetes cluster it announces the addresses of "
	"Services, as the resources of metallb.io say.";

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
	{ .name = "kubernetes",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_SPEAKER_KUBERNETES",
	  .fallback = "false",
	  .help = "announce the Services of a cluster from one node, as metallb.io configures it",
	  .boolean = &values.kubernetes },
	{ .name = "node-name",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_NODE_NAME",
	  .fallback = "",
	  .argument = "NAME",
	  .help = "the node of this speaker; with --kubernetes",
	  .string = &values.node_name },
	{ .name = "maglevd",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_MAGLEVD",
	  .fallback = "",
	  .argument = "ADDR",
	  .help = "the gRPC API of the maglevd of this node; with --kubernetes, for Services on "
		  "the Maglev data plane; empty: none",
	  .string = &values.maglevd },
	{ .name = "lb-class",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_LB_CLASS",
	  .fallback = "",
	  .argument = "NAME",
	  .help = "only Services of this loadBalancerClass; empty: those without one",
	  .string = &values.lb_class },
	{ .name = "ignore-exclude-lb",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_SPEAKER_IGNORE_EXCLUDE_LB",
	  .fallback = "false",
	  .help = "nodes that are excluded from external load balancers announce, too",
	  .boolean = &values.ignore_exclude },
	{ .name = "drain-time",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_SPEAKER_DRAIN_TIME",
	  .fallback = "5s",
	  .help = "how long the routes of a node that gets that label are announced for leaving",
	  .duration = &values.drain_time },
	{ .name = "l2-exclude",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_L2_EXCLUDE",
	  .fallback = "cali*,cilium*,cni*,docker*,dummy*,flannel*,kube-*,lxc*,nodelocaldns,"
		      "tunl*,veth*,virbr*,vxlan*,cbr*",
	  .argument = "LIST",
	  .help = "patterns of interfaces that are not used for ARP and NDP",
	  .string = &values.l2_exclude },
	{ .name = "lease-duration",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_SPEAKER_LEASE_DURATION",
	  .fallback = "15s",
	  .help = "how long a speaker whose heartbeats are not heard counts as alive",
	  .duration = &values.lease_duration },
	{ .name = "status-interval",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_SPEAKER_STATUS_INTERVAL",
	  .fallback = "2s",
	  .help = "shortest time between two statuses of a session",
	  .duration = &values.status_interval },
	OPERATOR_CLIENT_OPTIONS("MAGLEV_SPEAKER_", values.kube),
	SERVICE_OPTIONS("MAGLEV_SPEAKER_", values.api, ":9095"),
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_SPEAKER_METRICS_ADDR",
	  .fallback = ":9094",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served; empty: nowhere",
	  .string = &values.metrics_addr },
	DAEMON_LOG_OPTIONS("MAGLEV_SPEAKER_", values.log),
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_SPEAKER_CHECK",
	  .fallback = "false",
	  .help = "check the file and exit: 0, 1 for syntax, 2 for rules",
	  .boolean = &values.check },
};

static void require(bool holds, const char *sentence)
{
	if (holds)
		return;
	fprintf(stderr, "maglev-speaker: %s\nTry 'maglev-speaker --help'.\n", sentence);
	exit(CLI_STATUS_USAGE);
}

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
	require(values.retry > 0, "--retry must be longer than 0");
	require(!values.kubernetes || *values.node_name, "--kubernetes needs --node-name");
	require(values.lease_duration >= 3 * NSEC_PER_SEC, "--lease-duration must be at least 3s");
	require(values.status_interval > 0, "--status-interval must be longer than 0");
	require(values.drain_time >= 0, "--drain-time must not be negative");
	*o = values;
}

void options_free(struct options *o)
{
	service_options_free(&o->api);
}
