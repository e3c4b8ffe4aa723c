/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/options.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const char about[] =
	"Passes HTTP requests on to servers, by host, path, method, headers and query. A new "
	"configuration, from a file or by the admin API, replaces the old one at once and touches "
	"no connection.";

static struct options values; /* the target of the table, which is static */
static const char *listen_text;

static const struct cli_option table[] = {
	{ .name = "config",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_CONFIG",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "listeners, routes and pools, as YAML, or as JSON if its name ends in .json; "
		  "empty: none, and the admin API gets the configuration",
	  .string = &values.config },
	{ .name = "watch",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_ROUTER_WATCH",
	  .fallback = "false",
	  .help = "read the file again when it changes, as SIGHUP does",
	  .boolean = &values.watch },
	{ .name = "listen",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_LISTEN",
	  .fallback = ":8080",
	  .argument = "ADDR",
	  .help = "where a configuration without listeners is served",
	  .string = &listen_text },
	{ .name = "threads",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_ROUTER_THREADS",
	  .help = "data threads; default: one per processor",
	  .count = &values.threads },
	{ .name = "head-timeout",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_HEAD_TIMEOUT",
	  .fallback = "10s",
	  .help = "time for a client to send the head of a request; then 408",
	  .duration = &values.head_timeout },
	{ .name = "idle-timeout",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_IDLE_TIMEOUT",
	  .fallback = "60s",
	  .help = "time that a client's connection stays open without a request",
	  .duration = &values.idle_timeout },
	{ .name = "stall-timeout",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_STALL_TIMEOUT",
	  .fallback = "60s",
	  .help = "time without a byte from client and server before a request is given up",
	  .duration = &values.stall_timeout },
	{ .name = "drain-time",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_DRAIN_TIME",
	  .fallback = "30s",
	  .help = "time for requests that are under way when the router stops",
	  .duration = &values.drain_time },
	{ .name = "drain-delay",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_DRAIN_DELAY",
	  .fallback = "0s",
	  .help = "time from SIGTERM, when /readyz becomes 503, until connections are no longer "
		  "accepted",
	  .duration = &values.drain_delay },
	{ .name = "upgrade-drain-time",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_UPGRADE_DRAIN_TIME",
	  .fallback = "10m",
	  .help = "time for requests that are under way when a new process has taken over",
	  .duration = &values.upgrade_drain_time },
	{ .name = "admin-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_ADMIN_ADDR",
	  .fallback = "127.0.0.1:9901",
	  .argument = "ADDR",
	  .help = "where the admin API and /metrics are served: a loopback address with port, or "
		  "the path of a Unix socket",
	  .string = &values.admin_addr },
	{ .name = "metrics-limit",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_ROUTER_METRICS_LIMIT",
	  .fallback = "200",
	  .help = "routes, pools and servers, of each, that have metrics of their own; the rest "
		  "are "
		  "added up as \"other\"",
	  .count = &values.metrics_limit },
	{ .name = "log-level",
	  .kind = CLI_LEVEL,
	  .env = "MAGLEV_ROUTER_LOG_LEVEL",
	  .fallback = "info",
	  .help = "debug, info, warn or error",
	  .level = &values.log_level },
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_ROUTER_CHECK",
	  .fallback = "false",
	  .help = "check the file and exit: 0, 1 for syntax, 2 for rules",
	  .boolean = &values.check },
};

static void refuse(const char *complaint)
{
	fprintf(stderr, "maglev-router: %s\nTry 'maglev-router --help'.\n", complaint);
	exit(CLI_STATUS_USAGE);
}

static size_t count_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (size_t)CPU_COUNT(&set);
}

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "maglev-router",
		.about = about,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	if (endpoint_parse(listen_text, &values.listen) < 0)
		refuse("--listen must be an address with a port, such as :8080");
	if (values.check && !*values.config)
		refuse("--check needs --config");
	if (values.watch && !*values.config)
		refuse("--watch needs --config");
	if (values.head_timeout <= 0 || values.idle_timeout <= 0 || values.stall_timeout <= 0)
		refuse("--head-timeout, --idle-timeout and --stall-timeout must be longer than 0");
	if (values.drain_time <= 0 || values.upgrade_drain_time <= 0 || values.drain_delay < 0)
		refuse("--drain-time and --upgrade-drain-time must be longer than 0");
	if (!values.threads)
		values.threads = count_processors();
	*o = values;
}
