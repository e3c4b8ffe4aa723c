/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_answer: one question of another shell. It must neither hang nor write a word too many,
 * so an alarm ends the program whatever it waits for, even if that is the lookup of a name.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "src/maglevc/complete.h"
#include "src/maglevc/completion.h"
#include "src/maglevc/names.h"
#include "src/maglevc/session.h"
#include "src/maglevc/words.h"

#define PATIENCE 2 /* s */

static void on_alarm(int signal)
{
	_exit(STATUS_DONE);
}

/* The connection is made for the first name. */
static void ask_names(enum node_kind kind, const struct command *c, struct candidates *out,
		      void *user)
{
	struct session *s = user;

	if (session_connect(s) == STATUS_DONE)
		names_ask(kind, c, out, s);
}

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

	complete(&t, ask_names, &s, ret);
	session_end(&s);
	fclose(nobody);
}

/* A word as it was typed, with its quotes and backslashes, without them. */
static char *unquote(struct arena *arena, const char *typed)
{
	char *plain;
	struct words w;

	words_split(&w, str_of(typed));
	plain = arena_strdup(arena, w.n == 1 ? w.items[0] : typed);
	words_free(&w);
	return plain;
}

static void answer(int argc, char *const argv[], const char *begin, FILE *out)
{
	_cleanup_(buf_free) struct buf text = { 0 };
	struct candidates c = { 0 };
	struct options o;

	if (options_parse(&o, argc, argv, &text) != CLI_OK)
		return;
	if (*begin == '-')
		options_complete(begin, &c);
	else
		find(&o, begin, &c);
	for (size_t i = 0; i < c.n; i++)
		fprintf(out, "%s\t%s\n", c.items[i].word, c.items[i].help);
	candidates_free(&c);
	options_free(&o);
}

enum status completion_answer(int argc, char *const argv[], FILE *out)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	char **words = arena_array_of(arena, (size_t)argc, char *);
	int n = 0;

	assert(argc > 1 && out);

	sigaction(SIGALRM, &action, NULL);
	alarm(PATIENCE);
	for (int i = 1; i < argc; i++)
		words[n++] = unquote(arena, argv[i]);
	/* the first stands for the program, the last is the one that is being typed */
	answer(n > 1 ? n - 1 : 1, words, n > 1 ? words[n - 1] : "", out);
	return fflush(out) == 0 ? STATUS_DONE : STATUS_REFUSED;
}
