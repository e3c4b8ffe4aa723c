/* SPDX-License-Identifier: Apache-2.0 */
#include "src/frr-reloader/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

static const char about[] =
	"Applies the configuration of FRR on request, and answers with the result. A request is a "
	"POST of {\"action\":\"reload\",\"id\":N} to the Unix socket; SIGHUP is a request without "
	"an "
	"answer. Changes of known kinds are made over the sockets of the daemons in milliseconds, "
	"all others with frr-reload.py.";

static struct options values; /* the target of the table, which is static */

static const struct cli_option table[] = {
	{ .name = "shared-volume",
	  .kind = CLI_STRING,
	  .env = "SHARED_VOLUME",
	  .fallback = "/etc/frr_reloader",
	  .argument = "DIR",
	  .help = "folder of the lock, the pid file, the status file and the socket",
	  .string = &values.volume },
	{ .name = "socket",
	  .kind = CLI_STRING,
	  .env = "FRR_RELOADER_SOCKET",
	  .fallback = "",
	  .argument = "PATH",
	  .help = "where requests are accepted; empty: frr-reloader.sock in the shared volume",
	  .string = &values.socket },
	{ .name = "config",
	  .kind = CLI_STRING,
	  .env = "FRR_CONFIG_FILE",
	  .fallback = "/etc/frr_reloader/frr.conf",
	  .argument = "FILE",
	  .help = "the configuration to apply",
	  .string = &values.config },
	{ .name = "vty-dir",
	  .kind = CLI_STRING,
	  .env = "FRR_RELOADER_VTY_DIR",
	  .fallback = "",
	  .argument = "DIR",
	  .help = "where FRR's daemons have their sockets; empty: /var/run/frr and the pathspace",
	  .string = &values.vty_dir },
	{ .name = "pathspace",
	  .kind = CLI_STRING,
	  .env = "FRR_RELOADER_PATHSPACE",
	  .fallback = "",
	  .argument = "NAME",
	  .help = "the -N of FRR's daemons, if they have one",
	  .string = &values.pathspace },
	{ .name = "frr-reload",
	  .kind = CLI_STRING,
	  .env = "FRR_RELOADER_FRR_RELOAD",
	  .fallback = "/usr/lib/frr/frr-reload.py",
	  .argument = "FILE",
	  .help = "the program for the full reload",
	  .string = &values.reload },
	{ .name = "vtysh",
	  .kind = CLI_STRING,
	  .env = "FRR_RELOADER_VTYSH",
	  .fallback = "/usr/bin/vtysh",
	  .argument = "FILE",
	  .help = "the program that saves FRR's configuration after a change over the sockets",
	  .string = &values.vtysh },
	{ .name = "timeout",
	  .kind = CLI_DURATION,
	  .env = "FRR_RELOADER_TIMEOUT",
	  .fallback = "2m",
	  .help = "limit for the test and for the reload by frr-reload.py, each",
	  .duration = &values.timeout },
	{ .name = "vty-timeout",
	  .kind = CLI_DURATION,
	  .env = "FRR_RELOADER_VTY_TIMEOUT",
	  .fallback = "10s",
	  .help = "limit for each answer on the daemons' sockets; after it a full reload follows",
	  .duration = &values.vty_timeout },
	{ .name = "fast-path",
	  .kind = CLI_BOOL,
	  .env = "FRR_RELOADER_FAST_PATH",
	  .fallback = "true",
	  .help = "make known kinds of changes over the daemons' sockets",
	  .boolean = &values.fast_path },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "FRR_RELOADER_METRICS_ADDR",
	  .fallback = "",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served beside the Unix "
		  "socket; empty: nowhere",
	  .string = &values.metrics_addr },
	DAEMON_LOG_OPTIONS("FRR_RELOADER_", values.log),
	{ .name = "check",
	  .kind = CLI_BOOL,
	  .env = "FRR_RELOADER_CHECK",
	  .fallback = "false",
	  .help = "check flags, folder and programs and exit",
	  .boolean = &values.check },
};

static char *join(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		abort();
	return path;
}

static void fill_paths(struct options *o)
{
	if (!*o->socket)
		o->socket = o->made_socket = join(o->volume, "frr-reloader.sock");
	if (!*o->vty_dir && *o->pathspace)
		o->vty_dir = o->made_vty_dir = join("/var/run/frr", o->pathspace);
	else if (!*o->vty_dir)
		o->vty_dir = "/var/run/frr";
}

static void require_positive(const char *flag, int64_t duration)
{
	if (duration > 0)
		return;
	fprintf(stderr,
		"frr-reloader: %s must be longer than 0\n"
		"Try 'frr-reloader --help'.\n",
		flag);
	exit(CLI_STATUS_USAGE);
}

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = {
		.name = "frr-reloader",
		.about = about,
		.options = table,
		.n_options = ARRAY_SIZE(table),
	};

	cli_parse_or_exit(&program, argc, argv);
	require_positive("--timeout", values.timeout);
	require_positive("--vty-timeout", values.vty_timeout);
	fill_paths(&values);
	*o = values;
}

void options_free(struct options *o)
{
	free(o->made_socket);
	free(o->made_vty_dir);
}
