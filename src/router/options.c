/* SPDX-License-Identifier: Apache-2.0 */
#include "src/router/options.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

static const char about[] =
	"Passes HTTP requests on to servers, by host, path, method, headers and query. A new "
	"configuration, from a file or by the admin API, replaces the old one at once and touches "
	"no connection.";

static struct options values; /* the target of the table, which is static */
static const char *listen_text, *resolver_text;

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
	{ .name = "ticket-rotation",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_ROUTER_TICKET_ROTATION",
	  .fallback = "2h",
	  .help = "how often the keys of TLS session tickets are replaced; three are kept, so that "
		  "a session can be resumed for at least two periods, and for 4h at most",
	  .duration = &values.ticket_rotation },
	{ .name = "admin-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_ADMIN_ADDR",
	  .fallback = "127.0.0.1:9901",
	  .argument = "ADDR",
	  .help = "where the admin API and /metrics are served: an address with port, which must "
		  "be loopback without token and client CA, or the path of a Unix socket",
	  .string = &values.admin_addr },
	{ .name = "admin-token-file",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_ADMIN_TOKEN_FILE",
	  .argument = "FILE",
	  .help = "requests to the admin API need the bearer token in this file; read again on "
		  "SIGHUP",
	  .string = &values.admin_access.token_file },
	{ .name = "admin-tls-cert",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_ADMIN_TLS_CERT",
	  .argument = "FILE",
	  .help = "certificate of the admin API, PEM; without it the API is plaintext",
	  .string = &values.admin_access.tls.certificate },
	{ .name = "admin-tls-key",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_ADMIN_TLS_KEY",
	  .argument = "FILE",
	  .help = "key of that certificate",
	  .string = &values.admin_access.tls.key },
	{ .name = "admin-tls-client-ca",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_ADMIN_TLS_CLIENT_CA",
	  .argument = "FILE",
	  .help = "clients of the admin API must show a certificate signed by one of these",
	  .string = &values.admin_access.tls.ca },
	{ .name = "admin-max-body",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_ROUTER_ADMIN_MAX_BODY",
	  .fallback = "1024",
	  .argument = "KIB",
	  .help = "largest body of a request to the admin API, in KiB; "
		  "a document has at most 65536",
	  .count = &values.admin_max_body },
	{ .name = "admin-max-answer",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_ROUTER_ADMIN_MAX_ANSWER",
	  .fallback = "1024",
	  .argument = "KIB",
	  .help = "largest answer of the admin API, in KiB, except that of /metrics",
	  .count = &values.admin_max_answer },
	{ .name = "resolver",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_ROUTER_RESOLVER",
	  .fallback = "",
	  .argument = "ADDR",
	  .help = "DNS servers, up to three addresses with ports and commas between them; empty: "
		  "those of /etc/resolv.conf",
	  .string = &resolver_text },
	{ .name = "metrics-limit",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_ROUTER_METRICS_LIMIT",
	  .fallback = "200",
	  .help = "routes, pools and servers, of each, that have metrics of their own; the rest "
		  "are "
		  "added up as \"other\"",
	  .count = &values.metrics_limit },
	SERVICE_OPTIONS("MAGLEV_ROUTER_", values.grpc, "127.0.0.1:9096"),
	DAEMON_LOG_OPTIONS("MAGLEV_ROUTER_", values.log),
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_ROUTER_CHECK",
	  .fallback = "false",
	  .help = "check the file and exit: 0, 1 for syntax, 2 for rules",
	  .boolean = &values.check },
};

static const char resolver_complaint[] =
	"--resolver must be one to three addresses with a port, such as 192.0.2.53:53";

static void refuse(const char *complaint)
{
	fprintf(stderr, "maglev-router: %s\nTry 'maglev-router --help'.\n", complaint);
	exit(CLI_STATUS_USAGE);
}

static void parse_resolvers(const char *text, struct dns_config *ret)
{
	struct str rest = str_of(text), part;

	while (rest.n && str_cut(&rest, ',', &part)) {
		char one[ENDPOINT_STRLEN];
		struct endpoint *to = &ret->servers[ret->n_servers];

		if (part.n >= sizeof(one) || ret->n_servers == DNS_SERVERS)
			refuse(resolver_complaint);
		snprintf(one, sizeof(one), "%.*s", (int)part.n, part.p);
		if (endpoint_parse(one, to) < 0 || !addr_is_set(&to->addr) || !to->port)
			refuse(resolver_complaint);
		ret->n_servers++;
	}
}

static size_t count_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (size_t)CPU_COUNT(&set);
}

static void check_access(const struct access_config *c)
{
	if (!c->tls.certificate != !c->tls.key)
		refuse("--admin-tls-cert and --admin-tls-key are needed together");
	if (c->tls.ca && !c->tls.certificate)
		refuse("--admin-tls-client-ca needs --admin-tls-cert");
}

/* What it shows is for people who may see it, and Rollback is for operators. */
static void check_grpc(const struct service_options *o)
{
	struct endpoint at;

	service_options_check(o, "maglev-router");
	if (!*o->addr || o->client_ca)
		return;
	if (endpoint_parse(o->addr, &at) == 0 && !addr_is_loopback(&at.addr))
		refuse("--grpc-addr: an address other than loopback needs --grpc-client-ca");
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
	parse_resolvers(resolver_text, &values.dns);
	if (values.check && !*values.config)
		refuse("--check needs --config");
	if (values.watch && !*values.config)
		refuse("--watch needs --config");
	if (values.head_timeout <= 0 || values.idle_timeout <= 0 || values.stall_timeout <= 0)
		refuse("--head-timeout, --idle-timeout and --stall-timeout must be longer than 0");
	if (values.drain_time <= 0 || values.upgrade_drain_time <= 0 || values.drain_delay < 0)
		refuse("--drain-time and --upgrade-drain-time must be longer than 0");
	if (values.ticket_rotation < NSEC_PER_SEC)
		refuse("--ticket-rotation must be at least 1s");
	check_grpc(&values.grpc);
	check_access(&values.admin_access);
	if (!values.threads)
		values.threads = count_processors();
	values.admin_max_body *= 1024;
	values.admin_max_answer *= 1024;
	*o = values;
}

void options_free(struct options *o)
{
	service_options_free(&o->grpc);
}
