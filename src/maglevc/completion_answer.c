/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_answer: one request from another shell. It must neither hang nor print anything but
 * candidates. An alarm ends the program even while it waits in getaddrinfo(), which cannot be
 * interrupted otherwise.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "src/maglevc/complete.h"
#include "src/maglevc/completion.h"
#include "src/maglevc/names.h"
#include "src/maglevc/session.h"
#include "src/maglevc/words.h"

#define PATIENCE 2 /* s */

/*
 * Runs as a signal handler, so only async-signal-safe functions are allowed. The status is that
 * of success: an unreachable server means no candidates, not an error.
 */
static void on_alarm(int signal)
{
	_exit(STATUS_DONE);
}

/*
 * Completes a word of the command. Names come from the server that the flags on the line select.
 * Complaints are written to a buffer that is thrown away.
 */
static void find(const struct options *o, const char *begin, struct candidates *ret)
{
	_cleanup_(cleanup_free) char *said = NULL;
	size_t said_size;
	FILE *nobody = open_memstream(&said, &said_size);
	struct session s = {
		.loop = ev_default_loop(0), .options = o, .out = nobody, .err = nobody
	};
	const struct typing t = { .words = (const char *const *)o->words.items,
				  .n = o->words.n,
				  .begin = begin };

	complete(&t, names_ask, &s, ret);
	completion_complete(&t, ret);
	session_end(&s);
	fclose(nobody);
}

/* Answers for a line of which the first n words, the program's name among them, are finished. */
static void answer(const struct words *w, size_t n, FILE *out)
{
	const struct typing t = { .words = w->items + 1,
				  .n = n - 1,
				  .begin = n < w->n ? w->items[n] : "" };
	_cleanup_(buf_free) struct buf text = { 0 };
	char **argv = arena_array_of(w->arena, n, char *);
	struct candidates c = { 0 };
	struct options o;

	for (size_t i = 0; i < n; i++)
		argv[i] = arena_strdup(w->arena, w->items[i]);
	if (!options_complete(&t, &c) && options_parse(&o, (int)n, argv, &text) == CLI_OK) {
		find(&o, t.begin, &c);
		options_free(&o);
	}
	for (size_t i = 0; i < c.n; i++)
		fprintf(out, "%s\t%s\n", c.items[i].word, c.items[i].help);
	candidates_free(&c);
}

enum status completion_answer(int argc, char *const argv[], FILE *out)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	struct words w;
	size_t n;

	assert(argc > 1 && out);

	sigaction(SIGALRM, &action, NULL);
	alarm(PATIENCE);
	words_split(&w, str_of(argc > 2 ? argv[2] : ""));
	/* a word that touches the cursor is unfinished; otherwise the next one is still empty */
	n = w.n && w.touching ? w.n - 1 : w.n;
	if (n > 0 && !w.comment)
		answer(&w, n, out);
	words_free(&w);
	return fflush(out) == 0 ? STATUS_DONE : STATUS_REFUSED;
}
