/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help: the texts of --help and --version, made from the table.
 *
 * Two columns: the flag with its value, then what it does, its default and its environment
 * variable, broken at spaces so that a line fits 80 columns.
 */
#include "base/cleanup.h"
#include "lib/cli/cli_internal.h"

#define WIDTH 80
#define GAP ((size_t)2)

static void add_spaces(struct buf *out, size_t n)
{
	while (n--)
		buf_addc(out, ' ');
}

/*
 * Writes the words of text, wrapped, starting at column indent where the cursor already is; ends
 * the line.
 */
static void write_wrapped(struct buf *out, const char *text, size_t indent)
{
	struct str rest = str_of(text), word;
	size_t column = indent;

	while (str_cut(&rest, ' ', &word)) {
		if (column > indent && column + 1 + word.n > WIDTH) {
			buf_addc(out, '\n');
			add_spaces(out, indent);
			column = indent;
		} else if (column > indent) {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, word.p, word.n);
		column += word.n;
	}
	buf_addc(out, '\n');
}

/* Writes "-n, --name VALUE". */
static void write_flag(struct buf *out, const struct cli_option *o)
{
	const char *argument = cli__argument(o);

	if (o->letter)
		buf_printf(out, "-%c, ", o->letter);
	buf_printf(out, "--%s", o->name);
	if (argument)
		buf_printf(out, " %s", argument);
}

static size_t flag_width(const struct cli_option *o)
{
	_cleanup_(buf_free) struct buf flag = { 0 };

	write_flag(&flag, o);
	return flag.n;
}

static size_t widest_flag(const struct cli_option *options, size_t n)
{
	size_t widest = 0;

	for (size_t i = 0; i < n; i++)
		if (flag_width(&options[i]) > widest)
			widest = flag_width(&options[i]);
	return widest;
}

/* The help sentence, followed by "(default X; env Y)" as far as they exist. */
static void write_sentence(struct buf *out, const struct cli_option *o)
{
	buf_adds(out, o->help);
	if (o->fallback)
		buf_printf(out, " (default %s", *o->fallback ? o->fallback : "\"\"");
	if (o->env)
		buf_printf(out, "%senv %s", o->fallback ? "; " : " (", o->env);
	if (o->fallback || o->env)
		buf_addc(out, ')');
}

static void write_options(struct buf *out, const struct cli_option *options, size_t n, size_t width)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_(buf_free) struct buf sentence = { 0 };

		add_spaces(out, GAP);
		write_flag(out, &options[i]);
		add_spaces(out, width - flag_width(&options[i]) + GAP);
		write_sentence(&sentence, &options[i]);
		write_wrapped(out, buf_cstr(&sentence), width + 2 * GAP);
	}
}

void cli__write_help(const struct cli_program *p, struct buf *out)
{
	size_t ours = widest_flag(p->options, p->n_options);
	size_t builtin = widest_flag(cli__builtins, CLI__BUILTINS);
	size_t width = ours > builtin ? ours : builtin;

	buf_printf(out, "Usage: %s [flags]", p->name);
	if (p->operands)
		buf_printf(out, " %s", p->operands);
	buf_adds(out, "\n\n");
	write_wrapped(out, p->about, 0);
	buf_adds(out, "\nFlags:\n");
	write_options(out, p->options, p->n_options, width);
	write_options(out, cli__builtins, CLI__BUILTINS, width);
	buf_adds(out, "\n");
	write_wrapped(
		out,
		"A flag may be written --x VALUE or --x=VALUE, with one dash or two, and wins over "
		"its environment variable.",
		0);
	if (p->more)
		buf_printf(out, "\n%s", p->more);
}

void cli__write_version(const struct cli_program *p, struct buf *out)
{
	buf_printf(out, "%s %s (%s, %s)\n", p->name, cli_version.version, cli_version.commit,
		   cli_version.date);
}
