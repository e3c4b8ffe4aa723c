/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maglevc: the command line of maglevd. One command, given as words, is carried out over the API;
 * the exit code says how it went. Nothing is kept between two runs (NFR-5.4).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "src/maglevc/command.h"
#include "src/maglevc/options.h"
#include "src/maglevc/session.h"

static enum status run(const struct options *o)
{
	_cleanup_(buf_free) struct buf why = { 0 };
	struct session s = {
		.loop = ev_default_loop(0), .options = o, .out = stdout, .err = stderr
	};
	const char *const *words = (const char *const *)o->words.items;
	enum status status = STATUS_USAGE;
	struct command c;

	if (command_parse(words, o->words.n, false, &c, &why) == 0) {
		status = session_run(&s, &c);
	} else {
		session_complain(&s, "%s", buf_cstr(&why));
		fputs("Try 'maglevc help'.\n", stderr);
	}
	session_end(&s);
	return status;
}

int main(int argc, char *argv[])
{
	struct buf text = { 0 };
	struct options o;
	enum status status = STATUS_USAGE;

	switch (options_parse(&o, argc, argv, &text)) {
	case CLI_OK:
		status = run(&o);
		options_free(&o);
		break;
	case CLI_EXIT_OK:
		fputs(buf_cstr(&text), stdout);
		status = fflush(stdout) == 0 ? STATUS_DONE : STATUS_REFUSED;
		break;
	case CLI_EXIT_USAGE:
		fputs(buf_cstr(&text), stderr);
		break;
	}
	buf_free(&text);
	ev_loop_destroy(ev_default_loop(0));
	return (int)status;
}
