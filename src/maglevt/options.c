/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevt/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"

#define CONFIG "/etc/maglev/maglev.yaml"
/* The path of earlier versions, read if the first is absent. */
#define CONFIG_OF_OLD "/etc/vpp-maglev/maglev.yaml"

static const char about[] =
	"Tests the VIPs of maglevd's configuration from where it runs, as a client sees them: "
	"latency, "
	"failures, and which backend answered. On a terminal it fills the screen; with --batch it "
	"reports after a while. Exit codes: 0, good; 1, a VIP failed in a batch; 2, a flag or a "
	"file "
	"is wrong, or there is nothing to test.";

/* Flags that are parsed further after the table has been read. */
static struct {
	const char *output, *min_success;
} texts;

static struct options values; /* the target of the table, which is static */

static const char *const formats[] = { "text", "json", NULL };
static const char *const schemes[] = { "http", "https", "tcp", NULL };

static const struct cli_option table[] = {
	{ .name = "config",
	  .kind = CLI_LIST,
	  .env = "MAGLEVT_CONFIG",
	  .argument = "FILE,...",
	  .help = "files with frontends; default " CONFIG ", or " CONFIG_OF_OLD
		  " where that is absent",
	  .list = &values.configs },
	{ .name = "filter",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_FILTER",
	  .argument = "REGEXP",
	  .help = "only VIPs that match, as in \"www https://192.0.2.1:443\"",
	  .string = &values.filter },
	{ .name = "interval",
	  .kind = CLI_DURATION,
	  .env = "MAGLEVT_INTERVAL",
	  .fallback = "100ms",
	  .help = "from the start of one request to the next, of each VIP; give or take "
		  "10%",
	  .duration = &values.interval },
	{ .name = "timeout",
	  .kind = CLI_DURATION,
	  .env = "MAGLEVT_TIMEOUT",
	  .fallback = "2s",
	  .help = "how long an answer may take",
	  .duration = &values.timeout },
	{ .name = "scheme",
	  .kind = CLI_CHOICE,
	  .choices = schemes,
	  .env = "MAGLEVT_SCHEME",
	  .help = "http, https or tcp for all; default: that of the check; without one https on "
		  "443 and 8443, http on 80 and 8080, else a TCP connection",
	  .string = &values.scheme },
	{ .name = "host",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_HOST",
	  .argument = "NAME",
	  .help = "Host header, and the name in the certificate; default: those of the check, "
		  "or the address",
	  .string = &values.host },
	{ .name = "uri",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_URI",
	  .argument = "PATH",
	  .help = "what to ask for; default: the path of the check, or " URI_DEFAULT,
	  .string = &values.uri },
	{ .name = "path",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_PATH",
	  .argument = "PATH",
	  .help = "the same as --uri",
	  .string = &values.uri },
	{ .name = "header",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_HEADER",
	  .fallback = "X-IPng-Frontend",
	  .argument = "NAME",
	  .help = "of the answer: its values are counted",
	  .string = &values.header },
	{ .name = "ca",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_CA",
	  .argument = "FILE",
	  .help = "who may sign certificates; default: the system's store",
	  .string = &values.ca },
	{ .name = "insecure",
	  .kind = CLI_BOOL,
	  .env = "MAGLEVT_INSECURE",
	  .fallback = "false",
	  .help = "take any certificate",
	  .boolean = &values.insecure },
	{ .name = "keepalive",
	  .kind = CLI_BOOL,
	  .env = "MAGLEVT_KEEPALIVE",
	  .fallback = "false",
	  .help = "ask several times over a connection, so that the same backend answers",
	  .boolean = &values.keepalive },
	{ .name = "window",
	  .kind = CLI_DURATION,
	  .env = "MAGLEVT_WINDOW",
	  .fallback = "1m",
	  .help = "how far back the figures on the screen reach",
	  .duration = &values.window },
	{ .name = "dns",
	  .kind = CLI_BOOL,
	  .env = "MAGLEVT_DNS",
	  .fallback = "false",
	  .help = "show names instead of addresses",
	  .boolean = &values.dns },
	{ .name = "batch",
	  .kind = CLI_BOOL,
	  .env = "MAGLEVT_BATCH",
	  .fallback = "false",
	  .help = "no screen: test for --duration, report, exit",
	  .boolean = &values.batch },
	{ .name = "duration",
	  .kind = CLI_DURATION,
	  .env = "MAGLEVT_DURATION",
	  .fallback = "10s",
	  .help = "of a batch",
	  .duration = &values.duration },
	{ .name = "output",
	  .letter = 'o',
	  .kind = CLI_CHOICE,
	  .choices = formats,
	  .env = "MAGLEVT_OUTPUT",
	  .fallback = "text",
	  .argument = "FORMAT",
	  .help = "of a batch: text or json",
	  .string = &texts.output },
	{ .name = "min-success",
	  .kind = CLI_STRING,
	  .env = "MAGLEVT_MIN_SUCCESS",
	  .fallback = "100",
	  .argument = "PERCENT",
	  .help = "of the requests to a VIP, below which a batch exits with 1",
	  .string = &texts.min_success },
	{ .name = "max-p99",
	  .kind = CLI_DURATION,
	  .env = "MAGLEVT_MAX_P99",
	  .fallback = "0s",
	  .help = "latency of a VIP above which a batch exits with 1; 0s: any is good",
	  .duration = &values.max_p99 },
};

