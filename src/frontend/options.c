/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frontend/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static const char about[] =
	"Shows one or many maglevds, the speakers that announce their VIPs, and routers, in a "
	"browser: "
	"/view/ is read-only and open to all, /admin/ "
	"can make changes and exists only while MAGLEV_FRONTEND_USER and MAGLEV_FRONTEND_PASSWORD "
	"are both set. "
	"SIGHUP reads the certificates again.";

static struct options values; /* the target of the table, which is static */

static const struct cli_option table[] = {
	{ .name = "server",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_FRONTEND_SERVER",
	  .argument = "[NAME=]HOST:PORT,...",
	  .help = "the maglevds to show; without a name it is the host",
	  .list = &values.servers },
	{ .name = "speaker",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_FRONTEND_SPEAKER",
	  .argument = "[NAME=]HOST:PORT,...",
	  .help = "the maglev-speakers to show; without a name it is the host",
	  .list = &values.speakers },
	{ .name = "router",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_FRONTEND_ROUTER",
	  .argument = "[NAME=]HOST:PORT,...",
	  .help = "the maglev-routers to show; without a name it is the host",
	  .list = &values.routers },
	{ .name = "listen",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_LISTEN",
	  .fallback = ":8080",
	  .argument = "ADDR",
	  .help = "where the dashboard is served",
	  .string = &values.listen },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_METRICS_ADDR",
	  .fallback = "",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served for operators, "
		  "beside "
		  "the first three on --listen; empty: nowhere",
	  .string = &values.metrics_addr },
	{ .name = "max-per-client",
	  .kind = CLI_COUNT,
	  .env = "MAGLEV_FRONTEND_MAX_PER_CLIENT",
	  .fallback = "1024",
	  .help = "connections from one IPv4 address or IPv6 /64, of 4096 in all; clients on this "
		  "machine have no such limit",
	  .count = &values.max_per_client },
	{ .name = "tls-cert",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_TLS_CERT",
	  .argument = "FILE",
	  .help = "certificate of the dashboard, PEM; without it the dashboard is plaintext",
	  .string = &values.tls.certificate },
	{ .name = "tls-key",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_TLS_KEY",
	  .argument = "FILE",
	  .help = "key of that certificate",
	  .string = &values.tls.key },
	{ .name = "allowed-host",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_FRONTEND_ALLOWED_HOST",
	  .argument = "NAME,...",
	  .help = "names besides this machine's own under which browsers ask for the dashboard "
		  "without TLS; .DOMAIN: all below it; *: any",
	  .list = &values.allowed_hosts },
	{ .name = "trusted-proxy",
	  .kind = CLI_LIST,
	  .env = "MAGLEV_FRONTEND_TRUSTED_PROXY",
	  .argument = "ADDR[/LEN],...",
	  .help = "proxies whose X-Forwarded-For says who the client is",
	  .list = &values.trusted_proxies },
	{ .name = "grpc-tls",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_FRONTEND_GRPC_TLS",
	  .fallback = "false",
	  .help = "use TLS to the maglevds, speakers and routers; any flag below implies it",
	  .boolean = &values.grpc_tls },
	{ .name = "grpc-ca",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_GRPC_CA",
	  .argument = "FILE",
	  .help = "who may sign their certificates; default: the system's store",
	  .string = &values.grpc_files.ca },
	{ .name = "grpc-cert",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_GRPC_CERT",
	  .argument = "FILE",
	  .help = "certificate to show them",
	  .string = &values.grpc_files.certificate },
	{ .name = "grpc-key",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_GRPC_KEY",
	  .argument = "FILE",
	  .help = "its key",
	  .string = &values.grpc_files.key },
	{ .name = "users",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_USERS",
	  .fallback = "",
	  .argument = "FILE",
	  .help = "users of /admin/: lines name:hash:role, where role is admin or read-only",
	  .string = &values.users },
	{ .name = "make-user",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_FRONTEND_MAKE_USER",
	  .fallback = "",
	  .argument = "NAME[:ROLE]",
	  .help = "read a password from standard input, print a line for --users, and exit",
	  .string = &values.make_user },
	{ .name = "events-level",
	  .kind = CLI_LEVEL,
	  .env = "MAGLEV_FRONTEND_EVENTS_LEVEL",
	  .fallback = "info",
	  .help = "lines of the maglevds' logs that browsers get: this level and above",
	  .level = &values.events_level },
	DAEMON_LOG_OPTIONS("MAGLEV_FRONTEND_", values.log),
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "MAGLEV_FRONTEND_CHECK",
	  .fallback = "false",
	  .help = "check flags and certificates and exit",
	  .boolean = &values.check },
};

