/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mux/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define DEFAULT_PREFIX "svc-mux.nowake.ai"
#define PREFIX_MAX 253 /* bytes of a DNS name */

static const char about[] =
	"Puts many Services (channels) behind one LoadBalancer Service (a mux) of a Kubernetes "
	"cluster. A mux is a Service of type LoadBalancer without a selector that has the "
	"annotation PREFIX/multiplexer: \"true\"; a channel is one whose loadBalancerClass is "
	"PREFIX/MUX or PREFIX/MUX.NAMESPACE.";

static const char more[] = "The variables of svc-lb-mux are read where those above are not set: "
			   "API_PREFIX, NAMESPACE,\n"
			   "DEFAULT_MUX_NAMESPACE, DRYRUN_MODE, SVC_LB_MUX_DEBUG.\n";

static struct options values; /* the target of the table, which is static */

static const struct cli_option table[] = {
	OPERATOR_CLIENT_OPTIONS("MAGLEV_MUX_", values.operator),
	OPERATOR_LEADER_OPTIONS("MAGLEV_MUX_", values.operator, "maglev-mux"),
	OPERATOR_DRY_RUN_OPTION("MAGLEV_MUX_", values.operator),
	{ .name = "api-prefix",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_MUX_API_PREFIX",
	  .fallback = DEFAULT_PREFIX,
	  .argument = "NAME",
	  .help = "what annotations and classes begin with",
	  .string = &values.prefix },
	{ .name = "default-mux-namespace",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_MUX_DEFAULT_MUX_NAMESPACE",
	  .fallback = "",
	  .argument = "NAME",
	  .help = "namespace of muxes that a class names without one; empty: the program's own",
	  .string = &values.default_namespace },
	{ .name = "resync",
	  .kind = CLI_DURATION,
	  .env = "MAGLEV_MUX_RESYNC",
	  .fallback = "1m",
	  .help = "every mux is looked at again after this time, also if nothing has changed",
	  .duration = &values.resync },
	{ .name = "metrics-addr",
	  .kind = CLI_STRING,
	  .env = "MAGLEV_MUX_METRICS_ADDR",
	  .fallback = ":8081",
	  .argument = "ADDR",
	  .help = "where /metrics, /healthz, /readyz and /loglevel are served; empty: nowhere",
	  .string = &values.metrics_addr },
	WEB_OPTIONS(values.web),
	DAEMON_LOG_OPTIONS("MAGLEV_MUX_", values.log),
};

/* ---- the variables of the original ---- */

static bool is_word_of(const char *text, const char *const words[])
{
	struct str s = str_trim(str_of(text));

	for (size_t i = 0; words[i]; i++)
		if (str_ieq(s, str_of(words[i])))
			return true;
	return false;
}

static void take_text(const char *value, const char *to)
{
	char text[512];
	struct str s = str_trim(str_of(value));

	if (s.n == 0 || s.n >= sizeof(text))
		return;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	setenv(to, text, 0);
}

static void take_bool(const char *value, const char *to)
{
	static const char *const yes[] = { "true", "1", "yes", "on", NULL };

	setenv(to, is_word_of(value, yes) ? "true" : "false", 0);
}

/* Without "1", as there. */
static void take_debug(const char *value, const char *to)
{
	static const char *const yes[] = { "true", "on", "yes", NULL };

	if (is_word_of(value, yes))
		setenv(to, "debug", 0);
}

static const struct {
	const char *from, *to;
	void (*take)(const char *value, const char *to);
} originals[] = {
	{ "API_PREFIX", "MAGLEV_MUX_API_PREFIX", take_text },
	{ "NAMESPACE", "MAGLEV_MUX_NAMESPACE", take_text },
	{ "DEFAULT_MUX_NAMESPACE", "MAGLEV_MUX_DEFAULT_MUX_NAMESPACE", take_text },
	{ "DRYRUN_MODE", "MAGLEV_MUX_DRY_RUN", take_bool },
	{ "SVC_LB_MUX_DEBUG", "MAGLEV_MUX_LOG_LEVEL", take_debug },
};

static void take_originals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(originals); i++) {
		const char *value = getenv(originals[i].from);

		if (value)
			originals[i].take(value, originals[i].to);
	}
}

/* ---- what makes no sense ---- */

static void require(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "maglev-mux: %s\nTry 'maglev-mux --help'.\n", what);
	exit(CLI_STATUS_USAGE);
}

/* It is the part of a qualified name before the slash: a DNS name in lower case. */
static bool is_prefix(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > PREFIX_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool inner = i > 0 && i + 1 < n && text[i - 1] != '.' && text[i + 1] != '.';

		if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
		    !(inner && (text[i] == '-' || text[i] == '.')))
			return false;
	}
	return true;
}

void options_parse(struct options *o, int argc, char *const argv[])
{
	const struct cli_program program = { .name = "maglev-mux",
					     .about = about,
					     .more = more,
					     .options = table,
					     .n_options = ARRAY_SIZE(table) };
	const char *wrong;

	take_originals();
	cli_parse_or_exit(&program, argc, argv);
	operator_options_check(&values.operator, program.name);
	require(is_prefix(values.prefix), "--api-prefix must be a DNS name in lower case");
	require(values.resync >= NSEC_PER_SEC, "--resync must be at least 1s");
	wrong = web_options_read(&values.web, &values.web_text);
	require(!wrong, wrong);
	values.pod = getenv("POD_NAME");
	*o = values;
}

void options_free(struct options *o)
{
	buf_free(&o->web_text);
}
