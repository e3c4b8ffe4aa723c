/* SPDX-License-Identifier: Apache-2.0 */
#include "src/maglevc/options.h"

#include <string.h>

#include "base/cleanup.h"
#include "src/maglevc/command.h"
#include "src/maglevc/complete.h"
#include "src/maglevc/text.h"

static const char about[] =
	"Shows and changes what maglevd, maglev-speaker and maglev-router do, over their APIs. "
	"Without a command: a shell on a terminal, else commands from standard input, one a line. "
	"Exit codes: 0, done; 1, the server "
	"refused; 2, the command or a flag is wrong; 3, the server cannot be reached or does not "
	"answer in time.";

static enum cli_verdict complain(struct buf *out, const char *text)
{
	buf_printf(out, "maglevc: %s\nTry 'maglevc --help'.\n", text);
	return CLI_EXIT_USAGE;
}

/* Checks that depend on more than one flag, and values derived from them. */
static enum cli_verdict check(struct options *o, const char *output, struct buf *out)
{
	o->json = strcmp(output, "json") == 0;
	if (o->timeout <= 0)
		return complain(out, "--timeout has to be more than 0");
	if (!o->tls_files.certificate != !o->tls_files.key)
		return complain(out, "--tls-cert and --tls-key go together");
	if (o->tls_files.ca || o->tls_files.certificate || o->tls_name)
		o->tls = true;
	return CLI_OK;
}

/*
 * An empty variable means the same as an absent one here, since no file has an empty name. It
 * allows scripts to unset an inherited setting.
 */
static void drop_empty(const char **text)
{
	if (*text && !**text)
		*text = NULL;
}

static void write_commands(struct buf *out)
{
	_cleanup_(buf_free) struct buf lines = { 0 }, why = { 0 };

	command_help(NULL, 0, false, &lines, &why);
	buf_adds(out, "Commands (a word may be shortened as long as it is the only one):\n");
	text_add_lines(out, "  ", buf_cstr(&lines));
	buf_adds(out, "\n'maglevc completion bash' (or zsh, or fish) prints what makes that shell "
		      "complete\ncommands, flags and names.\n");
}

#define FLAGS 13

static const char *const formats[] = { "text", "json", NULL };

#define SERVER_FLAGS 3

static void write_servers(struct options *o, struct cli_option table[SERVER_FLAGS])
{
	const struct cli_option flags[SERVER_FLAGS] = {
		{ .name = "server",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_SERVER",
		  .fallback = "localhost:9090",
		  .argument = "HOST[:PORT],...",
		  .help = "the maglevds to talk to",
		  .given = &o->given[SERVER_MAGLEVD],
		  .string = &o->servers[SERVER_MAGLEVD] },
		{ .name = "speaker",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_SPEAKER",
		  .fallback = "localhost:9095",
		  .argument = "HOST[:PORT],...",
		  .help = "the maglev-speakers to talk to, for announcements and sessions",
		  .given = &o->given[SERVER_SPEAKER],
		  .string = &o->servers[SERVER_SPEAKER] },
		{ .name = "router",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_ROUTER",
		  .fallback = "localhost:9096",
		  .argument = "HOST[:PORT],...",
		  .help = "the maglev-routers to talk to, for routes, pools and generations",
		  .given = &o->given[SERVER_ROUTER],
		  .string = &o->servers[SERVER_ROUTER] },
	};

	memcpy(table, flags, sizeof(flags));
}

/*
 * The table points into *o, so it is built for each use. options_complete() needs only its
 * constant parts.
 */
static void write_table(struct options *o, const char **output, struct cli_option table[FLAGS])
{
	const struct cli_option flags[FLAGS - SERVER_FLAGS] = {
		{ .name = "output",
		  .letter = 'o',
		  .kind = CLI_CHOICE,
		  .choices = formats,
		  .env = "MAGLEV_OUTPUT",
		  .fallback = "text",
		  .argument = "FORMAT",
		  .help = "text, or json: the message of the API",
		  .string = output },
		{ .name = "color",
		  .kind = CLI_BOOL,
		  .env = "MAGLEV_COLOR",
		  .help = "colour states and labels; default: in the shell, and a watch on a "
			  "terminal",
		  .given = &o->color_given,
		  .boolean = &o->color },
		{ .name = "history",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_HISTORY",
		  .argument = "FILE",
		  .help = "keep the shell's history there; empty: only in memory; default: "
			  "~/.local/state/maglevc/history",
		  .given = &o->history_given,
		  .string = &o->history },
		{ .name = "yes",
		  .letter = 'y',
		  .kind = CLI_BOOL,
		  .env = "MAGLEV_YES",
		  .fallback = "false",
		  .help = "act on many backends without a question",
		  .boolean = &o->yes },
		{ .name = "timeout",
		  .kind = CLI_DURATION,
		  .env = "MAGLEV_TIMEOUT",
		  .fallback = "5s",
		  .help = "how long to wait for the server",
		  .duration = &o->timeout },
		{ .name = "tls",
		  .kind = CLI_BOOL,
		  .env = "MAGLEV_TLS",
		  .fallback = "false",
		  .help = "use TLS; any flag below implies it",
		  .boolean = &o->tls },
		{ .name = "tls-ca",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_TLS_CA",
		  .argument = "FILE",
		  .help = "who may sign the server's certificate; default: the system's store",
		  .string = &o->tls_files.ca },
		{ .name = "tls-cert",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_TLS_CERT",
		  .argument = "FILE",
		  .help = "our certificate",
		  .string = &o->tls_files.certificate },
		{ .name = "tls-key",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_TLS_KEY",
		  .argument = "FILE",
		  .help = "its key",
		  .string = &o->tls_files.key },
		{ .name = "tls-name",
		  .kind = CLI_STRING,
		  .env = "MAGLEV_TLS_NAME",
		  .argument = "NAME",
		  .help = "the name in the server's certificate; default: that of its address",
		  .string = &o->tls_name },
	};

	write_servers(o, table);
	memcpy(table + SERVER_FLAGS, flags, sizeof(flags));
}