static void complain(const char *text)
{
	fprintf(stderr, "maglevd-frontend: %s\nTry 'maglevd-frontend --help'.\n", text);
	exit(CLI_STATUS_USAGE);
}

/* An empty variable means the same as an absent one: no file has an empty name. */
static void drop_empty(const char **text)
{
	if (*text && !**text)
		*text = NULL;
}

static void check_tls(struct options *o)
{
	drop_empty(&o->tls.certificate);
	drop_empty(&o->tls.key);
	drop_empty(&o->grpc_files.ca);
	drop_empty(&o->grpc_files.certificate);
	drop_empty(&o->grpc_files.key);
	if (!o->tls.certificate != !o->tls.key)
		complain("--tls-cert and --tls-key go together");
	if (!o->grpc_files.certificate != !o->grpc_files.key)
		complain("--grpc-cert and --grpc-key go together");
	if (o->grpc_files.ca || o->grpc_files.certificate)
		o->grpc_tls = true;
}

/*
 * The credentials are not flags because command lines are visible in the list of processes. A
 * colon would separate the user from the password (RFC 7617), so a user cannot have one.
 */
static void read_credentials(struct options *o)
{
	const char *user = getenv("MAGLEV_FRONTEND_USER");
	const char *password = getenv("MAGLEV_FRONTEND_PASSWORD");

	o->auth = (struct page_credentials){ user ? user : "", password ? password : "" };
	if (strchr(o->auth.user, ':'))
		complain("MAGLEV_FRONTEND_USER cannot hold a colon");
}

static void read_list(const struct cli_list *list, const char *flag, struct targets *targets)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	if (list->n && targets_parse(list->items, list->n, targets, &why) < 0) {
		fprintf(stderr, "maglevd-frontend: %s: %s\n", flag, buf_cstr(&why));
		exit(CLI_STATUS_USAGE);
	}
}

static void read_targets(struct options *o)
{
	if (!o->servers.n)
		complain("--server is missing: which maglevd?");
	read_list(&o->servers, "--server", &o->targets);
	read_list(&o->speakers, "--speaker", &o->speaker_targets);
	read_list(&o->routers, "--router", &o->router_targets);
}

static void read_proxies(struct options *o)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	if (proxies_parse(o->trusted_proxies.items, o->trusted_proxies.n, &o->proxies, &why) < 0) {
		fprintf(stderr, "maglevd-frontend: --trusted-proxy: %s\n", buf_cstr(&why));
		exit(CLI_STATUS_USAGE);
	}
}

static void read_hosts(struct options *o)
{
	_cleanup_(buf_free) struct buf why = { 0 };

	if (hosts_parse(o->allowed_hosts.items, o->allowed_hosts.n, &o->hosts, &why) < 0) {
		fprintf(stderr, "maglevd-frontend: --allowed-host: %s\n", buf_cstr(&why));
		exit(CLI_STATUS_USAGE);
	}
}

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "maglevd-frontend",
		.about = about,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	check_tls(&values);
	read_credentials(&values);
	if (*values.make_user) {
		*o = values;
		return;
	}
	read_targets(&values);
	read_proxies(&values);
	read_hosts(&values);
	*o = values;
}

bool options_have_users(const struct options *o)
{
	return *o->users || (*o->auth.user && *o->auth.password);
}

void options_free(struct options *o)
{
	targets_free(&o->targets);
	targets_free(&o->speaker_targets);
	targets_free(&o->router_targets);
	proxies_free(&o->proxies);
	hosts_free(&o->hosts);
	cli_list_free(&o->allowed_hosts);
	cli_list_free(&o->trusted_proxies);
	cli_list_free(&o->servers);
	cli_list_free(&o->speakers);
	cli_list_free(&o->routers);
}
