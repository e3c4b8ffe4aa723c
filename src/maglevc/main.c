/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevc: the command line client of maglevd, maglev-speaker and maglev-router. A command given as
 * arguments is carried out over the API, and the exit code says how it went. Without arguments
 * maglevc is a shell if it runs on a terminal, otherwise it reads a script from standard input. It
 * keeps no state between runs (NFR-5.4), except the history of the shell.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "src/maglevc/action.h"
#include "src/maglevc/command.h"
#include "src/maglevc/completion.h"
#include "src/maglevc/options.h"
#include "src/maglevc/session.h"
#include "src/maglevc/shell.h"

/*
 * The shell, and a watch on a terminal, are coloured unless --color, MAGLEV_COLOR or NO_COLOR
 * (https://no-color.org) disables it.
 */
static bool wants_color(const struct options *o)
{
	const char *none = getenv("NO_COLOR");

	return o->color_given ? o->color : !(none && *none);
}

static enum status run_command(struct session *s, struct options *o)
{
	const char *const *words = (const char *const *)o->words.items;
	_cleanup_(buf_free) struct buf why = { 0 };
	struct command c;

	if (command_parse(words, o->words.n, false, &c, &why) == 0) {
		const struct action *a = action_of(c.act);

		if (s->asks && a && a->method->server_streaming)
			o->color = wants_color(o);
		return session_run(s, &c);
	}
	session_complain(s, "%s", buf_cstr(&why));
	fputs("Try 'maglevc help'.\n", stderr);
	return STATUS_USAGE;
}

/*
 * Handles "completion SHELL". It is not in the command tree because its name would make the
 * shortest abbreviation of "config" longer.
 */
static enum status show_completion(const struct session *s)
{
	const struct cli_list *words = &s->options->words;
	_cleanup_(buf_free) struct buf out = { 0 };

	if (words->n != 2 || completion_write(words->items[1], &out) < 0) {
		session_complain(s, "completion is for bash, zsh or fish");
		return STATUS_USAGE;
	}
	fputs(buf_cstr(&out), s->out);
	return fflush(s->out) == 0 ? STATUS_DONE : STATUS_REFUSED;
}

/*
 * Uses the character set of the locale, or UTF-8 if the locale has only single bytes (C, POSIX):
 * libedit could not handle names with other characters otherwise.
 */
static void set_characters(void)
{
	setlocale(LC_CTYPE, "");
	if (MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static enum status run(struct options *o)
{
	struct session s = {
		.loop = ev_default_loop(0), .options = o, .out = stdout, .err = stderr
	};
	enum status status;

	s.shell = o->words.n == 0;
	s.asks = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!s.shell && strcmp(o->words.items[0], "completion") == 0) {
		status = show_completion(&s);
	} else if (!s.shell) {
		status = run_command(&s, o);
	} else if (s.asks) {
		set_characters();
		s.keys = true;
		o->color = wants_color(o);
		status = shell_run(&s);
	} else {
		status = shell_run_script(&s, stdin);
	}
	session_end(&s);
	return status;
}

int main(int argc, char *argv[])
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct options o;
	enum cli_verdict verdict;
	enum status status;

	if (argc > 1 && strcmp(argv[1], COMPLETION_WORD) == 0) {
		status = completion_answer(argc, argv, stdout);
		ev_loop_destroy(ev_default_loop(0));
		return (int)status;
	}
	verdict = options_parse(&o, argc, argv, &text);
	if (verdict != CLI_OK)
		return cli_tell(verdict, &text, STATUS_USAGE);
	status = run(&o);
	options_free(&o);
	ev_loop_destroy(ev_default_loop(0));
	return (int)status;
}