static enum cli_verdict read_flags(struct options *o, const char **output, int argc,
				   char *const argv[], struct buf *out)
{
	_cleanup_(buf_free) struct buf commands = { 0 };
	struct cli_option table[FLAGS];
	struct cli_program program = { .name = "maglevc",
				       .operands = "[command ...]",
				       .about = about,
				       .options = table,
				       .n_options = FLAGS,
				       .words = &o->words };
	int rest;

	write_table(o, output, table);
	write_commands(&commands);
	program.more = buf_cstr(&commands);
	return cli_parse(&program, argc, argv, &rest, out);
}

enum cli_verdict options_parse(struct options *o, int argc, char *const argv[], struct buf *out)
{
	const char *output = "text";
	enum cli_verdict v;

	*o = (struct options){ 0 };
	v = read_flags(o, &output, argc, argv, out);
	if (v != CLI_OK)
		return v;
	drop_empty(&o->tls_files.ca);
	drop_empty(&o->tls_files.certificate);
	drop_empty(&o->tls_files.key);
	drop_empty(&o->tls_name);
	v = check(o, output, out);
	if (v != CLI_OK)
		options_free(o);
	return v;
}

void options_free(struct options *o)
{
	cli_list_free(&o->words);
}

/* ---- what is being typed ---- */

/*
 * Returns the flag that a word names, or NULL if it is unknown or not a flag. *ret_value is the
 * text after its "=", or NULL. One dash is accepted as well as two, as cli_parse() does.
 */
static const struct cli_option *flag_of(const struct cli_option table[FLAGS], const char *word,
					const char **ret_value)
{
	const char *name = word + (word[0] == '-') + (word[0] == '-' && word[1] == '-');
	const char *equals = strchr(name, '=');
	struct str flag = { name, equals ? (size_t)(equals - name) : strlen(name) };

	*ret_value = equals ? equals + 1 : NULL;
	for (size_t i = 0; name != word && i < FLAGS; i++)
		if (str_eq(flag, str_of(table[i].name)) ||
		    (flag.n == 1 && table[i].letter == *name))
			return &table[i];
	return NULL;
}

/*
 * Adds the values of a flag. typed is the part of the word that precedes the value ("--x="),
 * because shells replace whole words.
 */
static void add_values(const struct cli_option *o, struct str typed, const char *begin,
		       struct candidates *out)
{
	static const char *const truths[] = { "true", "false", NULL };
	const char *const *values = o->kind == CLI_BOOL ? truths : o->choices;

	if (o->argument && strcmp(o->argument, "FILE") == 0)
		candidates_add(out, "", "file");
	for (; values && *values; values++) {
		_cleanup_(buf_free) struct buf word = { 0 };

		buf_printf(&word, "%.*s%s", (int)typed.n, typed.p, *values);
		if (str_starts(str_of(*values), str_of(begin)))
			candidates_add(out, buf_cstr(&word), "");
	}
}

static void add_flag(const char *name, const char *help, const char *begin, struct candidates *out)
{
	_cleanup_(buf_free) struct buf flag = { 0 };

	buf_printf(&flag, "--%s", name);
	if (str_starts(str_of(buf_cstr(&flag)), str_of(begin)))
		candidates_add(out, buf_cstr(&flag), help);
}

static void add_flags(const struct cli_option table[FLAGS], const char *begin,
		      struct candidates *out)
{
	for (size_t i = 0; i < FLAGS; i++)
		add_flag(table[i].name, table[i].help, begin, out);
	add_flag("help", "show flags and commands, and exit", begin, out);
	add_flag("version", "show the version, and exit", begin, out);
}

/*
 * Returns the flag whose value is the next word, or NULL. *ret_over is set if a "--" has ended
 * the flags. It is unchanged if a flag is returned.
 */
static const struct cli_option *awaits_value(const struct cli_option table[FLAGS],
					     const struct typing *t, bool *ret_over)
{
	for (size_t i = 0; i < t->n; i++) {
		const char *value;
		const struct cli_option *o = flag_of(table, t->words[i], &value);

		if (strcmp(t->words[i], "--") == 0) {
			*ret_over = true;
			return NULL;
		}
		/* the next word is its value */
		if (o && !value && o->kind != CLI_BOOL && ++i == t->n)
			return o;
	}
	*ret_over = false;
	return NULL;
}

bool options_complete(const struct typing *t, struct candidates *out)
{
	struct cli_option table[FLAGS];
	struct options o = { 0 };
	const char *output, *value;
	const struct cli_option *flag;
	bool over = false;

	write_table(&o, &output, table);
	flag = awaits_value(table, t, &over);
	if (flag) {
		add_values(flag, STR(""), t->begin, out);
		return true;
	}
	if (over || *t->begin != '-')
		return false;
	flag = flag_of(table, t->begin, &value);
	if (!value)
		add_flags(table, t->begin, out);
	else if (flag)
		add_values(flag, (struct str){ t->begin, (size_t)(value - t->begin) }, value, out);
	return true;
}