static enum cli_verdict complain(struct buf *out, const char *text)
{
	buf_printf(out, "maglevt: %s\nTry 'maglevt --help'.\n", text);
	return CLI_EXIT_USAGE;
}

/* Accepts "99.9" and "99.9%". */
static int parse_percent(const char *text, double *ret)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (end == text || errno || !(v >= 0 && v <= 100) || (*end && strcmp(end, "%") != 0))
		return -EINVAL;
	*ret = v / 100;
	return 0;
}

/* Checks that depend on more than one flag, and values derived from them. */
static enum cli_verdict check(struct options *o, struct buf *out)
{
	o->json = strcmp(texts.output, "json") == 0;
	if (o->json && !o->batch)
		return complain(out, "--output json needs --batch");
	if (parse_percent(texts.min_success, &o->min_success) < 0)
		return complain(out, "--min-success is a number from 0 to 100");
	if (o->interval <= 0 || o->timeout <= 0 || o->duration <= 0 || o->window <= 0)
		return complain(out,
				"--interval, --timeout, --duration and --window have to be more "
				"than 0");
	if (o->max_p99 < 0)
		return complain(out, "--max-p99 cannot be less than 0");
	if (o->ca && o->insecure)
		return complain(out, "--ca and --insecure exclude each other");
	if (o->uri && o->uri[0] != '/')
		return complain(out, "--uri begins with a /");
	return CLI_OK;
}

/* An empty variable means the same as an absent one: an empty pattern would match everything. */
static void drop_empty(const char **text)
{
	if (*text && !**text)
		*text = NULL;
}

/* The old path is used only if the new one does not exist, so that a migration takes effect. */
static void default_config(struct options *o)
{
	bool old = access(CONFIG, F_OK) != 0 && access(CONFIG_OF_OLD, F_OK) == 0;

	if (!o->configs.n)
		vec_push(&o->configs, mem_strdup(old ? CONFIG_OF_OLD : CONFIG));
}

static void drop_empty_texts(struct options *o)
{
	drop_empty(&o->host);
	drop_empty(&o->uri);
	drop_empty(&o->filter);
	drop_empty(&o->header);
	drop_empty(&o->ca);
}

/*
 * The table is static and writes to `values`, which are cleared so that tests can call this
 * twice.
 */
enum cli_verdict options_parse(struct options *o, int argc, char *const argv[], struct buf *out)
{
	const struct cli_program program = {
		.name = "maglevt", .about = about, .options = table, .n_options = ARRAY_SIZE(table)
	};
	enum cli_verdict v;
	int rest;

	*o = values = (struct options){ 0 };
	v = cli_parse(&program, argc, argv, &rest, out);
	if (v != CLI_OK)
		return v;
	*o = values;
	drop_empty_texts(o);
	v = check(o, out);
	if (v == CLI_OK)
		default_config(o);
	else
		options_free(o);
	return v;
}

void options_free(struct options *o)
{
	cli_list_free(&o->configs);
}
